"""What a build is asked for, what it answers, and the lines that it writes of a session."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from touchline.measure.sessions.model import SEMANTICS_VERSION, Evidence, ParameterRow, SegmentRow, SessionRow
from touchline.measure.sessions.parser import latest_believed
from touchline.measure.sessions.rules import Directory, Rules, conclude

Progress = Callable[[str], None]
_encode = msgspec.json.Encoder().encode


class BuildEngine(StrEnum):
    INCREMENTAL = "incremental"  # one process
    BATCH = "batch"  # as many as there are processors


class Received(NamedTuple):
    """When a build reads its events, and the latest date that it believes: they have no other receiver."""

    now_ms: int
    latest_ts: int

    @classmethod
    def at(cls, now: datetime, ahead: timedelta) -> Self:
        return cls(latest_believed(now, timedelta(0)), latest_believed(now, ahead))


ANY_TIME = Received(sys.maxsize, sys.maxsize)


class InputFile(NamedTuple):
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


class Lines(NamedTuple):
    """Of one session, each context with a line's end: the same facts, the same bytes."""

    session_id: str
    session: bytes
    segments: bytes
    parameters: bytes


def lines_of(evidence: Evidence, directory: Directory, rules: Rules, now_ms: int) -> Lines:
    facts = conclude(evidence, directory, rules, now_ms)
    return Lines(
        evidence.session_id,
        line_of(facts.session),
        b"".join(map(line_of, facts.segments)),
        b"".join(map(line_of, facts.parameters)),
    )


def line_of(row: SessionRow | SegmentRow | ParameterRow) -> bytes:
    """Keys in the order of the columns, no spaces."""
    return _encode(row) + b"\n"


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
