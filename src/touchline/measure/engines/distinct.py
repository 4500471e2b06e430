"""Of all records that were accepted, each event once.

Invariant: which copy counts depends on the contents of all copies, not on where or in what order they stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from touchline.measure.sessions.evidence import winner
from touchline.measure.sessions.model import Capability, Event
from touchline.measure.sessions.parser import Accepted

from .copies import by_uid, differ
from .keys import keys_of_texts
from .pieces import Files, Piece
from .sheets import Filed

Rows = NDArray[np.int64]
_FOLD = (1 << 20) - 1


@dataclass(slots=True)
class Distinct:
    """Plain events by the rows that do not count, for each piece; the others as they were read."""

    dropped: list[Rows] = field(default_factory=list[Rows])
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


def distinct(pieces: Sequence[Piece], extracts: Sequence[Filed]) -> Distinct:
    return _Comparison(pieces, extracts).result()


class _Comparison:
    """Rows count on from piece to piece, and then to those that were read one by one."""

    def __init__(self, pieces: Sequence[Piece], extracts: Sequence[Filed]) -> None:
        self._paths = [piece.path for piece in pieces]
        self._columns = [each.sheet.columns() for each in extracts]
        self._odd = [odd for each in extracts for odd in each.made.odd]
        numbers = np.arange(len(pieces))
        plain, odd = [len(columns) for columns in self._columns], [len(each.made.odd) for each in extracts]
        self._piece = np.concatenate((np.repeat(numbers, plain), np.repeat(numbers, odd)))
        self._kept = np.ones(len(self._piece), np.bool_)
        self._winners: list[Accepted] = []

    def result(self) -> Distinct:
        odd_keys = keys_of_texts([odd.reading.uid for odd in self._odd])
        groups = list(alike(np.concatenate([*(columns.key for columns in self._columns), odd_keys])))
        dropped: list[int] = []
        with Files() as files:
            contents = self._contents(files, [row for rows in groups for row in rows])
            for rows in groups:
                dropped += self._copies(rows, list(islice(contents, len(rows))))
        self._kept[dropped] = False
        return self._distinct(len(dropped) - len(self._winners))

    def _contents(self, files: Files, rows: list[int]) -> Iterator[bytes]:
        offset = [*(columns.offset for columns in self._columns), np.array([odd.offset for odd in self._odd], np.int64)]
        length = [*(columns.length for columns in self._columns), np.array([odd.length for odd in self._odd], np.int32)]
        pieces: list[int] = self._piece[rows].tolist()
        paths = [self._paths[piece] for piece in pieces]
        return map(files.read, paths, np.concatenate(offset)[rows].tolist(), np.concatenate(length)[rows].tolist())

    def _copies(self, rows: list[int], contents: list[bytes]) -> list[int]:
        """Those of the rows that do not count, because another one does, or the winner of all that are of one uid."""
        if contents.count(contents[0]) == len(contents):
            return rows[1:]
        dropped: list[int] = []
        for copies in by_uid(dict(zip(rows, contents, strict=True))):
            readings = [reading for _, reading in copies]
            contested = differ(readings)
            dropped += [row for row, _ in copies[0 if contested else 1 :]]
            if contested:
                self._winners.append(winner(readings))
        return dropped

    def _distinct(self, duplicates: int) -> Distinct:
        found = Distinct(accepted=len(self._kept) - duplicates, duplicates=duplicates)
        borders = np.cumsum([len(columns) for columns in self._columns])
        *plain, odd = np.split(self._kept, borders)
        for columns, kept in zip(self._columns, plain, strict=True):
            found.dropped.append(np.flatnonzero(~kept))
            if kept.any():
                found.greatest_ts = max(found.greatest_ts or 0, int(columns.ts[kept].max()))
        for at in np.flatnonzero(odd).tolist():
            found.add(self._odd[at].reading)
        for reading in self._winners:
            found.add(reading)
        return found


def alike(keys: NDArray[np.uint64]) -> Iterator[list[int]]:
    """Rows that share a key with another. Few do: the others are sorted without what they are the keys of."""
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    suspected = np.zeros(_FOLD + 1, np.bool_)
    suspected[repeated & np.uint64(_FOLD)] = True
    rows = np.flatnonzero(suspected[keys & np.uint64(_FOLD)])
    rows = rows[np.argsort(keys[rows], kind="stable")]
    same: NDArray[Any] = keys[rows[1:]] == keys[rows[:-1]]
    edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(np.int8)))
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield rows[first : last + 1].tolist()
