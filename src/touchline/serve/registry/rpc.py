"""The registry's service, as it is called from outside: rights are checked here, the rest is the service's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from google.protobuf.timestamp_pb2 import Timestamp

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.registry import (
    ALL_CLIPS,
    FIRST,
    Clip,
    ClipFilter,
    ClipPage,
    CreatedClip,
    CreatedUpload,
    Identity,
    NewClip,
    NewUpload,
    RowKey,
    RowWindow,
    Span,
    Upload,
    UploadPage,
)
from touchline.contracts.rpc.v1 import common_pb2
from touchline.contracts.rpc.v1 import registry_pb2 as pb
from touchline.kernel import Principal, Scope, TenantId, UserId
from touchline.kernel.errors import InvalidInput
from touchline.kernel.ids import ArtifactHash, InternalName, PlaybackId, parse_artifact_hash
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.platform.rpc.credentials import RpcCall
from touchline.serve.clips.rules import valid_parameters
from touchline.serve.clips.service import ClipService

from .service import RegistryService


def to_time(moment: datetime) -> Timestamp:
    time = Timestamp()
    time.FromDatetime(moment)
    return time


def from_time(time: Timestamp) -> datetime:
    try:
        return time.ToDatetime(tzinfo=UTC)
    except (OverflowError, ValueError) as error:
        raise InvalidInput("not a time", field="created_at") from error


def to_upload(upload: Upload) -> pb.Upload:
    return pb.Upload(
        id=str(upload.id),
        artifact_hash=upload.artifact_hash,
        playback_id=upload.playback_id,
        internal_name=upload.internal_name,
        user_id=str(upload.user_id),
        title=upload.title,
        file_name=upload.file_name,
        size_bytes=upload.size_bytes,
        created_at=to_time(upload.created_at),
        expires_at=to_time(upload.expires_at) if upload.expires_at else None,
        revision=upload.revision,
    )


def from_upload(message: pb.Upload) -> Upload:
    return Upload(
        id=UUID(message.id),
        artifact_hash=ArtifactHash(message.artifact_hash),
        playback_id=PlaybackId(message.playback_id),
        internal_name=InternalName(message.internal_name),
        user_id=UserId(UUID(message.user_id)),
        title=message.title,
        file_name=message.file_name,
        size_bytes=message.size_bytes,
        created_at=from_time(message.created_at),
        expires_at=from_time(message.expires_at) if message.HasField("expires_at") else None,
        revision=message.revision,
    )


def to_window(window: RowWindow) -> common_pb2.PageRequest:
    return common_pb2.PageRequest(
        size=window.size,
        after=_to_row_key(window.after),
        before=_to_row_key(window.before),
        from_the_end=window.from_the_end,
    )


def from_window(message: common_pb2.PageRequest) -> RowWindow:
    return RowWindow(
        size=message.size,
        after=_from_row_key(message.after) if message.HasField("after") else None,
        before=_from_row_key(message.before) if message.HasField("before") else None,
        from_the_end=message.from_the_end,
    )


def to_upload_page(page: UploadPage) -> pb.ListUploadsResponse:
    info = common_pb2.PageInfo(has_next=page.has_next, has_previous=page.has_previous, total_count=page.total_count)
    return pb.ListUploadsResponse(uploads=map(to_upload, page.uploads), page_info=info)


def from_upload_page(message: pb.ListUploadsResponse) -> UploadPage:
    info = message.page_info
    return UploadPage([from_upload(one) for one in message.uploads], info.has_next, info.has_previous, info.total_count)


def to_identity(identity: Identity) -> pb.ResolveArtifactResponse:
    return pb.ResolveArtifactResponse(
        artifact_hash=identity.artifact_hash,
        artifact_type=identity.artifact_type,
        tenant_id=str(identity.tenant_id),
        user_id=str(identity.user_id),
        internal_name=identity.internal_name,
        playback_id=identity.playback_id,
    )


def from_identity(message: pb.ResolveArtifactResponse) -> Identity:
    return Identity(
        tenant_id=TenantId(UUID(message.tenant_id)),
        artifact_hash=ArtifactHash(message.artifact_hash),
        playback_id=PlaybackId(message.playback_id),
        internal_name=InternalName(message.internal_name),
        artifact_type=ArtifactType(message.artifact_type),
        user_id=UserId(UUID(message.user_id)),
    )


def _to_row_key(key: RowKey | None) -> common_pb2.RowKey | None:
    return None if key is None else common_pb2.RowKey(created_at=to_time(key.created_at), id=key.artifact_hash)


def _from_row_key(message: common_pb2.RowKey) -> RowKey:
    return RowKey(from_time(message.created_at), message.id)


def to_clip_request(new: NewClip) -> pb.CreateClipRequest:
    return pb.CreateClipRequest(
        artifact_hash=new.source_hash,
        start_ms=new.start_ms,
        end_ms=new.end_ms,
        padding_ms=new.padding_ms,
        title=new.title,
        description=new.description,
        requested_params=json.dumps(new.requested_params),
    )


def from_clip_request(message: pb.CreateClipRequest) -> NewClip:
    return NewClip(
        source_hash=parse_artifact_hash(message.artifact_hash),
        start_ms=message.start_ms,
        end_ms=message.end_ms,
        padding_ms=message.padding_ms if message.HasField("padding_ms") else None,
        title=message.title,
        description=message.description,
        requested_params=valid_parameters(message.requested_params),
    )


def to_clip(clip: Clip) -> pb.Clip:
    return pb.Clip(
        id=str(clip.id),
        artifact_hash=clip.artifact_hash,
        playback_id=clip.playback_id,
        internal_name=clip.internal_name,
        user_id=str(clip.user_id),
        source_hash=clip.source_hash,
        stream_id=str(clip.stream_id) if clip.stream_id else None,
        title=clip.title,
        description=clip.description,
        start_ms=clip.start_ms,
        end_ms=clip.end_ms,
        padding_ms=clip.padding_ms,
        shown_start_ms=clip.shown.start_ms,
        shown_end_ms=clip.shown.end_ms,
        created_at=to_time(clip.created_at),
        expires_at=to_time(clip.expires_at),
        revision=clip.revision,
    )


def from_clip(message: pb.Clip) -> Clip:
    return Clip(
        id=UUID(message.id),
        artifact_hash=ArtifactHash(message.artifact_hash),
        playback_id=PlaybackId(message.playback_id),
        internal_name=InternalName(message.internal_name),
        user_id=UserId(UUID(message.user_id)),
        source_hash=ArtifactHash(message.source_hash),
        stream_id=UUID(message.stream_id) if message.HasField("stream_id") else None,
        title=message.title,
        description=message.description,
        start_ms=message.start_ms,
        end_ms=message.end_ms,
        padding_ms=message.padding_ms,
        shown=Span(message.shown_start_ms, message.shown_end_ms),
        created_at=from_time(message.created_at),
        expires_at=from_time(message.expires_at),
        revision=message.revision,
    )


def from_clip_filter(message: pb.ListClipsRequest) -> ClipFilter:
    return ClipFilter(
        source_hash=parse_artifact_hash(message.artifact_hash) if message.HasField("artifact_hash") else None,
        stream_id=_stream_id(message.stream_id) if message.HasField("stream_id") else None,
    )


def to_clip_page(page: ClipPage) -> pb.ListClipsResponse:
    info = common_pb2.PageInfo(has_next=page.has_next, has_previous=page.has_previous, total_count=page.total_count)
    return pb.ListClipsResponse(clips=map(to_clip, page.clips), page_info=info)


def from_clip_page(message: pb.ListClipsResponse) -> ClipPage:
    info = message.page_info
    return ClipPage([from_clip(one) for one in message.clips], info.has_next, info.has_previous, info.total_count)


def _stream_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidInput("not the id of a stream", field="stream_id", why="it is a UUID") from error


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
            upload=to_upload(created.upload),
            part_size_bytes=created.part_size_bytes,
            part_count=created.part_count,
        )

    async def get_uploads(self, request: pb.GetUploadsRequest, call: RpcCall) -> pb.GetUploadsResponse:
        found = await self._service.uploads(call.require(Scope.READ), request.artifact_hashes)
        return pb.GetUploadsResponse(uploads=map(to_upload, found))

    async def list_uploads(self, request: pb.ListUploadsRequest, call: RpcCall) -> pb.ListUploadsResponse:
        page = await self._service.listed(call.require(Scope.READ), from_window(request.page))
        return to_upload_page(page)

    async def delete_upload(self, request: pb.DeleteUploadRequest, call: RpcCall) -> pb.DeleteUploadResponse:
        await self._service.delete_upload(call.require(Scope.WRITE), parse_artifact_hash(request.artifact_hash))
        return pb.DeleteUploadResponse()

    async def create_clip(self, request: pb.CreateClipRequest, call: RpcCall) -> pb.CreateClipResponse:
        created = await self._clips.create(call.require(Scope.WRITE), from_clip_request(request))
        clip = to_clip(created.clip)
        return pb.CreateClipResponse(clip=clip, status=created.status, revision=created.revision)

    async def get_clips(self, request: pb.GetClipsRequest, call: RpcCall) -> pb.GetClipsResponse:
        found = await self._clips.clips(call.require(Scope.READ), request.artifact_hashes)
        return pb.GetClipsResponse(clips=map(to_clip, found))

    async def list_clips(self, request: pb.ListClipsRequest, call: RpcCall) -> pb.ListClipsResponse:
        window, wanted = from_window(request.page), from_clip_filter(request)
        return to_clip_page(await self._clips.listed(call.require(Scope.READ), window, wanted))

    async def delete_clip(self, request: pb.DeleteClipRequest, call: RpcCall) -> pb.DeleteClipResponse:
        await self._clips.delete(call.require(Scope.WRITE), parse_artifact_hash(request.artifact_hash))
        return pb.DeleteClipResponse()

    async def resolve_artifact_playback_id(
        self, request: pb.ResolveArtifactPlaybackIDRequest, call: RpcCall
    ) -> pb.ResolveArtifactResponse:
        return to_identity(await self._service.resolve_playback_id(request.playback_id, call.caller))

    async def resolve_artifact_internal_name(
        self, request: pb.ResolveArtifactInternalNameRequest, call: RpcCall
    ) -> pb.ResolveArtifactResponse:
        return to_identity(await self._service.resolve_internal_name(request.internal_name))


class GrpcRegistryClient:
    """`RegistryClient` by calls to another process. Raises what the service raised."""

    def __init__(self, client: RpcClient) -> None:
        self._stub = Stub(client, SERVICE)

    async def create_upload(self, caller: Principal, new: NewUpload) -> CreatedUpload:
        request = pb.CreateUploadRequest(
            idempotency_key=new.idempotency_key,
            file_name=new.file_name,
            title=new.title,
            content_type=new.content_type,
            size_bytes=new.size_bytes,
        )
        answer = await self._stub.call("CreateUpload", request, pb.CreateUploadResponse, caller)
        return CreatedUpload(from_upload(answer.upload), answer.part_size_bytes, answer.part_count)

    async def uploads(self, caller: Principal, hashes: Sequence[str]) -> Sequence[Upload]:
        """The ones that exist, in any order."""
        request = pb.GetUploadsRequest(artifact_hashes=hashes)
        answer = await self._stub.call("GetUploads", request, pb.GetUploadsResponse, caller)
        return [from_upload(one) for one in answer.uploads]

    async def listed(self, caller: Principal, window: RowWindow = FIRST) -> UploadPage:
        request = pb.ListUploadsRequest(page=to_window(window))
        return from_upload_page(await self._stub.call("ListUploads", request, pb.ListUploadsResponse, caller))

    async def delete_upload(self, caller: Principal, artifact_hash: str) -> None:
        request = pb.DeleteUploadRequest(artifact_hash=artifact_hash)
        await self._stub.call("DeleteUpload", request, pb.DeleteUploadResponse, caller)

    async def create_clip(self, caller: Principal, new: NewClip) -> CreatedClip:
        """The same video, range and padding again answers the one that exists."""
        request = to_clip_request(new)
        answer = await self._stub.call("CreateClip", request, pb.CreateClipResponse, caller)
        return CreatedClip(from_clip(answer.clip), ArtifactStatus(answer.status), answer.revision)

    async def clips(self, caller: Principal, hashes: Sequence[str]) -> Sequence[Clip]:
        """The ones that exist, in any order."""
        request = pb.GetClipsRequest(artifact_hashes=hashes)
        answer = await self._stub.call("GetClips", request, pb.GetClipsResponse, caller)
        return [from_clip(one) for one in answer.clips]

    async def listed_clips(
        self, caller: Principal, window: RowWindow = FIRST, wanted: ClipFilter = ALL_CLIPS
    ) -> ClipPage:
        request = pb.ListClipsRequest(
            page=to_window(window),
            artifact_hash=wanted.source_hash,
            stream_id=str(wanted.stream_id) if wanted.stream_id else None,
        )
        return from_clip_page(await self._stub.call("ListClips", request, pb.ListClipsResponse, caller))

    async def delete_clip(self, caller: Principal, artifact_hash: str) -> None:
        request = pb.DeleteClipRequest(artifact_hash=artifact_hash)
        await self._stub.call("DeleteClip", request, pb.DeleteClipResponse, caller)

    async def resolve_playback_id(self, playback_id: str, caller: Principal | None = None) -> Identity:
        """For a caller, inside of its tenant; for nobody in particular, wherever it is."""
        request = pb.ResolveArtifactPlaybackIDRequest(playback_id=playback_id)
        answer = await self._stub.call("ResolveArtifactPlaybackID", request, pb.ResolveArtifactResponse, caller)
        return from_identity(answer)

    async def resolve_internal_name(self, internal_name: str) -> Identity:
        request = pb.ResolveArtifactInternalNameRequest(internal_name=internal_name)
        answer = await self._stub.call("ResolveArtifactInternalName", request, pb.ResolveArtifactResponse, None)
        return from_identity(answer)
