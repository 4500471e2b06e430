"""Feeds ClickHouse with what happens to artifacts.

Invariant: ClickHouse is outside the transaction that moves the cursor, so an event may be written twice; readers do
not notice. Only an event that cannot be read is refused: when ClickHouse takes nothing, the feed waits.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.contracts.events import Event
from touchline.kernel.errors import TouchlineError, Unavailable
from touchline.measure.lifecycle.store import LifecycleStore, rows_of
from touchline.platform.clickhouse.client import Analytics, ArrowTable
from touchline.platform.postgres.database import Transaction

from .metrics import INSERT_SECONDS, INSERTS_FAILED, STORED
from .rules import TYPES, artifact_event


class LifecycleFeed:
    name = "lifecycle"
    types: frozenset[str] | None = TYPES

    def __init__(self, analytics: Analytics) -> None:
        self._store = LifecycleStore(analytics)

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        """One insert for all. Everything is read before anything is written."""
        await self._add(rows_of(transaction.tenant_id, [artifact_event(event) for event in events]))
        for event in events:
            STORED.labels(event.type).inc()

    async def _add(self, rows: ArrowTable) -> None:
        """The rows fit their columns: whatever ClickHouse complains of is no event's fault, and none is set aside."""
        try:
            with INSERT_SECONDS.time():
                await self._store.add(rows)
        except TouchlineError as error:
            INSERTS_FAILED.inc()
            raise Unavailable("ClickHouse takes no artifact events", why=str(error), hint=error.hint) from error
