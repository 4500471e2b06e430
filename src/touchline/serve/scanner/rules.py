"""What an object in the bucket is, by its key alone. Pure.

Invariant: the same object has the same artifact for everybody who looks; another file under the same key has another.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum, auto
from uuid import UUID, uuid5

from touchline.kernel.errors import InvalidInput
from touchline.kernel.ids import ArtifactHash, artifact_hash, video_id
from touchline.platform.objects.rules import ListedObject, object_key
from touchline.serve.uploads.names import FileKind, file_kind, original_key, valid_file_name

from .model import Candidate, Refusal, Refused

ORIGINALS = "videos/original/"
FIRST_HASH, LAST_HASH = "", "g"  # before and behind all
TENANT = "tenant"  # metadata: the slug or id of the tenant it belongs to
NAME = "touchline-name"  # metadata: what a file was called before it was moved
NAMESPACE = UUID("6f1c0d3e-7a52-4c0e-9d1b-3b8f5f6f2a11")
HOME_STEM = "master"


class Skipped(Enum):
    FOLDER = auto()  # what some tools leave to show an empty folder
    FRESH = auto()  # somebody may still be at it


def judge(listed: ListedObject, now: datetime, settle: timedelta) -> Candidate | Refused | Skipped:
    if listed.key.endswith("/") and not listed.size_bytes:
        return Skipped.FOLDER
    if listed.modified_at > now - settle:
        return Skipped.FRESH
    try:
        name = valid_file_name(object_key(listed.key).rpartition("/")[2])
    except InvalidInput as error:
        return Refused(listed.key, Refusal.HOSTILE_KEY, str(error))
    if not listed.size_bytes:
        return Refused(listed.key, Refusal.EMPTY, "it has no bytes")
    try:
        kind = file_kind(name)
    except InvalidInput as error:
        return Refused(listed.key, Refusal.NO_VIDEO, str(error))
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
    name = _told_name(metadata.get(NAME, "")) or candidate.file_name
    stem = name.rpartition(".")[0].strip() or name
    return name, str(video_id(candidate.artifact_hash)) if stem == HOME_STEM else stem


def _told_name(text: str) -> str | None:
    try:
        return valid_file_name(urlsafe_b64decode(text).decode())
    except (InvalidInput, ValueError):
        return None
