"""Activities of IngestWorkflow. Idempotent: the same day twice leaves the same rows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from touchline.kernel import TouchlineError
from touchline.watch.context import WatchContext
from touchline.watch.feed.budget import next_try_after
from touchline.watch.feed.client import FeedClient
from touchline.watch.feed.documents import Unreadable, read_fixture
from touchline.watch.feed.model import FeedFixture
from touchline.watch.feed.store import BudgetStore, FeedCheckStore
from touchline.watch.fixtures import rules, service
from touchline.watch.fixtures.clubs.service import TrackedTeams
from touchline.watch.fixtures.settings import FixtureSettings
from touchline.watch.outcomes import FixtureOutcome, one_by_one
from touchline.watch.temporal import as_temporal_errors, translated

from .workflow import CATEGORIZE_AND_STORE_FIXTURES, FetchedFixtures, StoredFixtures, TeamRef, WantedFixtures

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class IngestActivities:
    ground: WatchContext
    feed: FeedClient
    teams: TrackedTeams
    settings: FixtureSettings
    retention: timedelta

    def all(self) -> Sequence[Callable[..., Any]]:
        """For a worker."""
        return (
            self.fetch_todays_fixtures,
            self.categorize_and_store_fixtures,
            self.remove_old_fixtures,
        )

    @activity.defn(name="fetch_todays_fixtures")
    async def fetch_todays_fixtures(self, wanted: WantedFixtures) -> FetchedFixtures:
        with as_temporal_errors():
            try:
                fetched = await self._fetch(wanted)
            except TouchlineError as error:
                raise await self._failed(wanted, error) from error
            async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
                await FeedCheckStore(transaction).answered(self.ground.clock.now())
            return fetched

    @activity.defn(name="categorize_and_store_fixtures")
    async def categorize_and_store_fixtures(self, fetched: FetchedFixtures) -> StoredFixtures:
        with as_temporal_errors():
            found = [self._read(document) for document in fetched.documents]
            fixtures = [each for each in found if each is not None]
            outcomes = await one_by_one(
                ((each.id, each) for each in fixtures),
                self._store,
                last_try=activity.info().attempt >= CATEGORIZE_AND_STORE_FIXTURES.attempts,
            )
        missing = [FixtureOutcome(fixture_id, "missing", ok=False) for fixture_id in fetched.missing]
        return StoredFixtures([*outcomes, *missing], teams_of(fixtures))

    @activity.defn(name="remove_old_fixtures")
    async def remove_old_fixtures(self) -> int:
        """How many went. The feed's old counts go with them."""
        now = self.ground.clock.now()
        with as_temporal_errors():
            async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
                await BudgetStore(transaction).forget(now)
                return len(await service.remove_old(transaction, now, self.retention))

    async def _fetch(self, wanted: WantedFixtures) -> FetchedFixtures:
        if wanted.day is None:
            return await self._by_ids(wanted.fixture_ids)
        return await self._of_day(date.fromisoformat(wanted.day))

    async def _failed(self, wanted: WantedFixtures, error: TouchlineError) -> ApplicationError:
        """A run that nobody waits for is called again at the time that is kept and shown, also after what does not pass
        by itself: somebody may correct it meanwhile. Whoever started one by hand sees the error."""
        logger.warning("[INGEST] The feed was not read", extra={"reason": str(error), "next": error.hint})
        if not wanted.until_answered:
            return translated(error)
        now, wait = self.ground.clock.now(), next_try_after(activity.info().attempt, error)
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            await FeedCheckStore(transaction).failed(now, error, now + wait)
        return ApplicationError(f"{error} {error.hint}", type=error.code, next_retry_delay=wait)

    async def _of_day(self, day: date) -> FetchedFixtures:
        found, teams = await self.feed.of_day(day), await self.teams.ids()
        followed = [each for each in found.fixtures if rules.is_tracked(each.home.id, each.away.id, teams)]
        logger.info("[INGEST] Fetched day", extra={"day": day, "all": len(found.fixtures), "followed": len(followed)})
        return FetchedFixtures([_document(each) for each in followed])

    async def _by_ids(self, fixture_ids: list[int]) -> FetchedFixtures:
        found = await self.feed.of_ids(fixture_ids)
        known = {each.id for each in found.fixtures}
        return FetchedFixtures(
            [_document(each) for each in found.fixtures], [each for each in fixture_ids if each not in known]
        )

    def _read(self, document: Mapping[str, Any]) -> FeedFixture | None:
        try:
            return read_fixture(document, self.feed.tracked, with_events=False)[0]
        except Unreadable:  # it was readable when it was fetched
            return None

    async def _store(self, found: FeedFixture) -> FixtureOutcome:
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            recorded = await service.take_in(transaction, found, self.ground.clock.now(), self.settings)
        return FixtureOutcome(found.id, recorded.stage if recorded else "gone", ok=recorded is not None)


def _document(found: FeedFixture) -> dict[str, Any]:
    """Through a workflow's history goes no more than is needed."""
    return {name: value for name, value in found.raw.items() if name != "events"}


def teams_of(fixtures: list[FeedFixture]) -> list[TeamRef]:
    """Each once."""
    names = {team.id: team.name for each in fixtures for team in (each.home, each.away)}
    return [TeamRef(team_id, name) for team_id, name in names.items()]
