"""The task `pixels`: the pictures of a file as plain bytes, three for each pixel: blue, green, red.

The file is a JPEG, PNG, WebP or BMP, or several JPEGs one behind the other. Invariant: as many pictures as were asked
for, or none: nobody takes one for another.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

import av
from av.container import InputContainer
from av.video.frame import VideoFrame

from touchline.media.model import Decoded, DecodedPicture, MediaFailure

from .channel import Channel, InputRefused
from .order import Options
from .pictures import DisplayTransform, FilterChain, upright
from .source import INPUT, decode, ready_to_decode

BYTES_A_PIXEL = 3
# What is not one of these could be anything, also a list of other files.
DEMUXERS = (
    (b"\xff\xd8\xff", "jpeg_pipe"),
    (b"\x89PNG\r\n\x1a\n", "png_pipe"),
    (b"RIFF", "webp_pipe"),
    (b"BM", "bmp_pipe"),
)


def decode_pixels(options: dict[str, Any], channel: Channel) -> Decoded:
    wanted: int = options.pop("pictures")
    bounds = Options(**options)
    with _opened(bounds) as container:
        decoded = tuple(_written(picture, channel, number) for number, picture in _pictures(container, bounds, wanted))
    if len(decoded) < wanted:
        raise InputRefused(MediaFailure.DAMAGED, f"{len(decoded)} of its {wanted} pictures can be decoded")
    return Decoded(decoded)


def _opened(bounds: Options) -> InputContainer:
    head = os.pread(INPUT, 12, 0)
    demuxer = next((name for signature, name in DEMUXERS if head.startswith(signature)), None)
    if demuxer is None or (demuxer == "webp_pipe" and head[8:12] != b"WEBP"):
        raise InputRefused(MediaFailure.NOT_A_VIDEO, "the file format is not a known image format")
    os.lseek(INPUT, 0, os.SEEK_SET)
    safely = {"protocol_whitelist": "fd", "format_whitelist": demuxer, "max_pixels": str(bounds.most_pixels)}
    return av.open("fd:", format=demuxer, options=safely, metadata_errors="replace")


def _pictures(container: InputContainer, bounds: Options, wanted: int) -> Iterator[tuple[int, VideoFrame]]:
    stream = container.streams.video[0]
    ready_to_decode(stream, bounds, threads=1)
    packets = container.demux(stream)
    return enumerate(
        islice((picture for packet in packets for picture in decode(stream.codec_context, packet)), wanted)
    )


def _written(picture: VideoFrame, channel: Channel, number: int) -> DecodedPicture:
    look = DisplayTransform(rotation=round(-picture.rotation / 90) * 90 % 360)
    width, height = picture.width, picture.height
    size = (height, width) if look.rotation % 180 else (width, height)
    shown = FilterChain(upright(size, look, "bgr24")).apply(picture)
    if shown is None:
        raise InputRefused(MediaFailure.DAMAGED, "the image cannot be converted")
    name = f"{number:06d}.bgr"
    with channel.create(name) as file:
        file.write(_plain(shown))
    return DecodedPicture(name, shown.width, shown.height)


def _plain(picture: VideoFrame) -> bytes:
    """Without what pads the rows."""
    plane, length = picture.planes[0], picture.width * BYTES_A_PIXEL
    rows = memoryview(plane)
    if plane.line_size == length:
        return bytes(rows[: length * picture.height])
    return b"".join(rows[row * plane.line_size :][:length] for row in range(picture.height))
