"""Folds stored deliveries into session facts, pass by pass; one pass at a time for each tenant.

Invariants: a delivery counts as folded only when all rows that follow from it are written. A pass that dies anywhere is
run again; late, twice or on two machines at once, the rows are the same in the end. Whatever happens in between, the
rows of the highest pass are the ones that follow from all stored events. A pass that has lost its lock may still write:
its lower number loses, even at a place that the next pass did not know.

Folds what was delivered: soon when something says so, else after a while.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from prometheus_client import Counter, Histogram

from touchline.kernel import Clock, SystemClock, TenantId
from touchline.measure.ingest.raw_event_store import RawEventStore
from touchline.measure.ingest.rules import EventCopy
from touchline.measure.ingest.service import IngestService
from touchline.measure.ingest.store import CHANNEL, MOST_TAKEN, DeliveryStore, TakenDelivery
from touchline.measure.sessions.evidence import merge
from touchline.measure.sessions.model import Capability, Evidence, SessionFacts
from touchline.measure.sessions.parser import latest_believed
from touchline.measure.sessions.rules import Directory, Rules, conclude
from touchline.measure.settings import IngestSettings
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.postgres.database import Database, Wakeups
from touchline.platform.retry import is_transient, retry_forever

from .reference_store import ReferenceStore
from .rules import (
    AffectedSessions,
    Combination,
    EventTimes,
    FoldPortion,
    PassReport,
    SessionPlace,
    add_sessionless,
    chunks,
    decide,
    portion,
    spans,
    start_day,
)
from .store import FactStore

# Snapshots: only those that some sessions need, because the rest would change nothing. Identities need every
# combination that was ever listed, once; models and GPUs need the rows near the starts of segments; the version needs a
# count. Concluding with these gives the same rows as concluding with all snapshots.

Sets = tuple[frozenset[str], frozenset[str]]  # addresses, and URLs of sights without one


class PartialDirectory(Directory):
    """Has rows of some snapshots, and knows how many there are."""

    counts: dict[Sets, int]

    def snapshots(self, addresses: frozenset[str], urls: frozenset[str]) -> int:
        return self.counts.get((addresses, urls), 0)


async def concluded(store: ReferenceStore, evidence: Sequence[Evidence], rules: Rules) -> list[SessionFacts]:
    sets = sorted({_sets(one) for one in evidence}, key=lambda pair: tuple(map(sorted, pair)))
    addresses = sorted(frozenset[str]().union(*(pair[0] for pair in sets)))
    urls = sorted(frozenset[str]().union(*(pair[1] for pair in sets)) - {""})
    known = await store.known(addresses, urls) if addresses or urls else []
    if not known:
        return await asyncio.to_thread(_conclude_all, evidence, _directory(known, {}), rules)
    first = await asyncio.to_thread(_conclude_all, evidence, _directory(known, {}), rules)
    starts = (segment.segment_start_ts for facts in first for segment in facts.segments)
    near = await store.near(addresses, urls, spans(starts, rules.window_ms))
    listed = await store.listed([sorted(pair[0]) for pair in sets], [sorted(pair[1] - {""}) for pair in sets])
    counts = {pair: listed.get(at, 0) for at, pair in enumerate(sets)}
    return await asyncio.to_thread(_conclude_all, evidence, _directory([*known, *near], counts), rules)


def _sets(evidence: Evidence) -> Sets:
    """As concluding asks for them."""
    addresses = frozenset(sight.address for sight in evidence.sights) - {""}
    return addresses, frozenset(sight.url for sight in evidence.sights if not sight.address)


def _directory(rows: Iterable[Capability], counts: dict[Sets, int]) -> Directory:
    directory = PartialDirectory.of(rows)
    assert isinstance(directory, PartialDirectory)  # noqa: S101  `of` makes one of its own class
    directory.counts = counts
    return directory


def _conclude_all(evidence: Iterable[Evidence], directory: Directory, rules: Rules) -> list[SessionFacts]:
    """Whether a session is final is told by the reader's clock, not by the row."""
    return [conclude(one, directory, rules, 0) for one in evidence]


# Sessions: some of one tenant are folded again from what is stored, by whoever holds the tenant's lock.

MOST_SESSIONS = 1000  # that are held at once
MOST_NAMED = 2000  # that one statement names
MOST_LATEST = 200
LATEST_TS = 2**62


@dataclass(frozen=True, slots=True)
class FoldLock:
    """The number of a pass, the time when it began, and a way to ask whether its tenant is still held."""

    number: int
    now_ms: int
    still: Callable[[], Awaitable[None]]


class SessionFold:
    def __init__(self, analytics: Analytics, tenant_id: TenantId, rules: Rules, most_bytes: int) -> None:
        self.raw_events = RawEventStore(analytics, tenant_id)
        self.references = ReferenceStore(analytics, tenant_id)
        self.facts = FactStore(analytics, tenant_id)
        self._rules = rules
        self._most_bytes = most_bytes

    async def fold(self, hold: FoldLock, session_ids: Collection[str], fresh: Collection[str] | None) -> EventTimes:
        """`fresh` are the uids whose rows beside the sessions are written; None: all."""
        named, times = sorted(session_ids), EventTimes()
        for at in range(0, len(named), MOST_NAMED):
            async for found in self._portions(named[at : at + MOST_NAMED], fresh):
                await self.references.write(hold.number, found.rows, found.gone)
                await self._write(hold, found.evidence)
                times.include(found.times)
        return times

    async def keep_time(self, hold: FoldLock, times: EventTimes) -> None:
        """The clock goes on with the events that count, and back only when the one that set it counts no more. It is
        never ahead of ours: an event may be, a little, and must not end what others still do."""
        before = await self.facts.horizon()
        greatest = await self._greatest() if before in times.contested else max(before, times.greatest)
        if (now := min(greatest, hold.now_ms)) != before:
            await self.facts.set_horizon(hold.number, now)

    async def set_time(self, hold: FoldLock) -> None:
        await self.facts.set_horizon(hold.number, min(await self._greatest(), hold.now_ms))

    async def _greatest(self) -> int:
        """From the latest copies back, until none that is left can be later than what was found."""
        found, below = 0, LATEST_TS
        while latest := await self.raw_events.latest(below, MOST_LATEST):
            sessions = sorted({session for one in latest for session in one.sessions})
            decided = decide(await self.raw_events.copies_of_uids(sessions, [one.uid for one in latest]))
            found = max([found, *(one.counting.ts for one in decided)])
            below = min(one.latest_ts for one in latest)
            if found >= below:
                break
        return found

    async def _portions(self, session_ids: Sequence[str], fresh: Collection[str] | None) -> AsyncIterator[FoldPortion]:
        sizes = await self.raw_events.sizes(session_ids)
        known = {session_id: sizes.get(session_id, 0) for session_id in session_ids}
        for chunk in chunks(known, self._most_bytes, MOST_SESSIONS):
            parts = -(-known[chunk[0]] // self._most_bytes) if len(chunk) == 1 else 1
            if parts > 1:
                yield await self._long(chunk[0], parts, fresh)
            else:
                copies = await self.raw_events.copies_of_sessions(chunk)
                copies += await self._elsewhere(chunk)
                yield await asyncio.to_thread(portion, chunk, copies, fresh)

    async def _long(self, session_id: str, parts: int, fresh: Collection[str] | None) -> FoldPortion:
        """One session that is too long to be held: part by part, each with all copies of its uids."""
        elsewhere = await self._elsewhere([session_id])
        whole = FoldPortion({session_id: None})
        for part in range(parts):
            copies = await self.raw_events.copies_of_part(session_id, part, parts)
            uids = {copy.uid for copy in copies}
            copies += [copy for copy in elsewhere if copy.uid in uids]
            found = await asyncio.to_thread(portion, [session_id], copies, fresh)
            whole.evidence[session_id] = _merged(whole.evidence[session_id], found.evidence[session_id])
            whole.rows += found.rows
            whole.gone += found.gone
            whole.times.include(found.times)
        return whole

    async def _elsewhere(self, session_ids: Sequence[str]) -> list[EventCopy]:
        """Copies in other sessions of uids that these hold: one of those may be the one that counts."""
        shared = await self.raw_events.shared_by_sessions(session_ids)
        others = {session for sessions in shared.values() for session in sessions} - set(session_ids)
        return await self.raw_events.copies_of_uids(sorted(others), sorted(shared)) if others else []

    async def _write(self, hold: FoldLock, evidence: dict[str, Evidence | None]) -> None:
        """Places first. What another pass has noted meanwhile is deleted afterwards, under our higher number."""
        facts = await concluded(self.references, [one for one in evidence.values() if one], self._rules)
        now = {SessionPlace(one.session.workflow_session_id, start_day(one.session.session_start_ts)) for one in facts}
        before = await self.facts.places(list(evidence))
        await self.facts.note(now - before)
        await hold.still()
        await self.facts.write(hold.number, facts, before - now)
        late = await self.facts.places(list(evidence)) - before - now
        await self.facts.write(hold.number, [], late)


def _merged(one: Evidence | None, other: Evidence | None) -> Evidence | None:
    return merge(one, other) if one and other else one or other


# Passes.

PASSES = Counter("touchline_measure_fold_passes", "Passes that built session facts from stored events.")
PASSES_FAILED = Counter("touchline_measure_fold_passes_failed", "Fold passes that failed and are retried.")
PASS_SECONDS = Histogram("touchline_measure_fold_seconds", "How long a fold pass took.")
FOLDED_RECORDS = Counter("touchline_measure_records_folded", "Records of the deliveries that fold passes processed.")
FOLDED_SESSIONS = Counter("touchline_measure_sessions_folded", "Sessions written by fold passes, repeats included.")

logger = logging.getLogger(__name__)


class FoldService:
    def __init__(
        self,
        database: Database,
        analytics: Analytics,
        rules: Rules,
        settings: IngestSettings,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._database = database
        self._analytics = analytics
        self._rules = rules
        self._settings = settings

    @property
    def settings(self) -> IngestSettings:
        return self._settings

    async def waiting(self) -> list[TenantId]:
        async with self._database.system("find deliveries to fold") as transaction:
            return [TenantId(tenant) for tenant in await DeliveryStore(transaction.connection).waiting()]

    async def run_pass(self, tenant_id: TenantId) -> PassReport | None:
        """None when somebody else is at it, or nothing is left."""
        began_at = time.perf_counter()
        async with self._held(tenant_id) as hold:
            taken = await self._take(tenant_id, hold.number) if hold else ()
            if not hold or not taken:
                return None
            sessions = await self._fold(tenant_id, hold, taken)
            async with self._database.transaction(tenant_id) as transaction:
                await DeliveryStore(transaction.connection).folded(hold.number, taken)
        records = sum(one.records for one in taken)
        PASSES.inc()
        PASS_SECONDS.observe(time.perf_counter() - began_at)
        FOLDED_RECORDS.inc(records)
        FOLDED_SESSIONS.inc(sessions)
        logger.info("folded", extra={"batches": len(taken), "records": records, "sessions": sessions})
        more = records >= self._settings.fold_records or len(taken) >= MOST_TAKEN
        return PassReport(len(taken), records, sessions, more)

    async def rebuild(self, tenant_id: TenantId, progress: Callable[[int], None]) -> int:
        """Folds every session again, some at a time, while others may go on delivering. How many there were."""
        folding, after, total = self._folding(tenant_id), "", 0
        while True:
            async with self._held(tenant_id) as hold:
                if not hold:
                    await asyncio.sleep(self._settings.fold_interval.total_seconds())
                    continue
                sessions = await self._next(folding, after)
                if not sessions:
                    await folding.set_time(hold)
                    return total
                await folding.fold(hold, sessions, None)
            after, total = sessions[-1], total + len(sessions)
            progress(total)

    async def fold_again(self, tenant_id: TenantId, session_ids: Collection[str]) -> None:
        """These, from what is stored of them. Rows of a session without events go, wherever they lie."""
        folding, left = self._folding(tenant_id), sorted(session_ids)
        while left:
            async with self._held(tenant_id) as hold:
                if not hold:
                    await asyncio.sleep(self._settings.fold_interval.total_seconds())
                    continue
                await folding.facts.note(await folding.facts.rows_of(left[:MOST_NAMED]))
                await folding.fold(hold, left[:MOST_NAMED], None)
                left = left[MOST_NAMED:]

    async def _next(self, folding: SessionFold, after: str) -> list[str]:
        """In order: those that have events, and those that were ever written and may have none any more."""
        some = await folding.raw_events.sessions_after(after, MOST_NAMED)
        some += await folding.facts.written_after(after, MOST_NAMED)
        return sorted(set(some))[:MOST_NAMED]

    @asynccontextmanager
    async def _held(self, tenant_id: TenantId) -> AsyncGenerator[FoldLock | None]:
        """The number is drawn under the hold: who holds later has the higher one."""
        async with self._database.transaction(tenant_id) as transaction:
            store = DeliveryStore(transaction.connection)
            now_ms = latest_believed(self._clock.now(), timedelta(0))
            yield FoldLock(await store.number(), now_ms, store.still) if await store.try_lock() else None

    async def _take(self, tenant_id: TenantId, number: int) -> Sequence[TakenDelivery]:
        """In a transaction of its own: that a pass has begun must be known if it does not end."""
        async with self._database.transaction(tenant_id) as transaction:
            return await DeliveryStore(transaction.connection).take(number, self._settings.fold_records)

    def _folding(self, tenant_id: TenantId) -> SessionFold:
        return SessionFold(self._analytics, tenant_id, self._rules, self._settings.fold_bytes)

    async def _fold(self, tenant_id: TenantId, hold: FoldLock, taken: Sequence[TakenDelivery]) -> int:
        folding, batch_ids = self._folding(tenant_id), [one.batch_id for one in taken]
        seen = await folding.raw_events.seen(batch_ids)
        if not seen:
            return 0
        shared = await folding.raw_events.shared_by_batches(batch_ids)
        uids = {one.uid for one in seen}
        touched = {one.session_id for one in seen} | {session for several in shared.values() for session in several}
        outside = {one.uid: shared.get(one.uid, [""]) for one in seen if not one.session_id}
        sessionless = await self._sessionless(folding, outside)
        concern = await self._concern(folding, sessionless.said, doubtful=any(one.taken_before for one in taken))
        await folding.references.write(hold.number, sessionless.portion.rows, sessionless.portion.gone)
        if concern:
            touched |= {*await folding.facts.concerned(concern)}
        touched.discard("")
        times = await folding.fold(hold, touched, uids)
        times.include(sessionless.portion.times)
        await folding.keep_time(hold, times)
        return len(touched)

    async def _sessionless(self, folding: SessionFold, uids: Mapping[str, Sequence[str]]) -> _Sessionless:
        """Events of no session, each with the places that claim it."""
        if not uids:
            return _Sessionless(FoldPortion({}), [])
        places = sorted({place for several in uids.values() for place in several})
        copies = await folding.raw_events.copies_of_uids(places, sorted(uids))
        decided = await asyncio.to_thread(decide, copies)
        portion = FoldPortion({})
        for one in decided:
            add_sessionless(portion, one)
        copies = (copy for one in decided for copy in (one.counting, *one.others))
        return _Sessionless(portion, [row for copy in copies for row in copy.capabilities])

    async def _concern(
        self, folding: SessionFold, rows: Sequence[Capability], *, doubtful: bool
    ) -> AffectedSessions | None:
        """What no other snapshot says may change any session that saw it. What an interrupted pass may have written
        already cannot be told from what was known before: then all of it counts as new."""
        if not rows:
            return None
        said = {Combination(row.address, row.local_address, row.url, row.models) for row in rows}
        snapshots = sorted({row.snapshot_uid for row in rows})
        known = set[Combination]() if doubtful else await folding.references.known_already(said, snapshots)
        return AffectedSessions(
            changed=_names(said - known),
            listed=_names(said),
            from_ts=min(row.ts for row in rows) - self._rules.window_ms,
            to_ts=max(row.ts for row in rows) + self._rules.window_ms,
        )


@dataclass(frozen=True, slots=True)
class _Sessionless:
    portion: FoldPortion
    said: list[Capability]  # by snapshots, those that do not count as well: what they said is taken back


def _names(combinations: Collection[Combination]) -> frozenset[str]:
    return frozenset[str]().union(*(one.names for one in combinations))


class FoldWorker:
    def __init__(self, folds: FoldService, ingest: IngestService, wakeups: Wakeups) -> None:
        self._folds = folds
        self._ingest = ingest
        self._wakeup = wakeups.subscribe(CHANNEL)

    async def run(self) -> None:
        """Until cancelled. Parts that are away are waited for."""
        await retry_forever(self._turn, self._ingest.settings.fold_interval, logger)

    async def _turn(self) -> None:
        await self.step()
        if await self._wakeup.wait(self._ingest.settings.fold_interval):
            await asyncio.sleep(self._ingest.settings.fold_gather.total_seconds())

    async def step(self) -> None:
        """Everything that waits now, of every tenant."""
        await self._ingest.settle()
        for tenant_id in await self._folds.waiting():
            await self._fold(tenant_id)

    async def _fold(self, tenant_id: TenantId) -> None:
        """What is wrong with one tenant's events holds up no other; it is tried again at the next turn. What has come
        since a pass began has its own wake-up."""
        try:
            while (done := await self._folds.run_pass(tenant_id)) and done.more:
                pass
        except Exception as error:
            PASSES_FAILED.inc()
            if is_transient(error):
                raise
            logger.exception("a fold pass failed", extra={"tenant_id": str(tenant_id)})
