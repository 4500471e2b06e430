"""The artifacts' service, as it is called from outside: rights are checked here, the rest is the services'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from touchline.contracts.artifacts import (
    COMPLETION_DEADLINE,
    ArrivedPart,
    ArrivedParts,
    ArtifactStatus,
    PartAddress,
    PartLayout,
    UploadState,
    ViewerEndpoint,
)
from touchline.contracts.rpc.v1 import artifacts_pb2 as pb
from touchline.kernel import Principal, Scope, TenantId
from touchline.kernel.ids import ArtifactHash, PlaybackId, parse_artifact_hash
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.platform.rpc.credentials import RpcCall
from touchline.serve.artifacts.service import PlaybackService
from touchline.serve.uploads.service import UploadService

from .service import ArtifactService

SERVICE = pb.DESCRIPTOR.services_by_name["Artifacts"]


class ArtifactsServicer:
    def __init__(self, artifacts: ArtifactService, uploads: UploadService, playback: PlaybackService) -> None:
        self._artifacts = artifacts
        self._uploads = uploads
        self._playback = playback

    async def create_upload(
        self, request: pb.CreateArtifactUploadRequest, call: RpcCall
    ) -> pb.CreateArtifactUploadResponse:
        caller, artifact_hash = call.require(Scope.WRITE), parse_artifact_hash(request.artifact_hash)
        parts = await self._uploads.create(caller, artifact_hash, request.file_name, request.size_bytes)
        return pb.CreateArtifactUploadResponse(part_size_bytes=parts.part_size_bytes, part_count=parts.part_count)

    async def presign_parts(self, request: pb.PresignPartsRequest, call: RpcCall) -> pb.PresignPartsResponse:
        caller, artifact_hash = call.require(Scope.WRITE), parse_artifact_hash(request.artifact_hash)
        parts = await self._uploads.presign(caller, artifact_hash, request.numbers)
        return pb.PresignPartsResponse(
            parts=[pb.PartAddress(number=one.number, url=one.url, size_bytes=one.size_bytes) for one in parts]
        )

    async def list_parts(self, request: pb.ListPartsRequest, call: RpcCall) -> pb.ListPartsResponse:
        caller, artifact_hash = call.require(Scope.READ), parse_artifact_hash(request.artifact_hash)
        arrived = await self._uploads.arrived(caller, artifact_hash)
        return pb.ListPartsResponse(
            parts=[
                pb.ArrivedPart(number=one.number, size_bytes=one.size_bytes, etag=one.etag) for one in arrived.parts
            ],
            part_size_bytes=arrived.part_size_bytes,
            part_count=arrived.part_count,
        )

    async def complete_upload(self, request: pb.CompleteUploadRequest, call: RpcCall) -> pb.CompleteUploadResponse:
        caller, artifact_hash = call.require(Scope.WRITE), parse_artifact_hash(request.artifact_hash)
        state = await self._uploads.complete(caller, artifact_hash, dict(request.etags) or None)
        return pb.CompleteUploadResponse(status=state.status, revision=state.revision)

    async def abort_upload(self, request: pb.AbortUploadRequest, call: RpcCall) -> pb.AbortUploadResponse:
        caller, artifact_hash = call.require(Scope.WRITE), parse_artifact_hash(request.artifact_hash)
        state = await self._uploads.abort(caller, artifact_hash)
        return pb.AbortUploadResponse(status=state.status, revision=state.revision)

    async def delete_artifact(self, request: pb.DeleteArtifactRequest, call: RpcCall) -> pb.DeleteArtifactResponse:
        caller, artifact_hash = call.require(Scope.WRITE), parse_artifact_hash(request.artifact_hash)
        return pb.DeleteArtifactResponse(revision=await self._artifacts.delete(caller, artifact_hash))

    async def undelete_artifact(
        self, request: pb.UndeleteArtifactRequest, call: RpcCall
    ) -> pb.UndeleteArtifactResponse:
        caller, artifact_hash = call.require(Scope.WRITE), parse_artifact_hash(request.artifact_hash)
        return pb.UndeleteArtifactResponse(revision=await self._artifacts.undelete(caller, artifact_hash))

    async def resolve_viewer_endpoint(
        self, request: pb.ResolveViewerEndpointRequest, call: RpcCall
    ) -> pb.ResolveViewerEndpointResponse:
        found = await self._playback.resolve(request.playback_id)
        return pb.ResolveViewerEndpointResponse(
            artifact_hash=found.artifact_hash,
            tenant_id=str(found.tenant_id),
            playback_id=found.playback_id,
            manifest_key=found.manifest_key,
            poster_key=found.poster_key,
            title=found.title,
            duration_ms=found.duration_ms,
            clip_key=found.clip_key,
        )


class GrpcArtifactClient:
    """`ArtifactClient` by calls to another process. Raises what the service raised."""

    def __init__(self, client: RpcClient) -> None:
        self._stub = Stub(client, SERVICE)

    async def create_upload(self, caller: Principal, artifact_hash: str, file_name: str, size_bytes: int) -> PartLayout:
        """The registry's business: people create uploads there."""
        request = pb.CreateArtifactUploadRequest(
            artifact_hash=artifact_hash, file_name=file_name, size_bytes=size_bytes
        )
        answer = await self._stub.call("CreateUpload", request, pb.CreateArtifactUploadResponse, caller)
        return PartLayout(answer.part_size_bytes, answer.part_count)

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
        deadline: timedelta = COMPLETION_DEADLINE,
    ) -> UploadState:
        """When the deadline passes the work goes on: asking again waits for the same end."""
        request = pb.CompleteUploadRequest(artifact_hash=artifact_hash, etags=etags)
        answer = await self._stub.call("CompleteUpload", request, pb.CompleteUploadResponse, caller, deadline)
        return UploadState(ArtifactStatus(answer.status), answer.revision)

    async def abort_upload(self, caller: Principal, artifact_hash: str) -> UploadState:
        request = pb.AbortUploadRequest(artifact_hash=artifact_hash)
        answer = await self._stub.call("AbortUpload", request, pb.AbortUploadResponse, caller)
        return UploadState(ArtifactStatus(answer.status), answer.revision)

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
