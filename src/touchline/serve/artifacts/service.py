"""The artifacts' own use cases, and the role that other roles ask.

Invariant: `ArtifactsRole` checks every call, by RPC or from this process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from touchline.contracts.artifacts import (
    COMPLETION_DEADLINE,
    ArrivedParts,
    ArtifactStatus,
    PartAddress,
    PartLayout,
    RecordingState,
    UploadState,
    ViewerEndpoint,
)
from touchline.contracts.events.artifacts import ArtifactType
from touchline.kernel import ArtifactHash, Principal, Scope, parse_artifact_hash
from touchline.platform.rpc.calls import answering, require
from touchline.serve.context import ServeContext
from touchline.serve.dvr.service import DvrService
from touchline.serve.playback.service import PlaybackService
from touchline.serve.recordings.rules import CONTENT_TYPE, manifest_key
from touchline.serve.recordings.store import RecordingStore
from touchline.serve.registry.rules import require_bytes
from touchline.serve.registry.store import RegistryStore
from touchline.serve.uploads.completion import release_soon
from touchline.serve.uploads.service import UploadService
from touchline.serve.uploads.store import MultipartStore

from . import rules, transitions
from .store import ArtifactStore


class ArtifactService:
    def __init__(self, environment: ServeContext) -> None:
        self._environment = environment
        self._dvr = DvrService(environment)

    async def delete(self, caller: Principal, artifact_hash: ArtifactHash) -> int:
        """Gone for viewers and listings at once; answers the revision. Bytes of an unfinished upload are freed."""
        now = self._environment.clock.now()
        async with self._environment.database.transaction(caller) as transaction:
            deleted = await transitions.delete(transaction, artifact_hash, now)
            if deleted is None:
                return await self._deleted_before(ArtifactStore(transaction), artifact_hash)
            await MultipartStore(transaction).hurry(artifact_hash, now)
        await release_soon(self._environment, caller.tenant_id, artifact_hash)
        return deleted.revision

    async def start_dvr(self, caller: Principal, dvr_hash: ArtifactHash) -> RecordingState:
        """The artifact of a registered recording."""
        async with self._environment.database.transaction(caller) as transaction:
            record = await RecordingStore(transaction).by_hash(dvr_hash)
            if record is None or record.deleted:
                raise rules.unknown(dvr_hash)
            new = rules.NewArtifact(
                artifact_hash=dvr_hash,
                artifact_type=ArtifactType.DVR,
                internal_name=record.recording.internal_name,
                user_id=record.recording.user_id,
                original_key=manifest_key(dvr_hash),
                content_type=CONTENT_TYPE,
                size_bytes=None,
                retention=record.retention,
            )
            store = ArtifactStore(transaction)
            await store.add(new, self._environment.clock.now())
            requested, starting = (ArtifactStatus.REQUESTED,), ArtifactStatus.STARTING
            started = await transitions.move(transaction, dvr_hash, starting, requested)
            if started is not None:
                await self._dvr.begin(transaction, started)
            artifact = rules.existing_recording(started or await store.find(dvr_hash), dvr_hash)
        return RecordingState(artifact.status, artifact.revision)

    async def stop_dvr(self, caller: Principal, dvr_hash: ArtifactHash) -> RecordingState:
        """What has ended stays as it is."""
        async with self._environment.database.transaction(caller) as transaction:
            store = ArtifactStore(transaction)
            artifact = rules.existing_recording(await store.find_locked(dvr_hash), dvr_hash)
            if artifact.status in rules.ON_AIR:
                stopping = ArtifactStatus.STOPPING
                artifact = await transitions.move(transaction, dvr_hash, stopping, rules.ON_AIR) or artifact
                await self._dvr.stop(transaction, dvr_hash)
        return RecordingState(artifact.status, artifact.revision)

    async def undelete(self, caller: Principal, artifact_hash: ArtifactHash) -> int:
        """Back as it was, for viewers, listings and search; answers the revision. What lives stays as it is."""
        now, settings = self._environment.clock.now(), self._environment.settings
        async with self._environment.database.transaction(caller) as transaction:
            registry = RegistryStore(transaction)
            await registry.lock()  # what is counted stays true
            artifact = await ArtifactStore(transaction).find_locked(artifact_hash)
            if artifact is None:
                raise rules.unknown(artifact_hash)
            if artifact.status is not ArtifactStatus.DELETED:
                return artifact.revision
            require_bytes(await registry.usage(), artifact.size_bytes or 0, settings)
            undeleted = await transitions.undelete(transaction, artifact_hash, now, now + artifact.retention)
            if undeleted is None:
                raise rules.gone(artifact_hash)
        return undeleted.revision

    async def _deleted_before(self, store: ArtifactStore, artifact_hash: ArtifactHash) -> int:
        artifact = await store.find(artifact_hash)
        if artifact is None:
            raise rules.unknown(artifact_hash)
        return artifact.revision


class ArtifactsRole:
    """`ArtifactClient` by the services themselves: each call is checked, and has a deadline."""

    def __init__(
        self, artifacts: ArtifactService, uploads: UploadService, playback: PlaybackService, deadline: timedelta
    ) -> None:
        self._artifacts = artifacts
        self._uploads = uploads
        self._playback = playback
        self._deadline = deadline

    async def create_upload(self, caller: Principal, artifact_hash: str, file_name: str, size_bytes: int) -> PartLayout:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._uploads.create(caller, parse_artifact_hash(artifact_hash), file_name, size_bytes)

    async def presign_parts(
        self, caller: Principal, artifact_hash: str, numbers: Sequence[int]
    ) -> Sequence[PartAddress]:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._uploads.presign(caller, parse_artifact_hash(artifact_hash), numbers)

    async def list_parts(self, caller: Principal, artifact_hash: str) -> ArrivedParts:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            return await self._uploads.arrived(caller, parse_artifact_hash(artifact_hash))

    async def complete_upload(
        self,
        caller: Principal,
        artifact_hash: str,
        etags: Mapping[int, str] | None = None,
        deadline: timedelta = COMPLETION_DEADLINE,
    ) -> UploadState:
        async with answering(deadline):
            require(caller, Scope.WRITE)
            return await self._uploads.complete(caller, parse_artifact_hash(artifact_hash), etags or None)

    async def abort_upload(self, caller: Principal, artifact_hash: str) -> UploadState:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._uploads.abort(caller, parse_artifact_hash(artifact_hash))

    async def start_dvr(self, caller: Principal, dvr_hash: str) -> RecordingState:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._artifacts.start_dvr(caller, parse_artifact_hash(dvr_hash))

    async def stop_dvr(self, caller: Principal, dvr_hash: str) -> RecordingState:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._artifacts.stop_dvr(caller, parse_artifact_hash(dvr_hash))

    async def delete_artifact(self, caller: Principal, artifact_hash: str) -> int:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._artifacts.delete(caller, parse_artifact_hash(artifact_hash))

    async def undelete_artifact(self, caller: Principal, artifact_hash: str) -> int:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._artifacts.undelete(caller, parse_artifact_hash(artifact_hash))

    async def resolve_viewer_endpoint(self, playback_id: str) -> ViewerEndpoint:
        async with answering(self._deadline):
            return await self._playback.resolve(playback_id)
