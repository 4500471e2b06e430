"""What is known of a tenant's artifacts by their hashes, and the role that other roles ask for it.

Invariants: another tenant's hash is as unknown as one that never was. A page of any size is one statement.
`LifecycleRole` checks every call, by RPC or from this process.

Feeds ClickHouse with what happens to artifacts, and forgets those whose audit period is over.

Invariant: ClickHouse is outside the transaction that moves the cursor, so an event may be written twice; readers do
not notice. The cursor moves only past rows that were read back. Only an event that cannot be read is refused: when
ClickHouse takes nothing, because it is away or its disk is full, the feed waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from prometheus_client import Counter, Histogram

from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import ForgetDue, HoldingReleased
from touchline.contracts.lifecycle import LifecycleEvent, LifecycleState, StorageEvent
from touchline.kernel import InvalidInput, LimitExceeded, Principal, Scope, TenantId, TouchlineError
from touchline.platform.clickhouse.client import Analytics, inserting
from touchline.platform.postgres.database import Transaction
from touchline.platform.rpc.calls import answering, require

from . import rules
from .store import LifecycleStore

MOST_HASHES = 500
MOST_EVENTS = 501  # a page, and one to know that there are more
MOST_TOGETHER = 20_000


class LifecycleService:
    def __init__(self, analytics: Analytics) -> None:
        self._store = LifecycleStore(analytics)

    async def states(self, tenant_id: TenantId, hashes: Sequence[str]) -> list[rules.ArtifactState]:
        """The known ones, each once, in the order in which they were asked for."""
        wanted = _wanted(hashes)
        if not wanted:
            return []
        found = {str(known.artifact_hash): known for known in await self._store.states(tenant_id, wanted)}
        return [rules.conclude(found[one]) for one in wanted if one in found]

    async def events(
        self, tenant_id: TenantId, artifact_hash: str, after: int = 0, limit: int = MOST_EVENTS
    ) -> list[rules.ArtifactEvent]:
        """What happened to one artifact after a position of the log, oldest first."""
        _check(after, limit)
        return await self._store.events(tenant_id, artifact_hash, after, limit)

    async def events_of_many(
        self, tenant_id: TenantId, hashes: Sequence[str], after: int, limit: int
    ) -> list[rules.ArtifactEvent]:
        """The same of each of them, by artifact; `limit` is for each, and all together are bounded too."""
        wanted = _wanted(hashes)
        _check(after, limit)
        if len(wanted) * limit > MOST_TOGETHER:
            raise LimitExceeded("too many events for one call", why=f"artifacts times limit is at most {MOST_TOGETHER}")
        return await self._store.events_of_many(tenant_id, wanted, after, limit) if wanted else []

    async def storage_events(
        self, tenant_id: TenantId, hashes: Sequence[str] = (), after: int = 0, limit: int = MOST_EVENTS
    ) -> list[StorageEvent]:
        """Where bytes went, oldest first: of these artifacts, or of all of the tenant's."""
        _check(after, limit)
        return await self._store.storage_events(tenant_id, _wanted(hashes), after, limit)


def _wanted(hashes: Sequence[str]) -> list[str]:
    wanted = list(dict.fromkeys(hashes))
    if len(wanted) > MOST_HASHES:
        raise LimitExceeded(f"{len(wanted)} artifacts are too many for one call", why=f"the limit is {MOST_HASHES}")
    return wanted


def _check(after: int, limit: int) -> None:
    if after < 0:
        raise InvalidInput("not a valid position", field="after", why="positions start at 1")
    if not 1 <= limit <= MOST_EVENTS:
        raise InvalidInput("not a valid number of events", field="limit", why=f"it must be 1 to {MOST_EVENTS}")


class LifecycleRole:
    """`LifecycleClient` by the service itself: each call is checked, and has a deadline."""

    def __init__(self, service: LifecycleService, deadline: timedelta) -> None:
        self._service = service
        self._deadline = deadline

    async def states(self, caller: Principal, hashes: Sequence[str]) -> Sequence[LifecycleState]:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            return [_state(one) for one in await self._service.states(caller.tenant_id, hashes)]

    async def events(
        self, caller: Principal, hashes: Sequence[str], after: int, limit: int
    ) -> Sequence[LifecycleEvent]:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            found = await self._service.events_of_many(caller.tenant_id, hashes, after, limit)
            return [_event(one) for one in found]

    async def storage_events(
        self, caller: Principal, hashes: Sequence[str], after: int, limit: int
    ) -> Sequence[StorageEvent]:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            return await self._service.storage_events(caller.tenant_id, hashes, after, limit)


def _state(state: rules.ArtifactState) -> LifecycleState:
    return LifecycleState(
        artifact_hash=state.artifact_hash,
        artifact_type=state.artifact_type,
        stage=state.stage,
        progress_percent=state.progress_percent,
        size_bytes=state.size_bytes,
        duration_ms=state.duration_ms,
        width=state.width,
        height=state.height,
        manifest_key=state.manifest_key,
        poster_key=state.poster_key,
        error_code=state.error_code,
        error_message=state.error_message,
        synced=state.synced,
        local_copies=state.local_copies,
        storage_location=state.storage_location,
        revision=state.revision,
        updated_at=state.updated_at,
    )


def _event(event: rules.ArtifactEvent) -> LifecycleEvent:
    facts, context = event.facts, event.context
    return LifecycleEvent(
        event_id=event.event_id,
        position=event.position,
        artifact_hash=event.artifact_hash,
        type=event.type,
        revision=event.revision,
        occurred_at=event.occurred_at,
        stage=facts.stage,
        progress_percent=facts.progress_percent,
        size_bytes=facts.size_bytes,
        duration_ms=facts.duration_ms,
        synced=facts.synced,
        local_copies=facts.local_copies,
        error_code=event.error_code,
        error_message=event.error_message,
        job_id=context.job_id,
        job_type=context.job_type,
        attempt=context.attempt,
        user_id=context.user_id,
    )


# How far the feed is behind is `touchline_events_lag`.
STORED = Counter("touchline_lifecycle_events_stored", "Artifact events written to ClickHouse, repeats too.", ["type"])
INSERTS_FAILED = Counter("touchline_lifecycle_inserts_failed", "Inserts that ClickHouse rejected; they are retried.")
INSERT_SECONDS = Histogram("touchline_lifecycle_insert_seconds", "How long an insert of artifact events took.")


class LifecycleFeed:
    name = "lifecycle"
    types: frozenset[str] | None = rules.ARTIFACT_EVENT_TYPES | {ForgetDue.event_type}

    def __init__(self, analytics: Analytics) -> None:
        self._store = LifecycleStore(analytics)

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        """One insert for all. Everything is read before anything is written."""
        told = [event for event in events if event.type != ForgetDue.event_type]
        if told:
            await self._add(transaction.tenant_id, [rules.artifact_event(event) for event in told])
        for event in told:
            STORED.labels(event.type).inc()
        await self._forget(transaction, [event for event in events if event.type == ForgetDue.event_type])

    async def _forget(self, transaction: Transaction, due: Sequence[Event]) -> None:
        """Nothing of a purged artifact comes later in the log."""
        hashes = [ForgetDue.model_validate(event.data).artifact_hash for event in due]
        if not hashes:
            return
        with inserting("the deletion of artifact events"):
            await self._store.forget(transaction.tenant_id, hashes)
        for artifact_hash in hashes:
            transaction.announce(HoldingReleased(artifact_hash=artifact_hash, holder="measure"))

    async def _add(self, tenant_id: TenantId, events: Sequence[rules.ArtifactEvent]) -> None:
        try:
            with INSERT_SECONDS.time(), inserting("artifact events"):
                await self._store.add(tenant_id, events)
        except TouchlineError:
            INSERTS_FAILED.inc()
            raise
