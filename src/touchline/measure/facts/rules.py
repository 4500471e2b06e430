"""From stored copies to evidence, and how rows are put down. Pure.

Invariant: the copy of a uid that counts is decided over all of its copies, in whatever sessions they lie; it is part
of its own session's evidence and of no other.

Reference facts: the rows that follow from an event beside those of its session. Pure and total.

They are capability snapshots, samples of a stream's quality, discovery results and payments.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, cast

import msgspec

from touchline.measure.ingest.rules import EventCopy
from touchline.measure.sessions.evidence import gather, winner
from touchline.measure.sessions.model import Event, EventType, Evidence, Sample
from touchline.measure.sessions.parser import Accepted, read_text
from touchline.measure.sessions.values import lowered, text, url

Key = tuple[Any, ...]


class ReferenceTable(StrEnum):
    CAPABILITIES = "capability_rows"
    SAMPLES = "workflow_samples"
    DISCOVERY = "discovery_rows"
    PAYMENTS = "payment_rows"


KEYS: dict[ReferenceTable, tuple[str, ...]] = {
    ReferenceTable.CAPABILITIES: ("address", "local_address", "url", "ts", "snapshot_uid", "place"),
    ReferenceTable.SAMPLES: ("workflow_session_id", "ts", "uid", "place"),
    ReferenceTable.DISCOVERY: ("event_ts", "uid", "place"),
    ReferenceTable.PAYMENTS: ("event_ts", "uid", "place"),
}


class ReferenceRow(NamedTuple):
    table: ReferenceTable
    key: Key  # in the order of KEYS
    values: dict[str, Any]


class Combination(NamedTuple):
    """Who an orchestrator is and what it can run, whenever a snapshot says so."""

    address: str
    local_address: str
    url: str
    models: tuple[str, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.address, self.local_address, self.url} - {""})


_decoded = msgspec.json.Decoder().decode
_NUMBER = re.compile(r"\s*([0-9]{1,60}(?:\.[0-9]{1,60})?)\b")
_LARGEST_COUNT = 2**53


def rows_of(accepted: Accepted) -> Iterator[ReferenceRow]:
    """Of the copy that counts. Numbers of entries tell rows of one event apart."""
    if accepted.session_id is not None:
        for place, sample in enumerate(accepted.samples):
            yield _sample(accepted.session_id, place, sample)
    elif accepted.type is EventType.CAPABILITIES:
        yield from _capabilities(accepted)
    elif accepted.type is EventType.DISCOVERY:
        for place, entry in enumerate(cast("list[dict[str, Any]]", _data(accepted))):
            yield _discovery(accepted, place, entry)
    elif accepted.type is EventType.PAYMENT:
        yield _payment(accepted, cast("dict[str, Any]", _data(accepted)))


def changes(counting: Accepted, others: Iterable[Accepted]) -> tuple[list[ReferenceRow], list[ReferenceRow]]:
    """The rows of the copy that counts, and those that only a copy has which does not."""
    rows = list(rows_of(counting))
    kept = {(row.table, row.key) for row in rows}
    return rows, [row for other in others for row in rows_of(other) if (row.table, row.key) not in kept]


def _sample(session_id: str, place: int, sample: Sample) -> ReferenceRow:
    values = {"output_fps": sample.output_fps, "input_fps": sample.input_fps, "jitter_ms": sample.jitter_ms}
    return ReferenceRow(ReferenceTable.SAMPLES, (session_id, sample.moment.ts, sample.moment.uid, place), values)


def _capabilities(accepted: Accepted) -> Iterator[ReferenceRow]:
    for place, row in enumerate(accepted.capabilities):
        key = (row.address, row.local_address, row.url, row.ts, row.snapshot_uid, place)
        gpus = [{"model": model, "gpu": gpu} for model, gpu in row.gpus]
        yield ReferenceRow(ReferenceTable.CAPABILITIES, key, {"models": list(row.models), "gpus": gpus})


def _discovery(accepted: Accepted, place: int, entry: dict[str, Any]) -> ReferenceRow:
    values = {
        "gateway": text(accepted.record.get("gateway")),
        "orchestrator_address": lowered(entry.get("address")) or None,
        "orchestrator_url": url(entry.get("url")) or None,
        "latency_ms": _number(entry.get("latency_ms")),
    }
    return ReferenceRow(ReferenceTable.DISCOVERY, (accepted.ts, accepted.uid, place), values)


def _payment(accepted: Accepted, data: dict[str, Any]) -> ReferenceRow:
    tickets = _number(data.get("numTickets"))
    values = {
        "gateway": text(accepted.record.get("gateway")),
        "request_id": text(data.get("requestID")),
        "payment_session_id": text(data.get("sessionID")),
        "manifest_id": text(data.get("manifestID")),
        "capability": text(data.get("capability")),
        "orchestrator_url": url(data.get("orchestrator")) or None,
        "recipient": lowered(data.get("recipient")) or None,
        "sender": lowered(data.get("sender")) or None,
        "face_value": text(data.get("faceValue")),
        "face_value_wei": _number(data.get("faceValue")),
        "price": text(data.get("price")),
        "ticket_count": int(tickets) if tickets is not None and tickets <= _LARGEST_COUNT else None,
        "win_probability": _number(data.get("winProb")),
    }
    return ReferenceRow(ReferenceTable.PAYMENTS, (accepted.ts, accepted.uid, 0), values)


def _data(accepted: Accepted) -> object:
    """Reading has made sure of its shape; it may be written as text."""
    data = accepted.record.get("data")
    return _decoded(data) if isinstance(data, str) else data


def _number(value: object) -> float | None:
    """A number, or a text that begins with one: `2402400000000000 WEI`."""
    if type(value) is int or type(value) is float:
        return float(value) if 0 <= value < 1e60 else None
    match = _NUMBER.match(value) if type(value) is str else None
    return float(match[1]) if match else None


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
