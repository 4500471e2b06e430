"""How long the headers of an MP4 file say that it lasts. The libraries believe its tables instead and do not tell.

Invariant: reads only headers, the nesting and the number of steps are bounded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

from .boxes import Mp4Box, boxes_between

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
