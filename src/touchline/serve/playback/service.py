"""Where a viewer gets an artifact, by its public id.

Invariant: only what can be played now is answered; unknown and deleted are the same.
"""

from __future__ import annotations

from touchline.contracts.events.artifacts import ArtifactType
from touchline.kernel.errors import Conflict, InvalidInput, NotFound, TouchlineError
from touchline.kernel.ids import PlaybackId, parse_playback_id
from touchline.platform.postgres.database import Database
from touchline.serve.artifacts.model import Artifact, Status
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.registry.store import RegistryStore, find_playback_id
from touchline.serve.tenants import NOBODY

from .model import ViewerEndpoint


class PlaybackService:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def resolve(self, text: str) -> ViewerEndpoint:
        try:
            playback_id = parse_playback_id(text)
        except InvalidInput as error:
            raise _nothing_behind() from error
        async with self._database.transaction(NOBODY) as transaction:
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
    if artifact.status is not Status.READY or artifact.manifest_key is None:
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
    if artifact.status is Status.DELETED:
        return _nothing_behind()
    if artifact.status is Status.FAILED:
        hint = "Its page shows what went wrong; editors can retry it there."
        return Conflict("this video cannot be played", why="it could not be processed", hint=hint)
    return Conflict("this video cannot be played yet", why=f"it is {artifact.status}", hint="Try again a little later.")


def _nothing_behind() -> NotFound:
    return NotFound("there is nothing at this address")
