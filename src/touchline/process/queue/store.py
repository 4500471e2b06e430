"""All SQL of jobs: calls of the functions that hold the rules (migrations/process). Runs inside the job's tenant,
but for `claim`, `held` and `reclaim`, which find out whose job it is.

Invariant: a change answers the job as it is afterwards, or None: it was refused.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import kwargs_row
from psycopg.types.json import Jsonb

from .model import Failure, Job, JobError, JobStatus, JobType
from .payloads import JobPayload

COLUMNS: LiteralString = """tenant_id, id, video_id, job_type, status, process.original_payload(payload) AS payload,
       CASE WHEN payload ? 'original_payload' THEN payload -> 'error' END AS error, priority, run_at, attempt,
       retry_count, max_retries, locked_by, locked_until, progress_percent, result, trace, created_at, started_at,
       finished_at, revision"""

ENQUEUE: LiteralString = f"""
SELECT {COLUMNS}
  FROM process.enqueue(%(id)s, %(job_type)s::process.job_type, %(video_id)s, %(payload)s, %(priority)s, %(trace)s)
"""
CLAIM: LiteralString = f"""
SELECT {COLUMNS} FROM process.claim(%(worker)s, %(types)s::process.job_type[], %(most)s, %(lease)s)
"""
HELD: LiteralString = f"SELECT {COLUMNS} FROM process.held(%(worker)s)"
RECLAIM: LiteralString = f"SELECT {COLUMNS} FROM process.reclaim(%(worker)s, %(most)s)"
HEARTBEAT: LiteralString = f"SELECT {COLUMNS} FROM process.heartbeat(%(id)s, %(attempt)s, %(lease)s)"
PROGRESS: LiteralString = f"SELECT {COLUMNS} FROM process.progress(%(id)s, %(attempt)s, %(percent)s)"
COMPLETE: LiteralString = f"SELECT {COLUMNS} FROM process.complete(%(worker)s, %(id)s, %(attempt)s, %(result)s)"
FAIL: LiteralString = f"""
SELECT {COLUMNS}
  FROM process.fail(%(worker)s, %(id)s, %(attempt)s, %(type)s, %(message)s, %(retryable)s)
"""
RELEASE: LiteralString = f"SELECT {COLUMNS} FROM process.release(%(worker)s, %(id)s, %(attempt)s, %(why)s)"
FIND: LiteralString = f"""
SELECT {COLUMNS} FROM process.jobs WHERE tenant_id = (SELECT platform.current_tenant()) AND id = %(id)s
"""


def job(**columns: Any) -> Job:
    """A row as a value."""
    columns["job_type"] = JobType(columns["job_type"])
    columns["status"] = JobStatus(columns["status"])
    if error := columns["error"]:
        columns["error"] = JobError(**error | {"timestamp": datetime.fromisoformat(error["timestamp"])})
    return Job(**columns)


class JobStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def enqueue(self, new_id: UUID, payload: JobPayload, priority: int, trace: str | None) -> Job | None:
        """None when one like it waits or runs already."""
        return await self._one(
            ENQUEUE,
            id=new_id,
            job_type=payload.job_type,
            video_id=payload.video_id,
            payload=Jsonb(payload.model_dump(mode="json")),
            priority=priority,
            trace=trace,
        )

    async def claim(self, worker: str, types: Sequence[JobType], most: int, lease: timedelta) -> Sequence[Job]:
        return await self._all(CLAIM, worker=worker, types=list(types), most=most, lease=lease)

    async def held(self, worker: str) -> Sequence[Job]:
        return await self._all(HELD, worker=worker)

    async def reclaim(self, worker: str, most: int) -> Sequence[Job]:
        """Jobs whose lease was over: queued again, or failed for good."""
        return await self._all(RECLAIM, worker=worker, most=most)

    async def heartbeat(self, held: Job, lease: timedelta) -> Job | None:
        return await self._one(HEARTBEAT, id=held.id, attempt=held.attempt, lease=lease)

    async def progress(self, held: Job, percent: int) -> Job | None:
        return await self._one(PROGRESS, id=held.id, attempt=held.attempt, percent=percent)

    async def complete(self, held: Job, result: dict[str, Any]) -> Job | None:
        return await self._one(COMPLETE, worker=held.locked_by, id=held.id, attempt=held.attempt, result=Jsonb(result))

    async def fail(self, held: Job, failure: Failure) -> Job | None:
        """Queued again for a later retry, or failed for good."""
        return await self._one(
            FAIL,
            worker=held.locked_by,
            id=held.id,
            attempt=held.attempt,
            type=failure.type,
            message=failure.message,
            retryable=failure.retryable,
        )

    async def release(self, held: Job, why: str) -> Job | None:
        return await self._one(RELEASE, worker=held.locked_by, id=held.id, attempt=held.attempt, why=why)

    async def find(self, job_id: UUID) -> Job | None:
        return await self._one(FIND, id=job_id)

    async def _one(self, query: LiteralString, **values: Any) -> Job | None:
        async with self._connection.cursor(row_factory=kwargs_row(job)) as cursor:
            return await (await cursor.execute(query, values)).fetchone()

    async def _all(self, query: LiteralString, **values: Any) -> Sequence[Job]:
        async with self._connection.cursor(row_factory=kwargs_row(job)) as cursor:
            return await (await cursor.execute(query, values)).fetchall()
