"""What the feed tells of a match, as values. How its documents become these is in `documents.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Team:
    id: int
    name: str


@dataclass(frozen=True, slots=True)
class FeedGoal:
    """A tracked entry of a match's list of events. Its place in the list means nothing."""

    team: Team  # whose score it counts for, also of an own goal
    player_id: int | None
    player_name: str | None
    type: str
    detail: str
    minute: int
    extra: int | None
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FeedFixture:
    id: int
    status: str
    elapsed: int | None
    kick_off: datetime
    league_id: int | None
    league_name: str
    season: int | None
    home: Team
    away: Team
    home_goals: int | None
    away_goals: int | None
    winner_id: int | None
    goals: tuple[FeedGoal, ...] | None  # None: it was asked without events
    raw: Mapping[str, Any]
