"""The sessions, shared out among processes: each concludes those between two names, so that results follow each other.

Invariant: each session is in one share, with all its rows of all pieces and all that was read of it one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from touchline.measure.sessions.evidence import gather, merge
from touchline.measure.sessions.model import Capability, Event
from touchline.measure.sessions.rules import Directory, Rules

from .collecting import uncollected
from .columns import NO_SESSION, Columns, Numbers, Profile, joined
from .distinct import Distinct
from .facts import Lines, lines_of
from .reduction import evidence_of
from .sheets import Filed, Sheet


class Part(NamedTuple):
    """What a share has of one piece. `session` and `profile` renumber those of the sheet."""

    sheet: Sheet
    session: NDArray[np.int32]  # the last place is for rows without one
    profile: NDArray[np.int32]
    dropped: NDArray[np.int64]

    def columns(self) -> Columns:
        columns = self.sheet.columns()
        session = self.session[columns.session]
        session[self.dropped] = NO_SESSION
        rows = np.flatnonzero(session != NO_SESSION)
        taken = columns.take(rows)
        taken.session, taken.profile = session[rows], self.profile[taken.profile]
        return taken


class Ending(NamedTuple):
    """By what sessions are over."""

    rules: Rules
    now_ms: int


@dataclass(frozen=True, slots=True)
class Share:
    """The sessions that one process concludes at a time, sorted."""

    names: list[str]
    profiles: list[Profile]
    parts: list[Part]
    events: dict[str, list[Event]]
    capabilities: Sequence[Capability]
    ending: Ending


def shares_of(extracts: Sequence[Filed], found: Distinct, ending: Ending, count: int) -> Iterator[Share]:
    events: dict[str, list[Event]] = defaultdict(list)
    for event in found.events:
        events[event.session_id].append(event)
    names = sorted(set(events).union(*(each.made.names for each in extracts)))
    place = {name: at for at, name in enumerate(names)}
    sessions = [np.array([*map(place.__getitem__, each.made.names), NO_SESSION], np.int32) for each in extracts]
    profiles = Numbers[Profile]()
    looks = [np.array(profiles.numbers(each.made.profiles), np.int32) for each in extracts]
    for number in range(count):
        first, last = len(names) * number // count, len(names) * (number + 1) // count
        parts = [
            Part(each.sheet, _within(session, first, last), look, dropped)
            for each, session, look, dropped in zip(extracts, sessions, looks, found.dropped, strict=True)
        ]
        own = names[first:last]
        told = {name: events[name] for name in own if name in events}
        yield Share(own, profiles.values, parts, told, found.capabilities, ending)


def _within(places: NDArray[np.int32], first: int, last: int) -> NDArray[np.int32]:
    """Counted from the first; those before it and from the last on have none."""
    return np.where((places >= first) & (places < last), places - first, NO_SESSION).astype(np.int32)


def conclude_share(share: Share) -> list[Lines]:
    """Sorted by session."""
    with uncollected():
        return _concluded(share)


def _concluded(share: Share) -> list[Lines]:
    directory = Directory.of(share.capabilities)
    columns = joined([part.columns() for part in share.parts])
    evidence = {one.session_id: one for one in evidence_of(columns, share.names, share.profiles, share.events)}
    for session_id, events in share.events.items():
        gathered = gather(events)
        known = evidence.get(session_id)
        evidence[session_id] = merge(known, gathered) if known else gathered
    return [lines_of(evidence[name], directory, *share.ending) for name in sorted(evidence)]
