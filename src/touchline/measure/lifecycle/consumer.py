"""Feeds ClickHouse with what happens to artifacts.

Invariant: ClickHouse is outside the transaction that moves the cursor, so an event may be written twice; readers do
not notice. The cursor moves only past rows that were read back. Only an event that cannot be read is refused: when
ClickHouse takes nothing, because it is away or its disk is full, the feed waits.
"""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import Counter, Histogram

from touchline.contracts.events import Event
from touchline.kernel import TenantId
from touchline.kernel.errors import StorageFull, TouchlineError, Unavailable
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.postgres.database import Transaction

from .rules import ARTIFACT_EVENT_TYPES, ArtifactEvent, artifact_event
from .store import LifecycleStore

# How far the feed is behind is `touchline_events_lag`.
STORED = Counter("touchline_lifecycle_events_stored", "Artifact events written to ClickHouse, repeats too.", ["type"])
INSERTS_FAILED = Counter("touchline_lifecycle_inserts_failed", "Inserts that ClickHouse did not take; tried again.")
INSERT_SECONDS = Histogram("touchline_lifecycle_insert_seconds", "How long an insert of artifact events took.")


class LifecycleFeed:
    name = "lifecycle"
    types: frozenset[str] | None = ARTIFACT_EVENT_TYPES

    def __init__(self, analytics: Analytics) -> None:
        self._store = LifecycleStore(analytics)

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        """One insert for all. Everything is read before anything is written."""
        await self._add(transaction.tenant_id, [artifact_event(event) for event in events])
        for event in events:
            STORED.labels(event.type).inc()

    async def _add(self, tenant_id: TenantId, events: Sequence[ArtifactEvent]) -> None:
        """The rows fit their columns: whatever ClickHouse complains of is no event's fault, and none is set aside."""
        try:
            with INSERT_SECONDS.time():
                await self._store.add(tenant_id, events)
        except TouchlineError as error:
            INSERTS_FAILED.inc()
            if isinstance(error, StorageFull):
                raise
            raise Unavailable(
                "ClickHouse does not take artifact events now", why=str(error), hint=error.hint
            ) from error
