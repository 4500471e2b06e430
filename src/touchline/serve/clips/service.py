"""Clips as people ask for them: register, list, find, delete; and the pass that ends those whose time is over.

Invariant: record, artifact and the event that asks for the cut are one transaction, and asking twice is asking once.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.registry import Clip, ClipFilter, ClipPage, CreatedClip, Identity, NewClip, RowKey, RowWindow
from touchline.kernel import Clock, Principal, uuid7
from touchline.kernel.errors import Unavailable
from touchline.kernel.ids import ArtifactHash, new_artifact_hash, new_internal_name, new_playback_id
from touchline.platform.postgres.database import Database, Transaction
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import Artifact, NewArtifact, existing
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.clips.rules import Entry
from touchline.serve.registry.rules import valid_hashes, valid_window
from touchline.serve.registry.store import RegistryStore
from touchline.serve.settings import ServeSettings

from . import rules
from .store import ClipStore, Due, overdue


class ClipService:
    def __init__(self, database: Database, settings: ServeSettings, clock: Clock) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock

    async def create(self, caller: Principal, request: NewClip) -> CreatedClip:
        async with self._database.transaction(caller) as transaction:
            found = await ArtifactStore(transaction).find(request.source_hash)
            source, duration_ms = rules.playable(found, request.source_hash)
            registry, clips, now = RegistryStore(transaction), ClipStore(transaction), self._clock.now()
            title = await registry.title(request.source_hash) or ""
            new = rules.checked(request, duration_ms, title, self._settings)
            entry = Entry(uuid7(now), rules.shown(new, duration_ms), now, now + self._settings.retention)
            clip = await clips.add(_identity(caller), new, entry)
            if clip is None:
                return await _as_it_is(transaction, await clips.same(new))
            await registry.lock()  # what is counted stays true; too much undoes the record as well
            rules.require_room(await registry.usage(), self._settings)
            return await _place(transaction, clip, source)

    async def clips(self, caller: Principal, hashes: Sequence[str]) -> Sequence[Clip]:
        """The ones that exist."""
        async with self._database.transaction(caller) as transaction:
            return await ClipStore(transaction).by_hashes(valid_hashes(hashes))

    async def listed(self, caller: Principal, window: RowWindow, wanted: ClipFilter) -> ClipPage:
        window = valid_window(window)
        async with self._database.transaction(caller) as transaction:
            store = ClipStore(transaction)
            rows = await store.window(window, wanted)
            first = RowKey(rows[0].created_at, rows[0].artifact_hash) if rows else window.after
            counted = await store.count(first, wanted)
        ahead = counted.ahead - 1 if rows else counted.ahead
        return ClipPage(rows, ahead + len(rows) < counted.total, ahead > 0, counted.total)

    async def delete(self, caller: Principal, artifact_hash: ArtifactHash) -> None:
        async with self._database.transaction(caller) as transaction:
            artifact = await ArtifactStore(transaction).find_locked(artifact_hash)
            if artifact is None or artifact.artifact_type is not ArtifactType.CLIP:
                raise rules.unknown(artifact_hash)
            await transitions.delete(transaction, artifact_hash, self._clock.now())

    async def end_expired(self) -> bool:
        """One pass over the clips of all tenants; true when more are waiting."""
        most = self._settings.most_per_pass
        async with self._database.system("find clips that are over their time") as transaction:
            due = await overdue(transaction.connection, self._clock.now(), most)
        for one in due:
            await self._expire(one)
        return len(due) == most

    async def _expire(self, due: Due) -> None:
        now = self._clock.now()
        async with self._database.transaction(due.tenant_id) as transaction:
            artifact = await ArtifactStore(transaction).find_locked(due.artifact_hash)
            if artifact and artifact.retention_until and artifact.retention_until <= now:
                await transitions.delete(transaction, due.artifact_hash, now)


async def _place(transaction: Transaction, clip: Clip, source: Artifact) -> CreatedClip:
    new = NewArtifact(
        artifact_hash=clip.artifact_hash,
        artifact_type=ArtifactType.CLIP,
        internal_name=clip.internal_name,
        user_id=clip.user_id,
        original_key=rules.clip_key(clip.source_hash, clip.artifact_hash),
        content_type=rules.CONTENT_TYPE,
        size_bytes=None,
        retention_until=clip.expires_at,
    )
    artifact = existing(await ArtifactStore(transaction).add(new, clip.created_at), clip.artifact_hash)
    transaction.announce(rules.registered(clip), revision=clip.revision)
    transitions.tell(transaction, artifact)
    transaction.announce(rules.requested(clip, source), revision=clip.revision)
    return CreatedClip(clip, artifact.status, artifact.revision)


async def _as_it_is(transaction: Transaction, clip: Clip | None) -> CreatedClip:
    if clip is None:
        raise Unavailable("the same clip was just deleted", why="it was there a moment ago")
    artifact = existing(await ArtifactStore(transaction).find(clip.artifact_hash), clip.artifact_hash)
    return CreatedClip(clip, artifact.status, artifact.revision)


def _identity(caller: Principal) -> Identity:
    return Identity(
        tenant_id=caller.tenant_id,
        artifact_hash=new_artifact_hash(),
        playback_id=new_playback_id(),
        internal_name=new_internal_name(),
        artifact_type=ArtifactType.CLIP,
        user_id=caller.user_id,
    )
