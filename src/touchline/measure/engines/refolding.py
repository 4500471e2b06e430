"""Folds sessions anew from all that is stored of them: those that an id with two contents concerns.

Invariant: the result is that of the set of events, as if the copy that counts had been the only one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from touchline.measure.sessions.gathering import gather, winner
from touchline.measure.sessions.model import Capability, Event, Evidence

from .copies import by_uid
from .keys import keys_of_texts
from .pieces import Files
from .records import Place, Run
from .spill import sorted_evidence
from .state import State


@dataclass(slots=True)
class Refolded:
    """`greatest_ts` is that of all events that count, `capabilities` are those that such ids tell."""

    capabilities: list[Capability] = field(default_factory=list[Capability])
    evidence: list[Evidence] = field(default_factory=list[Evidence])
    greatest_ts: int | None = None


def refold(state: State, runs: Sequence[Run]) -> Refolded:
    contested = np.array(state.manifest.contested, np.uint64)
    if not len(contested):
        return Refolded()
    dirty = set(state.manifest.dirty)
    dirty_keys = keys_of_texts(sorted(dirty))
    places: dict[Place, bool] = {}
    greatest = 0
    for run in runs:
        records = run.records()
        decided = np.isin(records.key, contested)
        greatest = max(greatest, int(records.ts[~decided].max(initial=0)))
        for row in np.flatnonzero(decided | np.isin(records.session, dirty_keys)).tolist():
            places[records.place(row)] = bool(decided[row])
        del records
        run.forget()
    return _folded(state, places, dirty, greatest)


def _folded(state: State, places: dict[Place, bool], dirty: set[str], greatest: int) -> Refolded:
    with Files() as files:
        contents = {
            place: files.read(str(state.path("batch", place.batch)), place.offset, place.length) for place in places
        }
    sessions: dict[str, list[Event]] = defaultdict(list)
    capabilities: list[Capability] = []
    for copies in by_uid(contents):
        counts = winner(reading for _, reading in copies)
        greatest = max(greatest, counts.ts)
        capabilities += counts.capabilities
        if counts.event and counts.event.session_id in dirty:
            sessions[counts.event.session_id].append(counts.event)
    return Refolded(capabilities, sorted_evidence(map(gather, sessions.values())), greatest)
