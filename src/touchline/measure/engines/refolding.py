"""Folds sessions anew from all that is stored of them: those that an id with two contents concerns.

Invariant: the result is that of the set of events, as if the copy that counts had been the only one. Memory holds some
of those events at a time: what they are folded to goes to disk, and parts of a session are merged like any others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from touchline.measure.sessions.evidence import gather, merge, winner
from touchline.measure.sessions.model import Capability, Event, Evidence

from .copies import by_uid
from .keys import keys_of_texts
from .pieces import Files
from .records import Place, Records, Run, in_slices
from .spill import all_evidence, sorted_evidence, write_evidence
from .state import State

ROW_BYTES = 64  # of records, for each row that may be looked at: read ones take much more room than rows
ROWS_OF_SESSION = 8
MOST_RUNS = 32


@dataclass(slots=True)
class Refolded:
    """`greatest_ts` is that of all events that count, `capabilities` are those that such ids tell."""

    capabilities: list[Capability] = field(default_factory=list[Capability])
    evidence: Iterable[Evidence] = ()
    greatest_ts: int | None = None


def refold(state: State, runs: Sequence[Run], at_once: int) -> Refolded:
    if not state.manifest.contested:
        return Refolded()
    return _Refolding(state, at_once).result(in_slices(runs, at_once))


class _Refolding:
    def __init__(self, state: State, at_once: int) -> None:
        self._state = state
        self._most_bytes, self._most_sessions = at_once * ROW_BYTES, max(at_once // ROWS_OF_SESSION, 1)
        self._dirty = set(state.manifest.dirty)
        self._dirty_keys = np.sort(keys_of_texts(state.manifest.dirty))
        self._contested = np.sort(np.array(state.manifest.contested, np.uint64))
        self._open: dict[str, Evidence] = {}
        self._spilled: list[Path] = []
        self._capabilities: list[Capability] = []
        self._greatest = 0

    def result(self, slices: Iterable[Records]) -> Refolded:
        with Files() as files:
            for records in slices:
                decided = _among(records.key, self._contested)
                self._greatest = max(self._greatest, int(records.ts[~decided].max(initial=0)))
                chosen = records.take(np.flatnonzero(decided | _among(records.session, self._dirty_keys)))
                for portion in _portions(chosen, self._most_bytes):
                    self._take({place: self._state.read(files, place) for place in portion})
        self._spill()
        return Refolded(self._capabilities, all_evidence(self._spilled), self._greatest)

    def _take(self, contents: dict[Place, bytes]) -> None:
        """All copies of their ids."""
        sessions: dict[str, list[Event]] = defaultdict(list)
        for copies in by_uid(contents):
            counts = winner(reading for _, reading in copies)
            self._greatest = max(self._greatest, counts.ts)
            self._capabilities += counts.capabilities
            if counts.event and counts.event.session_id in self._dirty:
                sessions[counts.event.session_id].append(counts.event)
        for name, events in sessions.items():
            known, evidence = self._open.get(name), gather(events)
            self._open[name] = merge(known, evidence) if known else evidence
        if len(self._open) >= self._most_sessions:
            self._spill()

    def _spill(self) -> None:
        """The manifest does not name these files: they go with the next commit."""
        self._spilled.append(self._written(sorted_evidence(self._open.values())))
        self._open = {}
        if len(self._spilled) > MOST_RUNS:
            self._spilled = [self._written(all_evidence(self._spilled))]

    def _written(self, evidence: Iterable[Evidence]) -> Path:
        _, path = self._state.new("evidence")
        write_evidence(path, evidence)
        return path


def _portions(records: Records, most_bytes: int) -> Iterator[list[Place]]:
    """Some of them at a time, which are not long together. Those of one key are never parted."""
    before = np.cumsum(records.length, dtype=np.int64)[np.searchsorted(records.key, records.key, "left")]
    for rows in np.split(np.arange(len(records)), np.flatnonzero(np.diff(before // most_bytes)) + 1):
        yield [records.place(row) for row in rows.tolist()]


def _among(values: NDArray[Any], ordered: NDArray[Any]) -> NDArray[np.bool_]:
    if not len(ordered):
        return np.zeros(len(values), np.bool_)
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return ordered[places] == values
