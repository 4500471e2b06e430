"""All SQL of the feed: how often it was asked in this day and in this minute, by all of us, and whether it answers.

Invariant: a request is counted before it is sent, and one beyond a budget is neither counted nor sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString

from touchline.kernel import TouchlineError
from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one

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

KEEP_CHECK: LiteralString = """
INSERT INTO watch.feed_checks AS c (tenant_id, checked_at, failure, why, hint, next_try_at, answered_at, failures)
VALUES (%(tenant_id)s, %(now)s, %(failure)s, %(why)s, %(hint)s, %(next_try_at)s,
        CASE WHEN %(failure)s::text IS NULL THEN %(now)s::timestamptz END,
        CASE WHEN %(failure)s::text IS NULL THEN 0 ELSE 1 END)
    ON CONFLICT (tenant_id) DO UPDATE
   SET checked_at = excluded.checked_at, failure = excluded.failure, why = excluded.why, hint = excluded.hint,
       next_try_at = excluded.next_try_at,
       answered_at = coalesce(excluded.answered_at, c.answered_at),
       failures = CASE WHEN excluded.failure IS NULL THEN 0 ELSE c.failures + 1 END
"""
CHECK: LiteralString = """
SELECT checked_at, failure, why, hint, next_try_at, answered_at, failures
  FROM watch.feed_checks
 WHERE tenant_id = %(tenant_id)s
"""


@dataclass(frozen=True, slots=True)
class FeedCheck:
    """The last time that the feed was asked for the matches of a day."""

    checked_at: datetime
    failure: str | None  # None: it answered
    why: str | None
    hint: str | None
    next_try_at: datetime | None
    answered_at: datetime | None
    failures: int  # in a row


@dataclass(frozen=True, slots=True)
class Spent:
    day: int
    minute: int


@dataclass(frozen=True, slots=True)
class SpanCount:
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
            self._connection, SpanCount, TAKE, tenant_id=self._tenant_id, day=day_of(now), minute=minute_of(now)
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


class FeedCheckStore:
    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id

    async def answered(self, now: datetime) -> None:
        await self._keep(now, failure=None, why=None, hint=None, next_try_at=None)

    async def failed(self, now: datetime, error: TouchlineError, next_try_at: datetime) -> None:
        hint = None if error.retryable else error.hint  # what passes by itself leaves nobody anything to do
        await self._keep(now, failure=error.what, why=error.why or None, hint=hint, next_try_at=next_try_at)

    async def last(self) -> FeedCheck | None:
        """None: nobody has asked yet."""
        return await fetch_one(self._connection, FeedCheck, CHECK, tenant_id=self._tenant_id)

    async def _keep(self, now: datetime, **values: Any) -> None:
        await self._connection.execute(KEEP_CHECK, {"tenant_id": self._tenant_id, "now": now, **values})
