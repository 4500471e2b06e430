"""Takes the records of a batch into the index, and tells which of them are new.

Invariant: of one uid, one record of each content is stored. An event is folded on only while its uid has one content;
from then on the sessions that it concerns are folded anew, from all that is stored of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from touchline.measure.sessions.model import Capability, Event
from touchline.measure.sessions.parser import Accepted, read_text
from touchline.measure.sessions.values import canonical

from .columns import NO_SESSION, Columns
from .copies import by_uid
from .extraction import Extract, Odd
from .keys import keys_of_texts
from .pieces import Files, Piece
from .records import AT_ONCE, Place, Records, Run, joined, merge_runs, write_run
from .state import State

LARGEST_RUN = 1 << 22  # rows
MANY_RUNS = 8
_FIELDS = tuple(field.name for field in fields(Capability))

Mask = NDArray[np.bool_]


@dataclass(slots=True)
class _Verdict:
    """Of the rows of a batch: which are stored, and which are folded on."""

    stored: Mask
    folded: Mask
    duplicates: int = 0


class Store:
    def __init__(self, state: State, at_once: int = AT_ONCE) -> None:
        self._state, self._at_once = state, at_once
        self.runs = [Run(path) for path in state.paths("records", state.manifest.records)]
        self._dirty = set(state.manifest.dirty)
        self._contested = set(state.manifest.contested)

    def take(self, batch: int, piece: Piece, made: Extract) -> tuple[Columns, list[Event]]:
        """The events that are to be folded on."""
        records = _records_of(batch, piece, made)
        verdict = self._judge(records)
        self._note(records, made.odd, verdict)
        plain, odd = verdict.folded[: len(made.columns)], verdict.folded[len(made.columns) :]
        columns = made.columns.take(np.flatnonzero(plain & (made.columns.session != NO_SESSION)))
        readings = [made.odd[at].reading for at in np.flatnonzero(odd).tolist()]
        return columns, [reading.event for reading in readings if reading.event]

    def settle(self) -> None:
        """Before a commit: what is kept in memory goes into the manifest, and small runs become larger ones."""
        manifest = self._state.manifest
        manifest.dirty, manifest.contested = sorted(self._dirty), sorted(self._contested)
        small = [run for run in self.runs if run.rows < LARGEST_RUN]
        if len(small) >= MANY_RUNS:
            serial, path = self._state.new("records")
            merge_runs(path, small, self._at_once)
            gone = {run.path for run in small}
            paths = self._state.paths("records", manifest.records)
            kept = [number for number, run in zip(manifest.records, paths, strict=True) if run not in gone]
            manifest.records = [*kept, serial]
            self.runs = [*(run for run in self.runs if run.path not in gone), Run(path)]

    def capabilities(self) -> Iterator[Capability]:
        """Of all snapshots whose id has one content. What most of them repeat is kept once."""
        known: dict[Any, Any] = {}
        with Files() as files:
            for place in self._state.manifest.snapshots:
                reading = read_text(self._state.read(files, place))
                if isinstance(reading, Accepted) and int(keys_of_texts([reading.uid])[0]) not in self._contested:
                    yield from (_shared(row, known) for row in reading.capabilities)

    def _judge(self, records: Records) -> _Verdict:
        verdict = _Verdict(np.ones(len(records), np.bool_), np.ones(len(records), np.bool_))
        order = np.argsort(records.key, kind="stable")
        keys = records.key[order]
        known = self._known(keys)
        with Files() as files:
            for key in {*known, *_repeated(keys)}:
                first, last = (
                    np.searchsorted(keys, np.uint64(key), "left"),
                    np.searchsorted(keys, np.uint64(key), "right"),
                )
                rows = order[first:last].tolist()
                places = [*known.get(key, ()), *(records.place(row) for row in rows)]
                contents = [self._state.read(files, place) for place in places]
                self._compare(rows, contents, verdict, key)
        return verdict

    def _known(self, keys: NDArray[np.uint64]) -> dict[int, list[Place]]:
        """The stored records that have one of these keys, which are sorted."""
        found: dict[int, dict[Place, None]] = {}
        for run in self.runs:
            for number, place in run.find(keys, self._at_once):
                found.setdefault(int(keys[number]), {})[place] = None
        return {key: list(places) for key, places in found.items()}

    def _compare(self, rows: Sequence[int], contents: Sequence[bytes], verdict: _Verdict, key: int) -> None:
        """`contents` are those of records that are stored, then those of the rows."""
        stored = len(contents) - len(rows)
        if all(content == contents[0] for content in contents):
            _drop(verdict, rows if stored else rows[1:])
            return
        for copies in by_uid(dict(enumerate(contents))):
            new = [(rows[at - stored], reading) for at, reading in copies if at >= stored]
            old = [reading for at, reading in copies if at < stored]
            if new:
                self._compare_copies(new, old, verdict, key)

    def _compare_copies(
        self, new: list[tuple[int, Accepted]], old: list[Accepted], verdict: _Verdict, key: int
    ) -> None:
        """All of one uid."""
        known = {canonical(reading.record) for reading in old}
        texts = [canonical(reading.record) for _, reading in new]
        first_of = {text: row for text, (row, _) in reversed(list(zip(texts, new, strict=True)))}
        rows = [row for row, _ in new]
        if len(known | set(texts)) == 1:
            _drop(verdict, rows if old else rows[1:])
            return
        kept = [row for text, row in first_of.items() if text not in known]
        _drop(verdict, rows if old else rows[1:])
        verdict.stored[kept], verdict.folded[rows] = True, False
        self._contested.add(key)
        self._dirty |= {copy.event.session_id for copy in (*old, *(copy for _, copy in new)) if copy.event}

    def _note(self, records: Records, odd: Sequence[Odd], verdict: _Verdict) -> None:
        manifest, plain = self._state.manifest, len(records) - len(odd)
        manifest.tally.duplicate += verdict.duplicates
        manifest.tally.accepted += len(records) - verdict.duplicates
        for at, one in enumerate(odd):
            if one.reading.capabilities and verdict.stored[plain + at]:
                manifest.snapshots.append(records.place(plain + at))
        stored = records if verdict.stored.all() else records.take(np.flatnonzero(verdict.stored))
        if len(stored):
            manifest.greatest_ts = max(manifest.greatest_ts or 0, int(stored.ts.max()))
            serial, path = self._state.new("records")
            write_run(path, stored)
            manifest.records.append(serial)
            self.runs.append(Run(path))


def _shared(row: Capability, known: dict[Any, Any]) -> Capability:
    """The same row, of values that other rows have as well."""
    values = [getattr(row, name) for name in _FIELDS]
    return Capability(*(known.setdefault(value, value) for value in values))


def _drop(verdict: _Verdict, rows: Sequence[int]) -> None:
    verdict.duplicates += len(rows)
    verdict.stored[rows] = verdict.folded[rows] = False


def _repeated(keys: NDArray[np.uint64]) -> set[int]:
    return set(keys[1:][keys[1:] == keys[:-1]].tolist())


def _records_of(batch: int, piece: Piece, made: Extract) -> Records:
    columns = made.columns
    sessions = np.append(keys_of_texts(made.names), np.zeros(1, np.uint64))
    plain = Records(
        columns.key,
        sessions[columns.session],
        columns.ts,
        np.full(len(columns), batch, np.uint32),
        (columns.offset - piece.start).astype(np.uint32),
        columns.length.astype(np.uint32),
    )
    return joined([plain, _odd_records(batch, piece, made.odd)])


def _odd_records(batch: int, piece: Piece, odd: Sequence[Odd]) -> Records:
    named = np.array([one.reading.session_id is not None for one in odd], np.uint64)
    return Records(
        keys_of_texts([one.reading.uid for one in odd]),
        keys_of_texts([one.reading.session_id or "" for one in odd]) * named,
        np.array([one.reading.ts for one in odd], np.int64),
        np.full(len(odd), batch, np.uint32),
        np.array([one.offset - piece.start for one in odd], np.uint32),
        np.array([one.length for one in odd], np.uint32),
    )
