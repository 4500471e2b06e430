"""Many JPEGs of one video: the filters and the encoder are made once, so that an hour of them needs no more memory."""

from __future__ import annotations

from av.codec import CodecContext
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType, VideoFrame

from .packets import encode
from .pictures import (
    FULL_RANGE,
    JPEG_QUALITY,
    TICK,
    DisplayTransform,
    FilterChain,
    upright,
)


class Stills:
    def __init__(self, size: tuple[int, int], look: DisplayTransform) -> None:
        self._chain = FilterChain(upright(size, look, "yuvj420p", full_range=True))
        self._encoder = _new_encoder(size)
        self._number = 0

    def jpeg(self, picture: VideoFrame) -> bytes:
        """Nothing for a picture that cannot be converted."""
        shown = self._chain.apply(picture)
        if shown is None:
            return b""
        self._number += 1
        shown.pts, shown.time_base, shown.pict_type = self._number, TICK, PictureType.NONE
        return b"".join(bytes(packet) for packet in encode(self._encoder, shown))


def _new_encoder(size: tuple[int, int]) -> VideoCodecContext:
    encoder = CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height = size
    encoder.pix_fmt, encoder.color_range = "yuvj420p", FULL_RANGE
    encoder.time_base = TICK
    encoder.thread_count = 1  # more would hold pictures back
    encoder.qmin = encoder.qmax = JPEG_QUALITY
    return encoder
