"""Activities of MonitorWorkflow. Each takes at most twenty matches and answers one outcome for each of them.

Invariant: all of them may run twice for the same run: runs are counted as sets, moves are guarded.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from temporalio import activity

from touchline.kernel import TouchlineError
from touchline.watch.context import WatchContext
from touchline.watch.downloads.service import sweep_incoming
from touchline.watch.fixtures import rules, service
from touchline.watch.fixtures.feed_client import FeedClient
from touchline.watch.fixtures.feed_documents import FeedFixture, Unreadable, read_fixture
from touchline.watch.fixtures.store import FixtureStore
from touchline.watch.goals import workflow
from touchline.watch.goals.service import Events
from touchline.watch.settings import FixtureSettings, WatchSettings
from touchline.watch.temporal import Call, FixtureOutcome, as_temporal_errors, one_by_one

logger = logging.getLogger(__name__)

MISSING = "missing"  # the feed answered without it
STALE = "stale"  # another run has looked since, or it is in another stage
AnyCall: TypeAlias = Call[list[FixtureOutcome]] | Call[workflow.Compared] | Call[workflow.Processed]


@dataclass(frozen=True)
class MonitorActivities:
    context: WatchContext
    feed: FeedClient
    settings: FixtureSettings
    watch: WatchSettings
    attributes: bool = False  # whether the server knows our search attributes
    get_ready: Callable[[], None] = lambda: None  # for videos that may be found soon

    def all(self) -> Sequence[Callable[..., Any]]:
        """For a worker."""
        return (
            self.list_monitored_fixtures,
            self.fetch_staging_fixtures,
            self.fetch_active_fixtures,
            self.process_staging_fixtures,
            self.activate_pending_fixtures,
            self.store_and_compare,
            self.process_fixture_events,
            self.complete_fixture_if_ready,
        )

    @activity.defn(name="list_monitored_fixtures")
    async def list_monitored_fixtures(self, run_id: str) -> workflow.Monitored:
        now = self.context.clock.now()
        with as_temporal_errors():
            async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
                store = FixtureStore(transaction)
                staging = await store.in_stage(rules.Stage.STAGING, service.MOST_AT_ONCE)
                active = await store.in_stage(rules.Stage.ACTIVE, service.MOST_AT_ONCE)
        service.STAGES.labels(rules.Stage.STAGING).set(len(staging))
        service.STAGES.labels(rules.Stage.ACTIVE).set(len(active))
        due = [each.id for each in staging if rules.is_due(each.last_monitor, now, self.settings)]
        return workflow.Monitored(due, [each.id for each in active], self.attributes)

    @activity.defn(name="fetch_staging_fixtures")
    async def fetch_staging_fixtures(self, look: workflow.FixtureChunk) -> list[FixtureOutcome]:
        return await self._fetch(look, workflow.FETCH_STAGING_FIXTURES)

    @activity.defn(name="fetch_active_fixtures")
    async def fetch_active_fixtures(self, look: workflow.FixtureChunk) -> list[FixtureOutcome]:
        return await self._fetch(look, workflow.FETCH_ACTIVE_FIXTURES)

    @activity.defn(name="process_staging_fixtures")
    async def process_staging_fixtures(self, look: workflow.FixtureChunk) -> list[FixtureOutcome]:
        return (await self._record(look, workflow.PROCESS_STAGING_FIXTURES)).outcomes

    @activity.defn(name="activate_pending_fixtures")
    async def activate_pending_fixtures(self, run_id: str) -> list[int]:
        """What an earlier try of this run has activated is looked at by the next run."""
        with as_temporal_errors():
            async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
                return await service.activate_pending(transaction, self.context.clock.now(), self.settings)

    @activity.defn(name="store_and_compare")
    async def store_and_compare(self, look: workflow.FixtureChunk) -> workflow.Compared:
        return await self._record(look, workflow.STORE_AND_COMPARE)

    @activity.defn(name="process_fixture_events")
    async def process_fixture_events(self, look: workflow.FixtureChunk) -> workflow.Processed:
        events = Events(self.context, self.feed.tracked, self.watch, self.get_ready)
        searches: list[workflow.GoalSearch] = []

        async def process(fixture_id: int) -> FixtureOutcome:
            what, found = await events.process(fixture_id, look.run_id)
            searches.extend(found)
            return FixtureOutcome(fixture_id, what)

        outcomes = await self._each(look.fixture_ids, process, workflow.PROCESS_FIXTURE_EVENTS)
        return workflow.Processed(outcomes, searches)

    @activity.defn(name="complete_fixture_if_ready")
    async def complete_fixture_if_ready(self, look: workflow.FixtureChunk) -> list[FixtureOutcome]:
        events = Events(self.context, self.feed.tracked, self.watch)

        async def complete(fixture_id: int) -> FixtureOutcome:
            is_complete = await events.complete(fixture_id, look.run_id, self.settings)
            if is_complete:
                await sweep_incoming(self.context, fixture_id)
            return FixtureOutcome(fixture_id, workflow.COMPLETED if is_complete else "not_ready")

        return await self._each(look.fixture_ids, complete, workflow.COMPLETE_FIXTURE_IF_READY)

    async def _fetch(self, look: workflow.FixtureChunk, call: AnyCall) -> list[FixtureOutcome]:
        """Lays the feed's answers beside the matches: documents do not travel through histories."""
        with as_temporal_errors():
            try:
                found = await self.feed.of_ids(look.fixture_ids)
            except TouchlineError as error:
                await self._fail(look.fixture_ids, error.code)
                raise
        known = {each.id: each for each in found.fixtures}
        reasons = {each.fixture_id: str(each.reason) for each in found.left_out}
        laid = await self._lay_all(look, found.fixtures)

        async def lay(fixture_id: int) -> FixtureOutcome:
            if fixture_id not in known:
                what = reasons.get(fixture_id, MISSING)
                await self._fail_answered(fixture_id, what)
                return FixtureOutcome(fixture_id, what, ok=False)
            if not laid:
                async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
                    await FixtureStore(transaction).lay(fixture_id, dict(known[fixture_id].raw), look.run_id)
            return FixtureOutcome(fixture_id, "fetched")

        return await self._each(look.fixture_ids, lay, call)

    async def _lay_all(self, look: workflow.FixtureChunk, found: Sequence[FeedFixture]) -> bool:
        """At once, in one transaction. False: one of them cannot be stored, so each has to go alone."""
        try:
            async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
                for each in (one for one in found if one.id in look.fixture_ids):
                    await FixtureStore(transaction).lay(each.id, dict(each.raw), look.run_id)
        except Exception as error:  # whatever it is, it is said of the match that it belongs to
            logger.warning("[MONITOR] Storing one by one", extra={"reason": str(error)})
            return False
        return True

    async def _record(self, look: workflow.FixtureChunk, call: AnyCall) -> workflow.Compared:
        finished: list[int] = []

        async def record(fixture_id: int) -> FixtureOutcome:
            async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
                found = self._read(await FixtureStore(transaction).live(fixture_id), look.run_id)
                if found is None:
                    return FixtureOutcome(fixture_id, STALE, ok=False)
                recorded = await service.refresh(transaction, found, self.context.clock.now(), self.settings)
            if recorded and recorded.is_over:
                finished.append(fixture_id)
            return FixtureOutcome(fixture_id, recorded.stage if recorded else MISSING, ok=recorded is not None)

        return workflow.Compared(await self._each(look.fixture_ids, record, call), finished)

    def _read(self, live: rules.Live | None, run_id: str) -> FeedFixture | None:
        if live is None or live.live_run != run_id:
            return None
        try:
            return read_fixture(live.live, self.feed.tracked, with_events=True)[0]
        except Unreadable:  # it was readable when it was laid there
            return None

    async def _each(
        self, ids: Sequence[int], work: Callable[[int], Awaitable[FixtureOutcome]], call: AnyCall
    ) -> list[FixtureOutcome]:
        with as_temporal_errors():
            outcomes = await one_by_one(
                ((each, each) for each in ids), work, last_try=activity.info().attempt >= call.attempts
            )
            for outcome in outcomes:
                if not outcome.ok and outcome.what not in (STALE, MISSING):
                    await self._fail([outcome.fixture_id], outcome.what)
            return outcomes

    async def _fail(self, ids: Sequence[int], code: str) -> None:
        service.FAILURES.labels(code).inc(len(ids))
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            await service.fail(transaction, ids, code)

    async def _fail_answered(self, fixture_id: int, what: str) -> None:
        service.FAILURES.labels(what).inc()
        now = self.context.clock.now()
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            await service.fail_answered(transaction, fixture_id, what, now, self.settings)
