"""The feed's budgets, shared by all processes: asked before every request, corrected by what the feed says itself; and
how soon one that failed is asked again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from touchline.kernel.errors import QuotaExceeded, RateLimited, TouchlineError
from touchline.watch.context import WatchContext

from . import metrics
from .settings import FeedSettings
from .store import BudgetStore, Spent, minute_of

FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=2), timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Left:
    """How often the feed may still be asked."""

    day: int
    day_limit: int
    minute: int
    minute_limit: int


def left(spent: Spent, settings: FeedSettings) -> Left:
    return Left(
        max(settings.requests_a_day - spent.day, 0),
        settings.requests_a_day,
        max(settings.requests_a_minute - spent.minute, 0),
        settings.requests_a_minute,
    )


def refuse_beyond(spent: Spent, settings: FeedSettings, now: datetime) -> None:
    if spent.day > settings.requests_a_day:
        raise day_is_spent(f"{settings.requests_a_day} requests, as feed.requests_a_day allows")
    if spent.minute > settings.requests_a_minute:
        raise minute_is_spent(now, f"{settings.requests_a_minute} requests, as feed.requests_a_minute allows")


def day_is_spent(why: str) -> QuotaExceeded:
    hint = "It begins again at midnight UTC; a larger plan of the feed and feed.requests_a_day allow more."
    return QuotaExceeded("the feed's budget of the day is spent", why=why, hint=hint)


def minute_is_spent(now: datetime, why: str) -> RateLimited:
    wait = minute_of(now) + timedelta(minutes=1) - now
    return RateLimited("the feed's budget of the minute is spent", retry_after=wait, why=why)


def next_try_after(attempt: int, error: TouchlineError) -> timedelta:
    """Seconds at first, a minute at most, unless the feed itself says how long it wants to be left alone."""
    if isinstance(error, RateLimited) and error.retry_after is not None:
        return max(error.retry_after, FIRST_PAUSE)
    return min(FIRST_PAUSE * 2 ** min(attempt - 1, 10), LONGEST_PAUSE)


@dataclass(frozen=True, slots=True)
class Budget:
    ground: WatchContext
    settings: FeedSettings

    async def take(self) -> Spent:
        """Counts one request, or refuses it and counts nothing."""
        now = self.ground.clock.now()
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            spent = await BudgetStore(transaction).take(now)
            refuse_beyond(spent, self.settings, now)
        self._show(spent)
        return spent

    async def is_spent(self, span: str) -> None:
        """The feed itself says so."""
        limit = self.settings.requests_a_day if span == "day" else self.settings.requests_a_minute
        await self._raise(span, limit)

    async def feed_says_left(self, spent: Spent, day_left: int) -> None:
        """Somebody else may use the same key."""
        if self.settings.requests_a_day - day_left > spent.day:
            await self._raise("day", self.settings.requests_a_day - day_left)

    async def left(self) -> Left:
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            spent = await BudgetStore(transaction).spent(self.ground.clock.now())
        self._show(spent)
        return left(spent, self.settings)

    async def _raise(self, span: str, count: int) -> None:
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            await BudgetStore(transaction).raise_to(span, self.ground.clock.now(), count)

    def _show(self, spent: Spent) -> None:
        remaining = left(spent, self.settings)
        metrics.LEFT.labels("day").set(remaining.day)
        metrics.LEFT.labels("minute").set(remaining.minute)
