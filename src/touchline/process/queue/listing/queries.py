"""Lists of jobs, newest first, for the API and the command line.

Invariant: a page is found by exact ids; each state is written out in its statement, so that the index of that state is
used. Counting ends at `MOST_COUNTED`: more is not worth a scan.
"""

# ruff: noqa: S608  what is put into the statements is one of the constants below

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg.rows import class_row, scalar_row

from touchline.platform.postgres.database import Database, Transaction
from touchline.process.queue.model import Job, JobStatus, JobType
from touchline.process.queue.queries import Transition
from touchline.process.queue.store import COLUMNS, read_jobs

MOST_COUNTED = 10_000
_COUNTED: LiteralString = "LIMIT 10000"

_OF_TENANT: LiteralString = "tenant_id = (SELECT platform.current_tenant())"
_OF_EACH: LiteralString = "tenant_id = tenants.tenant_id AND (%(tenant)s::uuid IS NULL OR tenant_id = %(tenant)s)"
_STATES: dict[JobStatus | None, LiteralString] = {
    None: "",
    JobStatus.QUEUED: "AND status = 'queued' AND (lane IS NOT NULL OR parked IS NOT NULL)",
    JobStatus.PROCESSING: "AND status = 'processing' AND id IN (SELECT unnest(jobs) FROM process.slips)",
    JobStatus.DONE: "AND status = 'done'",
    JobStatus.FAILED: "AND status = 'failed' AND dead",
}
_WANTED: LiteralString = """
  AND (%(type)s::text IS NULL OR job_type::text = %(type)s)
  AND (%(video)s::uuid IS NULL
       OR id = ANY (ARRAY(SELECT job_id FROM process.video_jobs WHERE video_id = %(video)s)))
  AND (%(cause)s::text IS NULL OR payload #>> '{error,type}' = %(cause)s)
"""
MOST_STEPS = 200  # of one job's history: the newest
HISTORIES: LiteralString = """
SELECT newest.* FROM unnest(%(ids)s::uuid[]) AS wanted (id)
 CROSS JOIN LATERAL (
   SELECT job_id, from_status, to_status, attempt, retry_count, actor, reason, occurred_at, id
     FROM process.job_events
    WHERE tenant_id = (SELECT platform.current_tenant()) AND job_id = wanted.id
    ORDER BY id DESC
    LIMIT %(most)s
 ) AS newest
 ORDER BY newest.job_id, newest.id
"""
NOW: LiteralString = "SELECT now()"
# Who has jobs at all: one step in the index a tenant. All are then looked at by the same index as one.
_TENANTS: LiteralString = """
WITH RECURSIVE tenants AS (
  (SELECT tenant_id FROM process.jobs ORDER BY tenant_id LIMIT 1)
  UNION ALL
  SELECT (SELECT j.tenant_id FROM process.jobs AS j WHERE j.tenant_id > t.tenant_id ORDER BY j.tenant_id LIMIT 1)
    FROM tenants AS t WHERE t.tenant_id IS NOT NULL
)
"""
OF_ANY: LiteralString = f"""
{_TENANTS}
SELECT {COLUMNS} FROM process.jobs WHERE tenant_id IN (SELECT tenant_id FROM tenants) AND id = %(id)s
"""
HISTORY_OF_ANY: LiteralString = """
SELECT from_status, to_status, attempt, retry_count, actor, reason, occurred_at
  FROM process.job_events
 WHERE tenant_id = %(tenant)s AND job_id = %(id)s
 ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class JobFilter:
    status: JobStatus | None = None
    job_type: JobType | None = None
    video_id: UUID | None = None
    cause: str | None = None  # the type of its last error

    def values(self) -> dict[str, Any]:
        return {"type": self.job_type, "video": self.video_id, "cause": self.cause}


@dataclass(frozen=True, slots=True)
class JobWindow:
    """The jobs strictly between two: the first of them, or the last. Newest first."""

    size: int
    after: UUID | None = None
    before: UUID | None = None
    from_the_end: bool = False


@dataclass(frozen=True, slots=True)
class JobPage:
    jobs: Sequence[Job]
    more: bool  # in the direction of reading
    total_count: int


async def page_of_tenant(transaction: Transaction, wanted: JobFilter, window: JobWindow) -> JobPage:
    where = f"{_OF_TENANT} {_STATES[wanted.status]} {_WANTED}"
    jobs = await _read(transaction, _listing(where, window), window, wanted.values())
    async with transaction.connection.cursor(row_factory=scalar_row) as cursor:
        counting: LiteralString = f"SELECT count(*) FROM (SELECT 1 FROM process.jobs WHERE {where} {_COUNTED}) AS found"
        [total] = await (await cursor.execute(counting, wanted.values())).fetchall()
    found = jobs[: window.size]
    return JobPage(found[::-1] if window.from_the_end else found, len(jobs) > window.size, total)


async def histories(transaction: Transaction, job_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[Transition]]:
    """By job, oldest step first; one statement however many jobs."""
    found: dict[UUID, list[Transition]] = defaultdict(list)
    rows = await transaction.connection.execute(HISTORIES, {"ids": list(job_ids), "most": MOST_STEPS})
    for job_id, *step, _ in await rows.fetchall():
        found[job_id].append(Transition(*step))
    return found


async def read_at(transaction: Transaction) -> datetime:
    """The time that leases and starts are measured by."""
    async with transaction.connection.cursor(row_factory=scalar_row) as cursor:
        [now] = await (await cursor.execute(NOW)).fetchall()
        return now


async def jobs_of_all(
    database: Database, wanted: JobFilter, window: JobWindow, tenant_id: UUID | None = None
) -> JobPage:
    """For operators. Not counted."""
    where = f"{_OF_EACH} {_STATES[wanted.status]} {_WANTED}"
    async with database.system("list jobs of all tenants") as transaction:
        of_each: LiteralString = f"CROSS JOIN LATERAL ({_listing(where, window)}) AS newest"
        listing: LiteralString = f"{_TENANTS} SELECT newest.* FROM tenants {of_each} {_order(window)}"
        jobs = await _read(transaction, listing, window, {**wanted.values(), "tenant": tenant_id})
    return JobPage(jobs[: window.size], len(jobs) > window.size, 0)


async def job_of_any(database: Database, job_id: UUID) -> tuple[Job, Sequence[Transition]] | None:
    """For operators: with its history."""
    async with database.system("show a job and its history") as transaction:
        found = next(iter(await read_jobs(transaction.connection, OF_ANY, {"id": job_id})), None)
        async with transaction.connection.cursor(row_factory=class_row(Transition)) as cursor:
            values = {"id": job_id, "tenant": found and found.tenant_id}
            steps = await (await cursor.execute(HISTORY_OF_ANY, values)).fetchall()
    return (found, steps) if found else None


def _listing(where: LiteralString, window: JobWindow) -> LiteralString:
    after: LiteralString = "AND id < %(after)s" if window.after else ""
    before: LiteralString = "AND id > %(before)s" if window.before else ""
    return f"SELECT {COLUMNS} FROM process.jobs WHERE {where} {after} {before} {_order(window)}"


def _order(window: JobWindow) -> LiteralString:
    """One more than the window has, to know whether there is more."""
    direction: LiteralString = "ASC" if window.from_the_end else "DESC"
    return f"ORDER BY id {direction} LIMIT %(size)s"


async def _read(
    transaction: Transaction, listing: LiteralString, window: JobWindow, values: dict[str, Any]
) -> Sequence[Job]:
    bounds = {"after": window.after, "before": window.before, "size": window.size + 1}
    return await read_jobs(transaction.connection, listing, values | bounds)
