"""A day as people write it. What a script leaves open, the day's seed decides.

Every key is described in docs/reference/world-script.md. Invariant: a day depends on its script and seed alone.
"""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from touchline_world.videos.model import BugStyle

from .model import Delivery, Service, Trouble
from .values import HOUR, MINUTE, SECOND, Duration, MatchMinute, TimeOfDay


class ScriptModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MatchSide(StrEnum):
    HOME = "home"
    AWAY = "away"


class Transform(StrEnum):
    """What somebody did to a video before posting it."""

    PLAIN = "plain"
    SMALL = "small"
    LARGE = "large"
    ROUGH = "rough"
    LOGO = "logo"
    LETTERBOX = "letterbox"
    CROPPED = "cropped"
    MIRRORED = "mirrored"
    FASTER = "faster"
    BRIGHT = "bright"
    TRIMMED = "trimmed"
    TOO_SHORT = "too_short"
    FILMED = "filmed"


class Posts(ScriptModel):
    """What people post about one goal."""

    copies: int = Field(default=4, ge=0, le=40)
    takes: int = Field(default=1, ge=1, le=2)
    transforms: tuple[Transform, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    first_after: Duration = 20 * SECOND
    last_after: Duration = 10 * MINUTE
    look_alikes: int = Field(default=1, ge=0, le=10)
    unrelated: int = Field(default=0, ge=0, le=10)
    promoted: int = Field(default=0, ge=0, le=5)
    quotes: int = Field(default=0, ge=0, le=5)
    several_videos: int = Field(default=0, ge=0, le=5)
    misspelt: int = Field(default=0, ge=0, le=5)
    removed: int = Field(default=0, ge=0, le=5)


class FeedGlitch(ScriptModel):
    after: Duration
    lasts: Duration


class Correction(ScriptModel):
    """The feed changes its mind about a goal."""

    after: Duration
    player: str | None = None
    minute: MatchMinute | None = None


class Incident(ScriptModel):
    minute: MatchMinute
    second: int | None = Field(default=None, ge=0, le=59)
    side: MatchSide


class GoalIncident(Incident):
    """`side` is whose score it counts for; the player of an own goal is of the other side."""

    kind: Literal["goal", "penalty", "own_goal"]
    player: str | None = None
    assist: str | None = None
    told_after: Duration = 20 * SECOND
    score_after: Duration = 0
    scorer_after: Duration | None = None
    corrected: Correction | None = None
    annulled_after: Duration | None = None
    vanishes: FeedGlitch | None = None
    doubled: FeedGlitch | None = None
    posts: Posts = Posts()


class OtherIncident(Incident):
    kind: Literal["missed_penalty", "yellow_card", "red_card"]
    player: str | None = None
    told_after: Duration = 20 * SECOND


class Substitution(Incident):
    kind: Literal["substitution"]
    player: str | None = None
    replaced_by: str | None = None
    told_after: Duration = 20 * SECOND


AnyIncident: TypeAlias = Annotated[GoalIncident | OtherIncident | Substitution, Field(discriminator="kind")]


class Interruption(ScriptModel):
    minute: MatchMinute
    lasts: Duration = 10 * MINUTE
    status: Literal["INT", "SUSP"] = "INT"


class Abandonment(ScriptModel):
    minute: MatchMinute
    after: Duration = 20 * MINUTE


class CalledOff(ScriptModel):
    before: Duration = 20 * MINUTE


class Reordering(ScriptModel):
    minute: MatchMinute
    lasts: Duration = 2 * MINUTE


class ScriptedStatus(ScriptModel):
    """The feed shows this, whatever is played; without `lasts` for good."""

    at: TimeOfDay
    status: str = Field(pattern="^[A-Z0-9]{1,6}$")
    lasts: Duration | None = Field(default=None, gt=0)


class ShootOut(ScriptModel):
    """A letter for each penalty: `g` went in, `m` did not."""

    home: str = Field(default="ggmgg", pattern="^[gm]{1,20}$")
    away: str = Field(default="gmggm", pattern="^[gm]{1,20}$")


class Match(ScriptModel):
    home: str | int
    away: str | int
    kick_off: TimeOfDay = 15 * HOUR
    league: int | None = None
    round: str = "Regular Season - 28"
    style: BugStyle | None = None
    minute_lasts: Duration = Field(default=MINUTE, gt=0)
    added: tuple[int, int] = (2, 4)
    half_time: Duration = 15 * MINUTE
    late_kick_off: Duration = 0
    postponed: CalledOff | None = None
    cancelled: CalledOff | None = None
    abandoned: Abandonment | None = None
    interruptions: tuple[Interruption, ...] = ()
    extra_time: bool = False
    shoot_out: ShootOut | None = None
    reordered: tuple[Reordering, ...] = ()
    statuses: tuple[ScriptedStatus, ...] = ()
    incidents: tuple[AnyIncident, ...] | None = None
    chatter: int = Field(default=3, ge=0, le=40)


class ScriptedFault(ScriptModel):
    service: Service
    trouble: Trouble
    at: TimeOfDay
    lasts: Duration = 2 * MINUTE


class Script(ScriptModel):
    name: str = "A match day"
    date: dt.date = dt.date(2026, 3, 14)
    seed: int = 1
    playing: int = Field(default=1, ge=1, le=10_000)
    matches: tuple[Match, ...] = Field(min_length=1, max_length=100)
    faults: tuple[ScriptedFault, ...] = ()
