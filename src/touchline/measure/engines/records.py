"""The index of all records that a build has stored: by key, on disk, searched many keys at a time.

Invariant: exact and complete, whatever its size: a run is sorted by key and mapped, not loaded. Two runs may hold one
key, and so may one: texts decide then.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_COLUMNS = (("key", "<u8"), ("session", "<u8"), ("ts", "<i8"), ("batch", "<u4"), ("offset", "<u4"), ("length", "<u4"))
_ROW_BYTES = sum(np.dtype(kind).itemsize for _, kind in _COLUMNS)


class Place(NamedTuple):
    """Where a record is stored."""

    batch: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Records:
    """Columns of equal length. `session` is the key of the session's id, 0 for a record without one."""

    key: NDArray[np.uint64]
    session: NDArray[np.uint64]
    ts: NDArray[np.int64]
    batch: NDArray[np.uint32]
    offset: NDArray[np.uint32]
    length: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.key)

    def take(self, rows: NDArray[Any]) -> Records:
        return Records(*(column[rows] for column in self.arrays()))

    def arrays(self) -> tuple[NDArray[Any], ...]:
        return self.key, self.session, self.ts, self.batch, self.offset, self.length

    def place(self, row: int) -> Place:
        return Place(int(self.batch[row]), int(self.offset[row]), int(self.length[row]))

    def sorted(self) -> Records:
        return self.take(np.argsort(self.key, kind="stable"))


def joined(parts: Sequence[Records]) -> Records:
    return Records(*(np.concatenate(columns) for columns in zip(*(part.arrays() for part in parts), strict=True)))


class Run:
    """One file of records, sorted by key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = path.stat().st_size // _ROW_BYTES
        with path.open("rb") as file:
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def records(self) -> Records:
        columns: list[NDArray[Any]] = []
        at = 0
        for _, kind in _COLUMNS:
            columns.append(np.frombuffer(self._mapped, kind, self.rows, at))
            at += self.rows * np.dtype(kind).itemsize
        return Records(*columns)

    def find(self, keys: NDArray[np.uint64]) -> Iterator[tuple[int, Place]]:
        """Of sorted keys: the number of each that is here, and where its record is."""
        records = self.records()
        first = np.searchsorted(records.key, keys, "left")
        inside = np.minimum(first, self.rows - 1)
        hits = np.flatnonzero(records.key[inside] == keys)
        ends = np.searchsorted(records.key, keys[hits], "right")
        for number, begin, end in zip(hits.tolist(), first[hits].tolist(), ends.tolist(), strict=True):
            for row in range(begin, end):
                yield number, records.place(row)

    def forget(self) -> None:
        """Pages that were looked at need not stay in this process."""
        self._mapped.madvise(mmap.MADV_DONTNEED)


def write_run(path: Path, records: Records) -> None:
    with path.open("wb") as file:
        for column in records.sorted().arrays():
            file.write(np.ascontiguousarray(column).data)


def merged_run(path: Path, runs: Iterable[Run]) -> None:
    write_run(path, joined([run.records() for run in runs]))
