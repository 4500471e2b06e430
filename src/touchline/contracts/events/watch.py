"""What happens to matches, goals and their videos. Written by watch, read by serve, measure and the page."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from .envelope import Payload


class FixtureChanged(Payload):
    """The feed reported something new about a match, or the match moved to another stage."""

    event_type: ClassVar[str] = "fixture.changed"
    fixture_id: int
    stage: str
    status: str
    home_goals: int | None = None
    away_goals: int | None = None

    @property
    def key(self) -> str:
        return f"fixture:{self.fixture_id}"


class GoalChanged(Payload):
    """A goal was seen, became stable, was searched for, ended or was taken away."""

    event_type: ClassVar[str] = "goal.changed"
    event_id: str
    generation: int
    fixture_id: int
    what: str  # seen, stable, searching, searched, archived, complete, removed, moved
    attempt: int | None = None
    outcome: str | None = None
    moved_to: str | None = None

    @property
    def key(self) -> str:
        return f"goal:{self.event_id}:{self.generation}"


class GoalVideoJudged(Payload):
    """It was checked whether a found video shows this goal. Its file stands for all identical ones."""

    event_type: ClassVar[str] = "goal.video_judged"
    event_id: str
    generation: int
    fixture_id: int
    post_id: str
    video_index: int
    began_at: datetime
    rejected: str | None = None  # why; null when it may be the goal

    @property
    def key(self) -> str:
        return f"goal_video:{self.event_id}:{self.generation}:{self.post_id}:{self.video_index}"


class GoalVideoPayload(Payload):
    artifact_hash: str
    event_id: str
    generation: int
    fixture_id: int

    @property
    def key(self) -> str:
        return f"artifact:{self.artifact_hash}"


class GoalVideoKept(GoalVideoPayload):
    """A goal's video is in the archive: it is to become an artifact of this tenant."""

    event_type: ClassVar[str] = "goal.video_kept"
    object_key: str  # the whole file, immutable
    size_bytes: int
    content_type: str
    file_name: str
    title: str
    retention_until: datetime


class GoalVideoLabeled(GoalVideoPayload):
    """What a kept video shows, as the feed says it now: announced when it is kept, and again whenever that changes. The
    highest revision counts."""

    event_type: ClassVar[str] = "goal.video_labeled"
    title: str
    home_team: str
    away_team: str
    player: str | None = None  # null: the scorer is not known


class GoalVideoDropped(GoalVideoPayload):
    """The video is no longer kept: its goal was annulled, or a better copy took its place. Not to be undone."""

    event_type: ClassVar[str] = "goal.video_dropped"
    why: str  # annulled, replaced or expired
    replaced_by: str | None = None  # another artifact


class GoalVideoPinned(GoalVideoPayload):
    """A user wants to keep it beyond its match, or no longer."""

    event_type: ClassVar[str] = "goal.video_pinned"
    pinned: bool
    actor: str | None = None


PAYLOADS: tuple[type[Payload], ...] = (
    FixtureChanged,
    GoalChanged,
    GoalVideoJudged,
    GoalVideoKept,
    GoalVideoLabeled,
    GoalVideoDropped,
    GoalVideoPinned,
)
