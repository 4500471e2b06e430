"""What a look at the bucket finds, and what was done about it.

Invariant: a report stays small however much there is: it counts everything and names the first of each kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from touchline.kernel import TenantId
from touchline.kernel.ids import ArtifactHash
from touchline.platform.objects.rules import ListedObject, ObjectKey
from touchline.serve.uploads.names import FileKind

MOST_NAMED = 100


class Refusal(StrEnum):
    """Why an object is left as it is. Somebody has to look at it."""

    HOSTILE_KEY = "hostile_key"
    NO_VIDEO = "no_video"  # by its ending
    EMPTY = "empty"
    UNKNOWN_OWNER = "unknown_owner"
    OTHER_ORIGINAL = "other_original"  # it lies where another file of a known video should
    CHANGED = "changed"  # while it was looked at: the next pass sees what it is then


@dataclass(frozen=True, slots=True)
class Candidate:
    """An object that may be the original of an artifact: which one, and where that keeps it."""

    listed: ListedObject
    artifact_hash: ArtifactHash
    file_name: str
    kind: FileKind
    home: ObjectKey

    @property
    def is_home(self) -> bool:
        return self.listed.key == self.home


@dataclass(frozen=True, slots=True)
class Refused:
    key: str
    reason: Refusal
    why: str


@dataclass(frozen=True, slots=True)
class Known:
    """What the tables say of an artifact, whoever's it is."""

    tenant_id: TenantId
    artifact_hash: ArtifactHash
    original_key: str
    original_missing_since: datetime | None


@dataclass(frozen=True, slots=True)
class Files:
    """What should lie in the bucket of an artifact; the manifest stands for its rendition."""

    artifact_hash: ArtifactHash
    original_key: str
    manifest_key: str | None


@dataclass(frozen=True, slots=True)
class Sample:
    """Some artifacts, tried for real."""

    tried: int  # files
    gone: tuple[str, ...]  # keys
    unreadable: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """How far a pass has come: the last key, and the last artifact whose original was looked for."""

    key: str = ""
    artifact_hash: str = ""


@dataclass(slots=True)
class Report:
    listed: int = 0
    known: int = 0
    fresh: int = 0
    taken: dict[str, str] = field(default_factory=dict[str, str])  # hash by key, the first of them
    taken_count: int = 0
    tidied: int = 0  # moved before, by somebody who did not live to delete the old key
    refused: dict[Refusal, int] = field(default_factory=dict[Refusal, int])
    refusals: list[Refused] = field(default_factory=list[Refused])
    vanished: list[str] = field(default_factory=list[str])
    vanished_count: int = 0
    returned: int = 0
    missing: list[str] = field(default_factory=list[str])  # every original that is gone, since whenever; the first
    missing_count: int = 0
    unreadable: list[str] = field(default_factory=list[str])  # of those tried: listed, and yet the store fails
    more: bool = False  # the pass stopped at a limit; the next one goes on there

    def take(self, candidate: Candidate) -> None:
        self.taken_count += 1
        if len(self.taken) < MOST_NAMED:
            self.taken[candidate.listed.key] = candidate.artifact_hash

    def refuse(self, refused: Refused) -> None:
        self.refused[refused.reason] = self.refused.get(refused.reason, 0) + 1
        if len(self.refusals) < MOST_NAMED:
            self.refusals.append(refused)

    def vanish(self, artifact_hash: str) -> None:
        self.vanished_count += 1
        if len(self.vanished) < MOST_NAMED:
            self.vanished.append(artifact_hash)
