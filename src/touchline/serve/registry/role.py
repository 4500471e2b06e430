"""The role that other roles ask: each call is checked, by RPC or from this process, and has a deadline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from touchline.contracts import registry
from touchline.contracts.events.artifacts import ArtifactType
from touchline.kernel import Clock, Principal, Scope, parse_artifact_hash
from touchline.platform.postgres.database import Database
from touchline.platform.rpc.calls import answering, require
from touchline.serve.artifacts.rules import Reason
from touchline.serve.clips.service import ClipService
from touchline.serve.recordings.service import RecordingService
from touchline.serve.registry.rules import Kind
from touchline.serve.settings import ServeSettings
from touchline.serve.streams.service import StreamService

from .service import RegistryService
from .store import Unplaced, unplaced


@dataclass(frozen=True, slots=True)
class RegistryServices:
    uploads: RegistryService
    clips: ClipService
    streams: StreamService
    recordings: RecordingService


# Records that stayed without their artifact: whoever began them has died, or does not come back.

ABANDONED = {
    Kind.UPLOAD: Reason("upload_abandoned", "nobody came back to begin the upload"),
    Kind.CLIP: Reason("clip_abandoned", "nobody came back to make the clip"),
    Kind.DVR: Reason("recording_abandoned", "nobody came back to start the recording"),
}


@dataclass(frozen=True, slots=True)
class UnplacedRecords:
    """The owner of records without an artifact: after a while they count as failed."""

    database: Database
    services: RegistryServices
    settings: ServeSettings
    clock: Clock

    async def run_pass(self) -> bool:
        """True when more are waiting."""
        most, before = self.settings.most_per_pass, self.clock.now() - self.settings.placing_time
        async with self.database.system("find registered artifacts that do not exist") as transaction:
            found = await unplaced(transaction.connection, before, most)
        for record in found:
            await self._fail(record)
        return len(found) == most

    async def _fail(self, record: Unplaced) -> None:
        by_kind = {
            Kind.UPLOAD: self.services.uploads.fail,
            Kind.CLIP: self.services.clips.fail,
            Kind.DVR: self.services.recordings.fail,
        }
        await by_kind[record.kind](record.tenant_id, record.artifact_hash, ABANDONED[record.kind])


class RegistryRole:
    """`RegistryClient` by the services themselves: each call is checked, and has a deadline."""

    def __init__(self, services: RegistryServices, deadline: timedelta) -> None:
        self._service = services.uploads
        self._clips = services.clips
        self._streams = services.streams
        self._recordings = services.recordings
        self._deadline = deadline

    async def create_upload(self, caller: Principal, new: registry.NewUpload) -> registry.CreatedUpload:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._service.create_upload(caller, new)

    async def uploads(self, caller: Principal, hashes: Sequence[str]) -> Sequence[registry.Upload]:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            return await self._service.uploads(caller, hashes)

    async def listed(self, caller: Principal, window: registry.RowWindow = registry.FIRST) -> registry.UploadPage:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            return await self._service.listed(caller, window)

    async def delete_upload(self, caller: Principal, artifact_hash: str) -> None:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            await self._service.delete_upload(caller, parse_artifact_hash(artifact_hash))

    async def create_clip(self, caller: Principal, new: registry.NewClip) -> registry.CreatedClip:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._clips.create(caller, _checked_source(new))

    async def register_clip(self, caller: Principal, new: registry.NewClip) -> registry.Clip:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._clips.register(caller, _checked_source(new))

    async def clips(self, caller: Principal, hashes: Sequence[str]) -> Sequence[registry.Clip]:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            return await self._clips.clips(caller, hashes)

    async def listed_clips(
        self,
        caller: Principal,
        window: registry.RowWindow = registry.FIRST,
        wanted: registry.ClipFilter = registry.ALL_CLIPS,
    ) -> registry.ClipPage:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            if wanted.source_hash is not None:
                parse_artifact_hash(wanted.source_hash)
            return await self._clips.listed(caller, window, wanted)

    async def delete_clip(self, caller: Principal, artifact_hash: str) -> None:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            await self._clips.delete(caller, parse_artifact_hash(artifact_hash))

    async def resolve_playback_id(self, playback_id: str, caller: Principal | None = None) -> registry.Identity:
        async with answering(self._deadline):
            return await self._service.resolve_playback_id(playback_id, caller)

    async def resolve_internal_name(self, internal_name: str) -> registry.Identity:
        async with answering(self._deadline):
            return await self._service.resolve_internal_name(internal_name)

    async def resolve_clip_hash(self, clip_hash: str, caller: Principal | None = None) -> registry.Identity:
        return await self._resolve_hash(clip_hash, ArtifactType.CLIP, caller)

    async def resolve_dvr_hash(self, dvr_hash: str, caller: Principal | None = None) -> registry.Identity:
        return await self._resolve_hash(dvr_hash, ArtifactType.DVR, caller)

    async def create_stream(self, caller: Principal, new: registry.NewStream) -> registry.StreamWithKey:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._streams.create(caller, new)

    async def update_stream(self, caller: Principal, stream_id: UUID, change: registry.StreamChange) -> registry.Stream:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            stream = await self._streams.update(caller, stream_id, change)
            if change.suspended:
                await self._recordings.stop_stream(caller, stream_id)
            return stream

    async def rotate_stream_key(self, caller: Principal, stream_id: UUID) -> registry.StreamWithKey:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._streams.rotate_key(caller, stream_id)

    async def delete_stream(self, caller: Principal, stream_id: UUID) -> None:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            await self._streams.delete(caller, stream_id)
            await self._recordings.stop_stream(caller, stream_id)

    async def streams(self, caller: Principal, ids: Sequence[UUID]) -> Sequence[registry.Stream]:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            return await self._streams.streams(caller, ids)

    async def listed_streams(
        self, caller: Principal, window: registry.RowWindow = registry.FIRST
    ) -> registry.StreamPage:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            return await self._streams.listed(caller, window)

    async def publish_urls(self, caller: Principal) -> Sequence[str]:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            return await self._streams.publish_urls()

    async def resolve_stream_key(self, key: str) -> registry.StreamOwner:
        async with answering(self._deadline):
            return await self._streams.resolve_key(key)

    async def register_dvr(self, caller: Principal, new: registry.NewRecording) -> registry.Recording:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._recordings.register(caller, new)

    async def start_dvr(self, caller: Principal, new: registry.NewRecording) -> registry.StartedRecording:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._recordings.start(caller, new)

    async def stop_dvr(self, caller: Principal, dvr_hash: str) -> registry.StartedRecording:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._recordings.stop(caller, parse_artifact_hash(dvr_hash))

    async def delete_dvr(self, caller: Principal, dvr_hash: str) -> None:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            await self._recordings.delete(caller, parse_artifact_hash(dvr_hash))

    async def recordings(self, caller: Principal, hashes: Sequence[str]) -> Sequence[registry.Recording]:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            return await self._recordings.recordings(caller, hashes)

    async def listed_dvr_requests(
        self, caller: Principal, window: registry.RowWindow = registry.FIRST, stream_id: UUID | None = None
    ) -> registry.RecordingPage:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            return await self._recordings.listed(caller, window, stream_id)

    async def update_artifact(
        self, caller: Principal, artifact_hash: str, change: registry.ArtifactChange
    ) -> registry.ChangedArtifact:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._service.update_artifact(caller, parse_artifact_hash(artifact_hash), change)

    async def tenant_settings(self, caller: Principal) -> registry.TenantSettings:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            return await self._service.tenant_settings(caller)

    async def update_tenant_settings(
        self, caller: Principal, settings: registry.TenantSettings
    ) -> registry.TenantSettings:
        async with answering(self._deadline):
            require(caller, Scope.ADMIN)
            await self._service.update_tenant_settings(caller, settings)
            return settings

    async def _resolve_hash(self, text: str, wanted: ArtifactType, caller: Principal | None) -> registry.Identity:
        async with answering(self._deadline):
            return await self._service.resolve_hash(parse_artifact_hash(text), wanted, caller)


def _checked_source(new: registry.NewClip) -> registry.NewClip:
    return new if new.source_hash is None else replace(new, source_hash=parse_artifact_hash(new.source_hash))
