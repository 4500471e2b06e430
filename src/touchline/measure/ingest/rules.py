"""Deliveries of events, their records, and what each record was read as. Pure.

Invariant: raw = accepted + duplicate + ignored + quarantined, always.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from touchline.kernel import InvalidInput
from touchline.measure.sessions.parser import Accepted, Ignored, Quarantined, believed, read_text


class RecordVerdict(StrEnum):
    ACCEPTED = "accepted"
    IGNORED = "ignored"
    QUARANTINED = "quarantined"


class DeliveredRecord(NamedTuple):
    """`session_id` is blank for what belongs to none, `uid` for what was not accepted."""

    ordinal: int
    body: bytes
    verdict: RecordVerdict
    reason: str = ""
    detail: str = ""
    type: str = ""
    uid: str = ""
    session_id: str = ""
    event_ts: int | None = None

    @property
    def place(self) -> RecordPlace:
        return RecordPlace(self.session_id, self.uid, self.ordinal)


class RecordPlace(NamedTuple):
    """Where the row of one record of a batch lies."""

    session_id: str
    uid: str
    ordinal: int


@dataclass(frozen=True, slots=True)
class BatchReading:
    """`reading` is the number of this reading of it; `received_at` the time of its first delivery."""

    batch_id: str
    received_at: datetime
    reading: int


class StoredCounts(NamedTuple):
    """How many records of a delivery can be read back: by session, and in the order in which they came."""

    records: int
    arrivals: int

    def is_whole(self, listed: int) -> bool:
        return self == (listed, listed)


NOT_STORED = StoredCounts(0, 0)


@dataclass(frozen=True, slots=True)
class Counters:
    """raw = accepted + duplicate + ignored + quarantined, always."""

    raw: int
    accepted: int
    duplicate: int
    ignored: int
    quarantined: int


@dataclass(frozen=True, slots=True)
class RecordCounts:
    counters: Counters
    reasons: Mapping[str, int]  # of what is quarantined


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record that was quarantined or ignored, where it came from and what was wrong with it."""

    batch_id: str
    ordinal: int
    received_at: datetime
    verdict: RecordVerdict
    reason: str
    detail: str
    type: str
    body: bytes


class EventCopy(NamedTuple):
    """One accepted copy of a uid."""

    session_id: str
    uid: str
    body: bytes


class SeenEvent(NamedTuple):
    """An accepted uid of a batch, and the session of that copy."""

    session_id: str
    uid: str
    event_ts: int


class LatestEvent(NamedTuple):
    """A uid, the latest time of its copies, and where those lie."""

    uid: str
    latest_ts: int
    sessions: list[str]


def read_record(ordinal: int, body: bytes, latest_ts: int | None = None) -> DeliveredRecord:
    """None: any time is believed."""
    match believed(read_text(body), latest_ts):
        case Accepted() as accepted:
            session_id = accepted.session_id or ""
            return DeliveredRecord(
                ordinal,
                body,
                RecordVerdict.ACCEPTED,
                type=accepted.type,
                uid=accepted.uid,
                session_id=session_id,
                event_ts=accepted.ts,
            )
        case Ignored(type=name):
            return DeliveredRecord(ordinal, body, RecordVerdict.IGNORED, reason="unknown_type", type=name)
        case Quarantined(reason=reason, detail=detail, type=name):
            return DeliveredRecord(ordinal, body, RecordVerdict.QUARANTINED, reason=reason, detail=detail, type=name)


def read_records(bodies: Sequence[bytes], latest_ts: int | None = None) -> list[DeliveredRecord]:
    return [read_record(ordinal, body, latest_ts) for ordinal, body in enumerate(bodies)]


def count_records(records: Iterable[DeliveredRecord]) -> RecordCounts:
    """As if there were nothing else: a copy of an event that another delivery brought is not known here."""
    verdicts: Counter[RecordVerdict] = Counter()
    reasons: Counter[str] = Counter()
    uids: set[str] = set()
    for record in records:
        verdicts[record.verdict] += 1
        if record.verdict is RecordVerdict.ACCEPTED:
            uids.add(record.uid)
        elif record.verdict is RecordVerdict.QUARANTINED:
            reasons[record.reason] += 1
    copies = verdicts[RecordVerdict.ACCEPTED]
    return RecordCounts(
        Counters(
            raw=verdicts.total(),
            accepted=len(uids),
            duplicate=copies - len(uids),
            ignored=verdicts[RecordVerdict.IGNORED],
            quarantined=verdicts[RecordVerdict.QUARANTINED],
        ),
        dict(sorted(reasons.items())),
    )


# Deliveries.

_BATCH_ID = re.compile(r"[!-~]{1,300}")  # it is shown, typed and sent in a header


class DeliveryState(StrEnum):
    RECEIVING = "receiving"
    STORED = "stored"
    FOLDED = "folded"
    FORGOTTEN = "forgotten"  # never finished, and without rows when last looked for


@dataclass(frozen=True, slots=True)
class Delivery:
    """The same id with the same records is the same delivery, however often it comes."""

    batch_id: str
    source: str
    records: Sequence[bytes]

    def __post_init__(self) -> None:
        if not _BATCH_ID.fullmatch(self.batch_id):
            raise InvalidInput("not a valid delivery name", field="batch_id", why="use 1 to 300 visible characters")
        if not self.records:
            raise InvalidInput("the delivery is empty", why="it must have at least one record")

    @property
    def content(self) -> str:
        """What tells it from another of the same id."""
        total = sha256()
        for record in self.records:
            total.update(b"%d:" % len(record))
            total.update(record)
        return total.hexdigest()

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.records))


@dataclass(frozen=True, slots=True)
class ReceivedDelivery:
    """A delivery as it is listed."""

    batch_id: str
    content: str
    records: int
    received_at: datetime
    reading: int
    state: DeliveryState
    first: bool  # it was not listed before


@dataclass(frozen=True, slots=True)
class Receipt:
    batch_id: str
    counted: RecordCounts
    repeated: bool  # it had been stored before: nothing has changed
