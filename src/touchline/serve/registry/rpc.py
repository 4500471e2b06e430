"""The registry between processes: its calls as messages, on the server's side and on the client's.

Invariant: nothing is decided here. What a caller may do, and which input is valid, `RegistryRole` checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.registry import (
    ALL_CLIPS,
    FIRST,
    ArtifactChange,
    ChangedArtifact,
    Clip,
    ClipFilter,
    ClipPage,
    CreatedClip,
    CreatedUpload,
    Identity,
    NewClip,
    NewRecording,
    NewStream,
    NewUpload,
    Recording,
    RecordingPage,
    RegistryClient,
    RowWindow,
    StartedRecording,
    Stream,
    StreamChange,
    StreamOwner,
    StreamPage,
    StreamWithKey,
    TenantSettings,
    Upload,
    UploadPage,
)
from touchline.contracts.rpc.v1 import registry_pb2 as pb
from touchline.kernel import Principal, TenantId
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.platform.rpc.protocol import RpcCall

from . import messages

SERVICE = pb.DESCRIPTOR.services_by_name["Registry"]


class RegistryServicer:
    def __init__(self, registry: RegistryClient) -> None:
        self._registry = registry

    async def create_upload(self, request: pb.CreateUploadRequest, call: RpcCall) -> pb.CreateUploadResponse:
        created = await self._registry.create_upload(call.principal, messages.from_upload_request(request))
        return pb.CreateUploadResponse(
            upload=messages.to_upload(created.upload),
            part_size_bytes=created.part_size_bytes,
            part_count=created.part_count,
        )

    async def get_uploads(self, request: pb.GetUploadsRequest, call: RpcCall) -> pb.GetUploadsResponse:
        found = await self._registry.uploads(call.principal, request.artifact_hashes)
        return pb.GetUploadsResponse(uploads=map(messages.to_upload, found))

    async def list_uploads(self, request: pb.ListUploadsRequest, call: RpcCall) -> pb.ListUploadsResponse:
        page = await self._registry.listed(call.principal, messages.from_window(request.page))
        return messages.to_upload_page(page)

    async def delete_upload(self, request: pb.DeleteUploadRequest, call: RpcCall) -> pb.DeleteUploadResponse:
        await self._registry.delete_upload(call.principal, request.artifact_hash)
        return pb.DeleteUploadResponse()

    async def create_clip(self, request: pb.CreateClipRequest, call: RpcCall) -> pb.CreateClipResponse:
        created = await self._registry.create_clip(call.principal, messages.from_clip_request(request))
        clip = messages.to_clip(created.clip)
        return pb.CreateClipResponse(clip=clip, status=created.status, revision=created.revision)

    async def get_clips(self, request: pb.GetClipsRequest, call: RpcCall) -> pb.GetClipsResponse:
        found = await self._registry.clips(call.principal, request.artifact_hashes)
        return pb.GetClipsResponse(clips=map(messages.to_clip, found))

    async def list_clips(self, request: pb.ListClipsRequest, call: RpcCall) -> pb.ListClipsResponse:
        window, wanted = messages.from_window(request.page), messages.from_clip_filter(request)
        return messages.to_clip_page(await self._registry.listed_clips(call.principal, window, wanted))

    async def delete_clip(self, request: pb.DeleteClipRequest, call: RpcCall) -> pb.DeleteClipResponse:
        await self._registry.delete_clip(call.principal, request.artifact_hash)
        return pb.DeleteClipResponse()

    async def register_clip(self, request: pb.CreateClipRequest, call: RpcCall) -> pb.RegisterClipResponse:
        clip = await self._registry.register_clip(call.principal, messages.from_clip_request(request))
        return pb.RegisterClipResponse(clip=messages.to_clip(clip))

    async def create_stream(self, request: pb.CreateStreamRequest, call: RpcCall) -> pb.StreamWithKey:
        new = NewStream(request.idempotency_key, request.title, request.description, request.record)
        return messages.to_stream_with_key(await self._registry.create_stream(call.principal, new))

    async def update_stream(self, request: pb.UpdateStreamRequest, call: RpcCall) -> pb.Stream:
        change = StreamChange(
            title=request.title if request.HasField("title") else None,
            description=request.description if request.HasField("description") else None,
            record=request.record if request.HasField("record") else None,
            suspended=request.suspended if request.HasField("suspended") else None,
        )
        stream_id = messages.parse_stream_id(request.stream_id)
        return messages.to_stream(await self._registry.update_stream(call.principal, stream_id, change))

    async def rotate_stream_key(self, request: pb.RotateStreamKeyRequest, call: RpcCall) -> pb.StreamWithKey:
        stream_id = messages.parse_stream_id(request.stream_id)
        return messages.to_stream_with_key(await self._registry.rotate_stream_key(call.principal, stream_id))

    async def delete_stream(self, request: pb.DeleteStreamRequest, call: RpcCall) -> pb.DeleteStreamResponse:
        await self._registry.delete_stream(call.principal, messages.parse_stream_id(request.stream_id))
        return pb.DeleteStreamResponse()

    async def get_streams(self, request: pb.GetStreamsRequest, call: RpcCall) -> pb.GetStreamsResponse:
        ids = [messages.parse_stream_id(one) for one in request.stream_ids]
        found = await self._registry.streams(call.principal, ids)
        return pb.GetStreamsResponse(streams=map(messages.to_stream, found))

    async def list_streams(self, request: pb.ListStreamsRequest, call: RpcCall) -> pb.ListStreamsResponse:
        window = messages.from_window(request.page)
        return messages.to_stream_page(await self._registry.listed_streams(call.principal, window))

    async def list_publish_urls(self, request: pb.ListPublishUrlsRequest, call: RpcCall) -> pb.ListPublishUrlsResponse:
        return pb.ListPublishUrlsResponse(urls=await self._registry.publish_urls(call.principal))

    async def resolve_stream_key(
        self, request: pb.ResolveStreamKeyRequest, call: RpcCall
    ) -> pb.ResolveStreamKeyResponse:
        owner = await self._registry.resolve_stream_key(request.stream_key)
        return pb.ResolveStreamKeyResponse(tenant_id=str(owner.tenant_id), stream=messages.to_stream(owner.stream))

    async def register_dvr(self, request: pb.StartDVRRequest, call: RpcCall) -> pb.Recording:
        new = messages.from_recording_request(request)
        return messages.to_recording(await self._registry.register_dvr(call.principal, new))

    async def start_dvr(self, request: pb.StartDVRRequest, call: RpcCall) -> pb.StartedRecording:
        new = messages.from_recording_request(request)
        return messages.to_started_recording(await self._registry.start_dvr(call.principal, new))

    async def stop_dvr(self, request: pb.StopDVRRequest, call: RpcCall) -> pb.StartedRecording:
        return messages.to_started_recording(await self._registry.stop_dvr(call.principal, request.dvr_hash))

    async def delete_dvr(self, request: pb.DeleteDVRRequest, call: RpcCall) -> pb.DeleteDVRResponse:
        await self._registry.delete_dvr(call.principal, request.dvr_hash)
        return pb.DeleteDVRResponse()

    async def get_dvr_recordings(
        self, request: pb.GetDVRRecordingsRequest, call: RpcCall
    ) -> pb.GetDVRRecordingsResponse:
        found = await self._registry.recordings(call.principal, request.dvr_hashes)
        return pb.GetDVRRecordingsResponse(recordings=map(messages.to_recording, found))

    async def list_dvr_requests(self, request: pb.ListDVRRequestsRequest, call: RpcCall) -> pb.ListDVRRequestsResponse:
        stream_id = messages.parse_stream_id(request.stream_id) if request.HasField("stream_id") else None
        window = messages.from_window(request.page)
        return messages.to_recording_page(await self._registry.listed_dvr_requests(call.principal, window, stream_id))

    async def update_artifact(self, request: pb.UpdateArtifactRequest, call: RpcCall) -> pb.UpdateArtifactResponse:
        change = ArtifactChange(
            title=request.title if request.HasField("title") else None,
            description=request.description if request.HasField("description") else None,
            pinned=request.pinned if request.HasField("pinned") else None,
        )
        changed = await self._registry.update_artifact(call.principal, request.artifact_hash, change)
        return messages.to_changed_artifact(changed)

    async def get_tenant_settings(self, request: pb.GetTenantSettingsRequest, call: RpcCall) -> pb.TenantSettings:
        return messages.to_tenant_settings(await self._registry.tenant_settings(call.principal))

    async def update_tenant_settings(self, request: pb.TenantSettings, call: RpcCall) -> pb.TenantSettings:
        wanted = messages.from_tenant_settings(request)
        return messages.to_tenant_settings(await self._registry.update_tenant_settings(call.principal, wanted))

    async def resolve_clip_hash(self, request: pb.ResolveClipHashRequest, call: RpcCall) -> pb.ResolveArtifactResponse:
        return messages.to_identity(await self._registry.resolve_clip_hash(request.clip_hash, call.caller))

    async def resolve_dvr_hash(self, request: pb.ResolveDVRHashRequest, call: RpcCall) -> pb.ResolveArtifactResponse:
        return messages.to_identity(await self._registry.resolve_dvr_hash(request.dvr_hash, call.caller))

    async def resolve_artifact_playback_id(
        self, request: pb.ResolveArtifactPlaybackIDRequest, call: RpcCall
    ) -> pb.ResolveArtifactResponse:
        return messages.to_identity(await self._registry.resolve_playback_id(request.playback_id, call.caller))

    async def resolve_artifact_internal_name(
        self, request: pb.ResolveArtifactInternalNameRequest, call: RpcCall
    ) -> pb.ResolveArtifactResponse:
        return messages.to_identity(await self._registry.resolve_internal_name(request.internal_name))


class GrpcRegistryClient:
    """`RegistryClient` by calls to another process. Raises what the service raised."""

    def __init__(self, client: RpcClient) -> None:
        self._stub = Stub(client, SERVICE)

    async def create_upload(self, caller: Principal, new: NewUpload) -> CreatedUpload:
        request = messages.to_upload_request(new)
        answer = await self._stub.call("CreateUpload", request, pb.CreateUploadResponse, caller)
        return CreatedUpload(messages.from_upload(answer.upload), answer.part_size_bytes, answer.part_count)

    async def uploads(self, caller: Principal, hashes: Sequence[str]) -> Sequence[Upload]:
        """The ones that exist, in any order."""
        request = pb.GetUploadsRequest(artifact_hashes=hashes)
        answer = await self._stub.call("GetUploads", request, pb.GetUploadsResponse, caller)
        return [messages.from_upload(one) for one in answer.uploads]

    async def listed(self, caller: Principal, window: RowWindow = FIRST) -> UploadPage:
        request = pb.ListUploadsRequest(page=messages.to_window(window))
        answer = await self._stub.call("ListUploads", request, pb.ListUploadsResponse, caller)
        return messages.from_upload_page(answer)

    async def delete_upload(self, caller: Principal, artifact_hash: str) -> None:
        request = pb.DeleteUploadRequest(artifact_hash=artifact_hash)
        await self._stub.call("DeleteUpload", request, pb.DeleteUploadResponse, caller)

    async def create_clip(self, caller: Principal, new: NewClip) -> CreatedClip:
        """The same video, range and padding again answers the one that exists."""
        request = messages.to_clip_request(new)
        answer = await self._stub.call("CreateClip", request, pb.CreateClipResponse, caller)
        return CreatedClip(messages.from_clip(answer.clip), ArtifactStatus(answer.status), answer.revision)

    async def clips(self, caller: Principal, hashes: Sequence[str]) -> Sequence[Clip]:
        """The ones that exist, in any order."""
        request = pb.GetClipsRequest(artifact_hashes=hashes)
        answer = await self._stub.call("GetClips", request, pb.GetClipsResponse, caller)
        return [messages.from_clip(one) for one in answer.clips]

    async def listed_clips(
        self, caller: Principal, window: RowWindow = FIRST, wanted: ClipFilter = ALL_CLIPS
    ) -> ClipPage:
        request = pb.ListClipsRequest(
            page=messages.to_window(window),
            artifact_hash=wanted.source_hash,
            stream_id=str(wanted.stream_id) if wanted.stream_id else None,
        )
        answer = await self._stub.call("ListClips", request, pb.ListClipsResponse, caller)
        return messages.from_clip_page(answer)

    async def delete_clip(self, caller: Principal, artifact_hash: str) -> None:
        request = pb.DeleteClipRequest(artifact_hash=artifact_hash)
        await self._stub.call("DeleteClip", request, pb.DeleteClipResponse, caller)

    async def resolve_playback_id(self, playback_id: str, caller: Principal | None = None) -> Identity:
        """For a caller, inside of its tenant; for nobody in particular, wherever it is."""
        request = pb.ResolveArtifactPlaybackIDRequest(playback_id=playback_id)
        answer = await self._stub.call("ResolveArtifactPlaybackID", request, pb.ResolveArtifactResponse, caller)
        return messages.from_identity(answer)

    async def resolve_internal_name(self, internal_name: str) -> Identity:
        request = pb.ResolveArtifactInternalNameRequest(internal_name=internal_name)
        answer = await self._stub.call("ResolveArtifactInternalName", request, pb.ResolveArtifactResponse, None)
        return messages.from_identity(answer)

    async def register_clip(self, caller: Principal, new: NewClip) -> Clip:
        request = messages.to_clip_request(new)
        return messages.from_clip(
            (await self._stub.call("RegisterClip", request, pb.RegisterClipResponse, caller)).clip
        )

    async def create_stream(self, caller: Principal, new: NewStream) -> StreamWithKey:
        request = pb.CreateStreamRequest(
            idempotency_key=new.idempotency_key, title=new.title, description=new.description, record=new.record
        )
        answer = await self._stub.call("CreateStream", request, pb.StreamWithKey, caller)
        return messages.from_stream_with_key(answer)

    async def update_stream(self, caller: Principal, stream_id: UUID, change: StreamChange) -> Stream:
        request = pb.UpdateStreamRequest(
            stream_id=str(stream_id),
            title=change.title,
            description=change.description,
            record=change.record,
            suspended=change.suspended,
        )
        answer = await self._stub.call("UpdateStream", request, pb.Stream, caller)
        return messages.from_stream(answer)

    async def rotate_stream_key(self, caller: Principal, stream_id: UUID) -> StreamWithKey:
        request = pb.RotateStreamKeyRequest(stream_id=str(stream_id))
        answer = await self._stub.call("RotateStreamKey", request, pb.StreamWithKey, caller)
        return messages.from_stream_with_key(answer)

    async def delete_stream(self, caller: Principal, stream_id: UUID) -> None:
        request = pb.DeleteStreamRequest(stream_id=str(stream_id))
        await self._stub.call("DeleteStream", request, pb.DeleteStreamResponse, caller)

    async def streams(self, caller: Principal, ids: Sequence[UUID]) -> Sequence[Stream]:
        request = pb.GetStreamsRequest(stream_ids=map(str, ids))
        answer = await self._stub.call("GetStreams", request, pb.GetStreamsResponse, caller)
        return [messages.from_stream(one) for one in answer.streams]

    async def listed_streams(self, caller: Principal, window: RowWindow = FIRST) -> StreamPage:
        request = pb.ListStreamsRequest(page=messages.to_window(window))
        answer = await self._stub.call("ListStreams", request, pb.ListStreamsResponse, caller)
        return messages.from_stream_page(answer)

    async def publish_urls(self, caller: Principal) -> Sequence[str]:
        request = pb.ListPublishUrlsRequest()
        return list((await self._stub.call("ListPublishUrls", request, pb.ListPublishUrlsResponse, caller)).urls)

    async def resolve_stream_key(self, key: str) -> StreamOwner:
        request = pb.ResolveStreamKeyRequest(stream_key=key)
        answer = await self._stub.call("ResolveStreamKey", request, pb.ResolveStreamKeyResponse, None)
        return StreamOwner(TenantId(UUID(answer.tenant_id)), messages.from_stream(answer.stream))

    async def register_dvr(self, caller: Principal, new: NewRecording) -> Recording:
        request = messages.to_recording_request(new)
        answer = await self._stub.call("RegisterDVR", request, pb.Recording, caller)
        return messages.from_recording(answer)

    async def start_dvr(self, caller: Principal, new: NewRecording) -> StartedRecording:
        request = messages.to_recording_request(new)
        answer = await self._stub.call("StartDVR", request, pb.StartedRecording, caller)
        return messages.from_started_recording(answer)

    async def stop_dvr(self, caller: Principal, dvr_hash: str) -> StartedRecording:
        request = pb.StopDVRRequest(dvr_hash=dvr_hash)
        answer = await self._stub.call("StopDVR", request, pb.StartedRecording, caller)
        return messages.from_started_recording(answer)

    async def delete_dvr(self, caller: Principal, dvr_hash: str) -> None:
        request = pb.DeleteDVRRequest(dvr_hash=dvr_hash)
        await self._stub.call("DeleteDVR", request, pb.DeleteDVRResponse, caller)

    async def recordings(self, caller: Principal, hashes: Sequence[str]) -> Sequence[Recording]:
        request = pb.GetDVRRecordingsRequest(dvr_hashes=hashes)
        answer = await self._stub.call("GetDVRRecordings", request, pb.GetDVRRecordingsResponse, caller)
        return [messages.from_recording(one) for one in answer.recordings]

    async def listed_dvr_requests(
        self, caller: Principal, window: RowWindow = FIRST, stream_id: UUID | None = None
    ) -> RecordingPage:
        request = pb.ListDVRRequestsRequest(
            page=messages.to_window(window), stream_id=str(stream_id) if stream_id else None
        )
        answer = await self._stub.call("ListDVRRequests", request, pb.ListDVRRequestsResponse, caller)
        return messages.from_recording_page(answer)

    async def update_artifact(self, caller: Principal, artifact_hash: str, change: ArtifactChange) -> ChangedArtifact:
        request = pb.UpdateArtifactRequest(
            artifact_hash=artifact_hash, title=change.title, description=change.description, pinned=change.pinned
        )
        answer = await self._stub.call("UpdateArtifact", request, pb.UpdateArtifactResponse, caller)
        return messages.from_changed_artifact(answer)

    async def tenant_settings(self, caller: Principal) -> TenantSettings:
        request = pb.GetTenantSettingsRequest()
        answer = await self._stub.call("GetTenantSettings", request, pb.TenantSettings, caller)
        return messages.from_tenant_settings(answer)

    async def update_tenant_settings(self, caller: Principal, settings: TenantSettings) -> TenantSettings:
        request = messages.to_tenant_settings(settings)
        answer = await self._stub.call("UpdateTenantSettings", request, pb.TenantSettings, caller)
        return messages.from_tenant_settings(answer)

    async def resolve_clip_hash(self, clip_hash: str, caller: Principal | None = None) -> Identity:
        request = pb.ResolveClipHashRequest(clip_hash=clip_hash)
        answer = await self._stub.call("ResolveClipHash", request, pb.ResolveArtifactResponse, caller)
        return messages.from_identity(answer)

    async def resolve_dvr_hash(self, dvr_hash: str, caller: Principal | None = None) -> Identity:
        request = pb.ResolveDVRHashRequest(dvr_hash=dvr_hash)
        answer = await self._stub.call("ResolveDVRHash", request, pb.ResolveArtifactResponse, caller)
        return messages.from_identity(answer)
