"""What the gateway reads of matches, each inside the caller's tenant and in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from touchline.kernel import Principal, TenantId
from touchline.kernel.errors import InvalidInput
from touchline.platform.postgres.database import Database
from touchline.watch import queries
from touchline.watch.feed.queries import last_check
from touchline.watch.feed.store import FeedCheck
from touchline.watch.queries import MatchPage, MatchWindow
from touchline.watch.settings import WatchSettings

from .document import document
from .model import Goal, Match, MatchDay, ViewLimits

LONGEST_QUERY = 200
MOST_NAMED = 100


@dataclass(frozen=True, slots=True)
class MatchReads:
    database: Database
    settings: WatchSettings

    @property
    def limits(self) -> ViewLimits:
        return ViewLimits(self.settings.polls_to_trust, self.settings.search_attempts)

    async def days(self, caller: Principal) -> Sequence[MatchDay]:
        async with self.database.transaction(caller) as transaction:
            return await queries.match_days(transaction)

    async def feed(self, caller: Principal) -> FeedCheck | None:
        """The last time that the feed was asked for matches; None: never."""
        async with self.database.transaction(caller) as transaction:
            return await last_check(transaction)

    async def page(self, caller: Principal, day: date, window: MatchWindow) -> MatchPage:
        async with self.database.transaction(caller) as transaction:
            return await queries.matches_of_day(transaction, day, window)

    async def named(self, caller: Principal | TenantId, query: str, most: int) -> Sequence[Match]:
        """By team, competition or scorer."""
        if not query.strip() or len(query) > LONGEST_QUERY:
            why = f"it has between 1 and {LONGEST_QUERY} characters"
            raise InvalidInput("matches cannot be searched for by this", field="query", why=why)
        async with self.database.transaction(caller) as transaction:
            return await queries.matches_named(transaction, query, min(max(most, 1), MOST_NAMED))

    async def matches(self, caller: Principal, ids: Sequence[int]) -> Mapping[int, Match]:
        async with self.database.transaction(caller) as transaction:
            return await queries.matches(transaction, ids)

    async def goals(self, caller: Principal, match_ids: Sequence[int]) -> Mapping[int, Sequence[Goal]]:
        async with self.database.transaction(caller) as transaction:
            return await queries.goals_of_matches(transaction, match_ids)

    async def goal(self, caller: Principal, event_id: str) -> Goal | None:
        async with self.database.transaction(caller) as transaction:
            return await queries.find_goal(transaction, event_id)

    async def document(self, caller: Principal, event_id: str) -> tuple[Goal, dict[str, object]] | None:
        """The goal, and its document with the fields that the feed's readers know."""
        async with self.database.transaction(caller) as transaction:
            goal = await queries.find_goal(transaction, event_id)
            rest = goal and await queries.goal_document(transaction, goal.key)
        return (goal, document(goal, rest, self.limits)) if goal and rest else None

    async def surviving(self, tenant: Principal | TenantId, artifact_hash: str) -> str | None:
        async with self.database.transaction(tenant) as transaction:
            return await queries.surviving_video(transaction, artifact_hash)
