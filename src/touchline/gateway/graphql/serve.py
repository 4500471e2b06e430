"""The serve plane as GraphQL shows it: uploads, their parts, and what can be played."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import strawberry

from touchline.contracts.artifacts import PartAddress
from touchline.contracts.registry import Upload
from touchline.contracts.rpc.v1.lifecycle_pb2 import ArtifactState
from touchline.gateway.media.links import MediaLinks
from touchline.kernel import TenantId
from touchline.measure.lifecycle.rules import is_frozen, storage_location

from .loaders import Lifecycle
from .nodes import Node, global_id
from .results import AuthError, ConflictError, NotFoundError, RateLimitError, UnavailableError, ValidationError

VOD = "Vod"
READY = "ready"


@strawberry.type(
    description="An uploaded video. Business fields come from the registry, lifecycle fields from the events; "
    "null is unknown."
)
class Vod(Node):
    artifact_hash: str
    playback_id: str
    title: str
    title_revision: int = strawberry.field(description="Of two titles the one with the higher revision counts.")
    file_name: str
    created_at: datetime
    expires_at: datetime | None
    status: str | None = strawberry.field(description="uploading, completing, processing, ready, failed or deleted.")
    progress_percent: int | None
    size_bytes: float | None
    duration_ms: int | None
    width: int | None
    height: int | None
    poster_url: str | None = strawberry.field(description="Signed; without a host.")
    error_code: str | None
    error_message: str | None
    storage_location: str | None
    is_frozen: bool | None
    revision: int
    lifecycle_known: bool = strawberry.field(description="False when the lifecycle service did not answer.")


@strawberry.type(description="Signed, expiring addresses of something that can be played now.")
class Playback:
    artifact_hash: str
    playback_id: str
    title: str
    manifest_url: str
    poster_url: str | None
    storyboard_url: str | None = strawberry.field(description="WebVTT that says which small picture belongs to a time.")
    download_url: str | None = strawberry.field(description="A clip as an MP4 file; null for everything else.")
    duration_ms: int | None
    expires_at: datetime


@strawberry.type
class UploadPart:
    number: int
    url: str
    size_bytes: int


@strawberry.type
class UploadTicket:
    vod: Vod
    part_size_bytes: int
    part_count: int
    parts: list[UploadPart] = strawberry.field(
        description="Where the first parts go; none when an earlier request has sent them all."
    )


@strawberry.type
class UploadParts:
    parts: list[UploadPart]


@strawberry.type
class ArrivedParts:
    part_size_bytes: int
    part_count: int
    arrived: list[int]


@strawberry.type
class VodPayload:
    vod: Vod


@strawberry.type
class DeletedVod:
    artifact_hash: str


@strawberry.input
class CreateVodUploadInput:
    idempotency_key: str
    file_name: str
    size_bytes: float
    title: str | None = None
    content_type: str | None = None


CreateVodUploadResult = Annotated[
    UploadTicket | ValidationError | AuthError | RateLimitError | ConflictError | UnavailableError,
    strawberry.union("CreateVodUploadResult"),
]
UploadPartsResult = Annotated[
    UploadParts | ValidationError | NotFoundError | AuthError | ConflictError | UnavailableError,
    strawberry.union("UploadPartsResult"),
]
VodResult = Annotated[
    VodPayload | ValidationError | NotFoundError | AuthError | ConflictError | RateLimitError | UnavailableError,
    strawberry.union("VodResult"),
]
DeleteVodResult = Annotated[
    DeletedVod | NotFoundError | AuthError | ConflictError | UnavailableError, strawberry.union("DeleteVodResult")
]
PlaybackResult = Annotated[
    Playback | NotFoundError | AuthError | ConflictError | UnavailableError, strawberry.union("PlaybackResult")
]

# What only the lifecycle can fill, as the schema spells it.
LIFECYCLE_FIELDS = frozenset(
    {
        "status",
        "progressPercent",
        "sizeBytes",
        "durationMs",
        "width",
        "height",
        "posterUrl",
        "downloadUrl",
        "errorCode",
        "errorMessage",
        "storageLocation",
        "isFrozen",
        "revision",
        "lifecycleKnown",
    }
)


def vod_of(upload: Upload, lifecycle: Lifecycle, tenant_id: TenantId, links: MediaLinks) -> Vod:
    poster = links.poster(tenant_id, upload.playback_id, upload.artifact_hash) if lifecycle.has_poster else None
    return Vod(
        id=global_id(VOD, upload.artifact_hash),
        artifact_hash=upload.artifact_hash,
        playback_id=upload.playback_id,
        title=upload.title,
        title_revision=upload.revision,
        file_name=upload.file_name,
        created_at=upload.created_at,
        expires_at=upload.expires_at,
        poster_url=poster and poster.url,
        **known_of(lifecycle),
    )


def known_of(lifecycle: Lifecycle) -> dict[str, Any]:
    """The lifecycle fields of an artifact of any kind."""
    state = lifecycle.state or ArtifactState()  # nothing is set in an empty one: all unknown
    storage = _given(state, "synced"), _given(state, "local_copies")
    names = ("progress_percent", "size_bytes", "duration_ms", "width", "height", "error_code", "error_message")
    return {
        "status": state.stage or None,
        **{name: _given(state, name) for name in names},
        "storage_location": storage_location(*storage),
        "is_frozen": is_frozen(*storage),
        "revision": state.revision,
        "lifecycle_known": lifecycle.known,
    }


def _given(state: ArtifactState, name: Any) -> Any:
    """What is not set is unknown, which is not the same as nothing."""
    return getattr(state, name) if state.HasField(name) else None


def part_of(address: PartAddress) -> UploadPart:
    return UploadPart(number=address.number, url=address.url, size_bytes=address.size_bytes)
