"""Jobs by their cause: the type of the job and the type of its last error.

Invariant: bounded. Only the newest `MOST_LOOKED_AT` dead letters are grouped; the jobs of a cause come in pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from psycopg.rows import scalar_row

from touchline.platform.postgres.database import Transaction
from touchline.platform.postgres.rows import fetch_all
from touchline.process.queue.model import JobType

MOST_LOOKED_AT = 10_000

GROUPS: LiteralString = """
SELECT job_type, error_type, count(*) AS count, max(finished_at) AS latest_at,
       (array_agg(id ORDER BY finished_at DESC, id DESC))[1] AS latest_id,
       (array_agg(message ORDER BY finished_at DESC, id DESC))[1] AS example
  FROM (SELECT id, job_type::text, finished_at, coalesce(payload #>> '{error,type}', '') AS error_type,
               coalesce(payload #>> '{error,message}', '') AS message
          FROM process.jobs
         WHERE tenant_id = (SELECT platform.current_tenant()) AND dead
         ORDER BY id DESC
         LIMIT %(most)s) AS dead
 GROUP BY job_type, error_type
 ORDER BY count DESC, job_type, error_type
"""
DEAD: LiteralString = """
SELECT id FROM process.jobs
 WHERE tenant_id = (SELECT platform.current_tenant()) AND dead
   AND job_type::text = %(job_type)s AND coalesce(payload #>> '{error,type}', '') = %(error_type)s
   AND (%(after)s::uuid IS NULL OR id > %(after)s)
 ORDER BY id
 LIMIT %(size)s
"""
ALIVE: LiteralString = """
-- Those that failed and are to be tried again.
SELECT id FROM process.jobs
 WHERE tenant_id = (SELECT platform.current_tenant()) AND (lane IS NOT NULL OR parked IS NOT NULL)
   AND job_type::text = %(job_type)s AND payload #>> '{error,type}' = %(error_type)s
   AND (%(after)s::uuid IS NULL OR id > %(after)s)
 ORDER BY id
 LIMIT %(size)s
"""


@dataclass(frozen=True, slots=True)
class FailureGroup:
    job_type: str
    error_type: str
    count: int
    latest_at: datetime
    latest_id: UUID
    example: str  # what the latest one said


@dataclass(frozen=True, slots=True)
class Cause:
    job_type: JobType
    error_type: str


async def failure_groups(transaction: Transaction) -> Sequence[FailureGroup]:
    """The largest first."""
    return await fetch_all(transaction.connection, FailureGroup, GROUPS, most=MOST_LOOKED_AT)


async def jobs_of_cause(
    transaction: Transaction, cause: Cause, size: int, after: UUID | None, *, dead: bool
) -> Sequence[UUID]:
    """Oldest first: those that have failed for good, or those that failed and wait or run again."""
    values = {"job_type": cause.job_type, "error_type": cause.error_type, "size": size, "after": after}
    async with transaction.connection.cursor(row_factory=scalar_row) as cursor:
        return await (await cursor.execute(DEAD if dead else ALIVE, values)).fetchall()
