"""A poll's effect on the goals of a match: what the rules decide, written and announced in the poll's transaction.

Invariant: applied twice with one run, it changes nothing the second time. What is written of a goal and of its videos
commits together: nobody sees a half-removed goal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from touchline.contracts.events.watch import GoalChanged
from touchline.kernel import Conflict
from touchline.platform.postgres.database import Transaction
from touchline.watch.archive.service import drop_all, label_all, move_all
from touchline.watch.context import WatchContext
from touchline.watch.discovery.workflow import TwitterInput
from touchline.watch.fixtures import service
from touchline.watch.fixtures.feed_documents import FeedFixture, Tracked, read_fixture
from touchline.watch.fixtures.rules import Stage
from touchline.watch.fixtures.store import FixtureStore
from touchline.watch.goals.workflow import GoalSearch
from touchline.watch.model import GoalRef
from touchline.watch.settings import FixtureSettings, WatchSettings

from .model import Applied, Said, StoredGoal, Triggered, WrittenGoal
from .rules import decide, overdue, to_search
from .store import GoalStore, SearchFacts, search_facts

__all__ = ["apply_poll", "close_overdue", "search_again"]
log = logging.getLogger(__name__)


async def apply_poll(
    transaction: Transaction, fixture: FeedFixture, run_id: str, now: datetime, settings: WatchSettings
) -> Applied:
    """Once for each match and each run that the feed answered."""
    store = GoalStore(transaction.connection)
    held = await store.hold_match(fixture.id)
    if held is None or fixture.goals is None:
        return Applied()
    if held.applied_run == run_id:  # again, after its answer was lost
        return Applied(tuple(to_search(goal for goal in held.goals if not goal.absent_workflows)))
    await store.applied(fixture.id, run_id)
    decision = decide(held.goals, fixture, run_id, now, settings)
    for written in decision.written:
        await _write(transaction, store, written)
    removed, moved = tuple(goal.ref for goal in decision.removed), tuple(decision.moved)
    for goal in removed:
        await drop_all(transaction, goal, now)
    for old, new in moved:
        await move_all(transaction, old, new, now)
    for goal in corrected(held.goals, decision.written):
        await label_all(transaction, goal, now)
    awaited = any(each.goal.lives and each.goal.stable_at is None for each in decision.written)
    return Applied(decision.triggered, removed, moved, awaited)


def corrected(before: Sequence[StoredGoal], written: Sequence[WrittenGoal]) -> list[GoalRef]:
    """Goals that stay, and of which something is known otherwise that their videos are called by."""
    known = {each.ref: called_by(each) for each in before}
    after = ((each.goal.ref, called_by(each.goal)) for each in written if each.goal.lives)
    return [ref for ref, names in after if ref in known and known[ref] != names]


def called_by(goal: StoredGoal) -> tuple[object, ...]:
    reported = goal.reported
    return (reported.player_name, reported.minute, reported.extra, goal.score)


async def close_overdue(transaction: Transaction, fixture_id: int, now: datetime, settings: WatchSettings) -> None:
    """Ends the goals that nobody waits for any longer, each with an outcome that says why."""
    store = GoalStore(transaction.connection)
    held = await store.hold_match(fixture_id)
    for goal in overdue(held.goals if held else (), now, settings):
        revision = await store.close(goal, now)
        transaction.announce(_changed(goal, Said.COMPLETE), revision=revision)
        log.warning("[MONITOR] goal ended without its search", extra={"goal": goal.ref.name, "outcome": goal.outcome})


async def search_again(transaction: Transaction, goal: GoalRef) -> Triggered:
    """By hand: all attempts once more. What was kept and found stays."""
    found = await GoalStore(transaction.connection).search_again(goal)
    if found is None:
        raise Conflict(
            "another search of this goal cannot be started", why="its search is running, or its scorer is unknown"
        )
    workflow_id, label, revision = found
    changed = GoalChanged(
        event_id=goal.event_id, generation=goal.generation, fixture_id=goal.fixture_id, what=Said.STABLE
    )
    transaction.announce(changed, revision=revision)
    return Triggered(goal, workflow_id, label)


async def _write(transaction: Transaction, store: GoalStore, written: WrittenGoal) -> None:
    goal = written.goal
    if written.reopened:
        await store.reopen(goal.ref)
    is_visible = written.said is not None
    revision = await (store.add(goal) if written.is_new else store.save(goal, visible=is_visible))
    if written.said:
        transaction.announce(_changed(goal, written.said), revision=revision)
    if written.said and written.said is not Said.SEEN:
        log.info("[MONITOR] goal %s", written.said, extra={"goal": goal.ref.name, "removal": goal.removal})


def _changed(goal: StoredGoal, what: Said) -> GoalChanged:
    return GoalChanged(
        event_id=goal.ref.event_id,
        generation=goal.ref.generation,
        fixture_id=goal.ref.fixture_id,
        what=what,
        outcome=goal.outcome if what is Said.COMPLETE else None,
        moved_to=goal.moved_to.event_id if goal.moved_to else None,
    )


# What a poll means for the goals of one match, and whether the match is over. One transaction each.

OWN_GOAL = "Own Goal"


@dataclass(frozen=True, slots=True)
class Events:
    context: WatchContext
    tracked: Tracked
    settings: WatchSettings
    get_ready: Callable[[], None] = lambda: None  # told when a goal is seen, some looks before it is searched for

    async def process(self, fixture_id: int, run_id: str) -> tuple[str, list[GoalSearch]]:
        """Hands the answer that this run has laid there to the goals. An answer without events counts neither way."""
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            store = FixtureStore(transaction)
            await store.lock(fixture_id)
            live = await store.live(fixture_id)
            if live is None or live.live_run != run_id or live.stage != Stage.ACTIVE:
                return "stale", []
            fixture, _ = read_fixture(live.live, self.tracked, with_events=True)
            if fixture.goals is None:
                return "no_events", []
            now = self.context.clock.now()
            applied = await apply_poll(transaction, fixture, run_id, now, self.settings)
            if applied.awaited:
                self.get_ready()
            return "compared", await self._searches(transaction, applied.triggered)

    async def complete(self, fixture_id: int, run_id: str, settings: FixtureSettings) -> bool:
        """What is beyond its deadline ends first, so that every match ends."""
        now = self.context.clock.now()
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            await close_overdue(transaction, fixture_id, now, self.settings)
            polls = self.settings.polls_to_trust
            ended = await service.complete_if_ready(transaction, fixture_id, run_id, now, settings, polls)
        if ended.summary:
            service.count_completed(ended.summary)
        return ended.is_complete

    async def _searches(self, transaction: Transaction, triggered: Sequence[Triggered]) -> list[GoalSearch]:
        facts = await search_facts(transaction, [each.goal for each in triggered]) if triggered else {}
        return [search_for(each, facts[each.goal], self.settings) for each in triggered if each.goal in facts]


def search_for(triggered: Triggered, facts: SearchFacts, settings: WatchSettings) -> GoalSearch:
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
    return GoalSearch(triggered.workflow_id, facts.at, given)
