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
