"""Makes small real videos for tests."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from touchline_world.scenes.canvas import WHITE, Pixels, gradient, write

RATE = 25
HOURS = 6  # of a long video
PLAYS = "libx264"  # as it is
RE_ENCODED = "mpeg4"  # browsers do not play it


def make_clip(
    path: Path, seconds: int = 3, codec: str = PLAYS, size: tuple[int, int] = (320, 180), pictures: int = 0
) -> Path:
    """A grey ramp that moves, so that every picture differs."""
    width, height = size
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream(codec, rate=RATE)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt, stream.gop_size = width, height, "yuv420p", RATE
        for number in range(pictures or seconds * RATE):
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


def make_long(path: Path, every_s: int = 20) -> Path:
    """A tiny picture every twenty seconds, each for itself: six hours in a moment."""
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=Fraction(1, every_s), options={"preset": "ultrafast"})
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt, stream.gop_size = 64, 36, "yuv420p", 1
        stream.codec_context.time_base = Fraction(every_s, 1)
        for number in range(HOURS * 3600 // every_s):
            frame = VideoFrame(64, 36, "yuv420p")
            for plane in frame.planes:
                plane.update(bytes([90 + number // 200 * 20]) * plane.buffer_size)
            frame.pts, frame.time_base = number, Fraction(every_s, 1)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def make_captions(path: Path) -> Path:
    """Five seconds of a studio with a clock that runs, and from 1.0 to 3.5 s a caption of two lines."""
    return _coded(path, (_studio(number * 100) for number in range(50)))


def make_still(path: Path, text: str) -> Path:
    """A second of nothing but that."""
    picture = gradient((640, 360), (70, 50, 30), (30, 30, 60))
    write(picture, text, (60, 150), 60, WHITE)
    return _coded(path, [picture] * 10)


def _coded(path: Path, pictures: Iterable[Pixels]) -> Path:
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream(PLAYS, rate=10)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 640, 360, "yuv420p"
        for number, picture in enumerate(pictures):
            frame = VideoFrame.from_ndarray(picture, format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def _studio(at_ms: int) -> Pixels:
    picture = gradient((640, 360), (70, 50, 30), (30, 30, 60))
    write(picture, "ARS 2-1 CHE", (30, 24), 26, WHITE)
    write(picture, f"63:{7 + at_ms // 1000:02}", (520, 24), 26, WHITE)
    if 1000 <= at_ms < 3500:
        write(picture, "Henrik Dahl", (60, 250), 30, WHITE)
        write(picture, "by @NorthBank #goal", (60, 300), 24, WHITE)
    return picture
