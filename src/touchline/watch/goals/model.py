"""A goal as it is stored, and what a poll decides about the goals of a match.

Invariant: what the feed told of a goal is one value (`told`), apart from what is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from touchline.watch.feed.model import FeedGoal
from touchline.watch.model import GoalRef

GOAL_TYPE = "Goal"


class Removal(StrEnum):
    ANNULLED = "annulled"
    IDENTIFIED = "identified"  # its scorer has a name now, and with it another id
    REATTRIBUTED = "reattributed"  # the feed names another scorer
    DOUBLED = "doubled"  # the feed had listed one goal twice


class Outcome(StrEnum):
    """Why nothing more is done for a goal. The first two are the search's own."""

    FOUND = "found"
    NOTHING_FOUND = "nothing_found"
    UNIDENTIFIED = "unidentified"
    SEARCH_UNAVAILABLE = "search_unavailable"
    LOST = "lost"


class Said(StrEnum):
    """What is announced of a goal after a poll."""

    SEEN = "seen"
    STABLE = "stable"
    REMOVED = "removed"
    MOVED = "moved"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Score:
    home: int
    away: int


@dataclass(frozen=True, slots=True)
class StoredGoal:
    ref: GoalRef
    sequence: int
    told: FeedGoal
    score: Score  # the running score with this goal
    first_seen: datetime
    monitor_workflows: tuple[str, ...] = ()  # runs in a row that saw it; no more are added once it is stable
    absent_workflows: tuple[str, ...] = ()  # runs in a row that did not
    stable_at: datetime | None = None
    workflow_id: str | None = None
    label: str | None = None
    monitor_complete: bool = False
    search_started_at: datetime | None = None
    download_complete: bool = False
    outcome: str | None = None
    removed_at: datetime | None = None
    removal: Removal | None = None
    moved_to: GoalRef | None = None

    @property
    def lives(self) -> bool:
        return self.removed_at is None


@dataclass(frozen=True, slots=True)
class Triggered:
    """A goal that is to be searched for, and the id that its search has for good."""

    goal: GoalRef
    workflow_id: str
    label: str


@dataclass(frozen=True, slots=True)
class Written:
    """A goal as it is after the poll."""

    goal: StoredGoal
    said: Said | None  # None: nothing that anybody can see has changed
    is_new: bool = False
    reopened: bool = False  # it had ended before its scorer was known


@dataclass(frozen=True, slots=True)
class Decision:
    """Removals come first: a goal that is added may have the id of one that goes."""

    written: tuple[Written, ...] = ()
    triggered: tuple[Triggered, ...] = ()

    @property
    def removed(self) -> Iterator[StoredGoal]:
        """Gone with everything that was found of them."""
        return (each.goal for each in self.written if each.goal.removal and not each.goal.moved_to)

    @property
    def moved(self) -> Iterator[tuple[GoalRef, GoalRef]]:
        return ((each.goal.ref, each.goal.moved_to) for each in self.written if each.goal.moved_to)


@dataclass(frozen=True, slots=True)
class Applied:
    """What a poll has changed, for those who start searches."""

    triggered: tuple[Triggered, ...] = ()
    removed: tuple[GoalRef, ...] = ()
    moved: tuple[tuple[GoalRef, GoalRef], ...] = ()
    awaited: bool = False  # a goal may be searched for soon: few more runs have to see it
