"""The artifacts role, as the other roles ask it: an artifact's status, its upload in parts, where a viewer finds it.

Invariants: the service object and the gRPC client both implement `ArtifactClient`, and the same call has the same
result, the same error and a deadline with either. The address of a part never shows in a repr, because whoever has it
may use it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from touchline.kernel import ArtifactHash, PlaybackId, Principal, TenantId

from .events.artifacts import ArtifactType

# To read and inspect a large file; a caller who leaves earlier can ask again.
COMPLETION_DEADLINE = timedelta(minutes=2)


class ArtifactStatus(StrEnum):
    REQUESTED = "requested"
    UPLOADING = "uploading"
    COMPLETING = "completing"
    ABORTING = "aborting"
    STARTING = "starting"
    RECORDING = "recording"
    STOPPING = "stopping"
    COMPLETED = "completed"
    COMPLETED_PARTIAL = "completed_partial"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class PartLayout:
    part_size_bytes: int
    part_count: int


@dataclass(frozen=True, slots=True)
class PartAddress:
    number: int
    url: str = field(repr=False)
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ArrivedPart:
    number: int
    size_bytes: int
    etag: str


@dataclass(frozen=True, slots=True)
class ArrivedParts:
    parts: Sequence[ArrivedPart]
    part_size_bytes: int
    part_count: int


@dataclass(frozen=True, slots=True)
class UploadState:
    """The result of a call that changes an upload."""

    status: ArtifactStatus
    revision: int


@dataclass(frozen=True, slots=True)
class ViewerNode:
    """A node that sends media, by the same signed paths as the gateway."""

    node_id: str
    base_url: str


@dataclass(frozen=True, slots=True)
class RecordingState:
    """The result of a call that changes a recording."""

    status: ArtifactStatus
    revision: int


@dataclass(frozen=True, slots=True)
class ViewerEndpoint:
    """What a viewer needs to play an artifact or a live stream. Keys, not addresses: the gateway decides who may fetch
    them."""

    artifact_hash: ArtifactHash
    tenant_id: TenantId
    playback_id: PlaybackId
    manifest_key: str
    poster_key: str
    title: str
    duration_ms: int | None
    clip_key: str  # the file of a clip, to download as a whole; empty for everything else
    artifact_type: ArtifactType | None  # none: a stream, which is live
    status: ArtifactStatus
    width: int | None
    height: int | None
    size_bytes: int | None
    created_at: datetime
    nodes: tuple[ViewerNode, ...] = ()  # that have it and are healthy, the best one first

    @property
    def is_live(self) -> bool:
        """Its media are at its node, and nowhere in the object store. Its hash is that of the stream."""
        return self.artifact_type is None


class ArtifactClient(Protocol):
    """Every call but a viewer's is made for a caller, whose tenant and scopes are checked: playback ids are public."""

    async def create_upload(self, caller: Principal, artifact_hash: str, file_name: str, size_bytes: int) -> PartLayout:
        """For the registry: people create uploads there."""
        ...

    async def presign_parts(
        self, caller: Principal, artifact_hash: str, numbers: Sequence[int]
    ) -> Sequence[PartAddress]: ...

    async def list_parts(self, caller: Principal, artifact_hash: str) -> ArrivedParts:
        """The parts that have arrived as planned; all others are still to be sent."""
        ...

    async def complete_upload(
        self,
        caller: Principal,
        artifact_hash: str,
        etags: Mapping[int, str] | None = None,
        deadline: timedelta = COMPLETION_DEADLINE,
    ) -> UploadState:
        """The sender's checksums: of each part, by number, the MD5 in hex, which is its ETag in the object store.

        When the deadline passes the work goes on: asking again waits for the same end.
        """
        ...

    async def abort_upload(self, caller: Principal, artifact_hash: str) -> UploadState: ...

    async def start_dvr(self, caller: Principal, dvr_hash: str) -> RecordingState:
        """For the registry: the artifact of a registered recording. Again is the same as once."""
        ...

    async def stop_dvr(self, caller: Principal, dvr_hash: str) -> RecordingState:
        """For the registry. What has ended stays as it is."""
        ...

    async def delete_artifact(self, caller: Principal, artifact_hash: str) -> int:
        """For the registry as well. Returns the revision."""
        ...

    async def undelete_artifact(self, caller: Principal, artifact_hash: str) -> int:
        """Until it is purged. Returns the revision."""
        ...

    async def resolve_viewer_endpoint(self, playback_id: str) -> ViewerEndpoint:
        """For anybody. What may be fetched is signed by the gateway, for this tenant and hash."""
        ...
