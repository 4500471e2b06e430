"""What all parts of watch say to each other: which goal, which found video, whose.

Invariant: only plain values that survive the way through a workflow's history.
"""

from __future__ import annotations

from dataclasses import dataclass

TASK_QUEUE = "found-footy"  # workflows and light activities
HEAVY_QUEUE = "found-footy-heavy"  # downloads, validation, fingerprints


@dataclass(frozen=True, slots=True)
class GoalRef:
    """One goal as everything names it. A reused id is another goal, told by its generation."""

    fixture_id: int
    event_id: str
    generation: int = 1

    @property
    def name(self) -> str:
        """For the ids of workflows."""
        return self.event_id if self.generation == 1 else f"{self.event_id}-g{self.generation}"

    @property
    def folder(self) -> str:
        """For the keys of objects."""
        return self.event_id if self.generation == 1 else f"{self.event_id}/g{self.generation}"


@dataclass(frozen=True, slots=True)
class FoundRef:
    """One video of one post."""

    post_id: str
    video_index: int = 1


MATCH_ENDS = (45, 90, 105, 120)  # the minutes after which time is added


@dataclass(frozen=True, slots=True)
class FeedMinute:
    """When a goal was scored, as the feed writes it: the first minute is 1, and 90+3 is 90 and 3."""

    minute: int
    extra: int | None = None

    @property
    def clock_minute(self) -> int:
        """What a clock that runs on shows when the goal falls: the first minute is 0."""
        return max(self.minute + (self.extra or 0) - 1, 0)


@dataclass(frozen=True, slots=True)
class GoalMinutes:
    """The minute of a goal, and those of the other goals of its match, which its videos must not be taken for."""

    goal: FeedMinute
    others: tuple[FeedMinute, ...] = ()
