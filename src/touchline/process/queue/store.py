"""All SQL of jobs: calls of the functions that hold the rules (migrations/process). Runs inside the job's tenant,
but for what a worker does with the jobs of many tenants: `claim`, `held`, `reclaim` and the batches.

Invariant: a change answers the job as it is afterwards, or None: it was refused.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import args_row
from psycopg.types.json import Jsonb
from pydantic_core import from_json, to_json

from touchline.kernel import TenantId

from .model import Done, Failure, Job, JobError, JobStatus, JobType, Order
from .payloads import JobPayload

COLUMNS: LiteralString = """tenant_id, id, video_id, job_type, status,
       process.original_payload(payload)::text AS payload,
       CASE WHEN payload ? 'original_payload' THEN payload ->> 'error' END AS error, priority, run_at, attempt,
       retry_count, max_retries, locked_by, locked_until, progress_percent, result, trace, depends_on, created_at,
       started_at, finished_at, revision"""

ENQUEUE: LiteralString = f"""
SELECT {COLUMNS}
  FROM process.enqueue(%(id)s, %(job_type)s::process.job_type, %(video_id)s, %(payload)s, %(priority)s, %(trace)s,
                       %(run_at)s, %(depends_on)s)
"""
ENQUEUE_ALL: LiteralString = f"SELECT {COLUMNS} FROM process.enqueue_all(%(jobs)s)"
CLAIM: LiteralString = f"""
SELECT {COLUMNS} FROM process.claim(%(worker)s, %(types)s::process.job_type[], %(most)s, %(lease)s, %(thorough)s)
"""
HELD: LiteralString = f"SELECT {COLUMNS} FROM process.held(%(worker)s)"
RECLAIM: LiteralString = f"SELECT {COLUMNS} FROM process.reclaim(%(worker)s, %(most)s)"
HEARTBEATS: LiteralString = """
SELECT * FROM process.heartbeats(%(worker)s, %(tenants)s::uuid[], %(ids)s::uuid[], %(attempts)s::integer[], %(lease)s)
"""
COMPLETE_ALL: LiteralString = """
SELECT * FROM process.complete_all(
  %(worker)s, %(tenants)s::uuid[], %(ids)s::uuid[], %(attempts)s::integer[], %(results)s)
"""
PROGRESS: LiteralString = f"SELECT {COLUMNS} FROM process.progress(%(id)s, %(attempt)s, %(percent)s)"
COMPLETE: LiteralString = f"SELECT {COLUMNS} FROM process.complete(%(worker)s, %(id)s, %(attempt)s, %(result)s)"
FAIL: LiteralString = f"""
SELECT {COLUMNS}
  FROM process.fail(%(worker)s, %(id)s, %(attempt)s, %(type)s, %(message)s, %(retryable)s)
"""
CANCEL: LiteralString = f"SELECT {COLUMNS} FROM process.cancel(%(actor)s, %(id)s, %(why)s)"
RETRY: LiteralString = f"SELECT {COLUMNS} FROM process.retry(%(actor)s, %(id)s, %(why)s)"
REPRIORITISE: LiteralString = f"SELECT {COLUMNS} FROM process.reprioritise(%(actor)s, %(id)s, %(priority)s)"
RELEASE: LiteralString = f"SELECT {COLUMNS} FROM process.release(%(worker)s, %(id)s, %(attempt)s, %(why)s)"
FIND: LiteralString = f"""
SELECT {COLUMNS} FROM process.jobs WHERE tenant_id = (SELECT platform.current_tenant()) AND id = %(id)s
"""


# An enum of the database comes as text, or as bytes where rows come in binary.
_TYPES = {form: each for each in JobType for form in (each.value, each.value.encode())}
_STATUSES = {form: each for each in JobStatus for form in (each.value, each.value.encode())}


def job(**columns: Any) -> Job:
    """A row as a value."""
    return _job(*columns.values())


def _job(  # noqa: PLR0913, PLR0917  the columns in their order, which is that of the fields
    tenant_id: TenantId,
    job_id: UUID,
    video_id: UUID,
    job_type: str | bytes,
    status: str | bytes,
    payload: str,
    error: str | None,
    *rest: Any,
) -> Job:
    failure = _error(error) if error else None
    return Job(tenant_id, job_id, video_id, _TYPES[job_type], _STATUSES[status], from_json(payload), failure, *rest)


def _error(document: str) -> JobError:
    error = from_json(document)
    return JobError(**error | {"timestamp": datetime.fromisoformat(error["timestamp"])})


class JobStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def enqueue(self, new_id: UUID, payload: JobPayload, order: Order, trace: str | None) -> Job | None:
        """None when one like it waits or runs already."""
        return await self._one(
            ENQUEUE,
            id=new_id,
            job_type=payload.job_type,
            video_id=payload.video_id,
            payload=Jsonb(payload.model_dump(mode="json")),
            trace=trace,
            **asdict(order),
        )

    async def enqueue_all(self, documents: Sequence[Mapping[str, Any]]) -> Sequence[Job]:
        """Without those of which one like it waits or runs already."""
        return await self._all(ENQUEUE_ALL, jobs=Jsonb(documents))

    async def claim(
        self, worker: str, types: Sequence[JobType], most: int, lease: timedelta, *, thorough: bool
    ) -> Sequence[Job]:
        return await self._all(CLAIM, worker=worker, types=list(types), most=most, lease=lease, thorough=thorough)

    async def held(self, worker: str) -> Sequence[Job]:
        return await self._all(HELD, worker=worker)

    async def reclaim(self, worker: str, most: int) -> Sequence[Job]:
        """Jobs whose lease was over: queued again, or failed for good."""
        return await self._all(RECLAIM, worker=worker, most=most)

    async def heartbeats(self, worker: str, held: Sequence[Job], lease: timedelta) -> frozenset[UUID]:
        """Those that are still the worker's."""
        return await self._ids(HEARTBEATS, worker=worker, lease=lease, **_claims(held))

    async def progress(self, held: Job, percent: int) -> Job | None:
        return await self._one(PROGRESS, id=held.id, attempt=held.attempt, percent=percent)

    async def complete(self, held: Job, result: dict[str, Any]) -> Job | None:
        return await self._one(COMPLETE, worker=held.locked_by, id=held.id, attempt=held.attempt, result=Jsonb(result))

    async def complete_all(self, worker: str, done: Sequence[Done]) -> frozenset[UUID]:
        """Those that were refused: what these very attempts have done already is as good."""
        results = Jsonb([each.result for each in done])
        return await self._ids(COMPLETE_ALL, worker=worker, results=results, **_claims([each.job for each in done]))

    async def fail(self, held: Job, failure: Failure) -> Sequence[Job]:
        """Queued again for a later retry, or failed for good, then with whatever waited for it."""
        return await self._all(
            FAIL,
            worker=held.locked_by,
            id=held.id,
            attempt=held.attempt,
            type=failure.type,
            message=failure.message,
            retryable=failure.retryable,
        )

    async def cancel(self, job_id: UUID, actor: str, why: str) -> Sequence[Job]:
        """The job and whatever waited for it; nothing when it has ended."""
        return await self._all(CANCEL, id=job_id, actor=actor, why=why)

    async def retry(self, job_id: UUID, actor: str, why: str) -> Sequence[Job]:
        """The job and whatever had failed because of it; nothing when it is no dead letter, or its parent is one."""
        return await self._all(RETRY, id=job_id, actor=actor, why=why)

    async def reprioritise(self, job_id: UUID, actor: str, priority: int) -> Job | None:
        return await self._one(REPRIORITISE, id=job_id, actor=actor, priority=priority)

    async def release(self, held: Job, why: str) -> Job | None:
        return await self._one(RELEASE, worker=held.locked_by, id=held.id, attempt=held.attempt, why=why)

    async def find(self, job_id: UUID) -> Job | None:
        return await self._one(FIND, id=job_id)

    async def _one(self, query: LiteralString, **values: Any) -> Job | None:
        async with self._connection.cursor(row_factory=args_row(_job)) as cursor:
            return await (await cursor.execute(query, values)).fetchone()

    async def _all(self, query: LiteralString, **values: Any) -> Sequence[Job]:
        async with self._connection.cursor(row_factory=args_row(_job), binary=True) as cursor:
            return await (await cursor.execute(query, values)).fetchall()

    async def _ids(self, query: LiteralString, **values: Any) -> frozenset[UUID]:
        rows = await (await self._connection.execute(query, values)).fetchall()
        return frozenset(found for (found,) in rows)


def _claims(held: Sequence[Job]) -> dict[str, str]:
    return {
        "tenants": _array([job.tenant_id for job in held]),
        "ids": _array([job.id for job in held]),
        "attempts": _array([job.attempt for job in held]),
    }


def _array(values: Sequence[UUID] | Sequence[int]) -> str:
    """As the database writes arrays, which for these is as JSON does but for the brackets. Quicker than element by
    element."""
    return f"{{{to_json(values)[1:-1].decode()}}}"
