"""What the object store holds, answers and hands out.

Invariant: a signed link never shows in a repr, because whoever has it may use it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from touchline.kernel.errors import InvalidInput

from .keys import ObjectKey

Source: TypeAlias = bytes | Path | AsyncIterable[bytes]

DEFAULT_TYPE = "application/octet-stream"
WRITER = "touchline-writer"  # metadata: which call wrote the object, so that a lost answer can be told from a rival
SHA256 = "touchline-sha256"  # metadata: the checksum of an object that went up in parts
LONGEST_METADATA_BYTES = 2048  # S3's limit

_METADATA_NAME = re.compile(r"[a-z0-9-]{1,64}")


@dataclass(frozen=True, slots=True)
class Attributes:
    """What travels beside the bytes. Too long is refused and never cut."""

    content_type: str = DEFAULT_TYPE
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if not all(_METADATA_NAME.fullmatch(name) for name in self.metadata):
            raise InvalidInput("not a valid metadata name", field="metadata", why="it has 1 to 64 of a-z, 0-9 and -")
        for value in (self.content_type, *self.metadata.values()):
            if not (value.isascii() and value.isprintable() and value == value.strip()):
                raise InvalidInput("not a valid metadata value", field="metadata", why="it travels as a header")
        if sum(len(name) + len(value) for name, value in self.metadata.items()) > LONGEST_METADATA_BYTES:
            raise InvalidInput("too much metadata", field="metadata", why=f"at most {LONGEST_METADATA_BYTES} bytes")

    def plus(self, name: str, value: str) -> Attributes:
        return Attributes(self.content_type, {**self.metadata, name: value})


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    key: ObjectKey
    size_bytes: int
    etag: str
    content_type: str
    modified_at: datetime
    sha256: str | None  # None: it came in parts from outside, and nobody told
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ListedObject:
    key: str  # as it is in the bucket, which strangers may write to as well
    size_bytes: int
    etag: str
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    objects: tuple[ListedObject, ...]
    next_after: str | None  # None: that was all


@dataclass(frozen=True, slots=True)
class Deleted:
    count: int
    more: bool  # the limit was reached: say so, and come back


@dataclass(frozen=True, slots=True)
class ByteRange:
    """From `start` up to and without `stop`; without a stop, to the end."""

    start: int
    stop: int | None = None

    def __post_init__(self) -> None:
        if self.start < 0 or (self.stop is not None and self.stop <= self.start):
            raise InvalidInput("not a valid range of bytes", field="range", why=f"{self.start} to {self.stop}")


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload in parts, to be kept by whoever began it."""

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
    next_after: tuple[str, str] | None  # None: that was all


@dataclass(frozen=True, slots=True)
class Part:
    """One part as it arrived. A part that was sent again may be listed again, beside the old one."""

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
    """What stands between an upload and its completion, and the parts that are right."""

    chosen: tuple[Part, ...]
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
class Bucket:
    browser_ready: bool  # False: this service takes no rule for web pages, so browsers cannot upload directly
