"""What happens to artifacts: registered, changed, their original stored. Written by serve, read by everybody.

Invariant: a lifecycle event says all that is known at that revision; a field that is null is unknown, not gone.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import ClassVar
from uuid import UUID

from .envelope import Payload


class ArtifactType(StrEnum):
    CLIP = "clip"
    DVR = "dvr"
    UPLOAD = "upload"


class ArtifactPayload(Payload):
    artifact_hash: str

    @property
    def key(self) -> str:
        return f"artifact:{self.artifact_hash}"


class ArtifactRegistered(ArtifactPayload):
    """The audit record of a new registry entry."""

    event_type: ClassVar[str] = "artifact.registered"
    artifact_type: ArtifactType
    playback_id: str
    internal_name: str
    user_id: UUID | None
    title: str


class ArtifactRenamed(ArtifactPayload):
    """It has another title. Revisions are those of the registry record."""

    event_type: ClassVar[str] = "artifact.renamed"
    title: str


class ArtifactLifecycle(ArtifactPayload):
    event_type: ClassVar[str] = "artifact.lifecycle"
    artifact_type: ArtifactType
    internal_name: str
    user_id: UUID | None
    status: str
    progress_percent: int | None = None
    size_bytes: int | None = None
    duration_ms: int | None = None
    width: int | None = None
    height: int | None = None
    manifest_key: str | None = None
    poster_key: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    synced: bool | None = None
    local_copies: int | None = None


class OriginalStored(ArtifactPayload):
    """The original is verified in the object store: processing may begin."""

    event_type: ClassVar[str] = "artifact.original_stored"
    original_key: str
    size_bytes: int
    content_type: str
    user_id: UUID | None = None


class OriginalVanished(ArtifactPayload):
    """The object store no longer has it. What was made of it before stays."""

    event_type: ClassVar[str] = "artifact.original_vanished"
    original_key: str
    missing_since: datetime


class OriginalReturned(ArtifactPayload):
    event_type: ClassVar[str] = "artifact.original_returned"
    original_key: str


class ArtifactUndeleted(ArtifactPayload):
    """It was deleted and is back, as it was: every plane shows again what it has kept of it."""

    event_type: ClassVar[str] = "artifact.undeleted"


class PurgeDue(ArtifactPayload):
    """It was deleted and will not come back: every plane deletes what it holds of it, and says when it has."""

    event_type: ClassVar[str] = "artifact.purge_due"


PAYLOADS: tuple[type[Payload], ...] = (
    ArtifactRegistered,
    ArtifactRenamed,
    ArtifactLifecycle,
    OriginalStored,
    OriginalVanished,
    OriginalReturned,
    ArtifactUndeleted,
    PurgeDue,
)
