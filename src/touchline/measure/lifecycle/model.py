"""What events say of an artifact, and what is known of it when all of them are put together.

Invariant: None means that no event has said it. It never means no, zero or gone.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from touchline.kernel.ids import ArtifactHash


class StorageLocation(StrEnum):
    PENDING = "pending"
    LOCAL = "local"
    FREEZING = "freezing"
    S3 = "s3"
    DEFROSTING = "defrosting"


class Transfer(StrEnum):
    """Bytes on their way between a node and the object store."""

    FREEZE = "freeze"
    DEFROST = "defrost"


@dataclass(frozen=True, slots=True)
class Facts:
    """What one event may say of the artifact. Each is kept until an event of a higher standing says another."""

    artifact_type: str | None = None
    stage: str | None = None
    progress_percent: int | None = None
    size_bytes: int | None = None
    duration_ms: int | None = None
    width: int | None = None
    height: int | None = None
    original_key: str | None = None
    manifest_key: str | None = None
    poster_key: str | None = None
    synced: bool | None = None
    local_copies: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Code and message belong together, and to the stage in which they were reported."""

    code: str | None
    message: str | None
    stage: str | None


@dataclass(frozen=True, slots=True)
class Context:
    """What else an event tells: for the history, not for the state."""

    internal_name: str | None = None
    playback_id: str | None = None
    user_id: UUID | None = None
    content_type: str | None = None
    job_id: UUID | None = None
    job_type: str | None = None
    attempt: int | None = None


FACT_NAMES = tuple(field.name for field in fields(Facts))
CONTEXT_NAMES = tuple(field.name for field in fields(Context))


@dataclass(frozen=True, slots=True)
class ArtifactEvent:
    """One event of one artifact, as it is kept for good."""

    event_id: UUID
    position: int
    artifact_hash: ArtifactHash
    type: str
    revision: int
    occurred_at: datetime
    facts: Facts
    error_code: str | None = None
    error_message: str | None = None
    context: Context = Context()


@dataclass(frozen=True, slots=True)
class StorageEvent:
    """Where an artifact's bytes were, as one event says it."""

    event_id: UUID
    position: int
    artifact_hash: ArtifactHash
    type: str
    revision: int
    occurred_at: datetime
    synced: bool | None
    local_copies: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All events of one artifact put together; nothing is concluded from it yet."""

    artifact_hash: ArtifactHash
    facts: Facts
    failure: Failure | None
    revision: int  # the artifact's own, zero before its first event
    position: int  # of the last event: a subscription goes on from here
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ArtifactState:
    """The answer for one artifact."""

    artifact_hash: ArtifactHash
    artifact_type: str | None
    stage: str | None
    progress_percent: int | None
    size_bytes: int | None
    duration_ms: int | None
    width: int | None
    height: int | None
    original_key: str | None
    manifest_key: str | None
    poster_key: str | None
    synced: bool | None
    local_copies: int | None
    error_code: str | None
    error_message: str | None
    storage_location: StorageLocation | None
    is_frozen: bool | None
    revision: int
    position: int
    updated_at: datetime
