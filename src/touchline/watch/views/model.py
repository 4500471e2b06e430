"""What is read of matches, goals and their videos, and what is said of them. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any, NamedTuple


class GoalKey(NamedTuple):
    """A reused id is another goal, told by its generation."""

    event_id: str
    generation: int


class GoalState(StrEnum):
    UNIDENTIFIED = "unidentified"  # the feed has not named the scorer
    SEEN = "seen"  # in too few looks to be trusted
    STABLE = "stable"  # trusted, its search is about to begin
    SEARCHING = "searching"
    VALIDATING = "validating"  # all searches are over, something waits to be judged
    ARCHIVING = "archiving"  # or to be put into the archive
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Match:
    id: int
    stage: str
    status: str
    elapsed: int | None
    kick_off: datetime
    league_id: int | None
    league_name: str
    home_id: int
    home_name: str
    away_id: int
    away_name: str
    home_goals: int | None
    away_goals: int | None
    last_monitor: datetime | None
    completed_at: datetime | None
    failure: str | None
    revision: int


@dataclass(frozen=True, slots=True)
class MatchDay:
    """One day in UTC."""

    day: date
    matches: int
    live: int
    goals: int
    covered: int


@dataclass(frozen=True, slots=True)
class FoundGroup:
    """Found videos of one goal that ended alike."""

    state: str
    why: str | None  # the code alone
    waits: bool  # downloaded, and not judged yet
    count: int


@dataclass(frozen=True, slots=True)
class Video:
    """One that is kept. Rank 1 is the best."""

    artifact_hash: str
    rank: int
    verified: bool
    clock: str | None
    popularity: int
    source_url: str
    archived_at: datetime
    size_bytes: int
    duration_ms: int
    width: int
    height: int
    revision: int


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal's row with what was found of it: all of one moment."""

    event_id: str
    generation: int
    fixture_id: int
    team_id: int
    team_name: str
    player_id: int | None
    player_name: str | None
    type: str
    detail: str
    minute: int
    extra: int | None
    home_score: int
    away_score: int
    first_seen: datetime
    seen: int  # monitor runs in a row
    stable_at: datetime | None
    monitor_complete: bool
    twitter_attempt: int
    searched_at: datetime | None
    search_failure: str | None
    attempts_ended: int
    download_complete: bool
    completed_at: datetime | None
    outcome: str | None
    first_archived_at: datetime | None
    batches_waiting: int
    downloaded: int
    validated: int
    archived: int
    revision: int
    found: tuple[FoundGroup, ...] = ()
    videos: tuple[Video, ...] = ()

    @property
    def key(self) -> GoalKey:
        return GoalKey(self.event_id, self.generation)


@dataclass(frozen=True, slots=True)
class ViewLimits:
    """How much there is to come, as the settings have it."""

    polls_to_trust: int
    search_attempts: int


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason why a goal has no video, or fewer than were found; `count` is how many videos it concerns."""

    code: str
    words: str
    count: int


@dataclass(frozen=True, slots=True)
class Shown:
    state: GoalState
    words: str
    why: tuple[Reason, ...]
    summary: str  # of `why`, as one line; empty when there is nothing to explain


@dataclass(frozen=True, slots=True)
class GoalTelemetry:
    attempts: int
    found: int
    downloaded: int
    validated: int
    archived: int
    failures: Mapping[str, int]  # by class
    first_seen: datetime
    first_archived: datetime | None
    first_video_s: float | None


@dataclass(frozen=True, slots=True)
class MatchTelemetry:
    goals: int
    covered: int  # with at least one video
    coverage: float | None  # without a goal there is none
    first_video_p50_s: float | None
    first_video_p95_s: float | None
    top_failure: Reason | None


@dataclass(frozen=True, slots=True)
class GoalDocument:
    """What the documents of the seeds have beside the row: lists as they were written."""

    raw: Mapping[str, Any]
    sets: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    discovered: tuple[Mapping[str, Any], ...] = ()
