"""What becomes of an upload: what its state allows, which files are refused for good, what its owner does. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from touchline.contracts.artifacts import ArtifactStatus
from touchline.kernel import ArtifactHash, Conflict, Defect, InvalidInput, TenantId, TouchlineError, video_id
from touchline.media import errors as media
from touchline.platform.objects.rules import MultipartUpload, ObjectKey, PartPlan, join_key, object_key
from touchline.serve.artifacts.rules import LONGEST_REASON, OPEN, Artifact, Reason

DIGEST_BYTES = 16  # of MD5, which is the ETag of a part
CHECKSUM = re.compile(r'"[0-9A-Fa-f]{32}"|[0-9A-Fa-f]{32}')


@dataclass(frozen=True, slots=True)
class Multipart:
    tenant_id: TenantId
    artifact_hash: ArtifactHash
    object_key: str
    upload_id: str | None  # None: not begun at the store
    writer: str | None
    size_bytes: int
    part_bytes: int
    attempt: int
    due_at: datetime
    checksums: bytes | None = None  # MD5 of each part, one after the other; None: its sender gave none

    @property
    def etags(self) -> dict[int, str] | None:
        """As the object store names what arrived."""
        if self.checksums is None:
            return None
        size = DIGEST_BYTES
        return {n + 1: self.checksums[n * size : (n + 1) * size].hex() for n in range(len(self.checksums) // size)}

    @property
    def plan(self) -> PartPlan:
        return PartPlan(self.size_bytes, self.part_bytes)

    @property
    def upload(self) -> MultipartUpload:
        return MultipartUpload(object_key(self.object_key), self.upload_id or "", self.writer or "")


@dataclass(frozen=True, slots=True)
class Due:
    tenant_id: TenantId
    artifact_hash: ArtifactHash


@dataclass(frozen=True, slots=True)
class Owned:
    upload_id: str
    tenant_id: TenantId
    artifact_hash: ArtifactHash


ABANDONED = Reason(
    "upload_abandoned", "the upload was not finished in time, and its parts were deleted; upload the file again"
)
ABORTED = Reason("upload_aborted", "the sender cancelled the upload")
LOST = Reason("upload_lost", "the object store no longer has the parts that were sent; upload the file again")
OVERFILLED = Reason("upload_overfilled", "far more bytes were sent than declared")
# A part may be sent again, since answers get lost, and then the store keeps both until the upload ends.
TIMES_SENT = 3
MORE_PARTS = 10
ENDED = (
    ArtifactStatus.ABORTING,
    ArtifactStatus.FAILED,
    ArtifactStatus.DELETED,
)  # nothing of the upload is needed any more
# Looking again gives the same: the file is at fault.
REFUSALS: dict[str, type[TouchlineError]] = {
    "not_a_video": media.NotAVideo,
    "no_pictures": media.NoPictures,
    "truncated_video": media.TruncatedVideo,
    "damaged_video": media.DamagedVideo,
    "unsupported_video": media.UnsupportedVideo,
    "crashing_video": media.CrashingVideo,
    "invalid_media": media.InvalidMedia,
    "media_limit_exceeded": media.MediaLimitExceeded,
}


class Step(Enum):
    """What the owner does with an upload that is due."""

    ABANDON = auto()
    CONTINUE = auto()
    RELEASE = auto()


def next_step(status: ArtifactStatus) -> Step:
    if status in OPEN:
        return Step.ABANDON
    if status is ArtifactStatus.COMPLETING:
        return Step.CONTINUE
    if status in ENDED:
        return Step.RELEASE
    raise Defect("a stored original counts as an upload", why=f"it is {status}")


def refusal(error: TouchlineError) -> Reason | None:
    """Why the file is refused for good; None when the error says nothing about the file."""
    for code, kind in REFUSALS.items():
        if isinstance(error, kind):
            return Reason(code, str(error)[:LONGEST_REASON])
    return None


def failed(artifact: Artifact) -> TouchlineError:
    """The answer to whoever completes an upload that has failed: the same each time."""
    reason = artifact.reason or LOST
    kind = REFUSALS.get(reason.code)
    if kind is not None:
        return kind(reason.message)
    return Conflict("the upload has failed", why=reason.message, hint="Start a new upload.")


def is_overfilled(plan: PartPlan, stored_bytes: int) -> bool:
    """Whether this is no longer a sender with a bad line. Each part has its size, so only repeating makes it more."""
    return stored_bytes > TIMES_SENT * plan.size_bytes + MORE_PARTS * plan.part_size(1)


def is_orphan(started_at: datetime, now: datetime, abandon_after: timedelta) -> bool:
    """Of an upload that nobody knows: whoever began it had the time to note it, or to finish."""
    return started_at < now - abandon_after


def require_uploading(artifact: Artifact) -> None:
    if artifact.status is not ArtifactStatus.UPLOADING:
        raise wrong_state(artifact)


def wrong_state(artifact: Artifact) -> TouchlineError:
    if artifact.status is ArtifactStatus.FAILED:
        return Conflict("the upload has failed", why=artifact.reason.message if artifact.reason else "")
    why = f"it is {artifact.status}"
    return Conflict("this upload accepts no more parts", why=why, hint="Check its state: the upload may be complete.")


def valid_numbers(numbers: Sequence[int], plan: PartPlan, most: int) -> list[int]:
    wanted = sorted(set(numbers))
    if not 1 <= len(wanted) <= most:
        raise InvalidInput("invalid number of parts", field="numbers", why=f"request 1 to {most} parts")
    if wanted[0] < 1 or wanted[-1] > plan.count:
        raise InvalidInput("no such part", field="numbers", why=f"this upload has parts 1 to {plan.count}")
    return wanted


def packed_checksums(given: Mapping[int, str], plan: PartPlan) -> bytes:
    """One for each part, or the upload is refused before anything is compared."""
    if set(given) != set(range(1, plan.count + 1)):
        why = f"there are {len(given)}, and the upload has parts 1 to {plan.count}"
        raise InvalidInput("not one checksum for each part", field="checksums", why=why)
    for number, text in given.items():
        if not CHECKSUM.fullmatch(text):
            why = f"that of part {number} is not 32 hexadecimal digits"
            raise InvalidInput("not a checksum", field="checksums", why=why, hint="Send the MD5 of the part's bytes.")
    return b"".join(bytes.fromhex(given[number].strip('"')) for number in range(1, plan.count + 1))


# What a stranger may call a file, and what we make of that. Pure. Invariant: nothing of the name reaches an object
# key but an extension that we know.

LONGEST_NAME = 255
JOINERS = "\u200c\u200d"  # invisible, but some scripts and emoji need them
CONTENT_TYPES = {
    "mp4": "video/mp4",
    "m4v": "video/mp4",
    "mov": "video/quicktime",
    "3gp": "video/3gpp",
    "mkv": "video/x-matroska",
    "webm": "video/webm",
    "avi": "video/x-msvideo",
    "ts": "video/mp2t",
    "mts": "video/mp2t",
    "m2ts": "video/mp2t",
    "mpg": "video/mpeg",
    "mpeg": "video/mpeg",
    "vob": "video/mpeg",
    "flv": "video/x-flv",
    "ogv": "video/ogg",
    "ogg": "video/ogg",
    "wmv": "video/x-ms-wmv",
    "asf": "video/x-ms-asf",
}


@dataclass(frozen=True, slots=True)
class FileKind:
    extension: str
    content_type: str


def valid_file_name(text: str) -> str:
    """In one form, however the sender's system composes letters."""
    name = unicodedata.normalize("NFC", text)
    if not name.strip(". "):
        raise _refused("it is empty")
    if len(name) > LONGEST_NAME or len(name.encode("utf-8", "replace")) > LONGEST_NAME:
        raise _refused(f"it is longer than {LONGEST_NAME} bytes")
    if "/" in name or "\\" in name:
        raise _refused("it contains a path")
    if not is_plain(name):
        raise _refused("it has unprintable characters")
    return name


def is_plain(text: str) -> bool:
    """No control characters, nothing that turns the direction of the text around it."""
    return all(letter.isprintable() or letter in JOINERS for letter in text)


def file_kind(file_name: str) -> FileKind:
    """By its extension. What is really inside is looked at when it is here."""
    extension = file_name.rpartition(".")[2].lower() if "." in file_name else ""
    content_type = CONTENT_TYPES.get(extension)
    if content_type is None:
        known = ", ".join(CONTENT_TYPES)
        raise _refused(f"its extension is not one of {known}", hint="Upload a video file with its usual extension.")
    return FileKind(extension, content_type)


def original_key(artifact_hash: ArtifactHash, kind: FileKind) -> ObjectKey:
    return join_key("videos", "original", str(video_id(artifact_hash)), f"master.{kind.extension}")


def _refused(why: str, hint: str = "") -> InvalidInput:
    return InvalidInput("this file name cannot be used", field="file_name", why=why, hint=hint)
