"""Clips on their way from the registry to processing and back: requested by serve, made or failed by process."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from .envelope import Payload


class ClipPayload(Payload):
    artifact_hash: str  # the clip's own

    @property
    def key(self) -> str:
        return f"artifact:{self.artifact_hash}"


class ClipRequested(ClipPayload):
    """A clip is registered: cutting may begin. Times are the source's media time."""

    event_type: ClassVar[str] = "clip.requested"
    source_hash: str
    original_key: str  # of the source
    start_ms: int
    end_ms: int
    padding_ms: int


class ClipMade(ClipPayload):
    """The whole clip is in the object store, with its padding as far as the source has any."""

    event_type: ClassVar[str] = "clip.made"
    job_id: UUID
    attempt: int
    clip_key: str
    size_bytes: int
    cut_start_ms: int  # when its first picture begins in the source
    cut_end_ms: int  # and when its last one ends
    frames: int
    width: int
    height: int


class ClipFailed(ClipPayload):
    """Final: all retries are used up, or none would help."""

    event_type: ClassVar[str] = "clip.failed"
    job_id: UUID | None
    attempt: int
    error_code: str
    error_message: str


PAYLOADS: tuple[type[Payload], ...] = (ClipRequested, ClipMade, ClipFailed)
