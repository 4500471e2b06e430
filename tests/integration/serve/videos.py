"""What people upload: a video, and other things."""

from __future__ import annotations

import struct
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


def spread_video(*, before: int = 0, after: int = 0) -> bytes:
    """The same video, with bytes before and after its samples that nobody shows."""
    head, _, rest = video().partition(b"mdat")
    size = int.from_bytes(head[-4:])
    samples, index = rest[: size - 8], rest[size - 8 :]
    start = index.find(b"stco")
    while start >= 0:
        count = int.from_bytes(index[start + 8 : start + 12])
        shape, place = f">{count}I", start + 12
        moved = [offset + before for offset in struct.unpack_from(shape, index, place)]
        index = index[:place] + struct.pack(shape, *moved) + index[place + 4 * count :]
        start = index.find(b"stco", place)
    return head[:-4] + (size + before + after).to_bytes(4) + b"mdat" + bytes(before) + samples + bytes(after) + index
