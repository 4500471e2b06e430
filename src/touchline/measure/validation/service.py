"""Checks every invariant of one tenant's facts, and repairs what can be repaired.

Invariants: however much data there is, it is checked in portions of sessions or deliveries, and all of it is checked.
Repair makes nothing up: our own events and those of artifacts are in the event log; sessions, arrivals and places
follow from stored events, and rollups from sessions. Only its sender has what came from outside and is gone; repair
names it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from typing import Any, NamedTuple

from touchline.contracts.events import Event
from touchline.kernel import Conflict, InvalidInput, TenantId
from touchline.measure.analytics.rollups.rules import EVERY_DAY, weeks
from touchline.measure.analytics.rollups.store import RollupStore
from touchline.measure.facts.service import FoldService
from touchline.measure.facts.store import DayStore
from touchline.measure.ingest.raw_event_store import RawEventStore
from touchline.measure.ingest.rules import NOT_STORED, DeliveryState, StoredCounts
from touchline.measure.ingest.self_metrics import SELF_METRIC_TYPES, encode_records
from touchline.measure.ingest.service import OWN, IngestService
from touchline.measure.ingest.store import DeliveryStore, ListedDelivery
from touchline.measure.lifecycle.rules import ARTIFACT_EVENT_TYPES, ArtifactEvent, artifact_event
from touchline.measure.lifecycle.store import LifecycleStore
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.events.log import EventSource
from touchline.platform.postgres.database import Database

from .queries import CHECKS, PLACES_KNOWN, PORTION, ROWS_HAVE_EVENTS, bounded

MOST_EXAMPLES = 5
PAGE = 1000
BEHIND_ALL = "\x7f"  # names of deliveries are visible characters
LISTED = "counters_add_up"
LISTED_WHAT = "every record that was delivered is counted, once"
ROLLUPS = "sums_agree"
ROLLUPS_WHAT = "what is summed by day and week is what the sessions give"


@dataclass(frozen=True, slots=True)
class Example:
    id: str
    found: str


@dataclass(frozen=True, slots=True)
class Finding:
    """`wrong` counts what breaks the promise; the examples are some of it."""

    name: str
    promise: str
    wrong: int
    examples: tuple[Example, ...]

    def with_(self, more: Finding) -> Finding:
        """Of this and of another portion."""
        examples = (*self.examples, *more.examples)[:MOST_EXAMPLES]
        return replace(self, wrong=self.wrong + more.wrong, examples=examples)


@dataclass(frozen=True, slots=True)
class PortionLimits:
    """What a portion holds, unless one session has more."""

    sessions: int = 200_000
    events: int = 1_000_000


class SessionRange(NamedTuple):
    """Sessions whose ids are behind `after`, up to `to`; that is blank when there is no end."""

    after: str
    to: str


class FactValidation:
    def __init__(self, database: Database, analytics: Analytics, most: PortionLimits | None = None) -> None:
        self._database = database
        self._analytics = analytics
        self._most = most or PortionLimits()

    async def run(self, tenant_id: TenantId) -> list[Finding]:
        listed, unfolded = await self._listed(tenant_id)
        findings = {name: _nothing(name) for name in CHECKS}
        async for portion in self.portions(tenant_id):
            for name in CHECKS:
                findings[name] = findings[name].with_(await self._asked(tenant_id, name, portion, unfolded))
        return [listed, *findings.values(), await self._summed(tenant_id)]

    async def check(self, tenant_id: TenantId, name: str, unfolded: Sequence[str] = ()) -> Finding:
        """One promise. What is not folded yet may be without rows."""
        finding = _nothing(name)
        async for portion in self.portions(tenant_id):
            finding = finding.with_(await self._asked(tenant_id, name, portion, unfolded))
        return finding

    async def _listed(self, tenant_id: TenantId) -> tuple[Finding, list[str]]:
        """Whether every delivery is whole, and those that are not folded."""
        finding, unfolded = Finding(LISTED, LISTED_WHAT, 0, ()), list[str]()
        async for page, after in pages(self._database, tenant_id):
            unfolded += [one.batch_id for one in page if one.state in (DeliveryState.RECEIVING, DeliveryState.STORED)]
            to = page[-1].batch_id if page else BEHIND_ALL
            there = await RawEventStore(self._analytics, tenant_id).stored_between(after, to)
            incomplete = _incomplete(page, there)
            finding = finding.with_(replace(finding, wrong=len(incomplete), examples=tuple(incomplete)))
        return finding, unfolded

    async def _summed(self, tenant_id: TenantId) -> Finding:
        """Day by day and week by week: those that answers are made of now."""
        store, finding = RollupStore(self._analytics), Finding(ROLLUPS, ROLLUPS_WHAT, 0, ())
        known = await store.fresh(tenant_id, *EVERY_DAY)
        for day, made in sorted(known.items()):
            finding = finding.with_(_of_sum(day, await store.wrong_of_day(tenant_id, day, made)))
        there = await store.weeks(tenant_id, [week.name for week in weeks(known)])
        for week in weeks(known):
            if made := there.get(week.name):
                finding = finding.with_(_of_sum(week.monday, await store.wrong_of_week(tenant_id, week, made)))
        return finding

    async def _asked(self, tenant_id: TenantId, name: str, portion: SessionRange, unfolded: Sequence[str]) -> Finding:
        rows = await self._wrong(tenant_id, name, portion, unfolded, MOST_EXAMPLES)
        examples = tuple(Example(row["id"], row["found"]) for row in rows)
        return Finding(name, CHECKS[name][0], rows[0]["wrong"] if rows else 0, examples)

    async def broken(self, tenant_id: TenantId, name: str, portion: SessionRange, most: int) -> set[str]:
        """Sessions of a portion that break a promise, at most so many."""
        return {row["id"] for row in await self._wrong(tenant_id, name, portion, (), most)}

    async def _wrong(
        self, tenant_id: TenantId, name: str, portion: SessionRange, unfolded: Sequence[str], most: int
    ) -> list[dict[str, Any]]:
        sql = CHECKS[name][1]
        values: dict[str, Any] = {"unfolded": list(unfolded)} if "{unfolded:" in sql else {}
        values |= {"after": portion.after, "to": portion.to, "most": most}
        return (await self._analytics.within(tenant_id).query_arrow(bounded(sql), values)).to_pylist()

    async def portions(self, tenant_id: TenantId) -> AsyncIterator[SessionRange]:
        """From the first id to behind the last one."""
        door, after = self._analytics.within(tenant_id), ""
        while True:
            [row] = (await door.query_arrow(PORTION, asdict(self._most) | {"after": after})).to_pylist()
            ends = [end for end in (row["by_sessions"], row["by_events"]) if end]
            yield SessionRange(after, min(ends, default=""))
            if not ends:
                return
            after = min(ends)


async def pages(database: Database, tenant_id: TenantId) -> AsyncIterator[tuple[Sequence[ListedDelivery], str]]:
    """All deliveries in the order of their names, each page with the name that it is behind. The last one is empty."""
    after = ""
    while True:
        async with database.transaction(tenant_id) as transaction:
            page = await DeliveryStore(transaction.connection).listed(after, PAGE)
        yield page, after
        if not page:
            return
        after = page[-1].batch_id


def not_whole(
    page: Sequence[ListedDelivery], there: Mapping[str, StoredCounts]
) -> list[tuple[ListedDelivery, StoredCounts]]:
    """Deliveries that were finished and lack rows. One that is on its way may be there or not."""
    finished = (DeliveryState.STORED, DeliveryState.FOLDED)
    settled = [(one, there.get(one.batch_id, NOT_STORED)) for one in page if one.state in finished]
    return [(one, found) for one, found in settled if not found.is_whole(one.records)]


def _incomplete(page: Sequence[ListedDelivery], there: Mapping[str, StoredCounts]) -> list[Example]:
    """One that is forgotten is not there, unless its insert has landed since."""
    listed = {one.batch_id for one in page if one.state != DeliveryState.FORGOTTEN}
    wrong = [Example(one.batch_id, _beside(found, one.records)) for one, found in not_whole(page, there)]
    unknown = sorted(there.keys() - listed)
    return wrong + [Example(one, f"{max(there[one])} records of no delivery") for one in unknown]


def _beside(found: StoredCounts, listed: int) -> str:
    return f"{found.records if found.records != listed else found.arrivals} of {listed} records"


def _of_sum(day: date, wrong: Sequence[str]) -> Finding:
    examples = tuple(Example(day.isoformat(), what) for what in wrong[:MOST_EXAMPLES])
    return Finding(ROLLUPS, ROLLUPS_WHAT, len(wrong), examples)


def _nothing(name: str) -> Finding:
    return Finding(name, CHECKS[name][0], 0, ())


# Repair: restores what validation finds missing, from what is kept elsewhere.

MOST_BROKEN = 10_000  # sessions that are folded again for one portion and promise
READ_AT_ONCE = 1000
_OWN_NAME = re.compile(r"log-(\d+)-(\d+)")


@dataclass(slots=True)
class RepairReport:
    """How many of each were restored, and what only its sender can restore."""

    deliveries: int = 0
    artifact_events: int = 0
    sessions: int = 0
    days: int = 0
    lost: list[Example] = field(default_factory=list[Example])


class FactRepair:
    def __init__(self, database: Database, analytics: Analytics, log: EventSource, folds: FoldService) -> None:
        self._database = database
        self._analytics = analytics
        self._log = log
        self._folds = folds
        self._ingest = IngestService(database, analytics, folds.settings)
        self._validation = FactValidation(database, analytics)

    async def run(self, tenant_id: TenantId) -> RepairReport:
        """In the order in which one is made from the other. Twice, or cut off, it does no harm."""
        repaired = RepairReport()
        await self._deliveries(tenant_id, repaired)
        await self._artifact_events(tenant_id, repaired)
        await self._sessions(tenant_id, repaired)
        await self._rollups(tenant_id, repaired)
        return repaired

    async def _deliveries(self, tenant_id: TenantId, repaired: RepairReport) -> None:
        raw_events = RawEventStore(self._analytics, tenant_id)
        async for page, after in pages(self._database, tenant_id):
            there = await raw_events.stored_between(after, page[-1].batch_id if page else BEHIND_ALL)
            for delivery, found in not_whole(page, there):
                if await self._restored(tenant_id, delivery, found):
                    repaired.deliveries += 1
                else:
                    repaired.lost.append(Example(delivery.batch_id, _what_is_lost(delivery, found)))
        while await self._folds.run_pass(tenant_id):
            pass

    async def _restored(self, tenant_id: TenantId, delivery: ListedDelivery, found: StoredCounts) -> bool:
        if found.records == delivery.records:
            await RawEventStore(self._analytics, tenant_id).restore_arrivals([delivery.batch_id])
            return True
        name = _OWN_NAME.fullmatch(delivery.batch_id)
        if delivery.source != OWN or name is None:
            return False
        events = await self._logged(tenant_id, int(name[1]), int(name[2]))
        records = encode_records(events)
        try:
            return bool(records) and bool(await self._ingest.deliver(tenant_id, delivery.batch_id, records))
        except Conflict:  # it was made by other rules
            return False

    async def _logged(self, tenant_id: TenantId, first: int, last: int) -> list[Event]:
        found: list[Event] = []
        while first <= last:
            batch = await self._log.read(first - 1, min(READ_AT_ONCE, last - first + 1), SELF_METRIC_TYPES)
            found += (event for event in batch.events if event.tenant_id == tenant_id)
            if batch.reached < first:
                break
            first = batch.reached + 1
        return found

    async def _artifact_events(self, tenant_id: TenantId, repaired: RepairReport) -> None:
        """Those of the log that have no row. What the feed has not come to yet is written early: that does no harm."""
        store, position, head = LifecycleStore(self._analytics), 0, await self._log.head()
        while position < head:
            batch = await self._log.read(position, READ_AT_ONCE, ARTIFACT_EVENT_TYPES)
            events = _readable(event for event in batch.events if event.tenant_id == tenant_id)
            if missing := await store.missing(tenant_id, events) if events else []:
                await store.add(tenant_id, missing)
                repaired.artifact_events += len(missing)
            position = max(batch.reached, position + 1)

    async def _sessions(self, tenant_id: TenantId, repaired: RepairReport) -> None:
        raw_events = RawEventStore(self._analytics, tenant_id)
        if (await self._validation.check(tenant_id, PLACES_KNOWN)).wrong:
            async for portion in self._validation.portions(tenant_id):
                await raw_events.restore_places(portion.after, portion.to)
        async for portion in self._validation.portions(tenant_id):
            broken = await self._broken(tenant_id, portion, spare=bool(repaired.lost))
            await self._folds.fold_again(tenant_id, broken)
            repaired.sessions += len(broken)

    async def _broken(self, tenant_id: TenantId, portion: SessionRange, *, spare: bool) -> set[str]:
        """Sessions to be folded again. One whose events are gone is spared while they may be sent again: its row is all
        that is left of them."""
        wrong = {
            name: await self._validation.broken(tenant_id, name, portion, MOST_BROKEN)
            for name in CHECKS.keys() - {PLACES_KNOWN}
        }
        return set[str]().union(*wrong.values()) - (wrong[ROWS_HAVE_EVENTS] if spare else set[str]())

    async def _rollups(self, tenant_id: TenantId, repaired: RepairReport) -> None:
        """A day that is noted as written is summed again; until then its rows are read."""
        wrong = await self._wrong_days(tenant_id)
        if wrong:
            days = DayStore(self._analytics, tenant_id)
            await days.begin(wrong)
            await days.end(wrong)
        repaired.days += len(wrong)

    async def _wrong_days(self, tenant_id: TenantId) -> Sequence[date]:
        store, wrong = RollupStore(self._analytics), set[date]()
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
            found.append(artifact_event(event))
        except InvalidInput:
            continue
    return found


def _what_is_lost(delivery: ListedDelivery, found: StoredCounts) -> str:
    missing, came = delivery.records - found.records, delivery.received_at.isoformat(timespec="seconds")
    return f"{missing} of {delivery.records} events are gone; send it again (came by {delivery.source} at {came})"
