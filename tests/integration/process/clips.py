"""Small real videos, made when a test asks for them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

RATE = 25
PLAYS = "libx264"  # as it is
RE_ENCODED = "mpeg4"  # browsers do not play it


def make_clip(path: Path, seconds: int = 3, codec: str = PLAYS, size: tuple[int, int] = (320, 180)) -> Path:
    """A grey ramp that moves, so that every picture differs."""
    width, height = size
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream(codec, rate=RATE)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt, stream.gop_size = width, height, "yuv420p", RATE
        for number in range(seconds * RATE):
            container.mux(stream.encode(_picture(width, height, number)))
        container.mux(stream.encode(None))
    return path


def _picture(width: int, height: int, number: int) -> VideoFrame:
    frame = VideoFrame(width, height, "yuv420p")
    for plane, start in zip(frame.planes, (number * 3, 90, 200), strict=True):
        row = bytes((start + column) % 256 for column in range(plane.line_size))
        plane.update(row * plane.height)
    frame.pts, frame.time_base = number, Fraction(1, RATE)
    return frame
