"""Jobs for those who look on: the gateway, the command line, the metrics."""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from psycopg.rows import class_row

from touchline.platform.postgres.database import Database, Transaction

from . import metrics
from .model import Job, JobStatus, JobType
from .store import COLUMNS, read_jobs

MOST_JOBS = 100  # of one video: the newest
MOST_COUNTED = 20_000

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
   WHERE lane IS NOT NULL OR parked IS NOT NULL ORDER BY tenant_id, unique_key LIMIT %(most)s
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
    """By video, oldest first; one statement however many videos."""
    found: dict[UUID, list[Job]] = defaultdict(list)
    for each in await read_jobs(transaction.connection, OF_VIDEOS, {"videos": list(video_ids), "most": MOST_JOBS}):
        found[each.video_id].append(each)
    return found


async def history(transaction: Transaction, job_id: UUID) -> Sequence[Transition]:
    async with transaction.connection.cursor(row_factory=class_row(Transition)) as cursor:
        return await (await cursor.execute(HISTORY, {"id": job_id})).fetchall()


async def state(database: Database, most: int = MOST_COUNTED) -> Sequence[QueueState]:
    async with database.system("show the job queue's state") as transaction:
        cursor = transaction.connection.cursor(row_factory=class_row(QueueState))
        return await (await cursor.execute(STATE, {"most": most})).fetchall()


async def observe(database: Database) -> None:
    """Brings the gauges up to date."""
    for each in await state(database):
        metrics.DEPTH.labels(each.job_type, JobStatus.QUEUED).set(each.queued)
        metrics.DEPTH.labels(each.job_type, JobStatus.PROCESSING).set(each.processing)
        metrics.AGE.labels(JobType(each.job_type)).set(each.age_s)
