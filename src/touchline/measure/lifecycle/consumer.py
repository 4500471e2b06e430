"""Feeds ClickHouse with what happens to artifacts, and forgets those whose audit period is over.

Invariant: ClickHouse is outside the transaction that moves the cursor, so an event may be written twice; readers do
not notice. The cursor moves only past rows that were read back. Only an event that cannot be read is refused: when
ClickHouse takes nothing, because it is away or its disk is full, the feed waits.
"""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import Counter, Histogram

from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import ForgetDue, HoldingReleased
from touchline.kernel import TenantId, TouchlineError
from touchline.platform.clickhouse.client import Analytics, inserting
from touchline.platform.postgres.database import Transaction

from .rules import ARTIFACT_EVENT_TYPES, ArtifactEvent, artifact_event
from .store import LifecycleStore

# How far the feed is behind is `touchline_events_lag`.
STORED = Counter("touchline_lifecycle_events_stored", "Artifact events written to ClickHouse, repeats too.", ["type"])
INSERTS_FAILED = Counter("touchline_lifecycle_inserts_failed", "Inserts that ClickHouse did not take; tried again.")
INSERT_SECONDS = Histogram("touchline_lifecycle_insert_seconds", "How long an insert of artifact events took.")


class LifecycleFeed:
    name = "lifecycle"
    types: frozenset[str] | None = ARTIFACT_EVENT_TYPES | {ForgetDue.event_type}

    def __init__(self, analytics: Analytics) -> None:
        self._store = LifecycleStore(analytics)

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        """One insert for all. Everything is read before anything is written."""
        told = [event for event in events if event.type != ForgetDue.event_type]
        if told:
            await self._add(transaction.tenant_id, [artifact_event(event) for event in told])
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

    async def _add(self, tenant_id: TenantId, events: Sequence[ArtifactEvent]) -> None:
        try:
            with INSERT_SECONDS.time(), inserting("artifact events"):
                await self._store.add(tenant_id, events)
        except TouchlineError:
            INSERTS_FAILED.inc()
            raise
