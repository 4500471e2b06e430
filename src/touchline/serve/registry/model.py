"""The business record of an upload, and pages of them.

Invariant: a record is newest-first sortable by an exact key: when it was made, then its hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from touchline.contracts.events.artifacts import ArtifactType
from touchline.kernel import TenantId, UserId
from touchline.kernel.ids import ArtifactHash, InternalName, PlaybackId


@dataclass(frozen=True, slots=True)
class Identity:
    tenant_id: TenantId
    artifact_hash: ArtifactHash
    playback_id: PlaybackId
    internal_name: InternalName
    artifact_type: ArtifactType
    user_id: UserId


@dataclass(frozen=True, slots=True)
class NewUpload:
    """A request, as it was sent or as it was checked."""

    idempotency_key: str
    file_name: str
    size_bytes: int
    title: str = ""
    content_type: str = ""


@dataclass(frozen=True, slots=True)
class Upload:
    id: UUID
    artifact_hash: ArtifactHash
    playback_id: PlaybackId
    internal_name: InternalName
    user_id: UserId
    title: str
    file_name: str
    size_bytes: int
    created_at: datetime
    expires_at: datetime | None
    revision: int


@dataclass(frozen=True, slots=True)
class Record:
    """An upload with what only the registry knows."""

    upload: Upload
    placed: bool  # its artifact exists
    failed: bool  # and will not, unless someone asks again
    deleted: bool


@dataclass(frozen=True, slots=True)
class CreatedUpload:
    upload: Upload
    part_size_bytes: int
    part_count: int


@dataclass(frozen=True, slots=True)
class RowKey:
    created_at: datetime
    artifact_hash: str


@dataclass(frozen=True, slots=True)
class Window:
    """The rows strictly between two places, newest first: the first `size` of them, or the last."""

    size: int = 50
    after: RowKey | None = None
    before: RowKey | None = None
    from_the_end: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    uploads: Sequence[Upload]
    has_next: bool
    has_previous: bool
    total_count: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What counts towards a tenant's quota."""

    stored_bytes: int
    open_uploads: int
    open_clips: int = 0
