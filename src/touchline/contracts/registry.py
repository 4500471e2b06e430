"""The business registry, as the other roles ask it: records of uploads, clips, streams and recordings, pages of them,
and public ids.

Invariants: the service object and the gRPC client both implement `RegistryClient`, and the same call has the same
result, the same error and a deadline with either. A record has an exact place in a listing, newest first: when it was
made, then its hash. Times of clips are whole milliseconds: of an uploaded video from its beginning, of a stream and its
recordings since 1970. The same idempotency key with the same request has the same result; with another request it is an
error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from touchline.kernel import ArtifactHash, InternalName, PlaybackId, Principal, TenantId, UserId

from .artifacts import ArtifactStatus
from .events.artifacts import ArtifactType


@dataclass(frozen=True, slots=True)
class Identity:
    tenant_id: TenantId
    artifact_hash: ArtifactHash
    playback_id: PlaybackId
    internal_name: InternalName
    artifact_type: ArtifactType | None  # none: a stream, whose id has this hash
    user_id: UserId
    stream_id: UUID | None = None  # of a clip of a stream and of a recording, as far as it was asked for


@dataclass(frozen=True, slots=True)
class NewUpload:
    """A request, as it was sent or as it was checked."""

    idempotency_key: str
    file_name: str
    size_bytes: int
    title: str = ""
    content_type: str = ""
    description: str = ""
    retention: timedelta | None = None  # None: as long as the tenant keeps things


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
    description: str = ""
    pinned: bool = False  # kept until it is unpinned


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


class ClipMode(StrEnum):
    """What the times of a request count from."""

    ABSOLUTE = "absolute"  # start, and end or duration: of an upload from its beginning, of a stream since 1970
    RELATIVE = "relative"  # start, and end or duration: from the beginning of the stream, recording or upload
    DURATION = "duration"  # start and duration, the start as in ABSOLUTE
    CLIP_NOW = "clip_now"  # duration: the last part, up to now


@dataclass(frozen=True, slots=True)
class NewClip:
    """A request, as it was sent. It names an artifact or a stream, and never both."""

    source_hash: ArtifactHash | None
    start_ms: int | None = None
    end_ms: int | None = None
    padding_ms: int | None = None  # None: the usual one
    title: str = ""
    description: str = ""
    requested_params: Mapping[str, Any] = field(default_factory=dict[str, Any])  # word by word, for the audit
    mode: ClipMode = ClipMode.ABSOLUTE
    duration_ms: int | None = None
    stream_id: UUID | None = None
    idempotency_key: str = ""  # empty: the same source, range and padding is the same request
    retention: timedelta | None = None


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
    mode: ClipMode = ClipMode.ABSOLUTE
    pinned: bool = False

    @property
    def fulfilled(self) -> Span:
        """How much of what was asked for it shows."""
        return Span(max(self.start_ms, self.shown.start_ms), min(self.end_ms, self.shown.end_ms))


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


@dataclass(frozen=True, slots=True)
class NewStream:
    idempotency_key: str
    title: str
    description: str = ""
    record: bool = False


@dataclass(frozen=True, slots=True)
class LiveHealth:
    """What the node measured of a publisher, over its last seconds."""

    bits_per_second: int
    frames_per_second: float
    dropped_frames: int  # since it began
    keyframe_gap_ms: int
    behind_ms: int  # the newest picture's arrival after it was due
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class LiveSession:
    """A publisher's stay: the same one when it comes back soon."""

    session_id: UUID
    node_id: str
    since: datetime
    playable_at: datetime | None = None  # none: nothing can be played yet
    broken_at: datetime | None = None  # the publisher is gone, and may come back
    health: LiveHealth | None = None


@dataclass(frozen=True, slots=True)
class Stream:
    id: UUID
    playback_id: PlaybackId
    internal_name: InternalName
    user_id: UserId
    title: str
    description: str
    record: bool  # whether a recording starts whenever it goes live
    created_at: datetime
    key_rotated_at: datetime
    live_since: datetime | None
    suspended_at: datetime | None  # its key is refused
    revision: int
    live: LiveSession | None = None
    live_problem: str = ""  # why the last publisher was refused for what it sent

    @property
    def artifact_hash(self) -> ArtifactHash:
        """Its place among the identities, and in listings. It is no artifact."""
        return ArtifactHash(self.id.hex)


@dataclass(frozen=True, slots=True)
class StreamWithKey:
    """Whoever has the key may publish. It is shown once: None for the same request again."""

    stream: Stream
    key: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class StreamChange:
    """None: stays as it is."""

    title: str | None = None
    description: str | None = None
    record: bool | None = None
    suspended: bool | None = None


@dataclass(frozen=True, slots=True)
class StreamPage:
    streams: Sequence[Stream]
    has_next: bool
    has_previous: bool
    total_count: int


@dataclass(frozen=True, slots=True)
class StreamOwner:
    """Whose stream a key is."""

    tenant_id: TenantId
    stream: Stream


@dataclass(frozen=True, slots=True)
class NewRecording:
    stream_id: UUID
    title: str = ""
    description: str = ""
    idempotency_key: str = ""  # empty: a stream has one recording at a time anyway
    retention: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """Of a stream (DVR)."""

    id: UUID
    artifact_hash: ArtifactHash
    playback_id: PlaybackId
    internal_name: InternalName
    user_id: UserId
    stream_id: UUID
    stream_name: InternalName  # how the stream is routed
    title: str
    description: str
    created_at: datetime
    ended_at: datetime | None
    expires_at: datetime | None  # counted from its end
    revision: int
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class StartedRecording:
    """With how its artifact is right now: the same request again finds it further on."""

    recording: Recording
    status: ArtifactStatus
    revision: int


@dataclass(frozen=True, slots=True)
class RecordingPage:
    recordings: Sequence[Recording]
    has_next: bool
    has_previous: bool
    total_count: int


@dataclass(frozen=True, slots=True)
class ArtifactChange:
    """None: stays as it is."""

    title: str | None = None
    description: str | None = None
    pinned: bool | None = None  # kept until it is unpinned


@dataclass(frozen=True, slots=True)
class ChangedArtifact:
    artifact_hash: ArtifactHash
    artifact_type: ArtifactType
    title: str
    description: str
    title_revision: int
    pinned: bool
    revision: int


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """None: as the installation says."""

    retention: timedelta | None


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

    async def register_clip(self, caller: Principal, new: NewClip) -> Clip:
        """The record alone. `create_clip` with the same key continues it; without an artifact it ends as failed."""
        ...

    async def create_stream(self, caller: Principal, new: NewStream) -> StreamWithKey: ...

    async def update_stream(self, caller: Principal, stream_id: UUID, change: StreamChange) -> Stream: ...

    async def rotate_stream_key(self, caller: Principal, stream_id: UUID) -> StreamWithKey:
        """The old key is refused from now on."""
        ...

    async def delete_stream(self, caller: Principal, stream_id: UUID) -> None:
        """Its key is refused for good. Its recordings and clips stay."""
        ...

    async def streams(self, caller: Principal, ids: Sequence[UUID]) -> Sequence[Stream]:
        """The ones that exist, in any order."""
        ...

    async def listed_streams(self, caller: Principal, window: RowWindow = FIRST) -> StreamPage: ...

    async def publish_urls(self, caller: Principal) -> Sequence[str]:
        """Where encoders publish to, with the key of a stream: of the nodes that are there."""
        ...

    async def resolve_stream_key(self, key: str) -> StreamOwner:
        """For nodes: whoever publishes has nothing but the key."""
        ...

    async def register_dvr(self, caller: Principal, new: NewRecording) -> Recording:
        """The record alone: of a stream that is being recorded, that recording's. `start_dvr` continues it."""
        ...

    async def start_dvr(self, caller: Principal, new: NewRecording) -> StartedRecording:
        """A stream has one recording at a time: starting again returns the same one."""
        ...

    async def stop_dvr(self, caller: Principal, dvr_hash: str) -> StartedRecording: ...

    async def delete_dvr(self, caller: Principal, dvr_hash: str) -> None: ...

    async def recordings(self, caller: Principal, hashes: Sequence[str]) -> Sequence[Recording]:
        """The ones that exist, in any order."""
        ...

    async def listed_dvr_requests(
        self, caller: Principal, window: RowWindow = FIRST, stream_id: UUID | None = None
    ) -> RecordingPage: ...

    async def update_artifact(self, caller: Principal, artifact_hash: str, change: ArtifactChange) -> ChangedArtifact:
        """Of any type."""
        ...

    async def tenant_settings(self, caller: Principal) -> TenantSettings: ...

    async def update_tenant_settings(self, caller: Principal, settings: TenantSettings) -> TenantSettings:
        """For administrators. What exists already keeps its time."""
        ...

    async def resolve_clip_hash(self, clip_hash: str, caller: Principal | None = None) -> Identity:
        """With a caller only in its tenant, without one in any; until it is purged, also when it was deleted."""
        ...

    async def resolve_dvr_hash(self, dvr_hash: str, caller: Principal | None = None) -> Identity: ...

    async def resolve_playback_id(self, playback_id: str, caller: Principal | None = None) -> Identity:
        """With a caller only in its tenant, without one in any."""
        ...

    async def resolve_internal_name(self, internal_name: str) -> Identity: ...
