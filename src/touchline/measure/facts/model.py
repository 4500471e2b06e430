"""What a fold pass works with."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from touchline.measure.sessions.model import Evidence
from touchline.measure.sessions.parser import Accepted
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
class Times:
    """The greatest time of events that count, and times at which only copies are that do not."""

    greatest: int = 0
    contested: set[int] = field(default_factory=set[int])

    def add(self, decided: Decided) -> None:
        self.greatest = max(self.greatest, decided.counting.ts)
        self.contested.update(other.ts for other in decided.others if other.ts > decided.counting.ts)

    def include(self, other: Times) -> None:
        self.greatest = max(self.greatest, other.greatest)
        self.contested |= other.contested


@dataclass(slots=True)
class Portion:
    """What was found of some sessions. One without evidence has no event that counts."""

    evidence: dict[str, Evidence | None]
    rows: list[Row] = field(default_factory=list[Row])
    gone: list[Row] = field(default_factory=list[Row])
    times: Times = field(default_factory=Times)


@dataclass(frozen=True, slots=True)
class PassReport:
    batches: int
    records: int
    sessions: int
    more: bool  # some that waited were left for the next one
