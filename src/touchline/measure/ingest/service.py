"""Takes deliveries of events: stores them in ClickHouse, then acknowledges them; they are folded later.

Invariants: what was acknowledged is stored, and what is stored is listed to be folded. A delivery that was interrupted
anywhere may come again or not: either way each of its records is there once or not at all. A replay reads records again
in place, so that nothing is counted twice; a delivery with such a record is folded again once it is written.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from prometheus_client import Counter

from touchline.kernel import Clock, Conflict, StorageFull, SystemClock, TenantId, TouchlineError, Unavailable
from touchline.measure.sessions.parser import Reason, latest_believed
from touchline.measure.settings import IngestSettings
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.postgres.database import Database

from . import rules
from .raw_event_store import RawEventStore, RejectedFilter
from .store import DeliveryStore

DELIVERIES = Counter("touchline_measure_deliveries", "Deliveries of outside events, by result.", ["result"])
DELIVERED = Counter("touchline_measure_events_delivered", "Records of stored deliveries, by result.", ["verdict"])

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

    async def deliver(
        self, tenant_id: TenantId, batch_id: str, records: Sequence[bytes], source: str = OWN
    ) -> rules.Receipt:
        """Returns when all is stored."""
        return await self.take(tenant_id, rules.Delivery(batch_id, source, records))

    async def take(self, tenant_id: TenantId, delivery: rules.Delivery) -> rules.Receipt:
        """Returns when all is stored. The counters are of this delivery on its own."""
        async with self._database.transaction(tenant_id) as transaction:
            received = await DeliveryStore(transaction.connection).receive(delivery)
        if received.content != delivery.content:
            raise Conflict(
                "another delivery has this name",
                why=f"{delivery.batch_id} was delivered with other events",
                hint="Use a new name for each delivery, or send it without a name.",
            )
        if received.state != rules.DeliveryState.RECEIVING:
            if repeated := await self._repeated(tenant_id, received):
                return repeated
            received = await self._read_again(tenant_id, received)
        latest_ts = latest_believed(received.received_at, self._settings.max_ahead)
        records = await asyncio.to_thread(rules.read_records, delivery.records, latest_ts)
        await self._store(tenant_id, received, records)
        DELIVERIES.labels("stored").inc()
        for record in records:
            DELIVERED.labels(record.verdict).inc()
        return rules.Receipt(delivery.batch_id, rules.count_records(records), repeated=False)

    async def _repeated(self, tenant_id: TenantId, received: rules.ReceivedDelivery) -> rules.Receipt | None:
        """None when it was stored once and rows of it are gone: lost with a disk, or in a backup that is older."""
        raw_events = RawEventStore(self._analytics, tenant_id)
        found = await raw_events.stored(received.batch_id)
        if not found.is_whole(received.records):
            logger.warning("a delivery is stored again", extra={"batch_id": received.batch_id, "found": min(found)})
            return None
        DELIVERIES.labels("repeated").inc()
        return rules.Receipt(received.batch_id, await raw_events.count(received.batch_id), repeated=True)

    async def _read_again(self, tenant_id: TenantId, received: rules.ReceivedDelivery) -> rules.ReceivedDelivery:
        async with self._database.transaction(tenant_id) as transaction:
            return await DeliveryStore(transaction.connection).read_again(received.batch_id) or received

    async def settle(self) -> int:
        """Ends what was begun and never finished: its rows say whether it is stored. How many there were."""
        async with self._database.system("find deliveries that were interrupted") as transaction:
            overdue = await DeliveryStore(transaction.connection).overdue(self._settings.receive_deadline, MOST_OVERDUE)
        for one in overdue:
            tenant_id = TenantId(one.tenant_id)
            there = await self._complete_arrivals(tenant_id, one.batch_id)
            async with self._database.transaction(tenant_id) as transaction:
                store = DeliveryStore(transaction.connection)
                await (store.stored(one.batch_id) if there else store.forget(one.batch_id, one.reading))
            logger.warning("a delivery was interrupted", extra={"batch_id": one.batch_id, "stored": there})
        return len(overdue)

    async def _complete_arrivals(self, tenant_id: TenantId, batch_id: str) -> bool:
        """Whether the delivery has rows. An insert that broke off may have left them in one order only."""
        raw_events = RawEventStore(self._analytics, tenant_id)
        found = await raw_events.stored(batch_id)
        if found.arrivals < found.records:
            await raw_events.restore_arrivals([batch_id])
        return found.records > 0

    async def _store(
        self, tenant_id: TenantId, received: rules.ReceivedDelivery, records: list[rules.DeliveredRecord]
    ) -> None:
        raw_events = RawEventStore(self._analytics, tenant_id)
        batch = rules.BatchReading(received.batch_id, received.received_at, received.reading)
        try:
            gone: set[rules.RecordPlace] = set()
            if not received.first:  # an earlier try may have been read with other rules
                gone = await raw_events.places(received.batch_id) - {record.place for record in records}
            await raw_events.keep(batch, records, gone)
        except TouchlineError as error:
            DELIVERIES.labels("failed").inc()
            if isinstance(error, StorageFull):
                raise StorageFull("the events were not stored", why=str(error), hint=error.hint) from error
            why = "it is not known whether they were stored; sending the same delivery again is safe"
            raise Unavailable("ClickHouse cannot store events at the moment", why=why, hint=error.hint) from error
        async with self._database.transaction(tenant_id) as transaction:
            await DeliveryStore(transaction.connection).stored(received.batch_id)

    async def known(self, tenant_id: TenantId, prefix: str) -> frozenset[str]:
        """Which deliveries are stored, of all whose names begin so. Their rows decide, not the list."""
        async with self._database.transaction(tenant_id) as transaction:
            listed = await DeliveryStore(transaction.connection).known(prefix)
        if not listed:
            return frozenset()
        there = await RawEventStore(self._analytics, tenant_id).stored_between(min(listed)[:-1], max(listed))
        return frozenset(
            name for name, records in listed.items() if there.get(name, rules.NOT_STORED).is_whole(records)
        )

    async def count(self, tenant_id: TenantId, prefix: str = "") -> rules.RecordCounts:
        """Of everything, or of all deliveries whose names begin so, as if there were no others."""
        return await RawEventStore(self._analytics, tenant_id).count(prefix=prefix)


# Replay: parses what was quarantined or ignored again, with today's rules.

REPLAY_PAGE = 1000


@dataclass(frozen=True, slots=True)
class ReplayReport:
    looked_at: int
    changed: dict[str, int]  # by what they are now


class Replay:
    def __init__(
        self, database: Database, analytics: Analytics, settings: IngestSettings, clock: Clock | None = None
    ) -> None:
        self._database = database
        self._analytics = analytics
        self._settings = settings
        self._clock = clock or SystemClock()

    async def run(self, tenant_id: TenantId, wanted: RejectedFilter) -> ReplayReport:
        raw_events, after = RawEventStore(self._analytics, tenant_id), ("", 0)
        looked_at, changed = 0, Tally[str]()
        while page := await raw_events.set_aside(wanted, after, REPLAY_PAGE):
            latest_ts = latest_believed(self._clock.now(), self._settings.max_ahead)
            for batch_id, records in await asyncio.to_thread(_changed, page, latest_ts):
                await self._write(raw_events, tenant_id, batch_id, records)
                changed.update(record.verdict for record in records)
            looked_at, after = looked_at + len(page), (page[-1].batch_id, page[-1].ordinal)
        return ReplayReport(looked_at, dict(sorted(changed.items())))

    async def _write(
        self, raw_events: RawEventStore, tenant_id: TenantId, batch_id: str, records: Sequence[rules.DeliveredRecord]
    ) -> None:
        async with self._database.transaction(tenant_id) as transaction:
            received = await DeliveryStore(transaction.connection).read_again(batch_id)
        if received is None:  # its rows were left by a delivery that never was finished, and is forgotten
            return
        gone = {rules.RecordPlace("", "", record.ordinal) for record in records} - {record.place for record in records}
        await raw_events.keep(rules.BatchReading(batch_id, received.received_at, received.reading), records, gone)
        async with self._database.transaction(tenant_id) as transaction:
            await DeliveryStore(transaction.connection).stored(batch_id)


def _changed(page: Iterable[rules.RejectedRecord], latest_ts: int) -> list[tuple[str, list[rules.DeliveredRecord]]]:
    """By delivery, what is read otherwise now."""
    found: list[tuple[str, list[rules.DeliveredRecord]]] = []
    for batch_id, records in groupby(page, key=lambda record: record.batch_id):
        pairs = ((record, rules.read_record(record.ordinal, record.body, latest_ts)) for record in records)
        if several := [now for before, now in pairs if _verdict(before) != _verdict(now)]:
            found.append((batch_id, several))
    return found


def _verdict(record: rules.RejectedRecord | rules.DeliveredRecord) -> tuple[str, str, str, str]:
    detail = "" if record.reason == Reason.IN_THE_FUTURE else record.detail  # it names the moment of the reading
    return record.verdict, record.reason, detail, record.type
