"""Clips as people ask for them: register, list, find, delete.

Invariant: record, artifact and the event that asks for the cut are one transaction, and asking twice is asking once. A
record alone, without its artifact, ends as failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.registry import Clip, ClipFilter, ClipPage, CreatedClip, NewClip, RowKey, RowWindow
from touchline.kernel import ArtifactHash, Clock, Principal, TenantId, Unavailable, new_artifact_hash
from touchline.platform.postgres.database import Database, Transaction
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import ENDED_RECORDING, PLAYABLE, Artifact, NewArtifact, Reason, existing
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.recordings.store import RecordingStore
from touchline.serve.registry.rules import (
    Kind,
    NewIdentity,
    not_placed,
    registered,
    require_same_request,
    valid_hashes,
    valid_key,
    valid_window,
)
from touchline.serve.registry.service import resolved_retention
from touchline.serve.registry.store import RegistryStore, borders
from touchline.serve.retention.rules import valid_retention
from touchline.serve.settings import ServeSettings
from touchline.serve.streams.rules import existing as existing_stream
from touchline.serve.streams.store import StreamStore

from . import live, rules
from .ranges import upload_timeline
from .store import ClipStore


class ClipService:
    def __init__(self, database: Database, settings: ServeSettings, clock: Clock) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock

    async def create(self, caller: Principal, request: NewClip) -> CreatedClip:
        async with self._database.transaction(caller) as transaction:
            record = await self._registered(transaction, caller, request)
            if record.placed:
                return await _as_it_is(transaction, record.clip)
            registry = RegistryStore(transaction)
            await registry.lock()  # what is counted stays true; too much undoes the record as well
            rules.require_room(await registry.usage(), self._settings)
            return await self._place(transaction, record)

    async def register(self, caller: Principal, request: NewClip) -> Clip:
        """The record alone: `create` with the same key, or of the same range, gives it its artifact."""
        async with self._database.transaction(caller) as transaction:
            return (await self._registered(transaction, caller, request)).clip

    async def clips(self, caller: Principal, hashes: Sequence[str]) -> Sequence[Clip]:
        """The ones that exist."""
        async with self._database.transaction(caller) as transaction:
            found = await ClipStore(transaction).by_hashes(valid_hashes(hashes))
        return [record.clip for record in found]

    async def listed(self, caller: Principal, window: RowWindow, wanted: ClipFilter) -> ClipPage:
        window = valid_window(window)
        async with self._database.transaction(caller) as transaction:
            store = ClipStore(transaction)
            rows = [record.clip for record in await store.window(window, wanted)]
            first = RowKey(rows[0].created_at, rows[0].artifact_hash) if rows else window.after
            counted = await store.count(first, wanted)
        return ClipPage(rows, *borders(rows, counted))

    async def delete(self, caller: Principal, artifact_hash: ArtifactHash) -> None:
        async with self._database.transaction(caller) as transaction:
            artifact = await ArtifactStore(transaction).find_locked(artifact_hash)
            if artifact is not None and artifact.artifact_type is ArtifactType.CLIP:
                await transitions.delete(transaction, artifact_hash, self._clock.now())
            elif record := await ClipStore(transaction).find(artifact_hash):  # it never had one
                await ClipStore(transaction).delete(artifact_hash, self._clock.now())
                event = not_placed(record.clip, ArtifactType.CLIP, ArtifactStatus.DELETED)
                transaction.announce(event, revision=1)
            else:
                raise rules.unknown(artifact_hash)

    async def fail(self, tenant_id: TenantId, artifact_hash: ArtifactHash, reason: Reason) -> None:
        """A record without its artifact: of one that has it nothing changes."""
        async with self._database.transaction(tenant_id) as transaction:
            store = ClipStore(transaction)
            record = await store.find(artifact_hash)
            if record is not None and await store.fail(artifact_hash, reason, self._clock.now() + record.retention):
                event = not_placed(record.clip, ArtifactType.CLIP, ArtifactStatus.FAILED, reason)
                transaction.announce(event, revision=0)

    async def _registered(self, transaction: Transaction, caller: Principal, request: NewClip) -> rules.Record:
        """The record under this key, the one that lives with this range, or a new one."""
        rules.require_source(request)
        registry, asked = RegistryStore(transaction), rules.clip_request(request)
        key = valid_key(request.idempotency_key) if request.idempotency_key else ""
        known = await registry.claim_key(Kind.CLIP, key) if key else None
        if known is not None:
            require_same_request(known, asked)
            return rules.living(await ClipStore(transaction).find(known.artifact_hash))
        record = await self._same_or_new(transaction, caller, request)
        if key:
            await registry.add_key(Kind.CLIP, key, record.clip.artifact_hash, asked)
        return record

    async def _same_or_new(self, transaction: Transaction, caller: Principal, request: NewClip) -> rules.Record:
        retention = await resolved_retention(transaction, valid_retention(request.retention), self._settings)
        new, clips = await self._checked(transaction, request), ClipStore(transaction)
        identity = NewIdentity(new_artifact_hash(), caller.user_id)
        record = await clips.add(identity, new, retention, self._clock.now())
        if record is None:
            same = await clips.same(new)
            if same is None:
                raise Unavailable("the same clip was just deleted", why="it existed a moment ago")
            return same
        transaction.announce(registered(record.clip, ArtifactType.CLIP), revision=record.clip.revision)
        return record

    async def _checked(self, transaction: Transaction, request: NewClip) -> rules.CheckedClip:
        if request.stream_id is not None:
            stream = existing_stream(await StreamStore(transaction).find(request.stream_id), request.stream_id)
            return await live.checked_stream_clip(transaction, request, stream, self._settings, self._clock.now())
        source_hash = rules.named_source(request)
        artifact = await ArtifactStore(transaction).find(source_hash)
        if artifact is not None and artifact.artifact_type is ArtifactType.DVR and artifact.status in PLAYABLE:
            return await self._of_recording(transaction, request, artifact)
        source = rules.playable(artifact, source_hash)
        words = await RegistryStore(transaction).words(source_hash)
        title, timeline = words.title if words else "", upload_timeline(source.duration_ms)
        return rules.checked(request, source_hash, timeline, title, self._settings)

    async def _of_recording(self, transaction: Transaction, request: NewClip, recording: Artifact) -> rules.CheckedClip:
        record = await RecordingStore(transaction).by_hash(recording.artifact_hash)
        request = replace(request, stream_id=record.recording.stream_id if record else None)
        return await live.checked_recording_clip(transaction, request, recording, self._settings, self._clock.now())

    async def _place(self, transaction: Transaction, record: rules.Record) -> CreatedClip:
        clip, now = record.clip, self._clock.now()
        new = NewArtifact(
            artifact_hash=clip.artifact_hash,
            artifact_type=ArtifactType.CLIP,
            internal_name=clip.internal_name,
            user_id=clip.user_id,
            original_key=rules.clip_key(clip.source_hash, clip.artifact_hash),
            content_type=rules.CONTENT_TYPE,
            size_bytes=None,
            retention=record.retention,
            retention_until=clip.expires_at,
        )
        artifact = existing(await ArtifactStore(transaction).add(new, now), clip.artifact_hash)
        clips = ClipStore(transaction)
        await clips.placed(clip.artifact_hash, now)
        if record.failed:
            await clips.reclaim_range(clip.artifact_hash, clip.expires_at)
        transitions.announce(transaction, artifact)
        await self._request_cut(transaction, clip, artifact.original_key)
        return CreatedClip(clip, artifact.status, artifact.revision)

    async def _request_cut(self, transaction: Transaction, clip: Clip, key: str) -> None:
        """What is finished is cut by a job, what goes on by a node."""
        source = await ArtifactStore(transaction).find(clip.source_hash)
        if clip.stream_id is None or (source is not None and source.status in ENDED_RECORDING):
            original_key = rules.cuttable(source, clip.source_hash)
            media = None if clip.stream_id is None else await live.media_range(transaction, clip)
            transaction.announce(rules.requested(clip, original_key, media), revision=clip.revision)
        else:
            await live.ask_node(transaction, clip, key, self._settings, self._clock.now())


async def _as_it_is(transaction: Transaction, clip: Clip) -> CreatedClip:
    artifact = existing(await ArtifactStore(transaction).find(clip.artifact_hash), clip.artifact_hash)
    return CreatedClip(clip, artifact.status, artifact.revision)
