"""All SQL of periodic work. Times are the database's, so that machines need not agree on theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import class_row

from touchline.platform.postgres.database import Database

REGISTER = """
-- A changed interval counts at once: a longer one must not wait for the shorter one's next run.
INSERT INTO platform.periodic (name, every) VALUES (%(name)s, %(every)s)
ON CONFLICT (name) DO UPDATE
   SET every = excluded.every, next_run_at = least(periodic.next_run_at, now() + excluded.every)
 WHERE periodic.every <> excluded.every AND NOT periodic.running
"""

CLAIM = """
-- The longest overdue of the tasks that this process knows. Until it is finished the next run is the lease's end. What
-- is due later than anything can be was planned by a clock that has been put back since.
UPDATE platform.periodic AS p
   SET attempt = p.attempt + 1, running = true, claimed_by = %(by)s,
       started_at = now(), next_run_at = now() + %(lease)s
  FROM (SELECT name FROM platform.periodic
         WHERE (next_run_at <= now() OR next_run_at > now() + greatest(every, %(lease)s)) AND name = ANY (%(names)s)
         ORDER BY next_run_at, name
         LIMIT 1
           FOR UPDATE SKIP LOCKED) AS due
 WHERE p.name = due.name
RETURNING p.name, p.attempt
"""

HURRY = """
-- Also while a pass runs, which may be past what this is about: passes may run beside each other.
UPDATE platform.periodic SET next_run_at = now() WHERE name = %(name)s AND next_run_at > now()
"""

FINISH = """
-- Only the claim that is still the latest may say that it is done. `more`: it did what it may, and more is waiting.
UPDATE platform.periodic
   SET running = false, finished_at = now(), failures = 0, last_error = NULL,
       limited_since = CASE WHEN %(more)s AND NOT %(catches_up)s THEN coalesce(limited_since, now()) END,
       next_run_at = CASE WHEN %(more)s AND %(catches_up)s THEN now() ELSE greatest(now(), started_at + every) END
 WHERE name = %(name)s AND attempt = %(attempt)s AND running
"""

FAIL = """
UPDATE platform.periodic
   SET running = false, finished_at = now(), failures = failures + 1, last_error = %(error)s,
       next_run_at = now() + least(every, %(delay)s * power(2, least(failures, 20)))
 WHERE name = %(name)s AND attempt = %(attempt)s AND running
"""

QUOTA_USED = """
-- Of the interval that has begun; a start in the future is that of a clock that was put back. Nobody else takes until
-- the transaction ends. Not now(): whoever waited for another began before that one took.
SELECT CASE WHEN quota_started_at BETWEEN clock_timestamp() - every AND clock_timestamp() THEN quota_used ELSE 0 END
  FROM platform.periodic WHERE name = %(name)s FOR UPDATE
"""
USE_QUOTA = """
UPDATE platform.periodic
   SET quota_used = %(used)s,
       quota_started_at = CASE WHEN quota_started_at BETWEEN clock_timestamp() - every AND clock_timestamp()
                               THEN quota_started_at ELSE clock_timestamp() END
 WHERE name = %(name)s
"""


@dataclass(frozen=True, slots=True)
class PeriodicClaim:
    name: str
    attempt: int


class PeriodicStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def register(self, name: str, every: timedelta) -> None:
        await self._connection.execute(REGISTER, {"name": name, "every": every})

    async def claim(self, names: list[str], by: str, lease: timedelta) -> PeriodicClaim | None:
        async with self._connection.cursor(row_factory=class_row(PeriodicClaim)) as cursor:
            await cursor.execute(CLAIM, {"names": names, "by": by, "lease": lease})
            return await cursor.fetchone()

    async def take(self, name: str, wanted: int, most: int) -> int:
        """How much of it is granted. The task must be registered."""
        [(used,)] = await (await self._connection.execute(QUOTA_USED, {"name": name})).fetchall()
        granted = max(0, min(wanted, most - used))
        await self._connection.execute(USE_QUOTA, {"name": name, "used": used + granted})
        return granted

    async def left(self, name: str, most: int) -> int:
        """Of one that was never registered nothing is used."""
        rows = await (await self._connection.execute(QUOTA_USED, {"name": name})).fetchall()
        return max(0, most - sum(used for (used,) in rows))

    async def hurry(self, name: str) -> None:
        """Its next pass is due now, wherever it is known."""
        await self._connection.execute(HURRY, {"name": name})

    async def finish(self, claim: PeriodicClaim, *, more: bool, catches_up: bool) -> bool:
        """False when the lease was lost meanwhile."""
        values = {"name": claim.name, "attempt": claim.attempt, "more": more, "catches_up": catches_up}
        return (await self._connection.execute(FINISH, values)).rowcount == 1

    async def fail(self, claim: PeriodicClaim, error: str, delay: timedelta) -> None:
        values = {"name": claim.name, "attempt": claim.attempt, "error": error, "delay": delay}
        await self._connection.execute(FAIL, values)


LIST = """
SELECT name, every, next_run_at, running, claimed_by, started_at, finished_at, failures, last_error, limited_since
  FROM platform.periodic
 ORDER BY name
"""


@dataclass(frozen=True, slots=True)
class PeriodicTaskStatus:
    name: str
    every: timedelta
    next_run_at: datetime
    running: bool
    claimed_by: str | None
    started_at: datetime | None
    finished_at: datetime | None
    failures: int
    last_error: str | None
    limited_since: datetime | None


def limited(tasks: Sequence[PeriodicTaskStatus]) -> list[PeriodicTaskStatus]:
    """Those that their limit has stopped, with more to do."""
    return [task for task in tasks if task.limited_since]


async def list_tasks(database: Database) -> list[PeriodicTaskStatus]:
    async with database.system("show periodic tasks") as transaction:
        cursor = transaction.connection.cursor(row_factory=class_row(PeriodicTaskStatus))
        return await (await cursor.execute(LIST)).fetchall()
