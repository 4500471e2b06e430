"""The registry from another process, or from another role of this one. Raises what the service raised."""

from __future__ import annotations

from collections.abc import Sequence

from touchline.contracts.rpc.v1 import registry_pb2 as pb
from touchline.kernel import Principal
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.serve.artifacts.model import Status
from touchline.serve.clips import messages as clip_messages
from touchline.serve.clips.model import Clip, ClipFilter, ClipPage, CreatedClip, NewClip

from . import messages
from .model import CreatedUpload, Identity, NewUpload, Page, Upload, Window
from .rpc import SERVICE

FIRST, ALL_CLIPS = Window(), ClipFilter()


class RegistryClient:
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
        return CreatedUpload(messages.from_upload(answer.upload), answer.part_size_bytes, answer.part_count)

    async def uploads(self, caller: Principal, hashes: Sequence[str]) -> Sequence[Upload]:
        """The ones that exist, in any order."""
        request = pb.GetUploadsRequest(artifact_hashes=hashes)
        answer = await self._stub.call("GetUploads", request, pb.GetUploadsResponse, caller)
        return [messages.from_upload(one) for one in answer.uploads]

    async def listed(self, caller: Principal, window: Window = FIRST) -> Page:
        request = pb.ListUploadsRequest(page=messages.to_window(window))
        return messages.from_page(await self._stub.call("ListUploads", request, pb.ListUploadsResponse, caller))

    async def delete_upload(self, caller: Principal, artifact_hash: str) -> None:
        request = pb.DeleteUploadRequest(artifact_hash=artifact_hash)
        await self._stub.call("DeleteUpload", request, pb.DeleteUploadResponse, caller)

    async def create_clip(self, caller: Principal, new: NewClip) -> CreatedClip:
        """The same video, range and padding again answers the one that exists."""
        request = clip_messages.to_request(new)
        answer = await self._stub.call("CreateClip", request, pb.CreateClipResponse, caller)
        return CreatedClip(clip_messages.from_clip(answer.clip), Status(answer.status), answer.revision)

    async def clips(self, caller: Principal, hashes: Sequence[str]) -> Sequence[Clip]:
        """The ones that exist, in any order."""
        request = pb.GetClipsRequest(artifact_hashes=hashes)
        answer = await self._stub.call("GetClips", request, pb.GetClipsResponse, caller)
        return [clip_messages.from_clip(one) for one in answer.clips]

    async def listed_clips(self, caller: Principal, window: Window = FIRST, wanted: ClipFilter = ALL_CLIPS) -> ClipPage:
        request = pb.ListClipsRequest(
            page=messages.to_window(window),
            artifact_hash=wanted.source_hash,
            stream_id=str(wanted.stream_id) if wanted.stream_id else None,
        )
        return clip_messages.from_page(await self._stub.call("ListClips", request, pb.ListClipsResponse, caller))

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
