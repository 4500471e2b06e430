"""What IngestWorkflow and its activities say to each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from touchline.watch.outcomes import FixtureOutcome


@dataclass(frozen=True, slots=True)
class IngestInput:
    """Nothing: today and tomorrow. A date: that day. Ids: these matches, whoever plays; they win over a date."""

    target_date: str | None = None
    fixture_ids: list[int] | None = None
    look_ahead_days: int = 30
    aliases_at_once: int = 4
    until_answered: bool = False  # nobody waits for it: the feed is asked until it answers


@dataclass(frozen=True, slots=True)
class Wanted:
    """Of the feed: a day's matches of the teams that are followed, or at most twenty matches by their ids."""

    day: str | None = None
    fixture_ids: list[int] = field(default_factory=list[int])
    until_answered: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    documents: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])  # without their events
    missing: list[int] = field(default_factory=list[int])  # asked for by id, and not in the answer


@dataclass(frozen=True, slots=True)
class TeamRef:
    team_id: int
    team_name: str


@dataclass(frozen=True, slots=True)
class Stored:
    outcomes: list[FixtureOutcome] = field(default_factory=list[FixtureOutcome])
    teams: list[TeamRef] = field(default_factory=list[TeamRef])


@dataclass(frozen=True, slots=True)
class IngestResult:
    days: list[str]
    stored: int
    failed: list[FixtureOutcome]
    teams: int
    aliases_failed: int
    removed: int
