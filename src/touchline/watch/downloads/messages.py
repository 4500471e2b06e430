"""What DownloadWorkflow and its activities say to each other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from touchline.watch.model import FoundRef, GoalRef


@dataclass(frozen=True, slots=True)
class DownloadInput:
    goal: GoalRef
    attempt: int  # of the goal's searches
    label: str
    videos: list[FoundRef]

    @property
    def workflow_id(self) -> str:
        return f"download{self.attempt}-{self.label}-{len(self.videos)}vids-{self.goal.name}"


@dataclass(frozen=True, slots=True)
class DownloadResult:
    downloaded: int = 0
    rejected: int = 0
    failed: int = 0
    queued: int = 0  # handed over to be archived, with those that are the same file as another
    over: bool = False  # the goal was annulled meanwhile


class Outcome(StrEnum):
    """Of one step for one video."""

    DONE = "done"
    REJECTED = "rejected"
    FAILED = "failed"
    WAITING = "waiting"  # no engine could look at it
    OVER = "over"  # its goal was annulled


@dataclass(frozen=True, slots=True)
class Wanted:
    goal: GoalRef
    video: FoundRef
    run_id: str


@dataclass(frozen=True, slots=True)
class Arrived:
    outcome: Outcome
    md5: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class SameFile:
    """Videos of different posts with the same bytes. The file of the first stands for all."""

    goal: GoalRef
    videos: list[FoundRef]
    is_first: bool = False  # of its run: whoever judges it takes its fingerprint too


@dataclass(frozen=True, slots=True)
class Judged:
    outcome: Outcome
    why: str = ""
    pause_s: float = 5.0  # of one that waits: when to ask again
    patience_s: float = 86_400.0  # and for how long
    is_hashed: bool = False  # it has its fingerprint already


@dataclass(frozen=True, slots=True)
class Hashed:
    outcome: Outcome
    samples: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    goal: GoalRef
    batch_id: str
    videos: list[FoundRef]


@dataclass(frozen=True, slots=True)
class CleanUp:
    """`failed`: those whose step broke off, so that nobody wrote it down yet."""

    goal: GoalRef
    videos: list[FoundRef]
    failed: dict[str, list[FoundRef]]  # by why


@dataclass(frozen=True, slots=True)
class Registered:
    complete: bool  # whether the goal's search ended with this
    over: bool = False
