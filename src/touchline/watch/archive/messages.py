"""What goes into the UploadWorkflow and its activities, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchline.watch.model import FoundRef, GoalRef


def _strings() -> list[str]:
    return []


def _refs() -> list[FoundRef]:
    return []


@dataclass(frozen=True)
class UploadInput:
    goal: GoalRef
    pending: list[str] = field(default_factory=_strings)  # ids of batches that were told and not looked for yet
    idle_s: float = 300.0  # how long it waits for another batch before it ends
    retry_s: float = 30.0  # how long a batch rests that could not be archived


@dataclass(frozen=True)
class EventData:
    """A goal's next batch: what is in it that is neither archived nor given up."""

    over: bool = False  # the goal was annulled
    batch_id: str | None = None  # none: nothing waits
    videos: list[FoundRef] = field(default_factory=_refs)


@dataclass(frozen=True)
class Batch:
    goal: GoalRef
    batch_id: str
    videos: list[FoundRef] = field(default_factory=_refs)  # those that it is about


@dataclass(frozen=True)
class ByContent:
    known: list[FoundRef] = field(default_factory=_refs)  # the archive has, or had, exactly these bytes
    others: list[FoundRef] = field(default_factory=_refs)


@dataclass(frozen=True)
class Group:
    """Videos of a batch that show the same."""

    videos: list[FoundRef]
    best: FoundRef | None = None  # the one to archive; none: a better copy is in the archive
    replaces: bool = False  # copies in the archive give way


def _groups() -> list[Group]:
    return []


@dataclass(frozen=True)
class Plan:
    groups: list[Group] = field(default_factory=_groups)


@dataclass(frozen=True)
class Order:
    """One video of a batch to bring to its place."""

    goal: GoalRef
    batch_id: str
    video: FoundRef


@dataclass(frozen=True)
class Uploaded:
    video: FoundRef
    object_key: str
    artifact_hash: str


def _uploads() -> list[Uploaded]:
    return []


@dataclass(frozen=True)
class Writing:
    """Videos of a batch to write down, and those of them that lie in their place."""

    batch: Batch
    uploaded: list[Uploaded] = field(default_factory=_uploads)


@dataclass(frozen=True)
class Written:
    kept: list[str] = field(default_factory=_strings)  # artifacts
    replaced: list[str] = field(default_factory=_strings)


@dataclass(frozen=True)
class BatchEnd:
    ended: bool  # false: something of it is still to be archived
    complete: bool = False  # and with it the goal


@dataclass(frozen=True)
class Leftovers:
    goal: GoalRef
    object_keys: list[str] = field(default_factory=_strings)  # brought to their place, perhaps for nothing
