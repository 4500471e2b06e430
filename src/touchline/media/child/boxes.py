"""The boxes that an MP4 file is made of: how long they say that it lasts, and whether the end of a file is missing.

Invariant: reads only headers, each step goes forward, and the number of steps is bounded.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

from touchline.media.model import ContainerFormat, MediaFailure

from .channel import InputRefused

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


# How long the headers of an MP4 file say that it lasts. The libraries believe its tables instead and do not tell.
# Invariant: reads only headers, the nesting and the number of steps are bounded.

WAYS = {b"moov": (b"mvhd", b"trak"), b"trak": (b"mdia",), b"mdia": (b"mdhd",)}  # to the headers
HEADERS = frozenset({b"mvhd", b"mdhd"})
MOST_INSIDE = 1000  # boxes of one


def longest_claim_s(descriptor: int) -> Fraction:
    """Zero where nothing is said."""
    top = boxes_between(descriptor, 0, os.fstat(descriptor).st_size)
    index = next((box for box in top if box.kind == b"moov"), None)
    return max((_claim_s(descriptor, box) for box in _headers(descriptor, index)), default=Fraction(0))


def _headers(descriptor: int, parent: Mp4Box | None) -> Iterator[Mp4Box]:
    if parent is None:
        return
    for box in islice(boxes_between(descriptor, parent.content, parent.end), MOST_INSIDE):
        if box.kind in WAYS[parent.kind]:
            yield from [box] if box.kind in HEADERS else _headers(descriptor, box)


def _claim_s(descriptor: int, box: Mp4Box) -> Fraction:
    """Version, flags, two dates, unit and duration: in the second version dates and duration have 64 bits."""
    data = os.pread(descriptor, 32, box.content)
    width = 8 if data[:1] == b"\x01" else 4
    unit = int.from_bytes(data[4 + 2 * width : 8 + 2 * width])
    ticks = int.from_bytes(data[8 + 2 * width : 8 + 3 * width])
    unknown = ticks == (1 << 8 * width) - 1
    return Fraction(0) if unknown or not unit else Fraction(ticks, unit)


# Whether the end of a file is missing, told by the sizes that its container promises. Of what came in, and of what
# was written: a muxer may leave a file without saying so. Invariant: reads only headers, each step goes forward, and
# the number of steps is bounded.

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
    raise InputRefused(MediaFailure.STORAGE, "a segment could not be written completely")


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
        raise InputRefused(MediaFailure.TRUNCATED, "it ends before the first frame")
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
        raise InputRefused(MediaFailure.TRUNCATED, f"{promised - size} bytes are missing at the end")
