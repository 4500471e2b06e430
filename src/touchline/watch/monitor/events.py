"""What a poll means for the goals of one match, and whether the match is over. One transaction each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from touchline.platform.postgres.database import Transaction
from touchline.watch.discovery.messages import TwitterInput
from touchline.watch.feed.documents import Tracked, read_fixture
from touchline.watch.fixtures import metrics, service
from touchline.watch.fixtures.model import Stage
from touchline.watch.fixtures.settings import FixtureSettings
from touchline.watch.fixtures.store import FixtureStore
from touchline.watch.goals import service as goals
from touchline.watch.goals.model import Triggered
from touchline.watch.ground import Ground
from touchline.watch.settings import WatchSettings

from .messages import Search
from .store import SearchFacts, search_facts

OWN_GOAL = "Own Goal"


@dataclass(frozen=True, slots=True)
class Events:
    ground: Ground
    tracked: Tracked
    settings: WatchSettings
    get_ready: Callable[[], None] = lambda: None  # told when a goal is seen, some looks before it is searched for

    async def process(self, fixture_id: int, run_id: str) -> tuple[str, list[Search]]:
        """Hands the answer that this run has laid there to the goals. An answer without events counts neither way."""
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            store = FixtureStore(transaction)
            await store.lock(fixture_id)
            live = await store.live(fixture_id)
            if live is None or live.live_run != run_id or live.stage != Stage.ACTIVE:
                return "stale", []
            fixture, _ = read_fixture(live.live, self.tracked, with_events=True)
            if fixture.goals is None:
                return "no_events", []
            now = self.ground.clock.now()
            applied = await goals.apply_poll(transaction, fixture, run_id, now, self.settings)
            if applied.awaited:
                self.get_ready()
            return "compared", await self._searches(transaction, applied.triggered)

    async def complete(self, fixture_id: int, run_id: str, settings: FixtureSettings) -> bool:
        """What is beyond its deadline ends first, so that every match ends."""
        now = self.ground.clock.now()
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            await goals.close_overdue(transaction, fixture_id, now, self.settings)
            polls = self.settings.polls_to_trust
            ended = await service.complete_if_ready(transaction, fixture_id, run_id, now, settings, polls)
        if ended.summary:
            metrics.count(ended.summary)
        return ended.is_complete

    async def _searches(self, transaction: Transaction, triggered: Sequence[Triggered]) -> list[Search]:
        facts = await search_facts(transaction, [each.goal for each in triggered]) if triggered else {}
        return [search_for(each, facts[each.goal], self.settings) for each in triggered if each.goal in facts]


def search_for(triggered: Triggered, facts: SearchFacts, settings: WatchSettings) -> Search:
    given = TwitterInput(
        goal=triggered.goal,
        label=triggered.label,
        player_name=facts.player_name or "",
        team_id=facts.team_id,
        team_name=facts.team_name,
        other_team_id=facts.other_team_id,
        other_team_name=facts.other_team_name,
        own_goal=facts.detail == OWN_GOAL,
        attempts=settings.search_attempts,
        interval_s=settings.search_interval.total_seconds(),
        rest_s=settings.search_rest.total_seconds(),
    )
    return Search(triggered.workflow_id, facts.at, given)
