"""What an artifact is: its state, its bytes, and what was made of them.

Invariant: nothing here is told by the artifact's owner but the size, and that is verified before `synced`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from touchline.contracts.events.artifacts import ArtifactType
from touchline.kernel import TenantId, UserId
from touchline.kernel.ids import ArtifactHash, InternalName


class Status(StrEnum):
    REQUESTED = "requested"
    UPLOADING = "uploading"
    COMPLETING = "completing"
    ABORTING = "aborting"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, order=True)
class JobRun:
    """One attempt at one job. Job ids rise with time, so that the runs of an artifact have an order across its jobs."""

    job_id: UUID
    attempt: int


NO_RUN = JobRun(UUID(int=0), 0)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an artifact failed: a code for programs, words for people."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class NewArtifact:
    artifact_hash: ArtifactHash
    artifact_type: ArtifactType
    internal_name: InternalName
    user_id: UserId
    original_key: str
    content_type: str
    size_bytes: int | None  # None: not known before it is made
    retention_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Artifact:
    tenant_id: TenantId
    artifact_hash: ArtifactHash
    artifact_type: ArtifactType
    internal_name: InternalName
    user_id: UserId
    status: Status
    original_key: str
    content_type: str
    size_bytes: int | None  # None: a clip that is not cut yet
    synced: bool
    run: JobRun  # the latest one that reported
    progress_percent: int | None
    manifest_key: str | None
    poster_key: str | None
    duration_ms: int | None
    width: int | None
    height: int | None
    reason: Reason | None
    created_at: datetime
    retention_until: datetime | None
    revision: int


@dataclass(frozen=True, slots=True)
class Rendition:
    """What processing made of the original, and which attempt it was."""

    manifest_key: str
    poster_key: str
    duration_ms: int
    width: int
    height: int
