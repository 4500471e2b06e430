"""What is left of the feed's budgets, for `touchline status` and whoever else asks."""

from __future__ import annotations

from datetime import datetime

from touchline.platform.postgres.database import Transaction

from .budget import Left, left
from .settings import FeedSettings
from .store import BudgetStore


async def budget_left(transaction: Transaction, settings: FeedSettings, now: datetime) -> Left:
    return left(await BudgetStore(transaction).spent(now), settings)
