"""One record of a delivery, what it was read as, and how many there are of each kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class Verdict(StrEnum):
    ACCEPTED = "accepted"
    IGNORED = "ignored"
    QUARANTINED = "quarantined"


class Delivered(NamedTuple):
    """`session_id` is blank for what belongs to none, `uid` for what was not accepted."""

    ordinal: int
    body: bytes
    verdict: Verdict
    reason: str = ""
    detail: str = ""
    type: str = ""
    uid: str = ""
    session_id: str = ""
    event_ts: int | None = None

    @property
    def place(self) -> Place:
        return Place(self.session_id, self.uid, self.ordinal)


class Place(NamedTuple):
    """Where the row of one record of a batch lies."""

    session_id: str
    uid: str
    ordinal: int


@dataclass(frozen=True, slots=True)
class Batch:
    """`reading` is the number of this reading of it; `received_at` the time of its first delivery."""

    batch_id: str
    received_at: datetime
    reading: int


class Stored(NamedTuple):
    """How many records of a delivery can be read back: by session, and in the order in which they came."""

    records: int
    arrivals: int

    def is_whole(self, listed: int) -> bool:
        return self == (listed, listed)


NOT_STORED = Stored(0, 0)


@dataclass(frozen=True, slots=True)
class Counters:
    """raw = accepted + duplicate + ignored + quarantined, always."""

    raw: int
    accepted: int
    duplicate: int
    ignored: int
    quarantined: int


@dataclass(frozen=True, slots=True)
class Counted:
    counters: Counters
    reasons: Mapping[str, int]  # of what is quarantined


@dataclass(frozen=True, slots=True)
class SetAside:
    """A record that was quarantined or ignored, where it came from and what was wrong with it."""

    batch_id: str
    ordinal: int
    received_at: datetime
    verdict: Verdict
    reason: str
    detail: str
    type: str
    body: bytes


class Copy(NamedTuple):
    """One accepted copy of a uid."""

    session_id: str
    uid: str
    body: bytes


class Seen(NamedTuple):
    """An accepted uid of a batch, and the session of that copy."""

    session_id: str
    uid: str
    event_ts: int


class Latest(NamedTuple):
    """A uid, the latest time of its copies, and where those lie."""

    uid: str
    latest_ts: int
    sessions: list[str]
