"""What may be registered. Pure: the request, the limits and what is there give the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactRegistered, ArtifactType, StorageLocation
from touchline.contracts.registry import ArtifactChange, Clip, NewUpload, Recording, RowWindow, Upload
from touchline.kernel import (
    ArtifactHash,
    Conflict,
    InternalName,
    InvalidInput,
    LimitExceeded,
    NotFound,
    PlaybackId,
    QuotaExceeded,
    UserId,
    format_bytes,
    new_internal_name,
    new_playback_id,
    parse_artifact_hash,
)
from touchline.serve.artifacts.rules import Reason
from touchline.serve.retention.rules import valid_retention
from touchline.serve.settings import ServeSettings
from touchline.serve.uploads.rules import file_kind, is_plain, valid_file_name


@dataclass(frozen=True, slots=True)
class Record:
    """An upload with what only the registry knows."""

    upload: Upload
    placed: bool  # its artifact exists
    failed: bool  # and will not, unless someone asks again
    deleted: bool
    retention: timedelta  # as it was resolved


@dataclass(frozen=True, slots=True)
class NewIdentity:
    """The public ids of something new."""

    artifact_hash: ArtifactHash
    user_id: UserId
    playback_id: PlaybackId = field(default_factory=new_playback_id)
    internal_name: InternalName = field(default_factory=new_internal_name)


class Kind(StrEnum):
    """What has a public id."""

    CLIP = "clip"
    DVR = "dvr"
    UPLOAD = "upload"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """What was asked for under an idempotency key, and what it made."""

    artifact_hash: ArtifactHash
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """What counts towards a tenant's quota."""

    stored_bytes: int
    open_uploads: int
    open_clips: int = 0


LONGEST_TITLE = 255
LONGEST_DESCRIPTION = 2000
MILLISECOND = timedelta(milliseconds=1)
LONGEST_KEY = 200
LARGEST_PAGE = 500
MOST_HASHES = 500
UNKNOWN_TYPES = ("", "application/octet-stream", "application/mp4", "application/ogg")
MORE_STORAGE = "Delete videos that are no longer needed, or ask your administrator for a larger quota."


def checked(request: NewUpload, settings: ServeSettings) -> NewUpload:
    """In the form in which it is stored; the type is ours, by the file's ending."""
    name = valid_file_name(request.file_name)
    kind = file_kind(name)
    if not (request.content_type in UNKNOWN_TYPES or request.content_type.startswith("video/")):
        raise InvalidInput(
            "this is not a video", field="content_type", why="its content type does not start with video/"
        )
    return replace(
        request,
        idempotency_key=valid_key(request.idempotency_key),
        file_name=name,
        size_bytes=_valid_size(request.size_bytes, settings.largest_upload),
        title=valid_title(request.title or name.rpartition(".")[0].strip() or name),
        description=valid_description(request.description),
        content_type=kind.content_type,
        retention=valid_retention(request.retention),
    )


def valid_key(key: str) -> str:
    if not key or len(key) > LONGEST_KEY or not key.isprintable():
        why = f"use 1 to {LONGEST_KEY} printable characters"
        raise InvalidInput("this idempotency key cannot be used", field="idempotency_key", why=why)
    return key


def _valid_size(size_bytes: int, largest: int) -> int:
    if size_bytes < 1:
        hint = "Choose a file that is not empty."
        raise InvalidInput("the file is empty", field="size_bytes", why="its size is 0 bytes", hint=hint)
    if size_bytes > largest:
        size, most = format_bytes(size_bytes), format_bytes(largest)
        if size == most:  # what differs by little is said exactly
            size, most = f"{size_bytes:,} bytes", f"{largest:,} bytes"
        why = f"it has {size}; the limit is {most}"
        hint = "Compress the file, or ask your administrator to raise `serve.largest_upload`."
        raise LimitExceeded("the file is too large", why=why, hint=hint)
    return size_bytes


def valid_title(title: str) -> str:
    text = " ".join(title.split())
    if not text or len(text) > LONGEST_TITLE or not is_plain(text):
        why = f"use 1 to {LONGEST_TITLE} printable characters"
        raise InvalidInput("this title cannot be used", field="title", why=why)
    return text


def valid_description(description: str) -> str:
    text = description.strip()
    if len(text) > LONGEST_DESCRIPTION or not all(is_plain(line) for line in text.split("\n")):
        why = f"use at most {LONGEST_DESCRIPTION} printable characters"
        raise InvalidInput("this description cannot be used", field="description", why=why)
    return text


def upload_request(new: NewUpload) -> dict[str, Any]:
    """What the same idempotency key has to be sent with again."""
    return {
        "file_name": new.file_name,
        "size_bytes": new.size_bytes,
        "title": new.title,
        "description": new.description,
        "retention_ms": in_milliseconds(new.retention),
    }


def in_milliseconds(duration: timedelta | None) -> int | None:
    return None if duration is None else duration // MILLISECOND


def require_same_request(known: KeyedRequest, request: Mapping[str, Any]) -> None:
    names = known.request.keys() | request.keys()
    changed = sorted(name for name in names if known.request.get(name) != request.get(name))
    if changed:
        why = f"it was used with another {', '.join(changed).replace('_', ' ')}"
        hint = "Use a new key for another request."
        raise InvalidInput("the idempotency key was already used", field="idempotency_key", why=why, hint=hint)


def living(record: Record | None) -> Record:
    """Of an upload that its sender asks for again."""
    if record is None or record.deleted:
        raise Conflict("the upload was deleted", hint="Use a new key to upload the file again.")
    return record


def checked_change(change: ArtifactChange) -> ArtifactChange:
    return ArtifactChange(
        title=None if change.title is None else valid_title(change.title),
        description=None if change.description is None else valid_description(change.description),
        pinned=change.pinned,
    )


def require_room(usage: Usage, size_bytes: int, settings: ServeSettings) -> None:
    if usage.open_uploads >= settings.concurrent_uploads:
        why = f"{usage.open_uploads} of {settings.concurrent_uploads} are in progress"
        raise QuotaExceeded("too many uploads at once", why=why, hint="Finish or cancel one, then try again.")
    require_bytes(usage, size_bytes, settings)


def require_bytes(usage: Usage, size_bytes: int, settings: ServeSettings) -> None:
    if usage.stored_bytes + size_bytes > settings.stored_quota:
        used, quota = format_bytes(usage.stored_bytes), format_bytes(settings.stored_quota)
        why = f"{used} of {quota} are used, and the file has {format_bytes(size_bytes)}"
        raise QuotaExceeded("the storage quota is too small for the file", why=why, hint=MORE_STORAGE)


def valid_window(window: RowWindow) -> RowWindow:
    if not 1 <= window.size <= LARGEST_PAGE:
        raise InvalidInput("invalid page size", field="size", why=f"it must be between 1 and {LARGEST_PAGE}")
    for key in filter(None, (window.after, window.before)):
        parse_artifact_hash(key.artifact_hash)
    return window


def valid_hashes(hashes: Sequence[str]) -> list[str]:
    """Those that can be an artifact's: what cannot is simply not known."""
    if len(hashes) > MOST_HASHES:
        raise InvalidInput("too many hashes", field="artifact_hashes", why=f"the limit is {MOST_HASHES} per call")
    return [one for one in dict.fromkeys(hashes) if is_artifact_hash(one)]


def is_artifact_hash(text: str) -> bool:
    try:
        parse_artifact_hash(text)
    except InvalidInput:
        return False
    return True


def unknown(artifact_hash: ArtifactHash) -> NotFound:
    """The same words for what never was, what is another tenant's, and what was deleted."""
    return NotFound("no such upload", why=f"{artifact_hash} does not exist")


def registered(record: Upload | Clip | Recording, kind: ArtifactType) -> ArtifactRegistered:
    return ArtifactRegistered(
        artifact_hash=record.artifact_hash,
        artifact_type=kind,
        playback_id=record.playback_id,
        internal_name=record.internal_name,
        user_id=record.user_id,
        title=record.title,
    )


def not_placed(
    record: Upload | Clip | Recording, kind: ArtifactType, status: ArtifactStatus, reason: Reason | None = None
) -> ArtifactLifecycle:
    """What is told of an artifact that does not exist. Its own revisions begin at 1: what it says itself is newer."""
    return ArtifactLifecycle(
        artifact_hash=record.artifact_hash,
        artifact_type=kind,
        internal_name=record.internal_name,
        user_id=record.user_id,
        status=status,
        error_code=reason.code if reason else None,
        error_message=reason.message if reason else None,
        synced=False,
        local_copies=0,
        storage_location=StorageLocation.PENDING,
    )
