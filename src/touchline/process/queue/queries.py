"""Jobs for those who look on: the gateway, the command line, the metrics."""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from psycopg.rows import class_row, kwargs_row

from touchline.platform.postgres.database import Database, Transaction

from . import metrics
from .model import Job, JobStatus, JobType
from .store import COLUMNS, job

MOST_JOBS = 100  # of one video: the newest

OF_VIDEOS: LiteralString = f"""
-- The newest jobs of each video, from the index jobs_video.
SELECT newest.* FROM unnest(%(videos)s::uuid[]) AS wanted (video_id)
 CROSS JOIN LATERAL (
   SELECT {COLUMNS} FROM process.jobs
    WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = wanted.video_id
    ORDER BY id DESC
    LIMIT %(most)s
 ) AS newest
 ORDER BY newest.id
"""
HISTORY: LiteralString = """
SELECT from_status, to_status, attempt, retry_count, actor, reason, occurred_at
  FROM process.job_events
 WHERE tenant_id = (SELECT platform.current_tenant()) AND job_id = %(id)s
 ORDER BY id
"""
STATE: LiteralString = """
-- One row for every type that there is, so that an empty queue shows as empty.
SELECT kind.job_type::text,
       count(*) FILTER (WHERE j.status = 'queued') AS queued,
       count(*) FILTER (WHERE j.status = 'processing') AS processing,
       coalesce(extract(epoch FROM now() - min(j.run_at) FILTER (WHERE j.status = 'queued' AND j.run_at <= now())), 0)
         ::float AS age_s
  FROM unnest(enum_range(NULL::process.job_type)) AS kind (job_type)
  LEFT JOIN process.jobs AS j ON j.job_type = kind.job_type AND j.status IN ('queued', 'processing')
 GROUP BY kind.job_type
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
    async with transaction.connection.cursor(row_factory=kwargs_row(job)) as cursor:
        await cursor.execute(OF_VIDEOS, {"videos": list(video_ids), "most": MOST_JOBS})
        for each in await cursor.fetchall():
            found[each.video_id].append(each)
    return found


async def history(transaction: Transaction, job_id: UUID) -> Sequence[Transition]:
    async with transaction.connection.cursor(row_factory=class_row(Transition)) as cursor:
        return await (await cursor.execute(HISTORY, {"id": job_id})).fetchall()


async def state(database: Database) -> Sequence[QueueState]:
    async with database.system("show the job queue's state") as transaction:
        cursor = transaction.connection.cursor(row_factory=class_row(QueueState))
        return await (await cursor.execute(STATE)).fetchall()


async def observe(database: Database) -> None:
    """Brings the gauges up to date."""
    for each in await state(database):
        metrics.DEPTH.labels(each.job_type, JobStatus.QUEUED).set(each.queued)
        metrics.DEPTH.labels(each.job_type, JobStatus.PROCESSING).set(each.processing)
        metrics.AGE.labels(JobType(each.job_type)).set(each.age_s)
