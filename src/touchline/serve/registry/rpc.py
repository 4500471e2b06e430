"""The registry's service, as it is called from outside: rights are checked here, the rest is the service's."""

from __future__ import annotations

from touchline.contracts.rpc.v1 import registry_pb2 as pb
from touchline.kernel import Scope
from touchline.kernel.ids import parse_artifact_hash
from touchline.platform.rpc.credentials import RpcCall
from touchline.serve.clips import messages as clip_messages
from touchline.serve.clips.service import ClipService

from . import messages
from .model import NewUpload
from .service import RegistryService

SERVICE = pb.DESCRIPTOR.services_by_name["Registry"]


class RegistryServicer:
    def __init__(self, service: RegistryService, clips: ClipService) -> None:
        self._service = service
        self._clips = clips

    async def create_upload(self, request: pb.CreateUploadRequest, call: RpcCall) -> pb.CreateUploadResponse:
        new = NewUpload(
            idempotency_key=request.idempotency_key,
            file_name=request.file_name,
            size_bytes=request.size_bytes,
            title=request.title,
            content_type=request.content_type,
        )
        created = await self._service.create_upload(call.require(Scope.WRITE), new)
        return pb.CreateUploadResponse(
            upload=messages.to_upload(created.upload),
            part_size_bytes=created.part_size_bytes,
            part_count=created.part_count,
        )

    async def get_uploads(self, request: pb.GetUploadsRequest, call: RpcCall) -> pb.GetUploadsResponse:
        found = await self._service.uploads(call.require(Scope.READ), request.artifact_hashes)
        return pb.GetUploadsResponse(uploads=map(messages.to_upload, found))

    async def list_uploads(self, request: pb.ListUploadsRequest, call: RpcCall) -> pb.ListUploadsResponse:
        page = await self._service.listed(call.require(Scope.READ), messages.from_window(request.page))
        return messages.to_page(page)

    async def delete_upload(self, request: pb.DeleteUploadRequest, call: RpcCall) -> pb.DeleteUploadResponse:
        await self._service.delete_upload(call.require(Scope.WRITE), parse_artifact_hash(request.artifact_hash))
        return pb.DeleteUploadResponse()

    async def create_clip(self, request: pb.CreateClipRequest, call: RpcCall) -> pb.CreateClipResponse:
        created = await self._clips.create(call.require(Scope.WRITE), clip_messages.from_request(request))
        clip = clip_messages.to_clip(created.clip)
        return pb.CreateClipResponse(clip=clip, status=created.status, revision=created.revision)

    async def get_clips(self, request: pb.GetClipsRequest, call: RpcCall) -> pb.GetClipsResponse:
        found = await self._clips.clips(call.require(Scope.READ), request.artifact_hashes)
        return pb.GetClipsResponse(clips=map(clip_messages.to_clip, found))

    async def list_clips(self, request: pb.ListClipsRequest, call: RpcCall) -> pb.ListClipsResponse:
        window, wanted = messages.from_window(request.page), clip_messages.from_filter(request)
        return clip_messages.to_page(await self._clips.listed(call.require(Scope.READ), window, wanted))

    async def delete_clip(self, request: pb.DeleteClipRequest, call: RpcCall) -> pb.DeleteClipResponse:
        await self._clips.delete(call.require(Scope.WRITE), parse_artifact_hash(request.artifact_hash))
        return pb.DeleteClipResponse()

    async def resolve_artifact_playback_id(
        self, request: pb.ResolveArtifactPlaybackIDRequest, call: RpcCall
    ) -> pb.ResolveArtifactResponse:
        return messages.to_identity(await self._service.resolve_playback_id(request.playback_id, call.caller))

    async def resolve_artifact_internal_name(
        self, request: pb.ResolveArtifactInternalNameRequest, call: RpcCall
    ) -> pb.ResolveArtifactResponse:
        return messages.to_identity(await self._service.resolve_internal_name(request.internal_name))
