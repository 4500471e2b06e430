"""The artifacts role from another process, or from another role of this one. Raises what the service raised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from touchline.contracts.rpc.v1 import artifacts_pb2 as pb
from touchline.kernel import Principal, TenantId
from touchline.kernel.ids import ArtifactHash, PlaybackId
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.serve.playback.model import ViewerEndpoint
from touchline.serve.uploads.model import ArrivedPart, ArrivedParts, PartAddress, Parts, State

from .model import Status
from .rpc import SERVICE

COMPLETING = timedelta(minutes=2)  # to read and look at a large file; whoever leaves earlier can ask again


class ArtifactClient:
    def __init__(self, client: RpcClient) -> None:
        self._stub = Stub(client, SERVICE)

    async def create_upload(self, caller: Principal, artifact_hash: str, file_name: str, size_bytes: int) -> Parts:
        """The registry's business: people create uploads there."""
        request = pb.CreateArtifactUploadRequest(
            artifact_hash=artifact_hash, file_name=file_name, size_bytes=size_bytes
        )
        answer = await self._stub.call("CreateUpload", request, pb.CreateArtifactUploadResponse, caller)
        return Parts(answer.part_size_bytes, answer.part_count)

    async def presign_parts(
        self, caller: Principal, artifact_hash: str, numbers: Sequence[int]
    ) -> Sequence[PartAddress]:
        request = pb.PresignPartsRequest(artifact_hash=artifact_hash, numbers=numbers)
        answer = await self._stub.call("PresignParts", request, pb.PresignPartsResponse, caller)
        return [PartAddress(part.number, part.url, part.size_bytes) for part in answer.parts]

    async def list_parts(self, caller: Principal, artifact_hash: str) -> ArrivedParts:
        """The parts that have arrived as planned; all others are still to be sent."""
        request = pb.ListPartsRequest(artifact_hash=artifact_hash)
        answer = await self._stub.call("ListParts", request, pb.ListPartsResponse, caller)
        parts = [ArrivedPart(part.number, part.size_bytes, part.etag) for part in answer.parts]
        return ArrivedParts(parts, answer.part_size_bytes, answer.part_count)

    async def complete_upload(
        self,
        caller: Principal,
        artifact_hash: str,
        etags: Mapping[int, str] | None = None,
        deadline: timedelta = COMPLETING,
    ) -> State:
        """When the deadline passes the work goes on: asking again waits for the same end."""
        request = pb.CompleteUploadRequest(artifact_hash=artifact_hash, etags=etags)
        answer = await self._stub.call("CompleteUpload", request, pb.CompleteUploadResponse, caller, deadline)
        return State(Status(answer.status), answer.revision)

    async def abort_upload(self, caller: Principal, artifact_hash: str) -> State:
        request = pb.AbortUploadRequest(artifact_hash=artifact_hash)
        answer = await self._stub.call("AbortUpload", request, pb.AbortUploadResponse, caller)
        return State(Status(answer.status), answer.revision)

    async def delete_artifact(self, caller: Principal, artifact_hash: str) -> int:
        """The registry's business as well. Answers the revision."""
        request = pb.DeleteArtifactRequest(artifact_hash=artifact_hash)
        return (await self._stub.call("DeleteArtifact", request, pb.DeleteArtifactResponse, caller)).revision

    async def undelete_artifact(self, caller: Principal, artifact_hash: str) -> int:
        """Within the time before it is purged. Answers the revision."""
        request = pb.UndeleteArtifactRequest(artifact_hash=artifact_hash)
        return (await self._stub.call("UndeleteArtifact", request, pb.UndeleteArtifactResponse, caller)).revision

    async def resolve_viewer_endpoint(self, playback_id: str) -> ViewerEndpoint:
        """For anybody: playback ids are public. What may be fetched is signed at the door, for this tenant and hash."""
        request = pb.ResolveViewerEndpointRequest(playback_id=playback_id)
        answer = await self._stub.call("ResolveViewerEndpoint", request, pb.ResolveViewerEndpointResponse, None)
        return ViewerEndpoint(
            artifact_hash=ArtifactHash(answer.artifact_hash),
            tenant_id=TenantId(UUID(answer.tenant_id)),
            playback_id=PlaybackId(answer.playback_id),
            manifest_key=answer.manifest_key,
            poster_key=answer.poster_key,
            title=answer.title,
            duration_ms=answer.duration_ms if answer.HasField("duration_ms") else None,
            clip_key=answer.clip_key,
        )
