"""From stored copies to evidence, and how rows are put down. Pure.

Invariant: the copy of a uid that counts is decided over all of its copies, in whatever sessions they lie; it is part
of its own session's evidence and of no other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from touchline.measure.ingest.rules import EventCopy
from touchline.measure.sessions.evidence import gather, winner
from touchline.measure.sessions.model import Event, Evidence
from touchline.measure.sessions.parser import Accepted, read_text

from .reference_rules import ReferenceRow, changes


class SessionPlace(NamedTuple):
    """Under which day a session was written."""

    workflow_session_id: str
    start_day: date


class DecidedEvent(NamedTuple):
    """The copy of a uid that counts, and those that do not."""

    counting: Accepted
    others: tuple[Accepted, ...]


@dataclass(frozen=True, slots=True)
class AffectedSessions:
    """Whom snapshots may concern: who saw a name of `changed` at any time, or one of `listed` within the times."""

    changed: frozenset[str]
    listed: frozenset[str]
    from_ts: int
    to_ts: int


@dataclass(slots=True)
class EventTimes:
    """The greatest time of events that count, and times at which only copies are that do not."""

    greatest: int = 0
    contested: set[int] = field(default_factory=set[int])

    def add(self, decided: DecidedEvent) -> None:
        self.greatest = max(self.greatest, decided.counting.ts)
        self.contested.update(other.ts for other in decided.others if other.ts > decided.counting.ts)

    def include(self, other: EventTimes) -> None:
        self.greatest = max(self.greatest, other.greatest)
        self.contested |= other.contested


@dataclass(slots=True)
class FoldPortion:
    """What was found of some sessions. One without evidence has no event that counts."""

    evidence: dict[str, Evidence | None]
    rows: list[ReferenceRow] = field(default_factory=list[ReferenceRow])
    gone: list[ReferenceRow] = field(default_factory=list[ReferenceRow])
    times: EventTimes = field(default_factory=EventTimes)


@dataclass(frozen=True, slots=True)
class PassReport:
    batches: int
    records: int
    sessions: int
    more: bool  # some that waited were left for the next one


LATEST_DAY = date(2149, 6, 6)  # that ClickHouse's Date knows
MOST_MONTHS = 50  # of one insert; ClickHouse refuses more than 100 partitions
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decide(copies: Iterable[EventCopy]) -> list[DecidedEvent]:
    bodies: dict[str, dict[bytes, None]] = {}
    for copy in copies:
        bodies.setdefault(copy.uid, {})[copy.body] = None
    readings = ([read for body in one if isinstance(read := read_text(body), Accepted)] for one in bodies.values())
    return [_decided(read) for read in readings if read]


def _decided(readings: list[Accepted]) -> DecidedEvent:
    if len(readings) == 1:
        return DecidedEvent(readings[0], ())
    return DecidedEvent(winner(readings), tuple(readings))


def portion(session_ids: Collection[str], copies: Iterable[EventCopy], fresh: Collection[str] | None) -> FoldPortion:
    """Of these sessions, from all copies of their uids. Rows beside them for `fresh` uids, and None means for all."""
    found, events = FoldPortion({}), {session_id: list[Event]() for session_id in session_ids}
    for one in decide(copies):
        counting = one.counting
        if counting.event and counting.session_id in events:
            events[counting.session_id].append(counting.event)
        if fresh is None or counting.uid in fresh:
            add_sessionless(found, one)
    found.evidence = {session_id: gather(some) if some else None for session_id, some in events.items()}
    return found


def add_sessionless(found: FoldPortion, decided: DecidedEvent) -> None:
    """What follows from an event beside its session."""
    rows, gone = changes(decided.counting, decided.others)
    found.rows += rows
    found.gone += gone
    found.times.add(decided)


def chunks(sizes: Mapping[str, int], most_bytes: int, most: int) -> Iterator[list[str]]:
    """Sessions that are held at once: few enough, and small enough together."""
    chunk: list[str] = []
    total = 0
    for session_id, size in sizes.items():
        if chunk and (total + size > most_bytes or len(chunk) == most):
            yield chunk
            chunk, total = [], 0
        chunk.append(session_id)
        total += size
    if chunk:
        yield chunk


def spans(moments: Iterable[int], window_ms: int) -> list[tuple[int, int]]:
    """The times that are at most so far from one of the moments, in order and apart."""
    found: list[tuple[int, int]] = []
    for moment in sorted(set(moments)):
        start, end = moment - window_ms, moment + window_ms
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def start_day(ts: int) -> date:
    return min((_EPOCH + timedelta(milliseconds=ts)).date(), LATEST_DAY)


def inserts(rows: Iterable[dict[str, Any]]) -> Iterator[Sequence[dict[str, Any]]]:
    """Rows by few months each."""
    months: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in rows:
        months.setdefault((row["start_day"].year, row["start_day"].month), []).append(row)
    ordered = sorted(months)
    for at in range(0, len(ordered), MOST_MONTHS):
        yield [row for month in ordered[at : at + MOST_MONTHS] for row in months[month]]
