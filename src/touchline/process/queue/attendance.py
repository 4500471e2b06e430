"""One job in hand, from the claim to its end: done, failed, given back or lost.

Invariant: exactly one of these, and never an exception. Only the work itself is interrupted; an end that is being
written down is not.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

from touchline.kernel.errors import InvalidInput, LeaseLost

from . import metrics
from .completions import Completions
from .handler import Finished, Handler, no_effects, nothing_more, standing_back_by
from .lease import Lease
from .model import Done, Job, JobStatus, JobType
from .payloads import parse_payload
from .progress import Progress
from .rules import LONG, Holding, Slot, failure_of
from .service import Queue

STOPPING = "the worker stops"

logger = logging.getLogger(__name__)


class Outcome(StrEnum):
    DONE = "done"
    RETRIED = "retried"
    FAILED = "failed"
    RELEASED = "released"
    LOST = "lost"


STATUS_AFTER = {
    Outcome.DONE: JobStatus.DONE,
    Outcome.RETRIED: JobStatus.QUEUED,
    Outcome.FAILED: JobStatus.FAILED,
    Outcome.RELEASED: JobStatus.QUEUED,
    Outcome.LOST: None,  # whoever has it now knows
}


class Run:
    """A job, its lease and the task that attends to it. Losing the lease interrupts the work."""

    __slots__ = ("lease", "slot", "task", "waited_for", "working")

    def __init__(self, job: Job, slot: Slot = Slot.USUAL) -> None:
        self.lease = Lease(job, self.interrupt)
        self.slot = slot
        self.waited_for = job.job_type not in LONG
        self.task: asyncio.Task[None] | None = None
        self.working = True  # it may be interrupted

    @property
    def job(self) -> Job:
        return self.lease.job

    @property
    def holding(self) -> Holding:
        return Holding(self.job.job_type, self.job.tenant_id, self.slot, self.waited_for)

    def interrupt(self) -> None:
        if self.task and self.working:
            self.working = False
            self.task.cancel()


@dataclass(slots=True)
class Attendance:
    queue: Queue
    handlers: Mapping[JobType, Handler[Any]]
    completions: Completions
    retry_delay: timedelta
    slot_freed: Callable[[], object]
    stopping: bool = field(default=False, init=False)

    async def attend(self, run: Run) -> None:
        started, outcome = time.monotonic(), Outcome.LOST
        if logger.isEnabledFor(logging.INFO):
            logger.info("job begun", extra=labels(run.job))
        try:
            outcome = await self._settle(run)
        except LeaseLost:
            run.lease.lose()
        except Exception:
            logger.exception("job left to its lease", extra=labels(run.job))
        took_s = time.monotonic() - started
        metrics.duration(run.job.job_type, outcome).observe(took_s)
        if logger.isEnabledFor(logging.INFO):
            after = {"status": STATUS_AFTER[outcome], "outcome": outcome, "duration_ms": round(took_s * 1000)}
            logger.info("job ended", extra={**labels(run.job), **after})

    async def _settle(self, run: Run) -> Outcome:
        """The work, then what became of it."""
        try:
            finished = await self._work(run)
        except asyncio.CancelledError:
            _uncancel()
            return await self._release(run)
        except Exception as error:
            run.working = False
            return await (self._release(run) if self.stopping else self._fail(run, error))
        run.working = False
        return await self._complete(run, finished)

    async def _work(self, run: Run) -> Finished:
        job, progress = run.job, Progress(lambda percent: self._report(run, percent))
        if job.unreadable:
            raise InvalidInput("this job cannot be read", field="payload", why=job.unreadable)
        payload = parse_payload(job.job_type, job.payload)
        try:
            with standing_back_by(lambda: self._stand_back(run)):
                return await self.handlers[job.job_type].work(job, payload, progress.reached)
        finally:
            if progress.is_telling:
                await progress.close()

    def _stand_back(self, run: Run) -> None:
        run.waited_for = False
        self.slot_freed()

    async def _release(self, run: Run) -> Outcome:
        if run.lease.lost:
            return Outcome.LOST
        await run.lease.insist(lambda: self.queue.release(run.job, STOPPING), self.retry_delay)
        return Outcome.RELEASED

    async def _complete(self, run: Run, finished: Finished) -> Outcome:
        job = run.job

        def complete() -> Awaitable[None]:
            if finished.effects is no_effects:
                return self.completions.complete(Done(job, finished.result))
            return self.queue.complete(job, finished.result, finished.effects)

        try:
            await run.lease.insist(complete, self.retry_delay)
        except LeaseLost:
            raise
        except Exception as error:
            return await self._fail(run, error)
        run.lease.close()
        if finished.afterwards is not nothing_more:
            try:
                await finished.afterwards()
            except Exception:
                logger.exception("left for later", extra=labels(job))
        return Outcome.DONE

    async def _fail(self, run: Run, error: BaseException) -> Outcome:
        if run.lease.lost:
            return Outcome.LOST
        failure = failure_of(error)
        logger.warning("job failed", extra={**labels(run.job), "error": failure.type}, exc_info=error)
        job = await run.lease.insist(lambda: self.queue.fail(run.job, failure), self.retry_delay)
        if job.status is JobStatus.FAILED:
            metrics.FAILURES.labels(job.job_type).inc()
            return Outcome.FAILED
        metrics.RETRIES.labels(job.job_type).inc()
        return Outcome.RETRIED

    async def _report(self, run: Run, percent: int) -> None:
        """Progress is worth nothing that a job could fail of."""
        try:
            await self.queue.report(run.job, percent)
        except LeaseLost:
            run.lease.lose()
        except Exception as error:
            logger.warning("progress not told", extra={**labels(run.job), "reason": str(error)})


def labels(job: Job) -> dict[str, Any]:
    return {
        "job_id": str(job.id),
        "job_type": job.job_type,
        "video_id": str(job.video_id),
        "attempt": job.attempt,
        "status": job.status,
        "tenant": str(job.tenant_id),
        "trace": job.trace,
    }


def _uncancel() -> None:
    """The interruption was for the work; what follows may use time-outs of its own."""
    if task := asyncio.current_task():
        task.uncancel()
