"""Reference facts: the rows that follow from an event beside those of its session. Pure and total.

They are capability snapshots, samples of a stream's quality, discovery results and payments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple, cast

import msgspec

from touchline.measure.sessions.model import EventType, Sample
from touchline.measure.sessions.parser import Accepted
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
