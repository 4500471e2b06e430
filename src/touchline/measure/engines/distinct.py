"""Of all records that were accepted, each event once.

Invariant: which copy counts depends on the contents of all copies, not on where or in what order they stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from touchline.measure.sessions.gathering import winner
from touchline.measure.sessions.model import Capability, Event
from touchline.measure.sessions.reading import Accepted

from .columns import Columns, concatenated
from .copies import by_uid, differ
from .extraction import Extract
from .keys import keys_of_texts
from .pieces import Files, Piece


@dataclass(slots=True)
class Distinct:
    """Plain events as columns, the others as they were read."""

    columns: Columns
    events: list[Event] = field(default_factory=list[Event])
    capabilities: list[Capability] = field(default_factory=list[Capability])
    accepted: int = 0
    duplicates: int = 0
    greatest_ts: int | None = None

    def add(self, reading: Accepted) -> None:
        self.greatest_ts = max(self.greatest_ts or 0, reading.ts)
        self.capabilities += reading.capabilities
        if reading.event:
            self.events.append(reading.event)


def distinct(pieces: Sequence[Piece], extracts: Sequence[Extract]) -> Distinct:
    return _Comparison(pieces, extracts).result()


class _Comparison:
    """Rows count on from those of the columns to those that were read one by one."""

    def __init__(self, pieces: Sequence[Piece], extracts: Sequence[Extract]) -> None:
        self._columns = concatenated([each.columns for each in extracts])
        self._odd = [odd for each in extracts for odd in each.odd]
        plain = np.repeat(np.arange(len(pieces)), [len(each.columns) for each in extracts])
        odd = np.repeat(np.arange(len(pieces)), [len(each.odd) for each in extracts])
        self._piece = np.concatenate((plain, odd))
        self._pieces = pieces
        odd_keys = keys_of_texts([odd.reading.uid for odd in self._odd])
        self._keys = np.concatenate((self._columns.key, odd_keys))
        self._kept = np.ones(len(self._keys), np.bool_)
        self._winners: list[Accepted] = []

    def result(self) -> Distinct:
        duplicates = 0
        with Files() as files:
            for rows in _alike(self._keys):
                duplicates += self._compare(rows, [self._content(files, row) for row in rows])
        plain, odd = self._kept[: len(self._columns)], self._kept[len(self._columns) :]
        columns = self._columns if plain.all() else self._columns.take(np.flatnonzero(plain))
        found = Distinct(columns, accepted=len(self._keys) - duplicates, duplicates=duplicates)
        found.greatest_ts = int(columns.ts.max()) if len(columns) else None
        for at in np.flatnonzero(odd).tolist():
            found.add(self._odd[at].reading)
        for reading in self._winners:
            found.add(reading)
        return found

    def _compare(self, rows: Sequence[int], contents: Sequence[bytes]) -> int:
        """How many of them are duplicates."""
        if all(content == contents[0] for content in contents):
            self._kept[rows[1:]] = False
            return len(rows) - 1
        duplicates = 0
        for copies in by_uid(dict(zip(rows, contents, strict=True))):
            duplicates += len(copies) - 1
            readings = [reading for _, reading in copies]
            contested = differ(readings)
            self._kept[[row for row, _ in copies[0 if contested else 1 :]]] = False
            if contested:
                self._winners.append(winner(readings))
        return duplicates

    def _content(self, files: Files, row: int) -> bytes:
        path = self._pieces[int(self._piece[row])].path
        if row < len(self._columns):
            return files.read(path, int(self._columns.offset[row]), int(self._columns.length[row]))
        odd = self._odd[row - len(self._columns)]
        return files.read(path, odd.offset, odd.length)


def _alike(keys: NDArray[np.uint64]) -> Iterator[list[int]]:
    """Rows that share a key with another."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    same = ordered[1:] == ordered[:-1]
    edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(np.int8)))
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield order[first : last + 1].tolist()
