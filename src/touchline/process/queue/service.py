"""What can be done with jobs: each act is one transaction with its events.

Invariant: a job's own writes are fenced by its attempt: whoever lost the lease gets LeaseLost and has written nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from touchline.contracts.events.videos import JobChanged, VideoFailed, VideoProgressed
from touchline.kernel import uuid7
from touchline.kernel.clock import Clock, SystemClock
from touchline.kernel.errors import LeaseLost
from touchline.kernel.ids import artifact_hash
from touchline.kernel.trace import current_trace, tracing
from touchline.platform.postgres.database import Database, Transaction
from touchline.process.videos.store import VideoStore

from .model import NO_TENANT, Failure, Job, JobStatus, JobType
from .payloads import JobPayload
from .store import JobStore

Effects = Callable[[Transaction], Awaitable[None]]


async def enqueue(
    transaction: Transaction, payload: JobPayload, *, priority: int = 0, clock: Clock | None = None
) -> Job | None:
    """None when one like it waits or runs already."""
    new_id = uuid7((clock or SystemClock()).now())
    job = await JobStore(transaction.connection).enqueue(new_id, payload, priority, current_trace())
    if job:
        announce_change(transaction, job)
    return job


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
    )
    transaction.announce(change, revision=job.revision)


@dataclass(frozen=True, slots=True)
class Queue:
    """The queue as one worker sees it."""

    database: Database
    worker: str  # names one process: never the same again after a restart
    lease: timedelta

    async def claim(self, types: Sequence[JobType], most: int) -> Sequence[Job]:
        async with self.database.transaction(NO_TENANT) as transaction:
            jobs = await JobStore(transaction.connection).claim(self.worker, types, most, self.lease)
            for job in jobs:
                await transaction.enter_tenant(job.tenant_id)
                with tracing(job.trace):
                    announce_change(transaction, job)
                await transaction.flush()
        return jobs

    async def held(self) -> Sequence[Job]:
        """What this worker holds by the book: a claim whose answer was lost counts."""
        async with self.database.transaction(NO_TENANT) as transaction:
            return await JobStore(transaction.connection).held(self.worker)

    async def reclaim(self) -> Job | None:
        """Takes one job from whoever let its lease run out; None when there is none."""
        async with self.database.transaction(NO_TENANT) as transaction:
            for job in await JobStore(transaction.connection).reclaim(self.worker, 1):
                await transaction.enter_tenant(job.tenant_id)
                with tracing(job.trace):
                    await self._settle_failure(transaction, job)
                return job
        return None

    async def heartbeat(self, held: Job) -> bool:
        """False when the lease is lost."""
        async with self.database.transaction(held.tenant_id) as transaction:
            return await JobStore(transaction.connection).heartbeat(held, self.lease) is not None

    async def report(self, held: Job, percent: int) -> None:
        async with self.database.transaction(held.tenant_id) as transaction:
            job = _granted(await JobStore(transaction.connection).progress(held, percent), held)
            revision = await VideoStore(transaction.connection).raise_revision(job.video_id)
            progressed = VideoProgressed(
                artifact_hash=artifact_hash(job.video_id),
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

    async def fail(self, held: Job, failure: Failure) -> Job:
        async with self.database.transaction(held.tenant_id) as transaction:
            job = _granted(await JobStore(transaction.connection).fail(held, failure), held)
            await self._settle_failure(transaction, job)
        return job

    async def release(self, held: Job, why: str) -> Job:
        async with self.database.transaction(held.tenant_id) as transaction:
            job = _granted(await JobStore(transaction.connection).release(held, why), held)
            announce_change(transaction, job)
        return job

    async def _settle_failure(self, transaction: Transaction, job: Job) -> None:
        announce_change(transaction, job)
        # A clip that cannot be made says nothing about the video it was to be cut from.
        if job.status is not JobStatus.FAILED or job.job_type is JobType.CLIP_GENERATE:
            return
        revision = await VideoStore(transaction.connection).failed(job.video_id)
        failed = VideoFailed(
            artifact_hash=artifact_hash(job.video_id),
            job_id=job.id,
            attempt=job.attempt,
            job_type=job.job_type,
            error_code=job.error.type if job.error else "",
            error_message=job.error.message if job.error else "",
        )
        transaction.announce(failed, revision=revision)


def _granted(answer: Job | None, held: Job) -> Job:
    if answer is None:
        raise _lost(held)
    return answer


def _lost(held: Job) -> LeaseLost:
    return LeaseLost(f"attempt {held.attempt} no longer holds job {held.id}", why="another may have it now")


def _is_done_by(job: Job | None, held: Job) -> bool:
    return job is not None and job.status is JobStatus.DONE and job.attempt == held.attempt
