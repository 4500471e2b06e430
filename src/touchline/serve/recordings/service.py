"""Recordings as people ask for them: start, stop, list, find, delete.

Invariant: the record comes first and its artifact second, as with uploads. A stream has one recording at a time:
whoever starts another one gets the one that goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from touchline.contracts.artifacts import ArtifactStatus, RecordingState
from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.registry import (
    NewRecording,
    Recording,
    RecordingPage,
    RowKey,
    RowWindow,
    StartedRecording,
    Stream,
)
from touchline.kernel import ArtifactHash, Clock, NotFound, Principal, Role, TenantId, TouchlineError, new_artifact_hash
from touchline.platform.postgres.database import Database, Transaction
from touchline.serve.artifacts.rules import LONGEST_REASON, Reason
from touchline.serve.dvr.store import to_record
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
from touchline.serve.settings import ServeSettings
from touchline.serve.streams.rules import existing as existing_stream
from touchline.serve.streams.store import StreamStore

from . import rules
from .store import RecordingStore

logger = logging.getLogger(__name__)


class Artifacts(Protocol):
    """What recordings ask of the artifacts role."""

    async def start_dvr(self, caller: Principal, dvr_hash: ArtifactHash) -> RecordingState: ...

    async def stop_dvr(self, caller: Principal, dvr_hash: ArtifactHash) -> RecordingState: ...

    async def delete_artifact(self, caller: Principal, artifact_hash: ArtifactHash) -> int: ...


class RecordingService:
    def __init__(self, database: Database, artifacts: Artifacts, settings: ServeSettings, clock: Clock) -> None:
        self._database = database
        self._artifacts = artifacts
        self._settings = settings
        self._clock = clock

    async def register(self, caller: Principal, new: NewRecording) -> Recording:
        """The record alone, whether the stream is live or not."""
        async with self._database.transaction(caller) as transaction:
            return (await self._registered(transaction, caller, new, must_be_live=False)).recording

    async def start(self, caller: Principal, new: NewRecording) -> StartedRecording:
        async with self._database.transaction(caller) as transaction:
            recording = (await self._registered(transaction, caller, new, must_be_live=True)).recording
        try:
            state = await self._artifacts.start_dvr(caller, recording.artifact_hash)
        except TouchlineError as error:
            reason = Reason(error.code, str(error)[:LONGEST_REASON])
            await self.fail(caller.tenant_id, recording.artifact_hash, reason)
            raise
        async with self._database.transaction(caller) as transaction:
            await RecordingStore(transaction).placed(recording.artifact_hash, self._clock.now())
        return await self._as_it_is(caller, recording.artifact_hash, state)

    async def record_live_streams(self) -> bool:
        """One pass over the streams that are recorded whenever they are live. True when more are waiting."""
        most = self._settings.most_per_pass
        async with self._database.system("find live streams to record") as transaction:
            found = await to_record(transaction.connection, most)
        for place in found:
            try:
                await self._record(place.tenant_id, place.stream_id)
            except TouchlineError as error:
                extra = {"stream": str(place.stream_id), "reason": str(error)}
                logger.warning("a live stream cannot be recorded", extra=extra)
        return len(found) == most

    async def _record(self, tenant_id: TenantId, stream_id: UUID) -> None:
        async with self._database.transaction(tenant_id) as transaction:
            stream = await StreamStore(transaction).find(stream_id)
        if stream is not None:
            await self.start(Principal(tenant_id, stream.user_id, Role.EDITOR), NewRecording(stream_id))

    async def stop(self, caller: Principal, dvr_hash: ArtifactHash) -> StartedRecording:
        async with self._database.transaction(caller) as transaction:
            rules.existing(await RecordingStore(transaction).by_hash(dvr_hash), dvr_hash)
        return await self._as_it_is(caller, dvr_hash, await self._artifacts.stop_dvr(caller, dvr_hash))

    async def stop_stream(self, caller: Principal, stream_id: UUID) -> None:
        """What goes on of a stream that is no more."""
        async with self._database.transaction(caller) as transaction:
            record = await RecordingStore(transaction).going_on(stream_id)
        if record is not None and record.placed:
            await self._artifacts.stop_dvr(caller, record.recording.artifact_hash)

    async def delete(self, caller: Principal, dvr_hash: ArtifactHash) -> None:
        """The artifact takes its record along; one without an artifact goes alone."""
        async with self._database.transaction(caller) as transaction:
            record = await RecordingStore(transaction).by_hash(dvr_hash)
        if record is None:
            raise rules.unknown(dvr_hash)
        if record.deleted:
            return
        try:
            await self._artifacts.delete_artifact(caller, dvr_hash)
        except NotFound:
            async with self._database.transaction(caller) as transaction:
                await RecordingStore(transaction).delete(dvr_hash, self._clock.now())
                transaction.announce(not_placed(record.recording, ArtifactType.DVR, ArtifactStatus.DELETED), revision=1)

    async def recordings(self, caller: Principal, hashes: Sequence[str]) -> Sequence[Recording]:
        """The ones that exist."""
        async with self._database.transaction(caller) as transaction:
            found = await RecordingStore(transaction).by_hashes(valid_hashes(hashes))
        return [record.recording for record in found]

    async def listed(self, caller: Principal, window: RowWindow, stream_id: UUID | None) -> RecordingPage:
        window = valid_window(window)
        async with self._database.transaction(caller) as transaction:
            store = RecordingStore(transaction)
            rows = [record.recording for record in await store.window(window, stream_id)]
            first = RowKey(rows[0].created_at, rows[0].artifact_hash) if rows else window.after
            counted = await store.count(first, stream_id)
        return RecordingPage(rows, *borders(rows, counted))

    async def fail(self, tenant_id: TenantId, dvr_hash: ArtifactHash, reason: Reason) -> None:
        """A record without its artifact: of one that has it nothing changes."""
        async with self._database.transaction(tenant_id) as transaction:
            store = RecordingStore(transaction)
            record = await store.by_hash(dvr_hash)
            if record is not None and await store.fail(dvr_hash, reason, self._clock.now() + record.retention):
                event = not_placed(record.recording, ArtifactType.DVR, ArtifactStatus.FAILED, reason)
                transaction.announce(event, revision=0)

    async def _registered(
        self, transaction: Transaction, caller: Principal, new: NewRecording, *, must_be_live: bool
    ) -> rules.Record:
        """The record under this key, the one that goes on, or a new one."""
        registry, store, request = RegistryStore(transaction), RecordingStore(transaction), rules.recording_request(new)
        key = valid_key(new.idempotency_key) if new.idempotency_key else ""
        known = await registry.claim_key(Kind.DVR, key) if key else None
        if known is not None:
            require_same_request(known, request)
            record = rules.living(await store.by_hash(known.artifact_hash))
            if not record.failed:
                return record
        stream = existing_stream(await StreamStore(transaction).find_locked(new.stream_id), new.stream_id)
        record = await store.going_on(new.stream_id)
        if record is None:
            if must_be_live:
                rules.require_live(stream)
            record = await self._begun(transaction, caller, stream, new, known and known.artifact_hash)
        if key and known is None:
            await registry.add_key(Kind.DVR, key, record.recording.artifact_hash, request)
        return record

    async def _begun(
        self,
        transaction: Transaction,
        caller: Principal,
        stream: Stream,
        new: NewRecording,
        failed_before: ArtifactHash | None,
    ) -> rules.Record:
        store, now = RecordingStore(transaction), self._clock.now()
        if failed_before is not None:
            await store.reopen(failed_before)
            return rules.living(await store.by_hash(failed_before))
        identity = NewIdentity(new_artifact_hash(), caller.user_id)
        retention = await resolved_retention(transaction, new.retention, self._settings)
        await store.add(identity, stream, rules.checked(new, stream, now), retention, now)
        record = rules.living(await store.by_hash(identity.artifact_hash))
        event = registered(record.recording, ArtifactType.DVR)
        transaction.announce(event, revision=record.recording.revision)
        return record

    async def _as_it_is(self, caller: Principal, dvr_hash: ArtifactHash, state: RecordingState) -> StartedRecording:
        async with self._database.transaction(caller) as transaction:
            record = rules.existing(await RecordingStore(transaction).by_hash(dvr_hash), dvr_hash)
        return StartedRecording(record.recording, state.status, state.revision)
