"""Streams as their owners keep them: create, change, rotate the key, list, delete; and whose stream a key is.

Invariant: a key is returned once, by the call that made it, and goes into no event and no log.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID, uuid4

from touchline.contracts.events.streams import StreamDeleted, StreamKeyRotated
from touchline.contracts.registry import (
    NewStream,
    RowKey,
    RowWindow,
    Stream,
    StreamChange,
    StreamOwner,
    StreamPage,
    StreamWithKey,
)
from touchline.kernel import ArtifactHash, Clock, Principal
from touchline.platform.postgres.database import Database, Transaction
from touchline.serve.context import WITHOUT_TENANT
from touchline.serve.nodes.service import publish_urls
from touchline.serve.registry.rules import Kind, NewIdentity, require_same_request, valid_window
from touchline.serve.registry.store import RegistryStore, borders
from touchline.serve.settings import ServeSettings

from . import rules
from .sessions import ended_by_owner
from .store import StreamStore, find_key


class StreamService:
    def __init__(self, database: Database, settings: ServeSettings, clock: Clock) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock

    async def create(self, caller: Principal, request: NewStream) -> StreamWithKey:
        """The same request again finds the stream, and no key: only its hash is kept."""
        new = rules.checked(request)
        async with self._database.transaction(caller) as transaction:
            registry, streams = RegistryStore(transaction), StreamStore(transaction)
            known = await registry.claim_key(Kind.STREAM, new.idempotency_key)
            if known is not None:
                require_same_request(known, rules.stream_request(new))
                return StreamWithKey(rules.living(await streams.find(UUID(hex=known.artifact_hash))), None)
            await registry.lock()  # what is counted stays true
            rules.require_room((await streams.count()).total, self._settings)
            return await self._add(transaction, caller, new)

    async def update(self, caller: Principal, stream_id: UUID, change: StreamChange) -> Stream:
        change = rules.checked_change(change)
        async with self._database.transaction(caller) as transaction:
            streams = StreamStore(transaction)
            before = rules.existing(await streams.find_locked(stream_id), stream_id)
            changed = await streams.update(stream_id, change, self._clock.now())
            stream = rules.existing(await streams.find(stream_id), stream_id)
            if changed:
                transaction.announce(rules.updated(stream), revision=stream.revision)
            if stream.live is None:
                self._end(transaction, before, stream.revision)
            return stream

    async def rotate_key(self, caller: Principal, stream_id: UUID) -> StreamWithKey:
        key = rules.new_key()
        async with self._database.transaction(caller) as transaction:
            streams = StreamStore(transaction)
            before = rules.existing(await streams.find_locked(stream_id), stream_id)
            await streams.rotate_key(stream_id, rules.key_hash(key), self._clock.now())
            stream = rules.existing(await streams.find(stream_id), stream_id)
            transaction.announce(StreamKeyRotated(stream_id=stream_id), revision=stream.revision)
            self._end(transaction, before, stream.revision)
            return StreamWithKey(stream, key)

    async def delete(self, caller: Principal, stream_id: UUID) -> None:
        """Again is the same as once."""
        async with self._database.transaction(caller) as transaction:
            streams = StreamStore(transaction)
            before = await streams.find_locked(stream_id)
            revision = await streams.delete(stream_id, self._clock.now())
            if revision is not None and before is not None:
                transaction.announce(StreamDeleted(stream_id=stream_id), revision=revision)
                self._end(transaction, before, revision)
            elif not await streams.existed(stream_id):
                raise rules.unknown(stream_id)

    async def streams(self, caller: Principal, ids: Sequence[UUID]) -> Sequence[Stream]:
        """The ones that exist."""
        async with self._database.transaction(caller) as transaction:
            return await StreamStore(transaction).by_ids(rules.valid_ids(ids))

    async def listed(self, caller: Principal, window: RowWindow) -> StreamPage:
        window = valid_window(window)
        async with self._database.transaction(caller) as transaction:
            store = StreamStore(transaction)
            rows = await store.window(window)
            first = RowKey(rows[0].created_at, rows[0].artifact_hash) if rows else window.after
            counted = await store.count(first)
        return StreamPage(rows, *borders(rows, counted))

    async def publish_urls(self) -> Sequence[str]:
        return await publish_urls(self._database)

    async def resolve_key(self, key: str) -> StreamOwner:
        wanted = rules.key_hash(key)
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            found = await find_key(transaction.connection, wanted) if wanted else None
            if found is None:
                raise rules.refused_key()
            tenant_id, stream_id = found
            await transaction.enter_tenant(tenant_id)
            stream = await StreamStore(transaction).find(stream_id)
        if stream is None:
            raise rules.refused_key()
        return StreamOwner(tenant_id, stream)

    def _end(self, transaction: Transaction, before: Stream, revision: int) -> None:
        """Of one that was live: its node hears of it within a second."""
        if before.live is not None:
            transaction.announce(ended_by_owner(before.id, before.live), revision=revision)

    async def _add(self, transaction: Transaction, caller: Principal, new: NewStream) -> StreamWithKey:
        now, stream_id, key = self._clock.now(), uuid4(), rules.new_key()
        registry, streams = RegistryStore(transaction), StreamStore(transaction)
        identity = NewIdentity(ArtifactHash(stream_id.hex), caller.user_id)
        await registry.add_identity(Kind.STREAM, identity, now)
        await streams.add(stream_id, new, rules.key_hash(key), now)
        await registry.add_key(Kind.STREAM, new.idempotency_key, identity.artifact_hash, rules.stream_request(new))
        stream = rules.existing(await streams.find(stream_id), stream_id)
        transaction.announce(rules.created(stream), revision=stream.revision)
        return StreamWithKey(stream, key)
