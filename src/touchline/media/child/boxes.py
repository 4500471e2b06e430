"""The boxes that an MP4 file is made of."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

MOST_BOXES = 500_000


class Mp4Box(NamedTuple):
    kind: bytes
    content: int  # where what is in it begins
    end: int  # where it says that it ends


def walk_boxes(descriptor: int) -> Iterator[tuple[bytes, int]]:
    """At the top level: the kind of each box and where it says that it ends."""
    for box in boxes_between(descriptor, 0, os.fstat(descriptor).st_size):
        yield box.kind, box.end


def boxes_between(descriptor: int, position: int, end: int) -> Iterator[Mp4Box]:
    """What is no box ends the walk. Only headers are read."""
    for _ in range(MOST_BOXES):
        header = os.pread(descriptor, 16, position)
        if len(header) < 8 or position >= end:
            return
        length, kind = struct.unpack(">I4s", header[:8])
        content = position + 8
        if length == 1:
            length, content = int.from_bytes(header[8:16]), position + 16
        elif length == 0:
            length = end - position
        if length < 8:
            return
        position += length
        yield Mp4Box(kind, content, position)
