"""What a fold pass works with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from touchline.measure.sessions.model import Evidence
from touchline.measure.sessions.reading import Accepted
from touchline.measure.supporting.model import Row


class Placed(NamedTuple):
    """Under which day a session was written."""

    workflow_session_id: str
    start_day: date


class Decided(NamedTuple):
    """The copy of a uid that counts, and those that do not."""

    counting: Accepted
    others: tuple[Accepted, ...]


@dataclass(frozen=True, slots=True)
class Concern:
    """Whom snapshots may concern: who saw a name of `changed` at any time, or one of `listed` within the times."""

    changed: frozenset[str]
    listed: frozenset[str]
    from_ts: int
    to_ts: int


@dataclass(slots=True)
class Portion:
    """What was found of some sessions. One without evidence has no event that counts."""

    evidence: dict[str, Evidence | None]
    rows: list[Row]
    gone: list[Row]


@dataclass(frozen=True, slots=True)
class PassReport:
    batches: int
    records: int
    sessions: int
