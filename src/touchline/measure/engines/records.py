"""The index of all records that a build has stored: by key, on disk, searched many keys at a time.

Invariant: exact and complete, whatever its size: a run is sorted by key and mapped, not loaded; runs are searched and
merged so many rows at a time, and what was looked at does not stay. Two runs may hold one key, and so may one: texts
decide then.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_COLUMNS = (("key", "<u8"), ("session", "<u8"), ("ts", "<i8"), ("batch", "<u4"), ("offset", "<u4"), ("length", "<u4"))
_ROW_BYTES = sum(np.dtype(kind).itemsize for _, kind in _COLUMNS)
AT_ONCE = 1 << 16  # rows


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

    def between(self, first: int, last: int) -> Records:
        return Records(*(column[first:last] for column in self.arrays()))

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

    def find(self, keys: NDArray[np.uint64], at_once: int = AT_ONCE) -> Iterator[tuple[int, Place]]:
        """Of sorted keys: the number of each that is here, and where its record is."""
        records = self.records()
        for first in range(0, self.rows, at_once):
            yield from _found(records.between(first, first + at_once), keys)
            self.forget()

    def forget(self) -> None:
        """Pages that were looked at need not stay in this process."""
        self._mapped.madvise(mmap.MADV_DONTNEED)


def _found(records: Records, keys: NDArray[np.uint64]) -> Iterator[tuple[int, Place]]:
    least, greatest = records.key[:1], records.key[-1:]
    begin, end = int(np.searchsorted(keys, least, "left")[0]), int(np.searchsorted(keys, greatest, "right")[0])
    keys = keys[begin:end]
    first = np.searchsorted(records.key, keys, "left")
    hits = np.flatnonzero(records.key[first] == keys)
    ends = np.searchsorted(records.key, keys[hits], "right")
    for number, one, behind in zip((hits + begin).tolist(), first[hits].tolist(), ends.tolist(), strict=True):
        for row in range(one, behind):
            yield number, records.place(row)


def in_slices(runs: Sequence[Run], at_once: int = AT_ONCE) -> Iterator[Records]:
    """All records by their keys, about so many at a time. Those of one key are never parted."""
    total = sum(run.rows for run in runs)
    shares = [max(at_once * run.rows // total, 1) for run in runs]
    begins = [0] * len(runs)
    while any(begin < run.rows for begin, run in zip(begins, runs, strict=True)):
        rest = [run.records().between(begin, run.rows) for begin, run in zip(begins, runs, strict=True)]
        bound = min(one.key[min(share, len(one)) - 1] for one, share in zip(rest, shares, strict=True) if len(one))
        counts = [_up_to(bound, one.key, share) for one, share in zip(rest, shares, strict=True)]
        yield joined([one.between(0, count) for one, count in zip(rest, counts, strict=True)]).sorted()
        begins = [begin + count for begin, count in zip(begins, counts, strict=True)]
        del rest
        for run in runs:
            run.forget()


def _up_to(bound: np.uint64, keys: NDArray[np.uint64], share: int) -> int:
    """How many are not above the bound: as many as the share, unless more of them are equal to it."""
    count = int(np.searchsorted(keys[:share], bound, "right"))
    if count < len(keys) and keys[count] == bound:
        count = int(np.searchsorted(keys, bound, "right"))
    return count


def write_run(path: Path, records: Records) -> None:
    with path.open("wb") as file:
        _put(file, records.sorted(), 0, len(records))


def merge_runs(path: Path, runs: Sequence[Run], at_once: int = AT_ONCE) -> None:
    begin, rows = 0, sum(run.rows for run in runs)
    with path.open("wb") as file:
        for records in in_slices(runs, at_once):
            _put(file, records, begin, rows)
            begin += len(records)


def _put(file: IO[bytes], records: Records, begin: int, rows: int) -> None:
    """Of a run of so many rows, those from `begin` on: columns follow each other as wholes."""
    at = 0
    for column in records.arrays():
        file.seek(at + begin * column.itemsize)
        file.write(np.ascontiguousarray(column).data)
        at += rows * column.itemsize
