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

    @classmethod
    def _missing_(cls, value: object) -> ArtifactType | None:
        """Senders may call an upload by its other name."""
        return cls.UPLOAD if value == "vod" else None


class SystemActor(StrEnum):
    """The parts of Touchline that change artifacts by themselves. People are `user:<id>`, and programs that act for
    them `token:<id of the user>`: see `Principal.actor`."""

    PROCESSING = "processing"
    PURGE = "purge"
    RETENTION = "retention"
    SYSTEM = "system"
    WATCH = "watch"


class StorageLocation(StrEnum):
    """Where an artifact's bytes are read from; while they move, the move."""

    PENDING = "pending"
    LOCAL = "local"
    FREEZING = "freezing"
    S3 = "s3"
    DEFROSTING = "defrosting"


class StorageTransfer(StrEnum):
    """Bytes on their way between a node and the object store."""

    FREEZE = "freeze"
    DEFROST = "defrost"


def storage_location(
    synced: bool | None, local_copies: int | None, transfer: StorageTransfer | None = None
) -> StorageLocation | None:
    """None: what is known does not say."""
    if transfer:
        return StorageLocation.FREEZING if transfer is StorageTransfer.FREEZE else StorageLocation.DEFROSTING
    if local_copies:
        return StorageLocation.LOCAL
    if synced is None or local_copies is None:
        return None
    return StorageLocation.S3 if synced else StorageLocation.PENDING


def is_frozen(synced: bool | None, local_copies: int | None) -> bool | None:
    """In the object store and nowhere else. One known no is enough for a no; otherwise both must be known."""
    if synced is False or local_copies:
        return False
    return None if synced is None or local_copies is None else True


class ArtifactPayload(Payload):
    artifact_hash: str
    actor: str | None = None
    """Who caused it: the transaction that announces the event adds it. Null in events older than this field."""
    names_actor: ClassVar[bool] = True

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
    """It has another title or description. Revisions are those of the registry record."""

    event_type: ClassVar[str] = "artifact.renamed"
    title: str
    description: str | None = None
    artifact_type: ArtifactType | None = None  # null: an upload


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
    storage_location: StorageLocation | None = None
    started_at: datetime | None = None  # of a recording
    ended_at: datetime | None = None


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


class ArtifactPinned(ArtifactPayload):
    """Somebody wants to keep it whatever its retention, or no longer."""

    event_type: ClassVar[str] = "artifact.pinned"
    pinned: bool


class PurgeDue(ArtifactPayload):
    """It was deleted and will not come back: processing and watch delete what they hold of it, and say when they have.

    Announced again, until all have answered.
    """

    event_type: ClassVar[str] = "artifact.purge_due"


class ArtifactPurged(ArtifactPayload):
    """None of its bytes are left, nor anything that was made of them. Its records stay for the audit period."""

    event_type: ClassVar[str] = "artifact.purged"


class ForgetDue(ArtifactPayload):
    """The audit period of what was purged, or never came to be, is over: its history goes too, and then its records.

    Announced again, until whoever keeps history has answered.
    """

    event_type: ClassVar[str] = "artifact.forget_due"


class HoldingReleased(ArtifactPayload):
    """The answer of one plane: it holds nothing of the artifact any more. Processing says so by `video.purged`."""

    event_type: ClassVar[str] = "artifact.holding_released"
    holder: str  # watch or measure


PAYLOADS: tuple[type[Payload], ...] = (
    ArtifactRegistered,
    ArtifactRenamed,
    ArtifactLifecycle,
    OriginalStored,
    OriginalVanished,
    OriginalReturned,
    ArtifactUndeleted,
    ArtifactPinned,
    PurgeDue,
    ArtifactPurged,
    ForgetDue,
    HoldingReleased,
)
