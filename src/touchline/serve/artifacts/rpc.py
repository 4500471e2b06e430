"""The artifacts' service, as it is called from outside: rights are checked here, the rest is the services'."""

from __future__ import annotations

from touchline.contracts.rpc.v1 import artifacts_pb2 as pb
from touchline.kernel import Scope
from touchline.kernel.ids import parse_artifact_hash
from touchline.platform.rpc.credentials import RpcCall
from touchline.serve.playback.service import PlaybackService
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
