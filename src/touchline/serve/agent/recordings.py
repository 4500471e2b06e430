"""What of a recording lies on the disk of this node, until it is in the object store and on record.

    recordings/{tenant}/{hash}/{attempt}/     one attempt: its headers, and the segments that are under way

Invariant: a file has its name by one rename, and the name of a segment says all that is known of it. So a node that
was killed goes on with what lies there.
"""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from touchline.kernel import ArtifactHash, InvalidInput, TenantId, parse_artifact_hash
from touchline.platform.objects.rules import ObjectKey
from touchline.serve.dvr.rules import Segment, file_key, init_name, segment_name

RECORDINGS, PRIVATE = "recordings", 0o700
EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_SEGMENT = re.compile(r"(\d{1,12})\.(\d{1,9})\.(\d{1,18})\.(\d{1,12})\.([01])\.m4s", re.ASCII)
_HEADER = re.compile(r"init-(\d{1,9})\.mp4", re.ASCII)
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecordingPlace:
    """One attempt at one recording."""

    tenant_id: TenantId
    dvr_hash: ArtifactHash
    attempt: UUID

    def segment_key(self, segment: Segment) -> ObjectKey:
        return file_key(self.dvr_hash, segment_name(self.attempt, segment.sequence))

    def header_key(self, number: int) -> ObjectKey:
        return file_key(self.dvr_hash, init_name(self.attempt, number))


@dataclass(slots=True)
class RecordingFolder:
    """The files of one attempt."""

    place: RecordingPlace
    path: Path
    headers: dict[bytes, int] = field(default_factory=dict[bytes, int])

    def make(self) -> None:
        self.path.mkdir(mode=PRIVATE, parents=True, exist_ok=True)

    def add_header(self, data: bytes) -> int:
        """Its number: the same bytes have one."""
        if known := self.headers.get(data):
            return known
        number = max(self.headers.values(), default=0) + 1
        self._write(self.header_path(number), data)
        self.headers[data] = number
        return number

    def add_segment(self, segment: Segment, data: bytes) -> None:
        self._write(self.segment_path(segment), data)

    def header_path(self, number: int) -> Path:
        return self.path / f"init-{number}.mp4"

    def segment_path(self, segment: Segment) -> Path:
        starts_us = (segment.starts_at - EPOCH) // MICROSECOND
        details = f"{segment.init}.{starts_us}.{segment.duration_us}.{int(segment.follows_break)}"
        return self.path / f"{segment.sequence:08d}.{details}.m4s"

    def delete_segment(self, segment: Segment) -> None:
        self.segment_path(segment).unlink(missing_ok=True)

    def delete(self) -> None:
        """With the folders above it, where they are empty."""
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):
            self.path.parent.rmdir()
            self.path.parent.parent.rmdir()

    def segments(self) -> list[Segment]:
        found = (_segment(self.place.attempt, path) for path in self.path.iterdir())
        return sorted((each for each in found if each is not None), key=lambda segment: segment.sequence)

    def _write(self, path: Path, data: bytes) -> None:
        partial = path.with_suffix(".part")
        try:
            partial.write_bytes(data)
            partial.rename(path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise


def left_recordings(root: Path) -> Iterator[RecordingFolder]:
    """Of a node that was stopped or killed while it recorded. What cannot be read is left alone."""
    for path in sorted((root / RECORDINGS).glob("*/*/*")):
        try:
            tenant, dvr_hash, attempt = path.parts[-3:]
            place = RecordingPlace(TenantId(UUID(tenant)), parse_artifact_hash(dvr_hash), UUID(attempt))
            folder = RecordingFolder(place, path)
            for header in path.glob("init-*.mp4"):
                if number := _HEADER.fullmatch(header.name):
                    folder.headers[header.read_bytes()] = int(number[1])
        except (ValueError, InvalidInput, OSError) as error:
            logger.warning("a recording cannot be read", extra={"folder": str(path), "reason": str(error)})
        else:
            yield folder


def recording_folder(root: Path, place: RecordingPlace) -> RecordingFolder:
    return RecordingFolder(place, root / RECORDINGS / str(place.tenant_id) / place.dvr_hash / str(place.attempt))


def _segment(attempt: UUID, path: Path) -> Segment | None:
    if (found := _SEGMENT.fullmatch(path.name)) is None:
        return None
    sequence, init, starts_us, duration_us, follows_break = map(int, found.groups())
    starts_at, size_bytes = EPOCH + starts_us * MICROSECOND, path.stat().st_size
    return Segment(attempt, sequence, init, starts_at, duration_us, size_bytes, bool(follows_break))
