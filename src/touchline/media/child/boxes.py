"""The boxes that an MP4 file is made of, at its top level."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

MOST_BOXES = 500_000


def walk_boxes(descriptor: int) -> Iterator[tuple[bytes, int]]:
    """The kind of each box and where it says that it ends; what is no box ends the walk. Only headers are read."""
    size, position = os.fstat(descriptor).st_size, 0
    for _ in range(MOST_BOXES):
        header = os.pread(descriptor, 16, position)
        if len(header) < 8:
            return
        length, kind = struct.unpack(">I4s", header[:8])
        if length == 1:
            length = int.from_bytes(header[8:16])
        elif length == 0:
            length = size - position
        if length < 8:
            return
        position += length
        yield kind, position
