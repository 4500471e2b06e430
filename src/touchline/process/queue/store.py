"""All SQL of jobs, queue samples and alerts. Changes of jobs call the functions in `migrations/process`.

`JobStore` runs inside the job's tenant, except for what a worker does with the jobs of many tenants: `claim`,
`held`, `reclaim` and the batches. `AlertStore` runs across tenants.
Invariant: a change returns the job as it is afterwards, or None if it was refused.
"""

# ruff: noqa: S608  only constants are put into the statements

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
from touchline.platform.postgres.database import fetch_all, fetch_one

from . import jobs
from .rules import Alert, AlertCheck, QueueMeasurement

COLUMNS: LiteralString = """tenant_id, id, video_id, job_type, status,
       process.original_payload(payload)::text AS payload,
       CASE WHEN payload ? 'original_payload' THEN payload ->> 'error' END AS error, result::text AS result, priority,
       run_at, attempt, retry_count, max_retries, locked_by, locked_until, progress_percent, trace, depends_on,
       created_at, started_at, finished_at, revision"""

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


MAX_QUOTED = 200  # characters of an unreadable value

# The database returns an enum as text, or as bytes in binary rows.
_TYPES = {form: each for each in jobs.JobType for form in (each.value, each.value.encode())}
_STATUSES = {form: each for each in jobs.JobStatus for form in (each.value, each.value.encode())}


def job_from_columns(**columns: Any) -> jobs.Job:
    """For row factories that pass columns by name."""
    return _job_from_row(*columns.values())


async def read_jobs(
    connection: AsyncConnection[Any], query: LiteralString, values: Mapping[str, Any], *, binary: bool = False
) -> Sequence[jobs.Job]:
    """Runs a statement that selects `COLUMNS`. An unreadable row does not keep the others from being read."""
    async with connection.cursor(row_factory=args_row(_job_from_row), binary=binary) as cursor:
        await cursor.execute(query, values)
        try:
            return await cursor.fetchall()
        except DataError:  # a timestamp outside Python's range; the statement is done and must not run again
            return _read_with_clamped_times(cursor)


class _ClampedTime(TimestamptzLoader):
    def load(self, data: Buffer) -> datetime:
        try:
            return super().load(data)
        except DataError:
            return _EARLIEST if bytes(data).startswith(b"-") or bytes(data).endswith(b"BC") else _LATEST


class _ClampedBinaryTime(TimestamptzBinaryLoader):
    def load(self, data: Buffer) -> datetime:
        try:
            return super().load(data)
        except DataError:
            return _EARLIEST if bytes(data)[0] & 0x80 else _LATEST


_EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
Row = TypeVar("Row")


def _read_with_clamped_times(cursor: AsyncCursor[Row]) -> Sequence[Row]:
    """Reads timestamps outside Python's range as the nearest possible one. Slower, so only where needed."""
    result = cursor.pgresult
    assert result is not None  # noqa: S101 - something was fetched of it
    cursor.adapters.register_loader("timestamptz", _ClampedTime)
    cursor.adapters.register_loader("timestamptz", _ClampedBinaryTime)
    transformer = Transformer(cursor)
    transformer.set_pgresult(result)
    return transformer.load_rows(0, result.ntuples, cursor.row_factory(cursor))


def _job_from_row(  # noqa: PLR0913, PLR0917  the columns in their order, which is that of the fields
    tenant_id: TenantId,
    job_id: UUID,
    video_id: UUID,
    job_type: str | bytes,
    status: str | bytes,
    payload: str,
    error: str | None,
    result: str | None,
    *rest: Any,
) -> jobs.Job:
    document: dict[str, Any] = {}
    failure = problem = None
    try:
        failure = _error(error) if error else None
        document = from_json(payload)
    except (ValueError, KeyError, TypeError, AttributeError) as trouble:
        problem = _problem(payload, error, trouble)
    kind = _TYPES.get(job_type) or _text(job_type)
    outcome = None if result is None else _result(result)
    return jobs.Job(
        tenant_id, job_id, video_id, kind, _STATUSES[status], document, failure, outcome, *rest, unreadable=problem
    )


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode()


def _result(text: str) -> dict[str, Any]:
    """Whoever completes a job by hand may write anything."""
    try:
        return dict[str, Any](from_json(text))
    except (ValueError, TypeError) as trouble:
        return {"unreadable": f"{text[:MAX_QUOTED]}: {trouble}"}


def _error(document: str) -> jobs.JobError:
    error = from_json(document)
    return jobs.JobError(**error | {"timestamp": datetime.fromisoformat(error["timestamp"])})


def _problem(payload: str, error: str | None, trouble: Exception) -> str:
    """Quotes only the beginning: the values may be of any size."""
    what = f"its payload is {payload[:MAX_QUOTED]}" + (f" and its error {error[:MAX_QUOTED]}" if error else "")
    return f"{what}: {type(trouble).__name__}: {str(trouble)[:MAX_QUOTED]}"


class JobStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def enqueue(
        self, new_id: UUID, payload: jobs.JobPayload, schedule: jobs.JobSchedule, trace: str | None
    ) -> jobs.Job | None:
        """None if an identical job is queued or running."""
        return await self._one(
            ENQUEUE,
            id=new_id,
            job_type=payload.job_type,
            video_id=payload.video_id,
            payload=Jsonb(payload.model_dump(mode="json")),
            trace=trace,
            **asdict(schedule),
        )

    async def enqueue_all(self, documents: Sequence[Mapping[str, Any]]) -> Sequence[jobs.Job]:
        """Without those of which an identical job is queued or running."""
        return await self._all(ENQUEUE_ALL, jobs=Jsonb(documents))

    async def claim(
        self, worker: str, types: Sequence[jobs.JobType | str], most: int, lease: timedelta, *, thorough: bool
    ) -> Sequence[jobs.Job]:
        return await self._all(CLAIM, worker=worker, types=list(types), most=most, lease=lease, thorough=thorough)

    async def claim_from_others(
        self, worker: str, types: Sequence[jobs.JobType], excluded: Collection[TenantId], lease: timedelta
    ) -> Sequence[jobs.Job]:
        values = {"types": list(types), "passed_over": list(excluded), "lease": lease}
        return await self._all(CLAIM_FROM_OTHERS, worker=worker, **values)

    async def held(self, worker: str) -> Sequence[jobs.Job]:
        return await self._all(HELD, worker=worker)

    async def reclaim(
        self, worker: str, most: int, dead: jobs.DeadWorkers = jobs.NO_DEAD_WORKERS
    ) -> Sequence[jobs.Job]:
        """Jobs whose lease has expired or whose worker is dead: queued again, or failed for good. Only types that this
        version knows: those of a newer version are for its own workers."""
        values = {"dead": list(dead.workers), "types": list(jobs.JobType), "passed_over": list(dead.excluded)}
        return await self._all(RECLAIM, worker=worker, most=most, **values)

    async def heartbeats(self, worker: str, held: Sequence[jobs.Job], lease: timedelta) -> frozenset[UUID]:
        """Returns the ids of those that the worker still holds."""
        return await self._ids(HEARTBEATS, worker=worker, lease=lease, **_claim_arrays(held))

    async def progress(self, held: jobs.Job, percent: int) -> jobs.Job | None:
        return await self._one(PROGRESS, id=held.id, attempt=held.attempt, percent=percent)

    async def complete(self, held: jobs.Job, result: dict[str, Any]) -> jobs.Job | None:
        return await self._one(COMPLETE, worker=held.locked_by, id=held.id, attempt=held.attempt, result=Jsonb(result))

    async def complete_all(self, worker: str, done: Sequence[jobs.JobCompletion]) -> frozenset[UUID]:
        """Returns the ids of those that were refused. Completing twice by the same attempt is not refused."""
        results = Jsonb([each.result for each in done])
        return await self._ids(
            COMPLETE_ALL, worker=worker, results=results, **_claim_arrays([each.job for each in done])
        )

    async def fail(self, held: jobs.Job, failure: jobs.FailureReason) -> Sequence[jobs.Job]:
        """Queued again for a later retry, or failed for good together with the jobs that depend on it."""
        return await self._all(
            FAIL,
            worker=held.locked_by,
            id=held.id,
            attempt=held.attempt,
            type=failure.type,
            message=failure.message,
            retryable=failure.retryable,
        )

    async def cancel(self, job_id: UUID, actor: str, why: str) -> Sequence[jobs.Job]:
        """The job and the jobs that depend on it; nothing if it has ended."""
        return await self._all(CANCEL, id=job_id, actor=actor, why=why)

    async def retry(self, job_id: UUID, actor: str, why: str) -> Sequence[jobs.Job]:
        """The job and the jobs that had failed with it; nothing if it is no dead letter, or its parent is one."""
        return await self._all(RETRY, id=job_id, actor=actor, why=why)

    async def reprioritise(self, job_id: UUID, actor: str, priority: int) -> jobs.Job | None:
        return await self._one(REPRIORITISE, id=job_id, actor=actor, priority=priority)

    async def release(self, held: jobs.Job, why: str) -> jobs.Job | None:
        return await self._one(RELEASE, worker=held.locked_by, id=held.id, attempt=held.attempt, why=why)

    async def find(self, job_id: UUID) -> jobs.Job | None:
        return await self._one(FIND, id=job_id)

    async def _one(self, query: LiteralString, **values: Any) -> jobs.Job | None:
        return next(iter(await read_jobs(self._connection, query, values)), None)

    async def _all(self, query: LiteralString, **values: Any) -> Sequence[jobs.Job]:
        return await read_jobs(self._connection, query, values, binary=True)

    async def _ids(self, query: LiteralString, **values: Any) -> frozenset[UUID]:
        rows = await (await self._connection.execute(query, values)).fetchall()
        return frozenset(found for (found,) in rows)


def _claim_arrays(held: Sequence[jobs.Job]) -> dict[str, str]:
    return {
        "tenants": _array([job.tenant_id for job in held]),
        "ids": _array([job.id for job in held]),
        "attempts": _array([job.attempt for job in held]),
    }


def _array(values: Sequence[UUID] | Sequence[int]) -> str:
    """In Postgres' array syntax, which for these types is JSON with other brackets. Faster than element by element."""
    return f"{{{to_json(values)[1:-1].decode()}}}"


SAMPLE: LiteralString = """
INSERT INTO process.job_samples (tenant_id, job_type, sampled_at, queued, processing, oldest_s)
SELECT tenant_id, job_type::text, date_trunc('minute', now()),
       count(*) FILTER (WHERE status = 'queued'), count(*) FILTER (WHERE status = 'processing'),
       coalesce(extract(epoch FROM now() - min(run_at) FILTER (WHERE status = 'queued' AND band IS NOT NULL)), 0)
  FROM process.jobs
 WHERE band IS NOT NULL OR parked IS NOT NULL -- queued or processing
 GROUP BY tenant_id, job_type
ON CONFLICT DO NOTHING
"""
FORGET: LiteralString = "DELETE FROM process.job_samples WHERE sampled_at < now() - interval '1 day'"
MEASURE: LiteralString = """
-- What ended in the last hour, what has waited longest, what has died within a week.
SELECT tenant_id, job_type::text,
       count(*) FILTER (WHERE status = 'done' AND finished_at > now() - interval '1 hour') AS done,
       count(*) FILTER (WHERE status = 'failed' AND finished_at > now() - interval '1 hour') AS failed,
       coalesce(extract(epoch FROM now() - min(run_at) FILTER (WHERE status = 'queued' AND band IS NOT NULL)), 0)
         ::float AS oldest_s,
       count(*) FILTER (WHERE status = 'failed') AS dead
  FROM process.jobs
 WHERE (band IS NOT NULL OR parked IS NOT NULL) -- queued or processing
    OR (dead AND finished_at > now() - interval '7 days')
    OR finished_at > now() - interval '1 hour'
 GROUP BY tenant_id, job_type
"""
_COLUMNS: LiteralString = "tenant_id, kind, job_type, raised, value, threshold, changed_at, revision, reported, tries"
KNOWN: LiteralString = f"SELECT {_COLUMNS} FROM process.job_alerts WHERE raised"
UNDELIVERED: LiteralString = f"""
SELECT {_COLUMNS} FROM process.job_alerts WHERE NOT reported AND tries < %(most)s ORDER BY changed_at LIMIT 100
"""
RECORD: LiteralString = f"""
INSERT INTO process.job_alerts AS a (tenant_id, kind, job_type, raised, value, threshold)
VALUES (%(tenant_id)s, %(kind)s, %(job_type)s, %(raised)s, %(value)s, %(threshold)s)
ON CONFLICT (tenant_id, kind, job_type) DO UPDATE
   SET raised = excluded.raised, value = excluded.value, threshold = excluded.threshold, changed_at = now(),
       revision = a.revision + 1, reported = false, tries = 0
RETURNING {_COLUMNS}
"""
RECORD_DELIVERY: LiteralString = """
-- Only if it is still the alert that was sent: it may have changed meanwhile.
UPDATE process.job_alerts SET reported = %(reported)s, tries = tries + 1
 WHERE tenant_id = %(tenant_id)s AND kind = %(kind)s AND job_type = %(job_type)s AND revision = %(revision)s
"""


class AlertStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def sample(self) -> None:
        await self._connection.execute(SAMPLE)
        await self._connection.execute(FORGET)

    async def measure(self) -> Sequence[QueueMeasurement]:
        return await fetch_all(self._connection, QueueMeasurement, MEASURE)

    async def raised(self) -> Sequence[Alert]:
        return await fetch_all(self._connection, Alert, KNOWN)

    async def undelivered(self, most_tries: int) -> Sequence[Alert]:
        return await fetch_all(self._connection, Alert, UNDELIVERED, most=most_tries)

    async def record(self, finding: AlertCheck) -> Alert:
        values = {
            "tenant_id": finding.tenant_id,
            "kind": finding.kind,
            "job_type": finding.job_type,
            "raised": finding.raised,
            "value": finding.value,
            "threshold": finding.threshold,
        }
        recorded = await fetch_one(self._connection, Alert, RECORD, **values)
        assert recorded  # noqa: S101  an upsert returns its row
        return recorded

    async def record_delivery(self, alert: Alert, *, delivered: bool) -> None:
        values = {
            "reported": delivered,
            "tenant_id": alert.tenant_id,
            "kind": alert.kind,
            "job_type": alert.job_type,
            "revision": alert.revision,
        }
        await self._connection.execute(RECORD_DELIVERY, values)
