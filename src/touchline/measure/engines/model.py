"""What a build is asked for and what it answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Self

from touchline.measure.sessions.model import SEMANTICS_VERSION
from touchline.measure.sessions.parser import latest_believed

from .facts import Lines

Tell = Callable[[str], None]


class Engine(StrEnum):
    INCREMENTAL = "incremental"
    BATCH = "batch"


class Received(NamedTuple):
    """When a build reads its events, and the latest date that it believes: they have no other receiver."""

    now_ms: int
    latest_ts: int

    @classmethod
    def at(cls, now: datetime, ahead: timedelta) -> Self:
        return cls(latest_believed(now, timedelta(0)), latest_believed(now, ahead))


ANY_TIME = Received(sys.maxsize, sys.maxsize)


class Source(NamedTuple):
    """An input by the name it was given, and the plain file that is read for it."""

    name: str
    path: Path


@dataclass(slots=True)
class Tally:
    """Every record is counted once: raw = accepted + duplicate + ignored + quarantined."""

    raw: int = 0
    accepted: int = 0
    duplicate: int = 0
    ignored: int = 0
    reasons: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def quarantined(self) -> int:
        return sum(self.reasons.values())

    def refuse(self, reasons: Iterable[str]) -> None:
        for reason in reasons:
            self.reasons[reason] = self.reasons.get(reason, 0) + 1


@dataclass(slots=True)
class Built:
    """Sorted: sessions by their id, what was quarantined by its line."""

    tally: Tally
    greatest_ts: int | None
    sessions: Iterable[Lines]
    quarantine: Iterable[bytes]


def report_of(built: Built, counts: dict[str, int]) -> dict[str, Any]:
    tally = built.tally
    return {
        "raw": tally.raw,
        "accepted": tally.accepted,
        "duplicate": tally.duplicate,
        "ignored": tally.ignored,
        "quarantined": tally.quarantined,
        "reasons": dict(sorted(tally.reasons.items())),
        **counts,
        "semantics_version": SEMANTICS_VERSION,
        "greatest_event_ts": built.greatest_ts,
    }
