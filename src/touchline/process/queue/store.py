"""All SQL of jobs: calls of the functions that hold the rules (migrations/process). Runs inside the job's tenant,
but for what a worker does with the jobs of many tenants: `claim`, `held`, `reclaim` and the batches.

Invariant: a change answers the job as it is afterwards, or None: it was refused.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString, TypeVar
from uuid import UUID

from psycopg import AsyncConnection, AsyncCursor, DataError
from psycopg.abc import Buffer
from psycopg.adapt import Transformer
from psycopg.rows import args_row
from psycopg.types.datetime import TimestamptzBinaryLoader, TimestamptzLoader
from psycopg.types.json import Jsonb
from pydantic_core import from_json, to_json

from touchline.kernel import TenantId

from .model import NOBODY, Dead, Done, Failure, Job, JobError, JobStatus, JobType, Order
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
CLAIM_FROM_OTHERS: LiteralString = f"""
SELECT {COLUMNS}
  FROM process.claim_from_others(%(worker)s, %(types)s::process.job_type[], %(passed_over)s::uuid[], %(lease)s)
"""
HELD: LiteralString = f"SELECT {COLUMNS} FROM process.held(%(worker)s)"
RECLAIM: LiteralString = f"""
SELECT {COLUMNS}
  FROM process.reclaim(%(worker)s, %(most)s, %(dead)s::text[], %(types)s::text[], %(passed_over)s::uuid[])
"""
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


MOST_SHOWN = 200  # characters of what cannot be read

# An enum of the database comes as text, or as bytes where rows come in binary.
_TYPES = {form: each for each in JobType for form in (each.value, each.value.encode())}
_STATUSES = {form: each for each in JobStatus for form in (each.value, each.value.encode())}


def job(**columns: Any) -> Job:
    """A row as a value."""
    return _job(*columns.values())


async def read_jobs(
    connection: AsyncConnection[Any], query: LiteralString, values: Mapping[str, Any], *, binary: bool = False
) -> Sequence[Job]:
    """Of a statement that selects `COLUMNS`. Whatever stands in one of the rows, the others are read."""
    async with connection.cursor(row_factory=args_row(_job), binary=binary) as cursor:
        await cursor.execute(query, values)
        try:
            return await cursor.fetchall()
        except DataError:  # a time that Python has no date for; the statement is done and is not asked again
            return _read_drawn_near(cursor)


class _NearestTime(TimestamptzLoader):
    def load(self, data: Buffer) -> datetime:
        try:
            return super().load(data)
        except DataError:
            return _EARLIEST if bytes(data).startswith(b"-") or bytes(data).endswith(b"BC") else _LATEST


class _NearestBinaryTime(TimestamptzBinaryLoader):
    def load(self, data: Buffer) -> datetime:
        try:
            return super().load(data)
        except DataError:
            return _EARLIEST if bytes(data)[0] & 0x80 else _LATEST


_EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
Row = TypeVar("Row")


def _read_drawn_near(cursor: AsyncCursor[Row]) -> Sequence[Row]:
    """With the nearest date that there is. Costs more, so only where it must be."""
    result = cursor.pgresult
    assert result is not None  # noqa: S101 - something was fetched of it
    cursor.adapters.register_loader("timestamptz", _NearestTime)
    cursor.adapters.register_loader("timestamptz", _NearestBinaryTime)
    transformer = Transformer(cursor)
    transformer.set_pgresult(result)
    return transformer.load_rows(0, result.ntuples, cursor.row_factory(cursor))


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
    document, failure, problem = dict[str, Any](), None, None
    try:
        failure = _error(error) if error else None
        document = from_json(payload)
    except (ValueError, KeyError, TypeError, AttributeError) as trouble:
        problem = _problem(payload, error, trouble)
    return Job(
        tenant_id, job_id, video_id, _TYPES[job_type], _STATUSES[status], document, failure, *rest, unreadable=problem
    )


def _error(document: str) -> JobError:
    error = from_json(document)
    return JobError(**error | {"timestamp": datetime.fromisoformat(error["timestamp"])})


def _problem(payload: str, error: str | None, trouble: Exception) -> str:
    """What stands there may be of any size."""
    what = f"its payload, {payload[:MOST_SHOWN]}" + (f", stands beside {error[:MOST_SHOWN]}" if error else "")
    return f"{what}: {type(trouble).__name__}: {str(trouble)[:MOST_SHOWN]}"


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

    async def claim_from_others(
        self, worker: str, types: Sequence[JobType], passed_over: Collection[TenantId], lease: timedelta
    ) -> Sequence[Job]:
        values = {"types": list(types), "passed_over": list(passed_over), "lease": lease}
        return await self._all(CLAIM_FROM_OTHERS, worker=worker, **values)

    async def held(self, worker: str) -> Sequence[Job]:
        return await self._all(HELD, worker=worker)

    async def reclaim(self, worker: str, most: int, dead: Dead = NOBODY) -> Sequence[Job]:
        """Jobs whose lease was over, or whose worker is dead: queued again, or failed for good. Of the types that this
        version knows: a newer one's are for its own workers."""
        values = {"dead": list(dead.workers), "types": list(JobType), "passed_over": list(dead.passed_over)}
        return await self._all(RECLAIM, worker=worker, most=most, **values)

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
        return next(iter(await read_jobs(self._connection, query, values)), None)

    async def _all(self, query: LiteralString, **values: Any) -> Sequence[Job]:
        return await read_jobs(self._connection, query, values, binary=True)

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
