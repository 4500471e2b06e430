"""Where each sample of an MP4 track lies, how large it is and when: read from the tables of its index at once.

Invariant: what is told was checked against the size of the file and against each other; odd tables tell nothing.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .boxes import Mp4Box, boxes_between

MOST_INSIDE = 1000  # boxes of one
MOST_SAMPLES = 2_000_000  # nine hours of 60 pictures a second
LONGEST_TABLE = 12 * MOST_SAMPLES + 8  # bytes: three numbers for each, whatever a box says
Numbers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TrackSamples:
    """Of one track, in the order in which they are decoded; times in its own ticks."""

    offsets: Numbers
    sizes: Numbers
    decoded: Numbers
    shown: Numbers
    durations: Numbers
    is_key: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.sizes)

    def cut(self, span: slice) -> TrackSamples:
        times = self.decoded[span], self.shown[span], self.durations[span]
        return TrackSamples(self.offsets[span], self.sizes[span], *times, self.is_key[span])


class _Odd(Exception):
    """Tables that do not fit together, or that nothing here understands."""


def read_samples(descriptor: int, wanted: Container[int]) -> dict[int, TrackSamples]:
    """By the number of the track; only those whose tables are plain and true."""
    found: dict[int, TrackSamples] = {}
    size = os.fstat(descriptor).st_size
    for index in _inside(descriptor, Mp4Box(b"", 0, size), b"moov"):
        for track in _inside(descriptor, index, b"trak"):
            with suppress(_Odd):
                if (number := _number(descriptor, track)) in wanted:
                    found[number] = _samples(_Tables(descriptor, track), size)
    return found


def _inside(descriptor: int, parent: Mp4Box, kind: bytes) -> Iterator[Mp4Box]:
    boxes = islice(boxes_between(descriptor, parent.content, parent.end), MOST_INSIDE)
    return (box for box in boxes if box.kind == kind)


def _number(descriptor: int, track: Mp4Box) -> int:
    header = next(_inside(descriptor, track, b"tkhd"), None)
    data = os.pread(descriptor, 24, header.content) if header else b""
    if len(data) < 24:
        raise _Odd
    return int.from_bytes(data[20:24] if data[0] == 1 else data[12:16])


class _Tables:
    """The content of a track's tables, without version and flags."""

    def __init__(self, descriptor: int, track: Mp4Box) -> None:
        self._descriptor = descriptor
        place: Mp4Box | None = track
        for kind in (b"mdia", b"minf", b"stbl"):
            place = next(_inside(descriptor, place, kind), None)
            if place is None:
                raise _Odd
        boxes = islice(boxes_between(descriptor, place.content, place.end), MOST_INSIDE)
        self._boxes = {box.kind: box for box in boxes}

    def __contains__(self, kind: bytes) -> bool:
        return kind in self._boxes

    def head(self, kind: bytes) -> int:
        """The first number."""
        return int(self._numbers(kind, ">u4", 0)[0])

    def rows(self, kind: bytes, width: int, number: str = ">u4") -> Numbers:
        """As many as it says that it has, after the first number."""
        count = self.head(kind)
        rows = self._numbers(kind, number, 4)
        if count > MOST_SAMPLES or len(rows) < count * width:
            raise _Odd
        return rows[: count * width].reshape(count, width).astype(np.int64)

    def sizes(self) -> Numbers:
        """One for all, or one for each."""
        head = self._numbers(b"stsz", ">u4", 0)
        if len(head) < 2 or head[1] > MOST_SAMPLES:
            raise _Odd
        every, count = int(head[0]), int(head[1])
        sizes = np.full(count, every) if every else head[2 : 2 + count].astype(np.int64)
        if len(sizes) != count or not count:
            raise _Odd
        return sizes

    def _numbers(self, kind: bytes, number: str, skipped: int) -> NDArray[Any]:
        box = self._boxes.get(kind)
        if box is None:
            raise _Odd
        start = box.content + 4 + skipped
        data = os.pread(self._descriptor, max(0, min(box.end - start, LONGEST_TABLE)), start)
        numbers = np.frombuffer(data[: len(data) // 4 * 4], number)
        if not len(numbers) and not skipped:
            raise _Odd
        return numbers


def _samples(tables: _Tables, file_size: int) -> TrackSamples:
    if tables.head(b"stsd") != 1:  # a change in the middle of what has to be known to decode it
        raise _Odd
    sizes = tables.sizes()
    count = len(sizes)
    durations = _repeated(tables.rows(b"stts", 2), count)
    decoded = np.cumsum(durations) - durations
    shown = decoded + _repeated(tables.rows(b"ctts", 2, ">i4"), count) if b"ctts" in tables else decoded
    offsets = _offsets(tables, sizes)
    is_inside = offsets.min() >= 0 and int((offsets + sizes).max()) <= file_size
    if not is_inside or sizes.min() <= 0 or int(sizes.sum()) > file_size:  # or the same bytes would be many samples
        raise _Odd
    return TrackSamples(offsets, sizes, decoded, shown, durations, _keys(tables, count))


def _repeated(rows: Numbers, count: int) -> Numbers:
    """Runs of equal values: how many, and which."""
    times, values = rows[:, 0], rows[:, 1]
    if len(rows) > count or times.min(initial=0) < 0 or int(times.sum()) != count:
        raise _Odd
    return np.repeat(values, times)


def _offsets(tables: _Tables, sizes: Numbers) -> Numbers:
    """Samples lie behind each other in chunks, and only of these is the place known."""
    chunks = _chunks(tables)
    runs = tables.rows(b"stsc", 3)
    firsts = runs[:, 0]
    lengths = np.diff(firsts, append=len(chunks) + 1)
    if not len(runs) or firsts[0] != 1 or lengths.min() <= 0:
        raise _Odd
    inside = np.repeat(runs[:, 1], lengths)
    if inside.min() <= 0 or int(inside.sum()) != len(sizes):
        raise _Odd
    before = np.cumsum(sizes) - sizes
    first_samples = np.cumsum(inside) - inside
    return np.repeat(chunks - before[first_samples], inside) + before


def _chunks(tables: _Tables) -> Numbers:
    if b"co64" not in tables:
        return tables.rows(b"stco", 1)[:, 0]
    halves = tables.rows(b"co64", 2)
    return (halves[:, 0] << 32) | halves[:, 1]


def _keys(tables: _Tables, count: int) -> NDArray[np.bool_]:
    """Without a table all are."""
    if b"stss" not in tables:
        return np.ones(count, np.bool_)
    keys = np.zeros(count, np.bool_)
    numbers = tables.rows(b"stss", 1)[:, 0] - 1
    keys[numbers[(numbers >= 0) & (numbers < count)]] = True
    return keys
