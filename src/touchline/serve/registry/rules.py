"""What may be registered. Pure: the request, the limits and what is there give the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactRegistered, ArtifactType
from touchline.contracts.registry import NewUpload, RowWindow, Upload
from touchline.kernel.errors import Conflict, InvalidInput, LimitExceeded, NotFound, QuotaExceeded
from touchline.kernel.ids import ArtifactHash, parse_artifact_hash
from touchline.kernel.values import format_bytes
from touchline.serve.artifacts.rules import Reason
from touchline.serve.settings import ServeSettings
from touchline.serve.uploads.rules import file_kind, is_plain, valid_file_name


@dataclass(frozen=True, slots=True)
class Record:
    """An upload with what only the registry knows."""

    upload: Upload
    placed: bool  # its artifact exists
    failed: bool  # and will not, unless someone asks again
    deleted: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """What counts towards a tenant's quota."""

    stored_bytes: int
    open_uploads: int
    open_clips: int = 0


LONGEST_TITLE = 255
LONGEST_KEY = 200
LARGEST_PAGE = 500
MOST_HASHES = 500
UNKNOWN_TYPES = ("", "application/octet-stream", "application/mp4", "application/ogg")
MORE_STORAGE = "Delete what is no longer needed, or ask your administrator for a larger quota."


def checked(request: NewUpload, settings: ServeSettings) -> NewUpload:
    """In the form in which it is stored; the type is ours, by the file's ending."""
    name = valid_file_name(request.file_name)
    kind = file_kind(name)
    if not (request.content_type in UNKNOWN_TYPES or request.content_type.startswith("video/")):
        raise InvalidInput("this is not a video", field="content_type", why="its type does not begin with video/")
    return NewUpload(
        idempotency_key=_valid_key(request.idempotency_key),
        file_name=name,
        size_bytes=_valid_size(request.size_bytes, settings.largest_upload),
        title=_valid_title(request.title, name),
        content_type=kind.content_type,
    )


def _valid_key(key: str) -> str:
    if not key or len(key) > LONGEST_KEY or not key.isprintable():
        why = f"it has 1 to {LONGEST_KEY} characters that print"
        raise InvalidInput("this idempotency key cannot be used", field="idempotency_key", why=why)
    return key


def _valid_size(size_bytes: int, largest: int) -> int:
    if size_bytes < 1:
        hint = "Choose a file that has something in it."
        raise InvalidInput("the file is empty", field="size_bytes", why="it has no bytes", hint=hint)
    if size_bytes > largest:
        size, most = format_bytes(size_bytes), format_bytes(largest)
        if size == most:  # what differs by little is said exactly
            size, most = f"{size_bytes:,} bytes", f"{largest:,} bytes"
        why = f"it has {size}, and an upload may have at most {most}"
        hint = "Make the file smaller, or ask your administrator to raise `serve.largest_upload`."
        raise LimitExceeded("the file is too large", why=why, hint=hint)
    return size_bytes


def _valid_title(title: str, file_name: str) -> str:
    text = " ".join(title.split()) or file_name.rpartition(".")[0].strip() or file_name
    if len(text) > LONGEST_TITLE or not is_plain(text):
        why = f"it has at most {LONGEST_TITLE} characters, all of them printable"
        raise InvalidInput("this title cannot be used", field="title", why=why)
    return text


def is_same_request(upload: Upload, new: NewUpload) -> bool:
    return (upload.file_name, upload.title, upload.size_bytes) == (new.file_name, new.title, new.size_bytes)


def require_continuable(record: Record, new: NewUpload) -> None:
    if not is_same_request(record.upload, new):
        why = "it was used for another file, title or size"
        raise Conflict("the idempotency key is taken", why=why, hint="Use a new key for a new upload.")
    if record.deleted:
        raise Conflict("the upload was deleted", hint="Use a new key to upload the file again.")


def require_room(usage: Usage, size_bytes: int, settings: ServeSettings) -> None:
    if usage.open_uploads >= settings.concurrent_uploads:
        why = f"{usage.open_uploads} of {settings.concurrent_uploads} are under way"
        raise QuotaExceeded("too many uploads at once", why=why, hint="Finish or abort one, then try again.")
    require_bytes(usage, size_bytes, settings)


def require_bytes(usage: Usage, size_bytes: int, settings: ServeSettings) -> None:
    if usage.stored_bytes + size_bytes > settings.stored_quota:
        used, quota = format_bytes(usage.stored_bytes), format_bytes(settings.stored_quota)
        why = f"{used} of {quota} are used, and the file has {format_bytes(size_bytes)}"
        raise QuotaExceeded("there is not enough storage for the file", why=why, hint=MORE_STORAGE)


def valid_window(window: RowWindow) -> RowWindow:
    if not 1 <= window.size <= LARGEST_PAGE:
        raise InvalidInput("not a size of a page", field="size", why=f"a page has 1 to {LARGEST_PAGE} rows")
    for key in filter(None, (window.after, window.before)):
        parse_artifact_hash(key.artifact_hash)
    return window


def valid_hashes(hashes: Sequence[str]) -> list[str]:
    """Those that can be an artifact's: what cannot is simply not known."""
    if len(hashes) > MOST_HASHES:
        raise InvalidInput("too many hashes", field="artifact_hashes", why=f"at most {MOST_HASHES} in a call")
    return [one for one in dict.fromkeys(hashes) if is_artifact_hash(one)]


def is_artifact_hash(text: str) -> bool:
    try:
        parse_artifact_hash(text)
    except InvalidInput:
        return False
    return True


def unknown(artifact_hash: ArtifactHash) -> NotFound:
    """The same words for what never was, what is another tenant's, and what was deleted."""
    return NotFound("no such upload", why=f"{artifact_hash} is not known here")


def registered(upload: Upload) -> ArtifactRegistered:
    return ArtifactRegistered(
        artifact_hash=upload.artifact_hash,
        artifact_type=ArtifactType.UPLOAD,
        playback_id=upload.playback_id,
        internal_name=upload.internal_name,
        user_id=upload.user_id,
        title=upload.title,
    )


def not_placed(upload: Upload, status: ArtifactStatus, reason: Reason | None = None) -> ArtifactLifecycle:
    """What is told of an artifact that does not exist. Its own revisions begin at 1: what it says itself is newer."""
    return ArtifactLifecycle(
        artifact_hash=upload.artifact_hash,
        artifact_type=ArtifactType.UPLOAD,
        internal_name=upload.internal_name,
        user_id=upload.user_id,
        status=status,
        size_bytes=upload.size_bytes,
        error_code=reason.code if reason else None,
        error_message=reason.message if reason else None,
        synced=False,
        local_copies=0,
    )
