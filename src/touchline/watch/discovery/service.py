"""The steps of a goal's search on its rows. Each asks first who the goal is now; one that was taken away has none.

Invariant: doing a step twice is doing it once; what changed and its event are one transaction.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from touchline.contracts.events.watch import GoalChanged
from touchline.kernel import TouchlineError, Unavailable
from touchline.platform.periodic.runner import PeriodicTask
from touchline.platform.postgres.database import Transaction
from touchline.watch.context import WatchContext
from touchline.watch.downloads.workflow import DownloadInput
from touchline.watch.model import FoundRef, GoalRef
from touchline.watch.settings import DiscoverySettings

from .client import CHECKED, FOUND, SELECTED, WORKS, SearchClient
from .rules import Aim, FoundVideo, SearchedGoal, age_minutes, choose, player_word, promotion, queries
from .store import Check, CheckStore, DiscoveryStore, Seen
from .workflow import Attempt, Discovered, GoalStanding, SearchData, SearchNeed, SearchOrder, Selection, TeamWords

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Discovery:
    context: WatchContext
    settings: DiscoverySettings

    async def begin(self, goal: GoalRef, run_id: str) -> GoalStanding:
        """`run_id`: of the workflow that searches. From now on nobody needs to start it."""
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            store = DiscoveryStore(transaction.connection)
            found = await store.living(goal)
            if found is None or not is_ours(found, goal, run_id):
                return GoalStanding(lives=False, goal=goal)
            _announce(transaction, found.ref, await store.begin(found.ref, self.context.clock.now()), "searching")
            return GoalStanding(lives=True, goal=found.ref)

    async def standing(self, goal: GoalRef, run_id: str) -> GoalStanding:
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            found = await DiscoveryStore(transaction.connection).living(goal)
        if found is None or not is_ours(found, goal, run_id):
            return GoalStanding(lives=False, goal=goal)
        return GoalStanding(lives=True, goal=found.ref)

    async def keep_words(self, reported: TeamWords) -> None:
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            store = DiscoveryStore(transaction.connection)
            if found := await store.living(reported.goal):
                _announce(transaction, found.ref, await store.set_words(found.ref, reported.words), "searching")

    async def count_attempt(self, attempt: Attempt) -> None:
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            store = DiscoveryStore(transaction.connection)
            if found := await store.living(attempt.goal):
                revision = await store.set_attempt(found.ref, attempt.number)
                _announce(transaction, found.ref, revision, "searching", attempt.number)

    async def search_data(self, need: SearchNeed) -> SearchData:
        """The feed may call the scorer otherwise by now: the row is asked first."""
        now = self.context.clock.now()
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            store = DiscoveryStore(transaction.connection)
            found = await store.living(need.goal)
            if found is None:
                return SearchData([], [], self.settings.max_age_minutes)
            age = age_minutes(found, self.settings.max_age_minutes, now)
            known = await store.known_urls(found.ref, now - timedelta(minutes=age))
        name = found.player_name or need.player_name
        return SearchData(queries(name, need.words, self.settings.queries, need.number), known, age)

    async def keep_found(self, reported: Discovered) -> Selection:
        """Keeps what an attempt found, and chooses what its download run fetches."""
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            store = DiscoveryStore(transaction.connection)
            found = await store.living(reported.goal)
            if found is None:
                return Selection()
            new = await store.keep(found.ref, self._seen(reported, found), reported.number, self.context.clock.now())
            revision = await store.set_searched(found.ref, _searched_at(reported), _failure(reported))
            chosen = await self._choose(store, reported, found)
            _announce(transaction, found.ref, revision, "searched", reported.number)
        FOUND.inc(new)
        return Selection(chosen)

    def _seen(self, reported: Discovered, goal: SearchedGoal) -> list[Seen]:
        names = [reported.player_name, goal.player_name or "", *reported.words]
        unique = {video.ref: video for video in reversed(reported.videos)}
        return [Seen(video, self._advert(video, names)) for video in unique.values()]

    def _advert(self, video: FoundVideo, names: list[str]) -> str | None:
        found = promotion(video.text, self.settings.promotion, names)
        return f"promotion: {found}" if found else None

    async def _choose(self, store: DiscoveryStore, reported: Discovered, goal: SearchedGoal) -> list[FoundRef]:
        if before := await store.chosen(goal.ref, f"download{reported.number}-"):
            return list(before)
        aim = Aim(player_word(goal.player_name or reported.player_name), reported.words, goal.first_seen)
        ended = frozenset(goal.download_workflows)
        now, most = self.context.clock.now(), self.settings.most_downloads
        chosen = [each.ref for each in choose(await store.candidates(goal.ref), aim, ended, most, now)]
        if chosen:
            run_id = DownloadInput(reported.goal, reported.number, reported.label, chosen).workflow_id
            await store.select(goal.ref, chosen, run_id)
            SELECTED.inc(len(chosen))
        return chosen


def is_ours(found: SearchedGoal, goal: GoalRef, run_id: str) -> bool:
    """A goal that has another id since the feed named another scorer may have its own search: then ours ends."""
    is_same = found.ref == goal
    return is_same or found.search_started_at is None or found.workflow_id in (None, run_id)


def _searched_at(reported: Discovered) -> datetime | None:
    return datetime.fromisoformat(reported.began_at) if reported.failure is None else None


def _failure(reported: Discovered) -> str | None:
    return reported.failure if not reported.answered else None


def _announce(
    transaction: Transaction, goal: GoalRef, revision: int | None, what: str, attempt: int | None = None
) -> None:
    if revision is None:
        return
    changed = GoalChanged(
        event_id=goal.event_id, generation=goal.generation, fixture_id=goal.fixture_id, what=what, attempt=attempt
    )
    transaction.announce(changed, revision=revision)


# Looks every hour whether the search works, before a goal needs it: a login that expires does so in silence.
# Invariant: a failed look is a fact that is kept and shown, not a failed pass; the next one comes at its time.

NAME = "watch.search_canary"


@dataclass(frozen=True, slots=True)
class Canary:
    context: WatchContext
    client: SearchClient
    settings: DiscoverySettings

    @property
    def task(self) -> PeriodicTask:
        return PeriodicTask(NAME, self.settings.canary_interval, self.run_pass)

    async def run_pass(self) -> bool:
        """For the periodic work; there is never more waiting."""
        check = await self._look()
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            await CheckStore(transaction.connection).keep(check)
        WORKS.set(check.works)
        CHECKED.set(check.checked_at.timestamp())
        return False

    async def _look(self) -> Check:
        loop, now = asyncio.get_running_loop(), self.context.clock.now()
        began, found, failure = loop.time(), 0, None
        order = SearchOrder(self.settings.canary_query, [], self.settings.canary_age_minutes)
        try:
            found = len(await self.client.find(order))
            self._require_enough(found)
        except TouchlineError as error:
            failure = f"{error} {error.hint}"
            logger.warning("[TWITTER] The search fails", extra={"reason": str(error), "next": error.hint})
        return Check(now, found, round((loop.time() - began) * 1000), failure)

    def _require_enough(self, found: int) -> None:
        """The network shows empty pages to accounts that it restricts, and new pages to readers of old ones."""
        if found < self.settings.canary_least:
            minutes, least = self.settings.canary_age_minutes, self.settings.canary_least
            why = f"`{self.settings.canary_query}` found {found} videos of the last {minutes} minutes, not {least}"
            hint = "Search for it in your own browser. If that finds videos, the account of the session is restricted."
            raise Unavailable("the search works but finds nothing", why=why, hint=hint)
