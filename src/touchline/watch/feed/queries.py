"""What is left of the feed's budgets and whether it answers, for the commands and the page."""

from __future__ import annotations

from datetime import datetime

from touchline.platform.postgres.database import Transaction

from .budget import Left, left
from .settings import FeedSettings
from .store import BudgetStore, FeedCheck, FeedCheckStore


async def budget_left(transaction: Transaction, settings: FeedSettings, now: datetime) -> Left:
    return left(await BudgetStore(transaction).spent(now), settings)


async def last_check(transaction: Transaction) -> FeedCheck | None:
    """None: nobody has asked the feed yet."""
    return await FeedCheckStore(transaction).last()
