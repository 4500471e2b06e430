"""Object keys, what the object store holds and returns, and the pure rules of multipart uploads. No input or output.

Invariants: an `ObjectKey` means the same object to every store, proxy and file system it passes; a signed URL never
shows in a repr, because whoever has it may use it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from pathlib import Path
from typing import NewType, TypeAlias
from urllib.parse import quote

from touchline.kernel import InvalidInput, LimitExceeded, format_bytes

ObjectKey = NewType("ObjectKey", str)

LONGEST_KEY_BYTES = 1024  # S3's limit
LONGEST_SEGMENT_BYTES = 255  # a file system's, because nodes keep copies under the same names
# What nearly all keys look like, matched at once: all these characters are allowed, and each is one byte.
_PLAIN_SEGMENT = rf"[A-Za-z0-9_-][A-Za-z0-9._-]{{0,{LONGEST_SEGMENT_BYTES - 1}}}"
_PLAIN = re.compile(f"{_PLAIN_SEGMENT}(?:/{_PLAIN_SEGMENT})*")


def object_key(text: str) -> ObjectKey:
    """Checks a key: segments between single slashes, each of them safe."""
    if len(text) <= LONGEST_KEY_BYTES and _PLAIN.fullmatch(text):
        return ObjectKey(text)
    for segment in text.split("/"):
        _check_segment(segment)
    if len(text.encode()) > LONGEST_KEY_BYTES:
        raise _invalid_key(f"it is longer than {LONGEST_KEY_BYTES} bytes")
    return ObjectKey(text)


def join_key(*segments: str) -> ObjectKey:
    """A key from segments of any origin: none of them can add a level."""
    if any("/" in segment for segment in segments):
        raise _invalid_key("a segment contains a slash")
    return object_key("/".join(segments))


def _check_segment(segment: str) -> None:
    if not segment:
        raise _invalid_key("it has an empty segment, or a leading or trailing slash")
    if segment.startswith("."):
        raise _invalid_key("a segment starts with a dot")  # `..`, and names that stores and nodes reserve
    if not segment.isprintable() or "\\" in segment:
        raise _invalid_key("it has a backslash or an unprintable character")
    if len(segment.encode()) > LONGEST_SEGMENT_BYTES:
        raise _invalid_key(f"a segment is longer than {LONGEST_SEGMENT_BYTES} bytes")


def _invalid_key(why: str) -> InvalidInput:
    return InvalidInput("not a valid object key", field="key", why=why)


BodySource: TypeAlias = bytes | Path | AsyncIterable[bytes]

DEFAULT_TYPE = "application/octet-stream"
WRITER = "touchline-writer"  # metadata: which call wrote the object, to tell a lost response from another writer
SHA256 = "touchline-sha256"  # metadata: the checksum of an object that was uploaded in parts
LONGEST_METADATA_BYTES = 2048  # S3's limit

_METADATA_NAME = re.compile(r"[a-z0-9-]{1,64}")


@dataclass(frozen=True, slots=True)
class ObjectAttributes:
    """What is stored along with the data. Too long is refused and never cut."""

    content_type: str = DEFAULT_TYPE
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if not all(_METADATA_NAME.fullmatch(name) for name in self.metadata):
            raise InvalidInput(
                "not a valid metadata name", field="metadata", why="it must have 1 to 64 characters of a-z, 0-9 and -"
            )
        for value in (self.content_type, *self.metadata.values()):
            if not (value.isascii() and value.isprintable() and value == value.strip()):
                raise InvalidInput("not a valid metadata value", field="metadata", why="it is sent as a header")
        if sum(len(name) + len(value) for name, value in self.metadata.items()) > LONGEST_METADATA_BYTES:
            raise InvalidInput("too much metadata", field="metadata", why=f"at most {LONGEST_METADATA_BYTES} bytes")

    def with_metadata(self, name: str, value: str) -> ObjectAttributes:
        return ObjectAttributes(self.content_type, {**self.metadata, name: value})


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    key: ObjectKey
    size_bytes: int
    etag: str
    content_type: str
    modified_at: datetime
    sha256: str | None  # None: it was uploaded in parts from outside, without one
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ListedObject:
    key: str  # as it is in the bucket, which strangers may write to as well
    size_bytes: int
    etag: str
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class ObjectPage:
    objects: tuple[ListedObject, ...]
    next_after: str | None  # None: this was the last page


@dataclass(frozen=True, slots=True)
class DeletionResult:
    count: int
    more: bool  # the limit was reached: call again


@dataclass(frozen=True, slots=True)
class ByteRange:
    """From `start` up to `stop` (exclusive); without a stop, to the end."""

    start: int
    stop: int | None = None

    def __post_init__(self) -> None:
        if self.start < 0 or (self.stop is not None and self.stop <= self.start):
            raise InvalidInput("not a valid range of bytes", field="range", why=f"{self.start} to {self.stop}")


@dataclass(frozen=True, slots=True)
class MultipartUpload:
    """A multipart upload, to be stored by whoever began it."""

    key: ObjectKey
    id: str
    writer: str


@dataclass(frozen=True, slots=True)
class OpenUpload:
    """An upload as the store lists it: neither completed nor aborted."""

    key: str
    id: str
    started_at: datetime


@dataclass(frozen=True, slots=True)
class UploadPage:
    uploads: tuple[OpenUpload, ...]
    next_after: tuple[str, str] | None  # None: this was the last page


@dataclass(frozen=True, slots=True)
class UploadedPart:
    """One part as it arrived. A part that was sent again may be listed twice."""

    number: int
    size_bytes: int
    etag: str
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class PartPlan:
    """Parts 1 to `count`, all of `part_bytes` but the last."""

    size_bytes: int
    part_bytes: int

    @property
    def count(self) -> int:
        return -(-self.size_bytes // self.part_bytes)

    def part_size(self, number: int) -> int:
        return min(self.part_bytes, self.size_bytes - (number - 1) * self.part_bytes)


@dataclass(frozen=True, slots=True)
class PartsCheck:
    """The parts that are correct, and those that prevent the completion of an upload."""

    chosen: tuple[UploadedPart, ...]
    missing: tuple[int, ...]
    wrong_size: tuple[int, ...]
    wrong_checksum: tuple[int, ...]

    @property
    def to_send(self) -> tuple[int, ...]:
        """The parts to send (again), in order."""
        return tuple(sorted({*self.missing, *self.wrong_size, *self.wrong_checksum}))


@dataclass(frozen=True, slots=True)
class SignedUrl:
    url: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class BucketStatus:
    browser_ready: bool  # False: this service accepts no CORS rule, so browsers cannot upload directly


MEBIBYTE = 1024**2
PART_BYTES = 20 * MEBIBYTE
MOST_PARTS = 10_000
LARGEST_OBJECT_BYTES = 5 * 1024**4
LARGEST_PAGE = 1000  # S3's limit
LONGEST_DOWNLOAD_NAME = 200
MOST_NAMED_PARTS = 20


class PartFault(Enum):
    """In the order of the fields of `PartsCheck`."""

    MISSING = auto()
    WRONG_SIZE = auto()
    WRONG_CHECKSUM = auto()


def part_plan(size_bytes: int) -> PartPlan:
    """Parts of 20 MiB, grown by whole MiB so that 10,000 suffice."""
    if size_bytes < 1:
        raise InvalidInput("an upload needs at least one byte", field="size_bytes")
    if size_bytes > LARGEST_OBJECT_BYTES:
        raise LimitExceeded("the file is too large", why=f"the limit is {format_bytes(LARGEST_OBJECT_BYTES)}")
    needed = -(-size_bytes // (MOST_PARTS * MEBIBYTE)) * MEBIBYTE
    return PartPlan(size_bytes, max(PART_BYTES, needed))


def check_parts(plan: PartPlan, arrived: Iterable[UploadedPart], etags: Mapping[int, str] | None = None) -> PartsCheck:
    """Compares the parts that arrived with the plan and, if given, with the checksums of the sender."""
    candidates: dict[int, list[UploadedPart]] = {}
    for part in arrived:
        candidates.setdefault(part.number, []).append(part)
    chosen: list[UploadedPart] = []
    faults: dict[PartFault, list[int]] = {fault: [] for fault in PartFault}
    for number in range(1, plan.count + 1):
        verdict = _choose_part(candidates.get(number, []), plan.part_size(number), _declared(number, etags))
        if isinstance(verdict, PartFault):
            faults[verdict].append(number)
        else:
            chosen.append(verdict)
    return PartsCheck(tuple(chosen), *(tuple(faults[fault]) for fault in PartFault))


def require_complete(check: PartsCheck) -> None:
    """Names the parts, so that the sender can fix the upload."""
    reasons = (("missing", check.missing), ("wrong size", check.wrong_size), ("wrong checksum", check.wrong_checksum))
    why = "; ".join(f"{reason}: {_numbers(parts)}" for reason, parts in reasons if parts)
    if why:
        raise InvalidInput("the upload is incomplete", field="parts", why=why, hint="Send these parts again.")


def page_size(limit: int) -> int:
    if limit < 1:
        raise InvalidInput("a page has at least one entry", field="limit")
    return min(limit, LARGEST_PAGE)


def content_disposition(download_name: str) -> str:
    """A Content-Disposition header for an untrusted file name (RFC 6266)."""
    shown = "".join(letter if letter.isprintable() and letter not in '/\\"' else "_" for letter in download_name)
    shown = shown.strip(". ")[:LONGEST_DOWNLOAD_NAME] or "download"
    plain = shown.encode("ascii", "replace").decode().translate(str.maketrans("?%;", "___"))
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(shown, safe='')}"


def _declared(number: int, etags: Mapping[int, str] | None) -> str | None:
    return None if etags is None else etags.get(number, "").strip('"')


def _choose_part(candidates: list[UploadedPart], size_bytes: int, etag: str | None) -> UploadedPart | PartFault:
    """The sender's checksum decides which one counts, else the newest; two newest that differ are ambiguous."""
    if not candidates:
        return PartFault.MISSING
    newest = max(part.modified_at for part in candidates)
    wanted = [part for part in candidates if (part.modified_at == newest if etag is None else part.etag == etag)]
    fitting = {part.etag: part for part in wanted if part.size_bytes == size_bytes}
    if wanted and not fitting:
        return PartFault.WRONG_SIZE
    return fitting.popitem()[1] if len(fitting) == 1 else PartFault.WRONG_CHECKSUM


def _numbers(parts: tuple[int, ...]) -> str:
    named = ", ".join(str(number) for number in parts[:MOST_NAMED_PARTS])
    return named if len(parts) <= MOST_NAMED_PARTS else f"{named} and {len(parts) - MOST_NAMED_PARTS} more"
