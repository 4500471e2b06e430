"""The business registry, as the other roles ask it: records of uploads and clips, pages of them, and public ids.

Invariants: the service object and the gRPC client both implement `RegistryClient`, and the same call has the same
result, the same error and a deadline with either. A record has an exact place in a listing, newest first: when it was
made, then its hash. Times of clips are whole milliseconds of the source's media time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from touchline.kernel import Principal, TenantId, UserId
from touchline.kernel.ids import ArtifactHash, InternalName, PlaybackId

from .artifacts import ArtifactStatus
from .events.artifacts import ArtifactType


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
class CreatedUpload:
    upload: Upload
    part_size_bytes: int
    part_count: int


@dataclass(frozen=True, slots=True)
class RowKey:
    created_at: datetime
    artifact_hash: str


@dataclass(frozen=True, slots=True)
class RowWindow:
    """The rows strictly between two places, newest first: the first `size` of them, or the last."""

    size: int = 50
    after: RowKey | None = None
    before: RowKey | None = None
    from_the_end: bool = False


@dataclass(frozen=True, slots=True)
class UploadPage:
    uploads: Sequence[Upload]
    has_next: bool
    has_previous: bool
    total_count: int


@dataclass(frozen=True, slots=True)
class NewClip:
    """A request, as it was sent or as it was checked."""

    source_hash: ArtifactHash
    start_ms: int
    end_ms: int
    padding_ms: int | None = None  # None: the usual one
    title: str = ""
    description: str = ""
    requested_params: Mapping[str, Any] = field(default_factory=dict[str, Any])  # word by word, for the audit


@dataclass(frozen=True, slots=True)
class Span:
    """From the first millisecond to before the last."""

    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Clip:
    id: UUID
    artifact_hash: ArtifactHash
    playback_id: PlaybackId
    internal_name: InternalName
    user_id: UserId
    source_hash: ArtifactHash
    stream_id: UUID | None
    title: str
    description: str
    start_ms: int
    end_ms: int
    padding_ms: int
    shown: Span  # with its padding, as far as the source goes; exact once it was cut
    created_at: datetime
    expires_at: datetime
    revision: int


@dataclass(frozen=True, slots=True)
class CreatedClip:
    """With how its artifact is right now: the same request again finds it further on."""

    clip: Clip
    status: ArtifactStatus
    revision: int


@dataclass(frozen=True, slots=True)
class ClipFilter:
    source_hash: ArtifactHash | None = None
    stream_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ClipPage:
    clips: Sequence[Clip]
    has_next: bool
    has_previous: bool
    total_count: int


FIRST, ALL_CLIPS = RowWindow(), ClipFilter()


class RegistryClient(Protocol):
    """Every call is made for a caller, whose tenant and scopes are checked; public ids resolve without one, too."""

    async def create_upload(self, caller: Principal, new: NewUpload) -> CreatedUpload:
        """The same idempotency key again continues what was begun."""
        ...

    async def uploads(self, caller: Principal, hashes: Sequence[str]) -> Sequence[Upload]:
        """The ones that exist, in any order."""
        ...

    async def listed(self, caller: Principal, window: RowWindow = FIRST) -> UploadPage: ...

    async def delete_upload(self, caller: Principal, artifact_hash: str) -> None: ...

    async def create_clip(self, caller: Principal, new: NewClip) -> CreatedClip:
        """The same video, range and padding again returns the clip that exists."""
        ...

    async def clips(self, caller: Principal, hashes: Sequence[str]) -> Sequence[Clip]:
        """The ones that exist, in any order."""
        ...

    async def listed_clips(
        self, caller: Principal, window: RowWindow = FIRST, wanted: ClipFilter = ALL_CLIPS
    ) -> ClipPage: ...

    async def delete_clip(self, caller: Principal, artifact_hash: str) -> None: ...

    async def resolve_playback_id(self, playback_id: str, caller: Principal | None = None) -> Identity:
        """With a caller only in its tenant, without one in any."""
        ...

    async def resolve_internal_name(self, internal_name: str) -> Identity: ...
