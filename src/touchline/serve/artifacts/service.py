"""The artifacts' own use cases."""

from __future__ import annotations

from touchline.contracts.artifacts import ArtifactStatus, ViewerEndpoint
from touchline.contracts.events.artifacts import ArtifactType
from touchline.kernel import Principal
from touchline.kernel.errors import Conflict, InvalidInput, NotFound, TouchlineError
from touchline.kernel.ids import ArtifactHash, PlaybackId, parse_playback_id
from touchline.platform.postgres.database import Database
from touchline.serve.context import WITHOUT_TENANT, ServeContext
from touchline.serve.registry.rules import require_bytes
from touchline.serve.registry.store import RegistryStore, find_playback_id
from touchline.serve.uploads.completion import release_soon
from touchline.serve.uploads.store import MultipartStore

from . import rules, transitions
from .rules import Artifact
from .store import ArtifactStore


class ArtifactService:
    def __init__(self, environment: ServeContext) -> None:
        self._environment = environment

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
            undeleted = await transitions.undelete(transaction, artifact_hash, now, now + settings.retention)
            if undeleted is None:
                raise rules.gone(artifact_hash)
        return undeleted.revision

    async def _deleted_before(self, store: ArtifactStore, artifact_hash: ArtifactHash) -> int:
        artifact = await store.find(artifact_hash)
        if artifact is None:
            raise rules.unknown(artifact_hash)
        return artifact.revision


# Where a viewer gets an artifact, by its public id. Invariant: only what can be played now is answered; unknown and
# deleted are the same.


class PlaybackService:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def resolve(self, text: str) -> ViewerEndpoint:
        try:
            playback_id = parse_playback_id(text)
        except InvalidInput as error:
            raise _nothing_behind() from error
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            place = await find_playback_id(transaction.connection, playback_id)
            if place is None:
                raise _nothing_behind()
            await transaction.enter_tenant(place.tenant_id)
            artifact = await ArtifactStore(transaction).find(place.artifact_hash)
            title = await RegistryStore(transaction).title(place.artifact_hash)
        if artifact is None or title is None:
            raise _nothing_behind()
        return _endpoint(playback_id, artifact, title)


def _endpoint(playback_id: PlaybackId, artifact: Artifact, title: str) -> ViewerEndpoint:
    if artifact.status is not ArtifactStatus.READY or artifact.manifest_key is None:
        raise _not_playable(artifact)
    return ViewerEndpoint(
        artifact_hash=artifact.artifact_hash,
        tenant_id=artifact.tenant_id,
        playback_id=playback_id,
        manifest_key=artifact.manifest_key,
        poster_key=artifact.poster_key or "",
        title=title,
        duration_ms=artifact.duration_ms,
        clip_key=artifact.original_key if artifact.artifact_type is ArtifactType.CLIP else "",
    )


def _not_playable(artifact: Artifact) -> TouchlineError:
    if artifact.status is ArtifactStatus.DELETED:
        return _nothing_behind()
    if artifact.status is ArtifactStatus.FAILED:
        hint = "Its page shows what went wrong; editors can retry it there."
        return Conflict("this video cannot be played", why="it could not be processed", hint=hint)
    return Conflict("this video cannot be played yet", why=f"it is {artifact.status}", hint="Try again a little later.")


def _nothing_behind() -> NotFound:
    return NotFound("there is nothing at this address")
