"""What people upload: a video, and other things."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.videos import SMALL, make_video

TEXT = b"this is a letter, not a video\n" * 100


@cache
def video() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, SMALL.name)
        make_video(path, SMALL)
        return path.read_bytes()


@cache
def large_video() -> bytes:
    """Two parts: the same video with a box behind it that means nothing."""
    padding = 21 * 1024**2
    return video() + padding.to_bytes(4) + b"free" + bytes(padding - 8)
