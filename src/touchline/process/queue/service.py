"""What can be done with jobs: each act is one transaction with its events.

Invariant: a job's own writes are fenced by its attempt: whoever lost the lease gets LeaseLost and has written nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from touchline.contracts.events.clips import ClipFailed
from touchline.contracts.events.videos import JobChanged, VideoFailed, VideoProgressed, VideoRetried
from touchline.kernel import TenantId, uuid7
from touchline.kernel.clock import Clock, SystemClock
from touchline.kernel.errors import LeaseLost
from touchline.kernel.ids import ArtifactHash, artifact_hash
from touchline.kernel.trace import current_trace, tracing
from touchline.platform.postgres.database import Database, Transaction
from touchline.platform.retry import passes_by_itself
from touchline.process.videos.store import VideoStore

from .model import NO_TENANT, NOBODY, Dead, Done, Failure, Job, JobStatus, JobType, Order
from .payloads import JobPayload
from .store import JobStore

Effects = Callable[[Transaction], Awaitable[None]]
AT_ONCE = Order()


async def enqueue(
    transaction: Transaction, payload: JobPayload, *, order: Order = AT_ONCE, clock: Clock | None = None
) -> Job | None:
    """None when one like it waits or runs already. A job whose parent has failed has failed, too."""
    new_id = uuid7((clock or SystemClock()).now())
    return await JobStore(transaction.connection).enqueue(new_id, payload, order, current_trace())


async def enqueue_all(
    transaction: Transaction, payloads: Iterable[JobPayload], *, order: Order = AT_ONCE, clock: Clock | None = None
) -> Sequence[Job]:
    """Many in one statement; those of which one like it waits or runs already are left out."""
    now, trace = (clock or SystemClock()).now(), current_trace()
    documents = [
        {
            "id": str(uuid7(now)),
            "job_type": payload.job_type,
            "payload": payload.model_dump(mode="json"),
            "priority": order.priority,
            "run_at": order.run_at and order.run_at.isoformat(),
            "depends_on": order.depends_on and str(order.depends_on),
            "trace": trace,
        }
        for payload in payloads
    ]
    return await JobStore(transaction.connection).enqueue_all(documents)


def announce_change(transaction: Transaction, job: Job) -> None:
    # A job that runs or is done keeps its last failure beside its payload, but that is no longer its state.
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
    )
    transaction.announce(change, revision=job.revision)


async def settle_failures(transaction: Transaction, jobs: Sequence[Job]) -> None:
    """Announces a job that failed, or is to be tried again, and whatever failed with it."""
    for job in jobs:
        announce_change(transaction, job)
    final = [job for job in jobs if job.status is JobStatus.FAILED]
    for job in final:
        _tell_clip_failed(transaction, job)
    # A clip that cannot be made says nothing about the video it was to be cut from.
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
    """Announces a job that somebody retries, and whatever comes back with it."""
    for job in jobs:
        with tracing(job.trace):
            announce_change(transaction, job)
    causes = {subject(job): job for job in reversed(jobs)}  # the first of each video is the one that had failed
    for about, job in causes.items():
        # A clip that is cut once more says nothing about the video it is cut from.
        videos = VideoStore(transaction.connection)
        is_clip = job.job_type is JobType.CLIP_GENERATE
        revision = await (videos.raise_revision if is_clip else videos.retried)(job.video_id)
        if about is not None:
            retried = VideoRetried(artifact_hash=about, job_id=job.id, attempt=job.attempt + 1, job_type=job.job_type)
            with tracing(job.trace):
                transaction.announce(retried, revision=revision)


def _tell_clip_failed(transaction: Transaction, job: Job) -> None:
    if job.job_type is not JobType.CLIP_GENERATE or (clip := subject(job)) is None:
        return
    failed = ClipFailed(
        artifact_hash=clip,
        job_id=job.id,
        attempt=job.attempt,
        error_code=job.error.type if job.error else "",
        error_message=job.error.message if job.error else "",
    )
    transaction.announce(failed, revision=job.revision)


def subject(job: Job) -> ArtifactHash | None:
    """Whom it is about: a clip is an artifact of its own. None when a stranger's payload names no clip."""
    if job.job_type is not JobType.CLIP_GENERATE:
        return artifact_hash(job.video_id)
    try:
        return artifact_hash(UUID(str(job.payload.get("clip_id"))))
    except ValueError:
        return None


class NotReclaimed(Exception):
    """Told to the worker alone. Nothing was changed; the next one is not to wait for this one."""

    def __init__(self, job: Job) -> None:
        super().__init__(f"job {job.id} cannot be taken back")
        self.job = job


@dataclass(frozen=True, slots=True)
class Queue:
    """The queue as one worker sees it."""

    database: Database
    worker: str  # names one process: never the same again after a restart
    lease: timedelta

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[Queue]:
        """The same by a connection of its own."""
        async with self.database.alone() as database:
            yield replace(self, database=database)

    async def claim(self, types: Sequence[JobType], most: int, *, thorough: bool = True) -> Sequence[Job]:
        """The database announces these itself. A thorough claim costs more and finds what came in behind, too."""
        async with self.database.nobody() as connection:
            return await JobStore(connection).claim(self.worker, types, most, self.lease, thorough=thorough)

    async def claim_from_others(self, types: Sequence[JobType], passed_over: Collection[TenantId]) -> Sequence[Job]:
        """One job of a tenant that is none of these, if any waits."""
        async with self.database.nobody() as connection:
            return await JobStore(connection).claim_from_others(self.worker, types, passed_over, self.lease)

    async def held(self) -> Sequence[Job]:
        """What this worker holds by the book: a claim whose answer was lost counts."""
        async with self.database.nobody() as connection:
            return await JobStore(connection).held(self.worker)

    async def reclaim(self, dead: Dead = NOBODY) -> Job | None:
        """Takes one job from whoever let its lease run out or is dead; None when there is none."""
        async with self.database.transaction(NO_TENANT) as transaction:
            jobs = await JobStore(transaction.connection).reclaim(self.worker, 1, dead)
            if not jobs:
                return None
            try:
                await transaction.enter_tenant(jobs[0].tenant_id)
                with tracing(jobs[0].trace):
                    await settle_failures(transaction, jobs)
            except Exception as error:
                if passes_by_itself(error):
                    raise
                raise NotReclaimed(jobs[0]) from error
            return jobs[0]

    async def heartbeats(self, held: Sequence[Job]) -> frozenset[UUID]:
        """Those whose lease is not lost."""
        async with self.database.nobody() as connection:
            return await JobStore(connection).heartbeats(self.worker, held, self.lease)

    async def heartbeat(self, held: Job) -> bool:
        """False when the lease is lost."""
        return held.id in await self.heartbeats([held])

    async def report(self, held: Job, percent: int) -> None:
        async with self.database.transaction(held.tenant_id) as transaction:
            job = _granted(await JobStore(transaction.connection).progress(held, percent), held)
            revision = await VideoStore(transaction.connection).raise_revision(job.video_id)
            progressed = VideoProgressed(
                artifact_hash=subject(job) or artifact_hash(job.video_id),
                job_id=job.id,
                attempt=job.attempt,
                job_type=job.job_type,
                progress_percent=percent,
            )
            transaction.announce(progressed, revision=revision)

    async def complete(self, held: Job, result: dict[str, Any], effects: Effects) -> None:
        """The completion and its effects are one transaction; done by this very attempt already is as good."""
        async with self.database.transaction(held.tenant_id) as transaction:
            store = JobStore(transaction.connection)
            job = await store.complete(held, result)
            if job is None:
                if _is_done_by(await store.find(held.id), held):
                    return  # the answer to an earlier try was lost
                raise _lost(held)
            announce_change(transaction, job)
            await effects(transaction)

    async def complete_all(self, done: Sequence[Done]) -> frozenset[UUID]:
        """Completions without effects, of any tenants, in one transaction. Answers those that were refused."""
        async with self.database.nobody() as connection:
            return await JobStore(connection).complete_all(self.worker, done)

    async def fail(self, held: Job, failure: Failure) -> Job:
        async with self.database.transaction(held.tenant_id) as transaction:
            jobs = await JobStore(transaction.connection).fail(held, failure)
            await settle_failures(transaction, jobs)
        return _granted(next(iter(jobs), None), held)

    async def release(self, held: Job, why: str) -> Job:
        async with self.database.transaction(held.tenant_id) as transaction:
            job = _granted(await JobStore(transaction.connection).release(held, why), held)
            announce_change(transaction, job)
        return job


def _granted(answer: Job | None, held: Job) -> Job:
    if answer is None:
        raise _lost(held)
    return answer


def _lost(held: Job) -> LeaseLost:
    return LeaseLost(f"attempt {held.attempt} no longer holds job {held.id}", why="another may have it now")


def _is_done_by(job: Job | None, held: Job) -> bool:
    return job is not None and job.status is JobStatus.DONE and job.attempt == held.attempt
