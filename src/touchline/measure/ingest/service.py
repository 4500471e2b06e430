"""Takes deliveries of events: into ClickHouse first, acknowledged then, folded later.

Invariant: what was acknowledged is stored, and what is stored is listed to be folded. A delivery that was interrupted
anywhere may come again or not: either way each of its records is there once or not at all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from touchline.kernel import TenantId
from touchline.kernel.errors import Conflict, StorageFull, TouchlineError, Unavailable
from touchline.measure.journal import rules
from touchline.measure.journal.model import NOT_STORED, Batch, Counted, Delivered, Place
from touchline.measure.journal.store import JournalStore
from touchline.measure.sessions.parser import latest_believed
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.postgres.database import Database

from .metrics import DELIVERED, DELIVERIES
from .model import Delivery, Receipt, Received, State
from .settings import IngestSettings
from .store import BatchStore

MOST_OVERDUE = 100
OWN = "log"  # the source of what the product says of itself
logger = logging.getLogger(__name__)


class IngestService:
    def __init__(self, database: Database, analytics: Analytics, settings: IngestSettings) -> None:
        self._database = database
        self._analytics = analytics
        self._settings = settings

    @property
    def settings(self) -> IngestSettings:
        return self._settings

    async def deliver(self, tenant_id: TenantId, batch_id: str, records: Sequence[bytes], source: str = OWN) -> Receipt:
        """Returns when all is stored."""
        return await self.take(tenant_id, Delivery(batch_id, source, records))

    async def take(self, tenant_id: TenantId, delivery: Delivery) -> Receipt:
        """Returns when all is stored. The counters are of this delivery on its own."""
        async with self._database.transaction(tenant_id) as transaction:
            received = await BatchStore(transaction.connection).receive(delivery)
        if received.content != delivery.content:
            raise Conflict(
                "another delivery has this name",
                why=f"{delivery.batch_id} was delivered with other events",
                hint="Name each delivery once; without a name its content names it.",
            )
        if received.state != State.RECEIVING:
            if repeated := await self._repeated(tenant_id, received):
                return repeated
            received = await self._read_again(tenant_id, received)
        latest_ts = latest_believed(received.received_at, self._settings.max_ahead)
        records = await asyncio.to_thread(rules.deliver_all, delivery.records, latest_ts)
        await self._store(tenant_id, received, records)
        DELIVERIES.labels("stored").inc()
        for record in records:
            DELIVERED.labels(record.verdict).inc()
        return Receipt(delivery.batch_id, rules.count(records), repeated=False)

    async def _repeated(self, tenant_id: TenantId, received: Received) -> Receipt | None:
        """None when it was stored once and rows of it are gone: lost with a disk, or in a backup that is older."""
        journal = JournalStore(self._analytics, tenant_id)
        found = await journal.stored(received.batch_id)
        if not found.is_whole(received.records):
            logger.warning("a delivery is stored again", extra={"batch_id": received.batch_id, "found": min(found)})
            return None
        DELIVERIES.labels("repeated").inc()
        return Receipt(received.batch_id, await journal.count(received.batch_id), repeated=True)

    async def _read_again(self, tenant_id: TenantId, received: Received) -> Received:
        async with self._database.transaction(tenant_id) as transaction:
            return await BatchStore(transaction.connection).read_again(received.batch_id) or received

    async def settle(self) -> int:
        """Ends what was begun and never finished: its rows say whether it is stored. How many there were."""
        async with self._database.system("find deliveries that were interrupted") as transaction:
            overdue = await BatchStore(transaction.connection).overdue(self._settings.receive_deadline, MOST_OVERDUE)
        for one in overdue:
            tenant_id = TenantId(one.tenant_id)
            there = await self._complete_arrivals(tenant_id, one.batch_id)
            async with self._database.transaction(tenant_id) as transaction:
                store = BatchStore(transaction.connection)
                await (store.stored(one.batch_id) if there else store.forget(one.batch_id, one.reading))
            logger.warning("a delivery was interrupted", extra={"batch_id": one.batch_id, "stored": there})
        return len(overdue)

    async def _complete_arrivals(self, tenant_id: TenantId, batch_id: str) -> bool:
        """Whether the delivery has rows. An insert that broke off may have left them in one order only."""
        journal = JournalStore(self._analytics, tenant_id)
        found = await journal.stored(batch_id)
        if found.arrivals < found.records:
            await journal.restore_arrivals([batch_id])
        return found.records > 0

    async def _store(self, tenant_id: TenantId, received: Received, records: list[Delivered]) -> None:
        journal = JournalStore(self._analytics, tenant_id)
        batch = Batch(received.batch_id, received.received_at, received.reading)
        try:
            gone: set[Place] = set()
            if not received.first:  # an earlier try may have been read with other rules
                gone = await journal.places(received.batch_id) - {record.place for record in records}
            await journal.keep(batch, records, gone)
        except TouchlineError as error:
            DELIVERIES.labels("failed").inc()
            if isinstance(error, StorageFull):
                raise StorageFull("the events were not stored", why=str(error), hint=error.hint) from error
            why = "it is not known whether they were stored; sending the same delivery again is safe"
            raise Unavailable("ClickHouse does not take events now", why=why, hint=error.hint) from error
        async with self._database.transaction(tenant_id) as transaction:
            await BatchStore(transaction.connection).stored(received.batch_id)

    async def known(self, tenant_id: TenantId, prefix: str) -> frozenset[str]:
        """Which deliveries are stored, of all whose names begin so. Their rows decide, not the list."""
        async with self._database.transaction(tenant_id) as transaction:
            listed = await BatchStore(transaction.connection).known(prefix)
        if not listed:
            return frozenset()
        there = await JournalStore(self._analytics, tenant_id).stored_between(min(listed)[:-1], max(listed))
        return frozenset(name for name, records in listed.items() if there.get(name, NOT_STORED).is_whole(records))

    async def count(self, tenant_id: TenantId, prefix: str = "") -> Counted:
        """Of everything, or of all deliveries whose names begin so, as if there were no others."""
        return await JournalStore(self._analytics, tenant_id).count(prefix=prefix)
