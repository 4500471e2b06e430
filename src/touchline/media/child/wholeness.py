"""Whether the end of a file is missing, told by the sizes that its container promises. Of what came in, and of what
was written: a muxer may leave a file without saying so.

Invariant: reads only headers, each step goes forward, and the number of steps is bounded.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass

from touchline.media.model import ContainerFormat, MediaFailure

from .boxes import walk_boxes
from .failures import InputRefused

ESSENTIAL_BOXES = frozenset({b"moov", b"mdat", b"moof"})
SEGMENT = 0x18538067


def check_whole(descriptor: int, kind: ContainerFormat) -> None:
    size = os.fstat(descriptor).st_size
    if kind in (ContainerFormat.MP4, ContainerFormat.QUICKTIME):
        _check_boxes(descriptor, size)
    elif kind in (ContainerFormat.MATROSKA, ContainerFormat.WEBM):
        _check_segment(descriptor, size)
    elif kind is ContainerFormat.AVI:
        _check_end(struct.unpack("<I", os.pread(descriptor, 8, 0)[4:].ljust(4, b"\0"))[0] + 8, size)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file of ours, as it was when it was closed."""

    size_bytes: int
    boxes: dict[bytes, int]  # the kinds, and where the last of each ends


NOT_WRITTEN = WrittenFile(0, {})


def inspect_written(descriptor: int) -> WrittenFile:
    return WrittenFile(os.fstat(descriptor).st_size, dict(walk_boxes(descriptor)))


def check_written(written: WrittenFile, essential: bytes) -> int:
    """Its size, if it ends where its last box does."""
    if essential in written.boxes and max(written.boxes.values()) == written.size_bytes:
        return written.size_bytes
    raise InputRefused(MediaFailure.STORAGE, "a segment could not be written as a whole")


def _check_boxes(descriptor: int, size: int) -> None:
    kinds: set[bytes] = set()
    for kind, end in walk_boxes(descriptor):
        kinds.add(kind)
        if kind in ESSENTIAL_BOXES:
            _check_end(end, size)
    if b"moov" not in kinds:
        raise InputRefused(MediaFailure.TRUNCATED, "its index (moov) is missing")


def _check_segment(descriptor: int, size: int) -> None:
    """Matroska: a header, then one segment that says how long it is, unless it was written live."""
    header = os.pread(descriptor, 12, 0)
    length, used = variable_size(header[4:])
    start = 4 + used + (length or 0)
    segment = os.pread(descriptor, 12, start)
    if len(segment) < 5:
        raise InputRefused(MediaFailure.TRUNCATED, "it ends before its first picture")
    length, used = variable_size(segment[4:])
    if length is not None and int.from_bytes(segment[:4]) == SEGMENT:
        _check_end(start + 4 + used + length, size)


def variable_size(data: bytes) -> tuple[int | None, int]:
    """EBML: the leading zero bits of the first byte say how many bytes there are; all ones mean unknown."""
    width = 9 - data[0].bit_length() if data and data[0] else 8
    value = int.from_bytes(data[:width]) & ((1 << 7 * width) - 1)
    return (None if value == (1 << 7 * width) - 1 else value), width


def _check_end(promised: int, size: int) -> None:
    if promised > size:
        raise InputRefused(MediaFailure.TRUNCATED, f"{promised - size} bytes of it are missing at the end")
