"""Reads of the queue for the gateway, the command line and the metrics: jobs, their history, dead letters by cause,
samples and alerts.

Invariants: a tenant sees only its own rows; operators' reads across tenants say so in their names. Everything is
bounded: a page is found by exact ids, counting ends at a limit. Each state is written out in its statement, so
that the index of that state is used.
"""

# ruff: noqa: S608  only constants are put into the statements

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from prometheus_client import Gauge
from psycopg.rows import class_row, scalar_row

from touchline.kernel import Principal
from touchline.platform.postgres.database import Database, Transaction, fetch_all

from .jobs import Job, JobStatus, JobType
from .store import COLUMNS, JobStore, read_jobs

# Of the whole queue; of a long queue as sampled in the last minute.
DEPTH = Gauge("touchline_jobs_depth", "Jobs in the queue now.", ["job_type", "status"])
AGE = Gauge("touchline_jobs_age_seconds", "How long the oldest due job has waited.", ["job_type"])

MOST_JOBS = 100  # of one video: the newest
MOST_ACTIVE_COUNTED = 20_000

OF_VIDEOS: LiteralString = f"""
-- The newest jobs of each video.
SELECT job.* FROM unnest(%(videos)s::uuid[]) AS wanted (video_id)
 CROSS JOIN LATERAL (
   SELECT job_id FROM process.video_jobs
    WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = wanted.video_id
    ORDER BY job_id DESC
    LIMIT %(most)s
 ) AS newest
 CROSS JOIN LATERAL (
   SELECT {COLUMNS} FROM process.jobs WHERE tenant_id = (SELECT platform.current_tenant()) AND id = newest.job_id
 ) AS job
 ORDER BY job.id
"""
HISTORY: LiteralString = """
SELECT from_status, to_status, attempt, retry_count, actor, reason, occurred_at
  FROM process.job_events
 WHERE tenant_id = (SELECT platform.current_tenant()) AND job_id = %(id)s
 ORDER BY id
"""
STATE: LiteralString = """
-- One row for every type that there is, so that an empty queue shows as empty. Counted up to a limit, in the order of
-- the index jobs_active; of a longer queue the last sample of the watch: every worker asks this every few seconds.
WITH active AS MATERIALIZED (
  SELECT job_type, status, run_at FROM process.jobs
   WHERE band IS NOT NULL OR parked IS NOT NULL ORDER BY tenant_id, unique_key LIMIT %(most)s
), few AS MATERIALIZED (
  SELECT count(*) < %(most)s AS all_seen FROM active
), seen AS (
  SELECT job_type::text, count(*) FILTER (WHERE status = 'queued') AS queued,
         count(*) FILTER (WHERE status = 'processing') AS processing,
         extract(epoch FROM now() - min(run_at) FILTER (WHERE status = 'queued' AND run_at <= now())) AS age_s
    FROM active WHERE (SELECT all_seen FROM few) GROUP BY job_type
  UNION ALL
  SELECT job_type, sum(queued), sum(processing), max(oldest_s)
    FROM process.job_samples
   WHERE NOT (SELECT all_seen FROM few) AND sampled_at = (SELECT max(sampled_at) FROM process.job_samples)
   GROUP BY job_type
)
SELECT kind.job_type::text, coalesce(s.queued, 0)::bigint AS queued, coalesce(s.processing, 0)::bigint AS processing,
       coalesce(s.age_s, 0)::float AS age_s
  FROM unnest(enum_range(NULL::process.job_type)) AS kind (job_type)
  LEFT JOIN seen AS s ON s.job_type = kind.job_type::text
"""


@dataclass(frozen=True, slots=True)
class Transition:
    from_status: str | None
    to_status: str
    attempt: int
    retry_count: int
    actor: str
    reason: str | None
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class QueueState:
    job_type: str
    queued: int
    processing: int
    age_s: float


async def jobs_of_videos(transaction: Transaction, video_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[Job]]:
    """By video, oldest first; one statement for any number of videos."""
    found: dict[UUID, list[Job]] = defaultdict(list)
    for each in await read_jobs(transaction.connection, OF_VIDEOS, {"videos": list(video_ids), "most": MOST_JOBS}):
        found[each.video_id].append(each)
    return found


async def job_history(transaction: Transaction, job_id: UUID) -> Sequence[Transition]:
    async with transaction.connection.cursor(row_factory=class_row(Transition)) as cursor:
        return await (await cursor.execute(HISTORY, {"id": job_id})).fetchall()


async def queue_state(database: Database, most: int = MOST_ACTIVE_COUNTED) -> Sequence[QueueState]:
    async with database.system("show the job queue's state") as transaction:
        cursor = transaction.connection.cursor(row_factory=class_row(QueueState))
        return await (await cursor.execute(STATE, {"most": most})).fetchall()


async def update_gauges(database: Database) -> None:
    """Sets the gauges of depth and age."""
    for each in await queue_state(database):
        DEPTH.labels(each.job_type, JobStatus.QUEUED).set(each.queued)
        DEPTH.labels(each.job_type, JobStatus.PROCESSING).set(each.processing)
        AGE.labels(each.job_type).set(each.age_s)


MOST_COUNTED = 10_000
_COUNTED: LiteralString = "LIMIT 10000"

_OF_TENANT: LiteralString = "tenant_id = (SELECT platform.current_tenant())"
_OF_EACH: LiteralString = "tenant_id = tenants.tenant_id AND (%(tenant)s::uuid IS NULL OR tenant_id = %(tenant)s)"
_STATES: dict[JobStatus | None, LiteralString] = {
    None: "",
    JobStatus.QUEUED: "AND status = 'queued' AND (band IS NOT NULL OR parked IS NOT NULL)",
    JobStatus.PROCESSING: "AND status = 'processing' AND id IN (SELECT unnest(jobs) FROM process.job_claims)",
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
# The tenants that have jobs: one index step per tenant. Each is then read by the same index as a single tenant.
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


async def list_jobs(transaction: Transaction, wanted: JobFilter, window: JobWindow) -> JobPage:
    where = f"{_OF_TENANT} {_STATES[wanted.status]} {_WANTED}"
    jobs = await _read(transaction, _listing(where, window), window, wanted.values())
    async with transaction.connection.cursor(row_factory=scalar_row) as cursor:
        counting: LiteralString = f"SELECT count(*) FROM (SELECT 1 FROM process.jobs WHERE {where} {_COUNTED}) AS found"
        [total] = await (await cursor.execute(counting, wanted.values())).fetchall()
    found = jobs[: window.size]
    return JobPage(found[::-1] if window.from_the_end else found, len(jobs) > window.size, total)


async def job_histories(transaction: Transaction, job_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[Transition]]:
    """By job, oldest step first; one statement for any number of jobs."""
    found: dict[UUID, list[Transition]] = defaultdict(list)
    rows = await transaction.connection.execute(HISTORIES, {"ids": list(job_ids), "most": MOST_STEPS})
    for job_id, *step, _ in await rows.fetchall():
        found[job_id].append(Transition(*step))
    return found


async def database_now(transaction: Transaction) -> datetime:
    """The database's time, by which leases and starts are measured."""
    async with transaction.connection.cursor(row_factory=scalar_row) as cursor:
        [now] = await (await cursor.execute(NOW)).fetchall()
        return now


async def list_jobs_of_all_tenants(
    database: Database, wanted: JobFilter, window: JobWindow, tenant_id: UUID | None = None
) -> JobPage:
    """For operators. Not counted."""
    where = f"{_OF_EACH} {_STATES[wanted.status]} {_WANTED}"
    async with database.system("list jobs of all tenants") as transaction:
        of_each: LiteralString = f"CROSS JOIN LATERAL ({_listing(where, window)}) AS newest"
        listing: LiteralString = f"{_TENANTS} SELECT newest.* FROM tenants {of_each} {_order(window)}"
        jobs = await _read(transaction, listing, window, {**wanted.values(), "tenant": tenant_id})
    return JobPage(jobs[: window.size], len(jobs) > window.size, 0)


async def find_job_of_any_tenant(database: Database, job_id: UUID) -> tuple[Job, Sequence[Transition]] | None:
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
    """One row more than the window, to know whether there are more."""
    direction: LiteralString = "ASC" if window.from_the_end else "DESC"
    return f"ORDER BY id {direction} LIMIT %(size)s"


async def _read(
    transaction: Transaction, listing: LiteralString, window: JobWindow, values: dict[str, Any]
) -> Sequence[Job]:
    bounds = {"after": window.after, "before": window.before, "size": window.size + 1}
    return await read_jobs(transaction.connection, listing, values | bounds)


MOST_GROUPED = 10_000

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
-- Those that failed and will be retried.
SELECT id FROM process.jobs
 WHERE tenant_id = (SELECT platform.current_tenant()) AND (band IS NOT NULL OR parked IS NOT NULL)
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
    example: str  # the message of the latest one


@dataclass(frozen=True, slots=True)
class Cause:
    job_type: JobType
    error_type: str


async def failure_groups(transaction: Transaction) -> Sequence[FailureGroup]:
    """The largest group first."""
    return await fetch_all(transaction.connection, FailureGroup, GROUPS, most=MOST_GROUPED)


async def job_ids_of_cause(
    transaction: Transaction, cause: Cause, size: int, after: UUID | None, *, dead: bool
) -> Sequence[UUID]:
    """Oldest first: those that have failed for good, or those that failed and are queued or running again."""
    values = {"job_type": cause.job_type, "error_type": cause.error_type, "size": size, "after": after}
    async with transaction.connection.cursor(row_factory=scalar_row) as cursor:
        return await (await cursor.execute(DEAD if dead else ALIVE, values)).fetchall()


MOST_POINTS = 240  # of one type: what a chart can show

SAMPLES: LiteralString = """
-- The maximum of each step: a short peak must not vanish between two points.
SELECT job_type, to_timestamp(floor(extract(epoch FROM sampled_at) / %(step_s)s) * %(step_s)s) AS sampled_at,
       max(queued) AS queued, max(processing) AS processing, max(oldest_s) AS oldest_s
  FROM process.job_samples
 WHERE tenant_id = (SELECT platform.current_tenant()) AND sampled_at > now() - %(hours)s * interval '1 hour'
 GROUP BY 1, 2
UNION ALL
SELECT job_type::text, now(),
       count(*) FILTER (WHERE status = 'queued'), count(*) FILTER (WHERE status = 'processing'),
       coalesce(extract(epoch FROM now() - min(run_at) FILTER (WHERE status = 'queued' AND band IS NOT NULL)), 0)
  FROM process.jobs
 WHERE tenant_id = (SELECT platform.current_tenant()) AND (band IS NOT NULL OR parked IS NOT NULL)
 GROUP BY 1
 ORDER BY 1, 2
"""
RAISED: LiteralString = """
SELECT kind, job_type, raised, value, threshold, changed_at, revision
  FROM process.job_alerts
 WHERE tenant_id = (SELECT platform.current_tenant()) AND raised
 ORDER BY changed_at DESC, kind, job_type
"""


@dataclass(frozen=True, slots=True)
class QueueSample:
    job_type: str
    sampled_at: datetime
    queued: int
    processing: int
    oldest_s: float


@dataclass(frozen=True, slots=True)
class RaisedAlert:
    kind: str
    job_type: str
    raised: bool
    value: float
    threshold: float
    changed_at: datetime
    revision: int


def sample_step_s(hours: int) -> int:
    """Whole minutes, because samples are taken every minute."""
    return -(-hours * 60 // MOST_POINTS) * 60


async def queue_samples(transaction: Transaction, hours: int) -> Sequence[QueueSample]:
    """By type, then by time; the last one of each type is taken now."""
    return await fetch_all(transaction.connection, QueueSample, SAMPLES, hours=hours, step_s=sample_step_s(hours))


async def raised_alerts(transaction: Transaction) -> Sequence[RaisedAlert]:
    return await fetch_all(transaction.connection, RaisedAlert, RAISED)


@dataclass(frozen=True, slots=True)
class QueueReader:
    """What the gateway reads of the queue, each in one transaction of the caller's tenant. Times are the database's."""

    database: Database

    async def page(self, caller: Principal, wanted: JobFilter, window: JobWindow) -> tuple[JobPage, datetime]:
        async with self.database.transaction(caller) as transaction:
            return await list_jobs(transaction, wanted, window), await database_now(transaction)

    async def job(self, caller: Principal, job_id: UUID) -> tuple[Job, datetime] | None:
        async with self.database.transaction(caller) as transaction:
            found = await JobStore(transaction.connection).find(job_id)
            return (found, await database_now(transaction)) if found else None

    async def histories(self, caller: Principal, job_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[Transition]]:
        async with self.database.transaction(caller) as transaction:
            return await job_histories(transaction, job_ids)

    async def failures(self, caller: Principal) -> Sequence[FailureGroup]:
        async with self.database.transaction(caller) as transaction:
            return await failure_groups(transaction)

    async def samples(self, caller: Principal, hours: int) -> tuple[Sequence[QueueSample], datetime]:
        async with self.database.transaction(caller) as transaction:
            return await queue_samples(transaction, hours), await database_now(transaction)

    async def alerts(self, caller: Principal) -> Sequence[RaisedAlert]:
        async with self.database.transaction(caller) as transaction:
            return await raised_alerts(transaction)

    async def job_ids_of_cause(
        self, caller: Principal, cause: Cause, size: int, after: UUID | None, *, dead: bool
    ) -> Sequence[UUID]:
        async with self.database.transaction(caller) as transaction:
            return await job_ids_of_cause(transaction, cause, size, after, dead=dead)
