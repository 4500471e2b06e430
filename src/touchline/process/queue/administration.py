"""The hand on single jobs: cancel, retry, reprioritise. The command line, the API and the page act through this.

Invariant: each act is one transaction with its events, and names who did it in the job's history.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Never
from uuid import UUID

from psycopg.errors import UniqueViolation

from touchline.kernel import Principal, TenantId, TouchlineError
from touchline.kernel.errors import Conflict, InvalidInput, NotFound
from touchline.kernel.trace import tracing
from touchline.platform.postgres.database import Database, Transaction
from touchline.process.videos.store import VideoStore

from .model import HIGHEST_PRIORITY, LOWEST_PRIORITY, Job, JobStatus
from .service import announce_change, announce_retries, settle_failures
from .store import JobStore

RETRIED = "retried by hand"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one act on many jobs."""

    changed: Sequence[Job]
    refused: Mapping[UUID, TouchlineError]


@dataclass(frozen=True, slots=True)
class JobAdministration:
    database: Database

    async def cancel(self, tenant: TenantId | Principal, job_id: UUID, actor: str, why: str = "") -> Job:
        """For good. A worker that has it stops; what waits for it fails with it."""
        async with self.database.transaction(tenant) as transaction:
            store = JobStore(transaction.connection)
            jobs = await store.cancel(job_id, actor, _because(f"cancelled by {actor}", why))
            if not jobs:
                _refuse(await store.find(job_id), job_id, "it has ended already")
            with tracing(jobs[0].trace):
                await settle_failures(transaction, jobs)
        return jobs[0]

    async def retry(self, tenant: TenantId | Principal, job_id: UUID, actor: str, why: str = "") -> Job:
        """A dead letter starts again with all its retries, and with it what had failed because of it."""
        try:
            async with self.database.transaction(tenant) as transaction:
                jobs = await JobStore(transaction.connection).retry(job_id, actor, _because(RETRIED, why))
                if not jobs:
                    await _refuse_retry(transaction, job_id)
                await _require_video(transaction, jobs[0])
                await announce_retries(transaction, jobs)
        except UniqueViolation as error:
            hint = "Cancel that one first, or let it finish."
            raise Conflict(f"job {job_id} cannot be retried", why="one like it waits or runs", hint=hint) from error
        return jobs[0]

    async def reprioritise(self, tenant: TenantId | Principal, job_id: UUID, actor: str, priority: int) -> Job:
        if not LOWEST_PRIORITY <= priority <= HIGHEST_PRIORITY:
            why = f"it is between {LOWEST_PRIORITY} and {HIGHEST_PRIORITY}"
            raise InvalidInput("not a priority", field="priority", why=why)
        async with self.database.transaction(tenant) as transaction:
            store = JobStore(transaction.connection)
            job = await store.reprioritise(job_id, actor, priority)
            if job is None:
                _refuse(await store.find(job_id), job_id, "it has ended already")
            _announce(transaction, [job])
        return job


async def act_on_all(job_ids: Iterable[UUID], act: Callable[[UUID], Awaitable[Job]]) -> Outcome:
    """One after the other, each in its own transaction: one that is refused does not hold up the others."""
    changed: list[Job] = []
    refused: dict[UUID, TouchlineError] = {}
    for job_id in dict.fromkeys(job_ids):
        try:
            changed.append(await act(job_id))
        except (Conflict, NotFound) as error:
            refused[job_id] = error
    return Outcome(changed, refused)


def _because(what: str, why: str) -> str:
    return f"{what}: {why}" if why else what


def _announce(transaction: Transaction, jobs: Sequence[Job]) -> None:
    for job in jobs:
        with tracing(job.trace):
            announce_change(transaction, job)


async def _require_video(transaction: Transaction, job: Job) -> None:
    if await VideoStore(transaction.connection).is_deleted(job.video_id):
        hint = "Undelete the video first, then retry."
        raise Conflict(f"job {job.id} cannot be retried", why="its video was deleted", hint=hint)


async def _refuse_retry(transaction: Transaction, job_id: UUID) -> Never:
    store = JobStore(transaction.connection)
    job = await store.find(job_id)
    parent = await store.find(job.depends_on) if job and job.depends_on else None
    if job and job.status is JobStatus.FAILED and parent:
        hint = f"Retry {parent.id}: this one comes back with it."
        raise Conflict(f"job {job_id} cannot be retried", why="the job that it depends on has failed", hint=hint)
    _refuse(job, job_id, "only a job that has failed for good is retried by hand")


def _refuse(job: Job | None, job_id: UUID, why: str) -> Never:
    if job is None:
        raise NotFound(f"there is no job {job_id}")
    raise Conflict(f"job {job_id} is {job.status}", why=why)
