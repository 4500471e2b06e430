"""What an object in the bucket is, by its key alone. Pure.

Invariant: the same object has the same artifact for everybody who looks; another file under the same key has another.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from uuid import UUID, uuid5

from touchline.kernel import ArtifactHash, InvalidInput, TenantId, artifact_hash, video_id
from touchline.platform.objects.rules import ListedObject, ObjectKey, object_key
from touchline.serve.uploads.rules import FileKind, file_kind, original_key, valid_file_name

# What a look at the bucket finds, and what was done about it. Invariant: a report stays small however much there is:
# it counts everything and names the first of each kind.

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
class RefusedObject:
    key: str
    reason: Refusal
    why: str


@dataclass(frozen=True, slots=True)
class KnownOriginal:
    """What the tables say of an artifact, whoever's it is."""

    tenant_id: TenantId
    artifact_hash: ArtifactHash
    original_key: str
    original_missing_since: datetime | None


@dataclass(frozen=True, slots=True)
class ArtifactFiles:
    """What should lie in the bucket of an artifact; the manifest stands for its rendition."""

    artifact_hash: ArtifactHash
    original_key: str
    manifest_key: str | None


@dataclass(frozen=True, slots=True)
class ReadSample:
    """Some artifacts, tried for real."""

    tried: int  # files
    gone: tuple[str, ...]  # keys
    unreadable: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScanPosition:
    """How far a pass has come: the last key, and the last artifact whose original was looked for."""

    key: str = ""
    artifact_hash: str = ""


@dataclass(slots=True)
class ScanReport:
    listed: int = 0
    known: int = 0
    fresh: int = 0
    taken: dict[str, str] = field(default_factory=dict[str, str])  # hash by key, the first of them
    taken_count: int = 0
    tidied: int = 0  # moved before, by somebody who did not live to delete the old key
    refused: dict[Refusal, int] = field(default_factory=dict[Refusal, int])
    refusals: list[RefusedObject] = field(default_factory=list[RefusedObject])
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

    def refuse(self, refused: RefusedObject) -> None:
        self.refused[refused.reason] = self.refused.get(refused.reason, 0) + 1
        if len(self.refusals) < MOST_NAMED:
            self.refusals.append(refused)

    def vanish(self, artifact_hash: str) -> None:
        self.vanished_count += 1
        if len(self.vanished) < MOST_NAMED:
            self.vanished.append(artifact_hash)


ORIGINALS = "videos/original/"
FIRST_HASH, LAST_HASH = "", "g"  # before and behind all
TENANT = "tenant"  # metadata: the slug or id of the tenant it belongs to
NAME = "touchline-name"  # metadata: what a file was called before it was moved
NAMESPACE = UUID("6f1c0d3e-7a52-4c0e-9d1b-3b8f5f6f2a11")
HOME_STEM = "master"


class Skipped(Enum):
    FOLDER = auto()  # what some tools leave to show an empty folder
    FRESH = auto()  # somebody may still be at it


def judge(listed: ListedObject, now: datetime, settle: timedelta) -> Candidate | RefusedObject | Skipped:
    if listed.key.endswith("/") and not listed.size_bytes:
        return Skipped.FOLDER
    if listed.modified_at > now - settle:
        return Skipped.FRESH
    try:
        name = valid_file_name(object_key(listed.key).rpartition("/")[2])
    except InvalidInput as error:
        return RefusedObject(listed.key, Refusal.HOSTILE_KEY, str(error))
    if not listed.size_bytes:
        return RefusedObject(listed.key, Refusal.EMPTY, "its size is 0 bytes")
    try:
        kind = file_kind(name)
    except InvalidInput as error:
        return RefusedObject(listed.key, Refusal.NO_VIDEO, str(error))
    return _candidate(listed, name, kind)


def _candidate(listed: ListedObject, name: str, kind: FileKind) -> Candidate:
    found = home_of(listed.key, kind) or artifact_of(listed)
    return Candidate(listed, found, name, kind, original_key(found, kind))


def home_of(key: str, kind: FileKind) -> ArtifactHash | None:
    """The artifact whose original lies under this key, if it is such a key to the letter."""
    try:
        found = artifact_hash(UUID(key.removeprefix(ORIGINALS).partition("/")[0]))
    except ValueError:
        return None
    return found if original_key(found, kind) == key else None


def artifact_of(listed: ListedObject) -> ArtifactHash:
    """Computed, so that whoever comes after a death goes on with the same; a new file under an old key is a new one."""
    return artifact_hash(uuid5(NAMESPACE, f"{listed.key}\n{listed.etag}\n{listed.modified_at.isoformat()}"))


def moved_metadata(candidate: Candidate, tenant: str | None) -> dict[str, str]:
    """What the object says of itself in its new place, where its key no longer tells its name."""
    name = {NAME: urlsafe_b64encode(candidate.file_name.encode()).decode()}
    return name | ({TENANT: tenant} if tenant else {})


def shown_name(candidate: Candidate, metadata: Mapping[str, str]) -> tuple[str, str]:
    """File name and title. Strangers write metadata, too."""
    name = _given_name(metadata.get(NAME, "")) or candidate.file_name
    stem = name.rpartition(".")[0].strip() or name
    return name, str(video_id(candidate.artifact_hash)) if stem == HOME_STEM else stem


def _given_name(text: str) -> str | None:
    try:
        return valid_file_name(urlsafe_b64decode(text).decode())
    except (InvalidInput, ValueError):
        return None
