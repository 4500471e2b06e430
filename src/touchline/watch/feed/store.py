"""All SQL of the feed's budget: how often it was asked in this day and in this minute, by all of us.

Invariant: a request is counted before it is sent, and one beyond a budget is neither counted nor sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import LiteralString

from touchline.platform.postgres.database import Transaction
from touchline.platform.postgres.rows import fetch_all, fetch_one

KEEP_MINUTES, KEEP_DAYS = timedelta(hours=2), timedelta(days=60)

# The day's row comes first, always: two of us never wait for each other crosswise.
TAKE: LiteralString = """
INSERT INTO watch.feed_requests AS r (tenant_id, span, began_at, count)
VALUES (%(tenant_id)s, 'day', %(day)s, 1), (%(tenant_id)s, 'minute', %(minute)s, 1)
    ON CONFLICT (tenant_id, span, began_at) DO UPDATE SET count = r.count + 1
RETURNING span, count
"""
RAISE_TO: LiteralString = """
-- Others may use the same key: what the feed says is spent is spent.
INSERT INTO watch.feed_requests AS r (tenant_id, span, began_at, count)
VALUES (%(tenant_id)s, %(span)s, %(began_at)s, %(count)s)
    ON CONFLICT (tenant_id, span, began_at) DO UPDATE SET count = greatest(r.count, excluded.count)
"""
SPENT: LiteralString = """
SELECT coalesce(max(count) FILTER (WHERE span = 'day' AND began_at = %(day)s), 0) AS day,
       coalesce(max(count) FILTER (WHERE span = 'minute' AND began_at = %(minute)s), 0) AS minute
  FROM watch.feed_requests
 WHERE tenant_id = %(tenant_id)s AND began_at IN (%(day)s, %(minute)s)
"""
FORGET: LiteralString = """
DELETE FROM watch.feed_requests
 WHERE tenant_id = %(tenant_id)s
   AND ((span = 'minute' AND began_at < %(minutes_before)s) OR (span = 'day' AND began_at < %(days_before)s))
"""


@dataclass(frozen=True, slots=True)
class Spent:
    day: int
    minute: int


@dataclass(frozen=True, slots=True)
class Counted:
    span: str
    count: int


def day_of(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def minute_of(now: datetime) -> datetime:
    return now.replace(second=0, microsecond=0)


class BudgetStore:
    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id

    async def take(self, now: datetime) -> Spent:
        """Counts one request; what was spent with it."""
        rows = await fetch_all(
            self._connection, Counted, TAKE, tenant_id=self._tenant_id, day=day_of(now), minute=minute_of(now)
        )
        counts = {row.span: row.count for row in rows}
        return Spent(counts["day"], counts["minute"])

    async def raise_to(self, span: str, now: datetime, count: int) -> None:
        began_at = day_of(now) if span == "day" else minute_of(now)
        values = {"tenant_id": self._tenant_id, "span": span, "began_at": began_at, "count": count}
        await self._connection.execute(RAISE_TO, values)

    async def spent(self, now: datetime) -> Spent:
        found = await fetch_one(
            self._connection, Spent, SPENT, tenant_id=self._tenant_id, day=day_of(now), minute=minute_of(now)
        )
        return found or Spent(0, 0)

    async def forget(self, now: datetime) -> None:
        values = {"minutes_before": now - KEEP_MINUTES, "days_before": now - KEEP_DAYS}
        await self._connection.execute(FORGET, {"tenant_id": self._tenant_id, **values})
