"""Restores what a validation finds missing, from what is kept elsewhere; what it cannot restore, it names.

Invariant: nothing is made up. Our own events and those of artifacts are in the event log; sessions, arrivals and
places follow from stored events, and sums from sessions. Only its sender has what came from outside and is gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from touchline.contracts.events import Event
from touchline.kernel import TenantId
from touchline.kernel.errors import Conflict, InvalidInput
from touchline.measure.answers.sums.rules import EVERY_DAY, weeks
from touchline.measure.answers.sums.store import SumStore
from touchline.measure.facts.days_store import DayStore
from touchline.measure.facts.service import FoldService
from touchline.measure.ingest import rules
from touchline.measure.ingest.service import OWN, IngestService
from touchline.measure.ingest.store import Listed
from touchline.measure.journal.model import Stored
from touchline.measure.journal.store import JournalStore
from touchline.measure.lifecycle.model import ArtifactEvent
from touchline.measure.lifecycle.store import LifecycleStore
from touchline.measure.own import consumer as own
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.events.log import EventSource
from touchline.platform.postgres.database import Database

from .queries import CHECKS, PLACES_KNOWN, ROWS_HAVE_EVENTS
from .service import BEHIND_ALL, Example, Portion, Validation, not_whole, pages

MOST_BROKEN = 10_000  # sessions that are folded again for one portion and promise
READ_AT_ONCE = 1000
_OWN_NAME = re.compile(r"log-(\d+)-(\d+)")


@dataclass(slots=True)
class Repaired:
    """How many of each were restored, and what only its sender can restore."""

    deliveries: int = 0
    artifact_events: int = 0
    sessions: int = 0
    days: int = 0
    lost: list[Example] = field(default_factory=list[Example])


class Repair:
    def __init__(self, database: Database, analytics: Analytics, log: EventSource, folds: FoldService) -> None:
        self._database = database
        self._analytics = analytics
        self._log = log
        self._folds = folds
        self._ingest = IngestService(database, analytics, folds.settings)
        self._validation = Validation(database, analytics)

    async def run(self, tenant_id: TenantId) -> Repaired:
        """In the order in which one is made from the other. Twice, or cut off, it does no harm."""
        repaired = Repaired()
        await self._deliveries(tenant_id, repaired)
        await self._artifact_events(tenant_id, repaired)
        await self._sessions(tenant_id, repaired)
        await self._sums(tenant_id, repaired)
        return repaired

    async def _deliveries(self, tenant_id: TenantId, repaired: Repaired) -> None:
        journal = JournalStore(self._analytics, tenant_id)
        async for page, after in pages(self._database, tenant_id):
            there = await journal.stored_between(after, page[-1].batch_id if page else BEHIND_ALL)
            for delivery, found in not_whole(page, there):
                if await self._restored(tenant_id, delivery, found):
                    repaired.deliveries += 1
                else:
                    repaired.lost.append(Example(delivery.batch_id, _what_is_lost(delivery, found)))
        while await self._folds.run_pass(tenant_id):
            pass

    async def _restored(self, tenant_id: TenantId, delivery: Listed, found: Stored) -> bool:
        if found.records == delivery.records:
            await JournalStore(self._analytics, tenant_id).restore_arrivals([delivery.batch_id])
            return True
        name = _OWN_NAME.fullmatch(delivery.batch_id)
        if delivery.source != OWN or name is None:
            return False
        events = await self._logged(tenant_id, int(name[1]), int(name[2]))
        records = own.encoded(events)
        try:
            return bool(records) and bool(await self._ingest.deliver(tenant_id, delivery.batch_id, records))
        except Conflict:  # it was made by other rules
            return False

    async def _logged(self, tenant_id: TenantId, first: int, last: int) -> list[Event]:
        found: list[Event] = []
        while first <= last:
            batch = await self._log.read(first - 1, min(READ_AT_ONCE, last - first + 1), own.TYPES)
            found += (event for event in batch.events if event.tenant_id == tenant_id)
            if batch.reached < first:
                break
            first = batch.reached + 1
        return found

    async def _artifact_events(self, tenant_id: TenantId, repaired: Repaired) -> None:
        """Those of the log that have no row. What the feed has not come to yet is written early: that does no harm."""
        store, position, head = LifecycleStore(self._analytics), 0, await self._log.head()
        while position < head:
            batch = await self._log.read(position, READ_AT_ONCE, rules.TYPES)
            events = _readable(event for event in batch.events if event.tenant_id == tenant_id)
            if missing := await store.missing(tenant_id, events) if events else []:
                await store.add(tenant_id, missing)
                repaired.artifact_events += len(missing)
            position = max(batch.reached, position + 1)

    async def _sessions(self, tenant_id: TenantId, repaired: Repaired) -> None:
        journal = JournalStore(self._analytics, tenant_id)
        if (await self._validation.check(tenant_id, PLACES_KNOWN)).wrong:
            async for portion in self._validation.portions(tenant_id):
                await journal.restore_places(portion.after, portion.to)
        async for portion in self._validation.portions(tenant_id):
            broken = await self._broken(tenant_id, portion, spare=bool(repaired.lost))
            await self._folds.fold_again(tenant_id, broken)
            repaired.sessions += len(broken)

    async def _broken(self, tenant_id: TenantId, portion: Portion, *, spare: bool) -> set[str]:
        """Sessions to be folded again. One whose events are gone is spared while they may be sent again: its row is all
        that is left of them."""
        wrong = {
            name: await self._validation.broken(tenant_id, name, portion, MOST_BROKEN)
            for name in CHECKS.keys() - {PLACES_KNOWN}
        }
        return set[str]().union(*wrong.values()) - (wrong[ROWS_HAVE_EVENTS] if spare else set[str]())

    async def _sums(self, tenant_id: TenantId, repaired: Repaired) -> None:
        """A day that is noted as written is summed again; until then its rows are read."""
        wrong = await self._wrong_days(tenant_id)
        if wrong:
            days = DayStore(self._analytics, tenant_id)
            await days.begin(wrong)
            await days.end(wrong)
        repaired.days += len(wrong)

    async def _wrong_days(self, tenant_id: TenantId) -> Sequence[date]:
        store, wrong = SumStore(self._analytics), set[date]()
        known = await store.fresh(tenant_id, *EVERY_DAY)
        for day, made in known.items():
            if await store.wrong_of_day(tenant_id, day, made):
                wrong.add(day)
        there = await store.weeks(tenant_id, [week.name for week in weeks(known)])
        for week in weeks(known):
            if (made := there.get(week.name)) and await store.wrong_of_week(tenant_id, week, made):
                wrong |= {week.monday + timedelta(days=number) for number in range(7)} & known.keys()
        return sorted(wrong)


def _readable(events: Iterable[Event]) -> list[ArtifactEvent]:
    """An event that cannot be read was set aside when it came; `touchline events poison` shows it."""
    found: list[ArtifactEvent] = []
    for event in events:
        try:
            found.append(rules.artifact_event(event))
        except InvalidInput:
            continue
    return found


def _what_is_lost(delivery: Listed, found: Stored) -> str:
    missing, came = delivery.records - found.records, delivery.received_at.isoformat(timespec="seconds")
    return f"{missing} of {delivery.records} events are gone; send it again (came by {delivery.source} at {came})"
