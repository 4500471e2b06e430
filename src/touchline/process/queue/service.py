"""What can be done with jobs: enqueue, claim, complete, fail and release them; cancel, retry and reprioritise them
for people. Each is one transaction with its events.

Invariants: writes of a running job are fenced by its attempt: whoever lost the lease gets LeaseLost and has
written nothing. What a person does names that person in the job's history.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Never
from uuid import UUID

from psycopg.errors import UniqueViolation

from touchline.contracts.events.videos import ClipFailed, JobChanged, VideoFailed, VideoProgressed, VideoRetried
from touchline.kernel import (
    ArtifactHash,
    Clock,
    Principal,
    SystemClock,
    TenantId,
    artifact_hash,
    current_trace,
    errors,
    tracing,
    uuid7,
)
from touchline.platform.postgres.database import SYSTEM_ACTOR, Database, Transaction
from touchline.platform.retry import is_transient
from touchline.process.videos.store import VideoStore

from .jobs import (
    HIGHEST_PRIORITY,
    LOWEST_PRIORITY,
    NO_DEAD_WORKERS,
    NO_TENANT,
    DeadWorkers,
    FailureReason,
    Job,
    JobCompletion,
    JobPayload,
    JobSchedule,
    JobStatus,
    JobType,
)
from .store import JobStore

Effects = Callable[[Transaction], Awaitable[None]]
RUN_NOW = JobSchedule()


async def enqueue(
    transaction: Transaction, payload: JobPayload, *, schedule: JobSchedule = RUN_NOW, clock: Clock | None = None
) -> Job | None:
    """None if an identical job is queued or running. A job whose parent has failed fails at once."""
    new_id = uuid7((clock or SystemClock()).now())
    return await JobStore(transaction.connection).enqueue(new_id, payload, schedule, current_trace())


async def enqueue_all(
    transaction: Transaction,
    payloads: Iterable[JobPayload],
    *,
    schedule: JobSchedule = RUN_NOW,
    clock: Clock | None = None,
) -> Sequence[Job]:
    """Many in one statement, without those of which an identical job is queued or running."""
    now, trace = (clock or SystemClock()).now(), current_trace()
    documents = [
        {
            "id": str(uuid7(now)),
            "job_type": payload.job_type,
            "payload": payload.model_dump(mode="json"),
            "priority": schedule.priority,
            "run_at": schedule.run_at and schedule.run_at.isoformat(),
            "depends_on": schedule.depends_on and str(schedule.depends_on),
            "trace": trace,
        }
        for payload in payloads
    ]
    return await JobStore(transaction.connection).enqueue_all(documents)


def announce_change(transaction: Transaction, job: Job) -> None:
    # A running or finished job keeps its last failure beside its payload, but that is no longer its state.
    error = job.error if job.status in (JobStatus.QUEUED, JobStatus.FAILED) else None
    change = JobChanged(
        job_id=job.id,
        job_type=job.job_type,
        video_id=job.video_id,
        status=job.status,
        attempt=job.attempt,
        retry_count=job.retry_count,
        progress_percent=job.progress_percent,
        error_type=error.type if error else None,
        error_message=error.message if error else None,
        priority=job.priority,
        actor=None if transaction.actor == SYSTEM_ACTOR else transaction.actor,
    )
    transaction.announce(change, revision=job.revision)


async def announce_failures(transaction: Transaction, jobs: Sequence[Job]) -> None:
    """Announces a job that failed or will be retried, and the jobs that failed with it."""
    for job in jobs:
        announce_change(transaction, job)
    final = [job for job in jobs if job.status is JobStatus.FAILED]
    for job in final:
        _announce_clip_failed(transaction, job)
    # A clip that cannot be cut does not make its source video fail.
    final = [job for job in final if job.job_type is not JobType.CLIP_GENERATE]
    for video_id, job in {job.video_id: job for job in reversed(final)}.items():  # the first of each video is the cause
        revision = await VideoStore(transaction.connection).failed(video_id)
        failed = VideoFailed(
            artifact_hash=artifact_hash(video_id),
            job_id=job.id,
            attempt=job.attempt,
            job_type=job.job_type,
            error_code=job.error.type if job.error else "",
            error_message=job.error.message if job.error else "",
        )
        transaction.announce(failed, revision=revision)


async def announce_retries(transaction: Transaction, jobs: Sequence[Job]) -> None:
    """Announces a job that somebody retries, and the jobs that are queued again with it."""
    for job in jobs:
        with tracing(job.trace):
            announce_change(transaction, job)
    causes = {artifact_of_job(job): job for job in reversed(jobs)}  # the first of each video had failed
    for about, job in causes.items():
        # A clip that is cut again does not change the state of its source video.
        videos = VideoStore(transaction.connection)
        is_clip = job.job_type is JobType.CLIP_GENERATE
        revision = await (videos.raise_revision if is_clip else videos.retried)(job.video_id)
        if about is not None:
            retried = VideoRetried(artifact_hash=about, job_id=job.id, attempt=job.attempt + 1, job_type=job.job_type)
            with tracing(job.trace):
                transaction.announce(retried, revision=revision)


def _announce_clip_failed(transaction: Transaction, job: Job) -> None:
    if job.job_type is not JobType.CLIP_GENERATE or (clip := artifact_of_job(job)) is None:
        return
    failed = ClipFailed(
        artifact_hash=clip,
        job_id=job.id,
        attempt=job.attempt,
        error_code=job.error.type if job.error else "",
        error_message=job.error.message if job.error else "",
    )
    transaction.announce(failed, revision=job.revision)


def artifact_of_job(job: Job) -> ArtifactHash | None:
    """The artifact that the job makes: a clip is an artifact of its own. None if a foreign payload names no clip."""
    if job.job_type is not JobType.CLIP_GENERATE:
        return artifact_hash(job.video_id)
    try:
        return artifact_hash(UUID(str(job.payload.get("clip_id"))))
    except ValueError:
        return None


class ReclaimFailed(Exception):
    """For the worker only: nothing was changed, and other jobs need not wait for this one."""

    def __init__(self, job: Job) -> None:
        super().__init__(f"job {job.id} cannot be reclaimed")
        self.job = job


@dataclass(frozen=True, slots=True)
class Queue:
    """The queue as one worker sees it."""

    database: Database
    worker: str  # identifies one process; never reused after a restart
    lease: timedelta

    @asynccontextmanager
    async def dedicated(self) -> AsyncGenerator[Queue]:
        """The same queue with a dedicated connection."""
        async with self.database.dedicated() as database:
            yield replace(self, database=database)

    async def claim(self, types: Sequence[JobType | str], most: int, *, thorough: bool = True) -> Sequence[Job]:
        """The database announces these itself. A thorough claim costs more and finds what came in behind, too."""
        async with self.database.without_tenant() as connection:
            return await JobStore(connection).claim(self.worker, types, most, self.lease, thorough=thorough)

    async def claim_from_others(self, types: Sequence[JobType], excluded: Collection[TenantId]) -> Sequence[Job]:
        """One job of any tenant except the excluded ones, if there is one."""
        async with self.database.without_tenant() as connection:
            return await JobStore(connection).claim_from_others(self.worker, types, excluded, self.lease)

    async def held(self) -> Sequence[Job]:
        """What this worker holds according to the database, including claims whose response was lost."""
        async with self.database.without_tenant() as connection:
            return await JobStore(connection).held(self.worker)

    async def reclaim(self, dead: DeadWorkers = NO_DEAD_WORKERS) -> Job | None:
        """Takes back one job whose lease has expired or whose worker is dead; None if there is none."""
        async with self.database.transaction(NO_TENANT) as transaction:
            jobs = await JobStore(transaction.connection).reclaim(self.worker, 1, dead)
            if not jobs:
                return None
            try:
                await transaction.enter_tenant(jobs[0].tenant_id)
                with tracing(jobs[0].trace):
                    await announce_failures(transaction, jobs)
            except Exception as error:
                if is_transient(error):
                    raise
                raise ReclaimFailed(jobs[0]) from error
            return jobs[0]

    async def heartbeats(self, held: Sequence[Job]) -> frozenset[UUID]:
        """Returns the ids of those whose lease was renewed."""
        async with self.database.without_tenant() as connection:
            return await JobStore(connection).heartbeats(self.worker, held, self.lease)

    async def heartbeat(self, held: Job) -> bool:
        """False if the lease is lost."""
        return held.id in await self.heartbeats([held])

    async def report(self, held: Job, percent: int) -> None:
        async with self.database.transaction(held.tenant_id) as transaction:
            job = _require_held(await JobStore(transaction.connection).progress(held, percent), held)
            revision = await VideoStore(transaction.connection).raise_revision(job.video_id)
            progressed = VideoProgressed(
                artifact_hash=artifact_of_job(job) or artifact_hash(job.video_id),
                job_id=job.id,
                attempt=job.attempt,
                job_type=job.job_type,
                progress_percent=percent,
            )
            transaction.announce(progressed, revision=revision)

    async def complete(self, held: Job, result: dict[str, Any], effects: Effects) -> None:
        """The completion and its effects are one transaction. Completing it twice by the same attempt is no error."""
        async with self.database.transaction(held.tenant_id) as transaction:
            store = JobStore(transaction.connection)
            job = await store.complete(held, result)
            if job is None:
                if _is_done_by(await store.find(held.id), held):
                    return  # the response to an earlier try was lost
                raise _lease_lost(held)
            announce_change(transaction, job)
            await effects(transaction)

    async def complete_all(self, done: Sequence[JobCompletion]) -> frozenset[UUID]:
        """Completions without effects, of any tenants, in one transaction. Returns the ids of refused ones."""
        async with self.database.without_tenant() as connection:
            return await JobStore(connection).complete_all(self.worker, done)

    async def fail(self, held: Job, failure: FailureReason) -> Job:
        async with self.database.transaction(held.tenant_id) as transaction:
            jobs = await JobStore(transaction.connection).fail(held, failure)
            await announce_failures(transaction, jobs)
        return _require_held(next(iter(jobs), None), held)

    async def release(self, held: Job, why: str) -> Job:
        async with self.database.transaction(held.tenant_id) as transaction:
            job = _require_held(await JobStore(transaction.connection).release(held, why), held)
            announce_change(transaction, job)
        return job


def _require_held(answer: Job | None, held: Job) -> Job:
    if answer is None:
        raise _lease_lost(held)
    return answer


def _lease_lost(held: Job) -> errors.LeaseLost:
    return errors.LeaseLost(
        f"attempt {held.attempt} no longer holds job {held.id}", why="another worker may have it now"
    )


def _is_done_by(job: Job | None, held: Job) -> bool:
    return job is not None and job.status is JobStatus.DONE and job.attempt == held.attempt


RETRY_REASON = "retried by a user"


@dataclass(frozen=True, slots=True)
class BulkResult:
    """Of one operation on many jobs."""

    changed: Sequence[Job]
    refused: Mapping[UUID, errors.TouchlineError]


@dataclass(frozen=True, slots=True)
class JobAdministration:
    """`actor` is how the job's history names who acts; a caller with a principal is named by that in events."""

    database: Database

    async def cancel(self, tenant: TenantId | Principal, job_id: UUID, actor: str, why: str = "") -> Job:
        """For good. The worker that runs it stops; the jobs that depend on it fail with it."""
        async with self.database.transaction(tenant, actor) as transaction:
            store = JobStore(transaction.connection)
            jobs = await store.cancel(job_id, actor, _reason(f"cancelled by {actor}", why))
            if not jobs:
                _refuse(await store.find(job_id), job_id, "it has already ended")
            with tracing(jobs[0].trace):
                await announce_failures(transaction, jobs)
        return jobs[0]

    async def retry(self, tenant: TenantId | Principal, job_id: UUID, actor: str, why: str = "") -> Job:
        """A dead letter starts again with all its retries, and with it the jobs that had failed because of it."""
        try:
            async with self.database.transaction(tenant, actor) as transaction:
                jobs = await JobStore(transaction.connection).retry(job_id, actor, _reason(RETRY_REASON, why))
                if not jobs:
                    await _refuse_retry(transaction, job_id)
                await _require_video(transaction, jobs[0])
                await announce_retries(transaction, jobs)
        except UniqueViolation as error:
            hint = "Cancel that one first, or let it finish."
            raise errors.Conflict(
                f"job {job_id} cannot be retried", why="an identical job is queued or running", hint=hint
            ) from error
        return jobs[0]

    async def reprioritise(self, tenant: TenantId | Principal, job_id: UUID, actor: str, priority: int) -> Job:
        if not LOWEST_PRIORITY <= priority <= HIGHEST_PRIORITY:
            why = f"a priority must be between {LOWEST_PRIORITY} and {HIGHEST_PRIORITY}"
            raise errors.InvalidInput("invalid priority", field="priority", why=why)
        async with self.database.transaction(tenant, actor) as transaction:
            store = JobStore(transaction.connection)
            job = await store.reprioritise(job_id, actor, priority)
            if job is None:
                _refuse(await store.find(job_id), job_id, "it has already ended")
            with tracing(job.trace):
                announce_change(transaction, job)
        return job


async def apply_to_each(job_ids: Iterable[UUID], act: Callable[[UUID], Awaitable[Job]]) -> BulkResult:
    """One after the other, each in its own transaction: if one is refused, the others are still done."""
    changed: list[Job] = []
    refused: dict[UUID, errors.TouchlineError] = {}
    for job_id in dict.fromkeys(job_ids):
        try:
            changed.append(await act(job_id))
        except (errors.Conflict, errors.NotFound) as error:
            refused[job_id] = error
    return BulkResult(changed, refused)


def _reason(what: str, why: str) -> str:
    return f"{what}: {why}" if why else what


async def _require_video(transaction: Transaction, job: Job) -> None:
    if await VideoStore(transaction.connection).is_deleted(job.video_id):
        hint = "Undelete the video first, then retry."
        raise errors.Conflict(f"job {job.id} cannot be retried", why="its video was deleted", hint=hint)


async def _refuse_retry(transaction: Transaction, job_id: UUID) -> Never:
    store = JobStore(transaction.connection)
    job = await store.find(job_id)
    parent = await store.find(job.depends_on) if job and job.depends_on else None
    if job and job.status is JobStatus.FAILED and parent:
        hint = f"Retry {parent.id}: this job is queued again with it."
        raise errors.Conflict(f"job {job_id} cannot be retried", why="the job that it depends on has failed", hint=hint)
    _refuse(job, job_id, "only a job that failed permanently can be retried")


def _refuse(job: Job | None, job_id: UUID, why: str) -> Never:
    if job is None:
        raise errors.NotFound(f"there is no job {job_id}")
    raise errors.Conflict(f"job {job_id} is {job.status}", why=why)
