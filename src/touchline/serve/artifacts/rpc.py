"""The artifacts role between processes: its calls as messages, on the server's side and on the client's.

Invariant: nothing is decided here. What a caller may do, and which input is valid, `ArtifactsRole` checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta
from uuid import UUID

from touchline.contracts.artifacts import (
    COMPLETION_DEADLINE,
    ArrivedPart,
    ArrivedParts,
    ArtifactClient,
    ArtifactStatus,
    PartAddress,
    PartLayout,
    RecordingState,
    UploadState,
    ViewerEndpoint,
    ViewerNode,
)
from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.rpc.v1 import artifacts_pb2 as pb
from touchline.kernel import ArtifactHash, PlaybackId, Principal, TenantId
from touchline.platform.rpc.calls import CALLERS_DEADLINE
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.platform.rpc.protocol import RpcCall

SERVICE = pb.DESCRIPTOR.services_by_name["Artifacts"]


class ArtifactsServicer:
    def __init__(self, artifacts: ArtifactClient) -> None:
        self._artifacts = artifacts

    async def create_upload(
        self, request: pb.CreateArtifactUploadRequest, call: RpcCall
    ) -> pb.CreateArtifactUploadResponse:
        parts = await self._artifacts.create_upload(
            call.principal, request.artifact_hash, request.file_name, request.size_bytes
        )
        return pb.CreateArtifactUploadResponse(part_size_bytes=parts.part_size_bytes, part_count=parts.part_count)

    async def presign_parts(self, request: pb.PresignPartsRequest, call: RpcCall) -> pb.PresignPartsResponse:
        parts = await self._artifacts.presign_parts(call.principal, request.artifact_hash, request.numbers)
        return pb.PresignPartsResponse(
            parts=[pb.PartAddress(number=one.number, url=one.url, size_bytes=one.size_bytes) for one in parts]
        )

    async def list_parts(self, request: pb.ListPartsRequest, call: RpcCall) -> pb.ListPartsResponse:
        arrived = await self._artifacts.list_parts(call.principal, request.artifact_hash)
        return pb.ListPartsResponse(
            parts=[
                pb.ArrivedPart(number=one.number, size_bytes=one.size_bytes, etag=one.etag) for one in arrived.parts
            ],
            part_size_bytes=arrived.part_size_bytes,
            part_count=arrived.part_count,
        )

    async def complete_upload(self, request: pb.CompleteUploadRequest, call: RpcCall) -> pb.CompleteUploadResponse:
        state = await self._artifacts.complete_upload(
            call.principal, request.artifact_hash, dict(request.etags), CALLERS_DEADLINE
        )
        return pb.CompleteUploadResponse(status=state.status, revision=state.revision)

    async def abort_upload(self, request: pb.AbortUploadRequest, call: RpcCall) -> pb.AbortUploadResponse:
        state = await self._artifacts.abort_upload(call.principal, request.artifact_hash)
        return pb.AbortUploadResponse(status=state.status, revision=state.revision)

    async def start_dvr(self, request: pb.StartArtifactDVRRequest, call: RpcCall) -> pb.ArtifactDVRResponse:
        state = await self._artifacts.start_dvr(call.principal, request.dvr_hash)
        return pb.ArtifactDVRResponse(status=state.status, revision=state.revision)

    async def stop_dvr(self, request: pb.StopArtifactDVRRequest, call: RpcCall) -> pb.ArtifactDVRResponse:
        state = await self._artifacts.stop_dvr(call.principal, request.dvr_hash)
        return pb.ArtifactDVRResponse(status=state.status, revision=state.revision)

    async def delete_artifact(self, request: pb.DeleteArtifactRequest, call: RpcCall) -> pb.DeleteArtifactResponse:
        return pb.DeleteArtifactResponse(
            revision=await self._artifacts.delete_artifact(call.principal, request.artifact_hash)
        )

    async def undelete_artifact(
        self, request: pb.UndeleteArtifactRequest, call: RpcCall
    ) -> pb.UndeleteArtifactResponse:
        return pb.UndeleteArtifactResponse(
            revision=await self._artifacts.undelete_artifact(call.principal, request.artifact_hash)
        )

    async def resolve_viewer_endpoint(
        self, request: pb.ResolveViewerEndpointRequest, call: RpcCall
    ) -> pb.ResolveViewerEndpointResponse:
        found = await self._artifacts.resolve_viewer_endpoint(request.playback_id)
        return pb.ResolveViewerEndpointResponse(
            artifact_hash=found.artifact_hash,
            tenant_id=str(found.tenant_id),
            playback_id=found.playback_id,
            manifest_key=found.manifest_key,
            poster_key=found.poster_key,
            title=found.title,
            duration_ms=found.duration_ms,
            clip_key=found.clip_key,
            artifact_type=found.artifact_type or "",
            status=found.status,
            width=found.width,
            height=found.height,
            size_bytes=found.size_bytes,
            created_at=found.created_at,
            nodes=[pb.ViewerNode(node_id=one.node_id, base_url=one.base_url) for one in found.nodes],
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

    async def start_dvr(self, caller: Principal, dvr_hash: str) -> RecordingState:
        request = pb.StartArtifactDVRRequest(dvr_hash=dvr_hash)
        answer = await self._stub.call("StartDVR", request, pb.ArtifactDVRResponse, caller)
        return RecordingState(ArtifactStatus(answer.status), answer.revision)

    async def stop_dvr(self, caller: Principal, dvr_hash: str) -> RecordingState:
        request = pb.StopArtifactDVRRequest(dvr_hash=dvr_hash)
        answer = await self._stub.call("StopDVR", request, pb.ArtifactDVRResponse, caller)
        return RecordingState(ArtifactStatus(answer.status), answer.revision)

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
            artifact_type=ArtifactType(answer.artifact_type) if answer.artifact_type else None,
            status=ArtifactStatus(answer.status),
            width=answer.width if answer.HasField("width") else None,
            height=answer.height if answer.HasField("height") else None,
            size_bytes=answer.size_bytes if answer.HasField("size_bytes") else None,
            created_at=answer.created_at.ToDatetime(tzinfo=UTC),
            nodes=tuple(ViewerNode(one.node_id, one.base_url) for one in answer.nodes),
        )
