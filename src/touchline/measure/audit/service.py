"""Questions to the audit. Another tenant's events are as unknown as those that never were.

Feeds the audit from the log.

Invariant: as with every feed into ClickHouse, an event may be written twice and is read once; the cursor moves only
past rows that were read back, and while ClickHouse takes nothing the feed waits.
"""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import Counter

from touchline.contracts.events import Event
from touchline.kernel import Principal, Scope
from touchline.platform.clickhouse.client import Analytics, inserting
from touchline.platform.postgres.database import Transaction

from . import rules
from .store import AuditStore


class Audit:
    def __init__(self, analytics: Analytics) -> None:
        self._store = AuditStore(analytics)

    async def page(self, caller: Principal, wanted: rules.AuditFilter, window: rules.AuditWindow) -> rules.AuditPage:
        return await self._store.page(caller.tenant_id, _allowed(caller, wanted), window)

    async def count(self, caller: Principal, wanted: rules.AuditFilter) -> int:
        return await self._store.count(caller.tenant_id, _allowed(caller, wanted))


def _allowed(caller: Principal, wanted: rules.AuditFilter) -> rules.AuditFilter:
    """Whoever may see an artifact may see what happened to it; everything else is for administrators."""
    caller.require(Scope.READ if wanted.subject_kind == rules.ARTIFACT and wanted.subject else Scope.ADMIN)
    return rules.checked(wanted)


STORED = Counter("touchline_service_events_stored", "Service events written to ClickHouse, repeats too.", ["type"])


class AuditFeed:
    name = "service_events"
    types: frozenset[str] | None = rules.SERVICE_EVENT_TYPES

    def __init__(self, analytics: Analytics) -> None:
        self._store = AuditStore(analytics)

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        kept = [made for event in events if (made := rules.service_event(event))]
        if not kept:
            return
        with inserting("service events"):
            await self._store.add(transaction.tenant_id, kept)
        for event in kept:
            STORED.labels(event.type).inc()
