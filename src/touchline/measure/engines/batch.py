"""All events at once: extraction and grouping by columns, on as many processes as there are processors.

Invariant: of all records the same set counts as in any other order. Columns stay in memory, lines do not.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge as merged
from zlib import crc32

import numpy as np

from touchline.measure.sessions.gathering import gather, merge
from touchline.measure.sessions.model import Capability, Event
from touchline.measure.sessions.rules import Directory, Rules
from touchline.platform.crew import crew

from .collecting import uncollected
from .columns import NO_SESSION, Columns
from .distinct import Distinct, distinct
from .extraction import Extract, extract
from .facts import Lines, lines_of
from .model import Built, Source, Tally, Tell
from .pieces import Piece, pieces_of
from .reduction import evidence_of

LEAST_PIECE, MOST_PIECE = 1 << 20, 32 << 20
WORTH_A_CREW = 24 << 20  # bytes: below, starting processes takes longer than the work
SHARES = 2  # for each process: none waits long for the last


@dataclass(frozen=True, slots=True)
class Share:
    """The sessions that one process concludes at a time."""

    columns: Columns
    events: dict[str, list[Event]]
    capabilities: Sequence[Capability]
    rules: Rules
    greatest_ts: int


def build(sources: Sequence[Source], rules: Rules, tell: Tell, *, members: int = 0, piece_bytes: int = 0) -> Built:
    """`members` is the number of processes; the size of the input decides what is not given."""
    size = sum(source.path.stat().st_size for source in sources)
    members = members or (len(os.sched_getaffinity(0)) if size > WORTH_A_CREW else 1)
    piece_bytes = piece_bytes or min(max(size // (4 * members), LEAST_PIECE), MOST_PIECE)
    pieces = [piece for source in sources for piece in pieces_of(source.path, size=piece_bytes)]
    with crew(members) as together:
        extracts = together.each(extract, pieces, _Progress(pieces, tell).add)
        tally = _counted(extracts)
        quarantine = sorted(refused.line() for each in extracts for refused in each.refused)
        found = distinct(pieces, extracts)
        del extracts
        tally.duplicate, tally.accepted = found.duplicates, found.accepted
        tell(f"{tally.raw} records, {len(found.columns.names)} sessions")
        shares = list(_shares(found, rules, members * SHARES if members > 1 else 1))
        concluded = together.each(conclude_share, shares)
    return Built(tally, found.greatest_ts, merged(*concluded), quarantine)


class _Progress:
    def __init__(self, pieces: Iterable[Piece], tell: Tell) -> None:
        self._total, self._done, self._told = sum(piece.end - piece.start for piece in pieces), 0, 0
        self._tell = tell

    def add(self, piece: Piece) -> None:
        self._done += piece.end - piece.start
        if 10 * self._done // self._total > self._told:
            self._told = 10 * self._done // self._total
            self._tell(f"{10 * self._told} % read")


def _counted(extracts: Iterable[Extract]) -> Tally:
    tally = Tally()
    for each in extracts:
        tally.raw += each.raw
        tally.ignored += each.ignored
        tally.refuse(refused.reason for refused in each.refused)
    return tally


def _shares(found: Distinct, rules: Rules, count: int) -> Iterator[Share]:
    events: list[dict[str, list[Event]]] = [defaultdict(list) for _ in range(count)]
    for event in found.events:
        events[_share_of(event.session_id, count)][event.session_id].append(event)
    columns = found.columns
    share_of = np.array([*(_share_of(name.session_id, count) for name in columns.names), NO_SESSION], np.int32)
    rows = share_of[columns.session]
    for number in range(count):
        part = columns.take(np.flatnonzero(rows == number)).trimmed()
        yield Share(part, events[number], found.capabilities, rules, found.greatest_ts or 0)


def _share_of(session_id: str, count: int) -> int:
    return crc32(session_id.encode()) % count


def conclude_share(share: Share) -> list[Lines]:
    """Sorted by session."""
    with uncollected():
        return _concluded(share)


def _concluded(share: Share) -> list[Lines]:
    directory = Directory.of(share.capabilities)
    evidence = {one.session_id: one for one in evidence_of(share.columns)}
    for session_id, events in share.events.items():
        gathered = gather(events)
        known = evidence.get(session_id)
        evidence[session_id] = merge(known, gathered) if known else gathered
    return [lines_of(evidence[name], directory, share.rules, share.greatest_ts) for name in sorted(evidence)]
