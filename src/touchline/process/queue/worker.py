"""Claims jobs and does them, as many at once as it may.

Invariant: a job ends in exactly one way: done, failed, given back, or lost to whoever has its lease now. A worker that
is told to stop gives back what it holds; what it cannot give back is taken from it when the lease ends.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Never

from touchline.kernel.errors import LeaseLost
from touchline.kernel.trace import tracing
from touchline.platform.postgres.wakeups import Wakeups
from touchline.platform.retry import delay_seconds, passes_by_itself, retried_forever

from . import metrics
from .handler import Finished, Handler
from .lease import Lease
from .model import Job, JobStatus, JobType
from .payloads import parse_payload
from .progress import Progress
from .rules import failure_of
from .service import Queue
from .settings import WorkerSettings

JOBS_CHANNEL = "touchline_jobs"
STOPPING = "the worker stops"
LOST_ANSWER = "the worker never heard that it got the job"

logger = logging.getLogger(__name__)

Handlers = Mapping[JobType, Handler[Any]]


class Outcome(StrEnum):
    DONE = "done"
    RETRIED = "retried"
    FAILED = "failed"
    RELEASED = "released"
    LOST = "lost"


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One job in hand. Cancelling the work means that the worker stops, unless the lease is lost."""

    lease: Lease
    work: asyncio.Task[Finished]

    @property
    def job(self) -> Job:
        return self.lease.job


class Worker:
    def __init__(self, queue: Queue, handlers: Handlers, wakeups: Wakeups, settings: WorkerSettings) -> None:
        self._queue = queue
        self._handlers = handlers
        self._settings = settings
        self._types = deque(handlers)
        self._wakeup = wakeups.subscribe(JOBS_CHANNEL)
        self._running: dict[asyncio.Task[None], Run] = {}
        self._stopping = False
        self._in_doubt = False  # a claim may have been granted whose answer was lost

    def stop(self) -> None:
        """`run` gives back what it holds, and returns."""
        self._stopping = True
        self._wakeup.wake()

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                reclaiming = group.create_task(self._reclaim_always())
                await self._claim_until_stopped()
                reclaiming.cancel()
        finally:
            await self._give_back()

    async def _claim_until_stopped(self) -> None:
        failures = 0
        while not self._stopping:
            pause = self._settings.poll_interval
            try:
                await self._fill()
                failures = 0
            except Exception as error:
                if not passes_by_itself(error):
                    raise
                logger.warning("claiming again soon", extra={"reason": str(error)})
                pause = timedelta(seconds=delay_seconds(self._settings.retry_delay, failures))
                failures += 1
            await self._wakeup.wait(pause)

    async def _fill(self) -> None:
        """Claims as many jobs as there are free hands."""
        if self._in_doubt:
            await self._release_strangers()
        free = self._settings.concurrency - len(self._running)
        if free > 0:
            self._types.rotate(-1)  # each type is asked for first in its turn
            self._in_doubt = True
            jobs = await self._queue.claim(list(self._types), free)
            self._in_doubt = False
            for job in jobs:
                self._start(job)

    async def _release_strangers(self) -> None:
        """What is booked on us and not in our hands: the answer to that claim was lost on the way."""
        known = {run.job.id for run in self._running.values()}
        for job in await self._queue.held():
            if job.id not in known:
                with suppress(LeaseLost), tracing(job.trace):
                    await self._queue.release(job, LOST_ANSWER)
        self._in_doubt = False

    async def _reclaim_always(self) -> Never:
        async def turn() -> None:
            while job := await self._queue.reclaim():
                logger.warning("job reclaimed", extra=_labels(job))
            await asyncio.sleep(self._settings.reclaim_interval.total_seconds())

        await retried_forever(turn, self._settings.retry_delay, logger)

    def _start(self, job: Job) -> None:
        with tracing(job.trace):  # the tasks keep it
            progress = Progress()
            lease = Lease(self._queue, job, self._settings.retry_delay)
            work = asyncio.create_task(self._work(job, progress))
            lease.when_lost(work.cancel)
            run = Run(lease, work)
            task = asyncio.create_task(self._attend(run, progress))
        self._running[task] = run
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self._wakeup.wake()

    async def _work(self, job: Job, progress: Progress) -> Finished:
        payload = parse_payload(job.job_type, job.payload)
        return await self._handlers[job.job_type].work(job, payload, progress.reached)

    async def _attend(self, run: Run, progress: Progress) -> None:
        """From the claim to the end of the job, whatever that is. Never raises."""
        started = time.monotonic()
        beating = asyncio.create_task(run.lease.keep(self._settings.heartbeat_interval))
        telling = asyncio.create_task(progress.keep_telling(lambda percent: self._report(run, percent)))
        run.work.add_done_callback(lambda work: telling.cancel())
        outcome = Outcome.LOST
        try:
            outcome = await self._settle(run)
        except LeaseLost:
            run.lease.lose()
        except Exception:
            logger.exception("job left to its lease", extra=_labels(run.job))
        finally:
            run.lease.close()
            for task in (run.work, beating, telling):
                task.cancel()
            await asyncio.wait([run.work, beating, telling])
        metrics.DURATION.labels(run.job.job_type, outcome).observe(time.monotonic() - started)
        logger.info("job ended", extra={**_labels(run.job), "outcome": outcome})

    async def _settle(self, run: Run) -> Outcome:
        await asyncio.wait([run.work])
        if run.lease.lost:
            return Outcome.LOST
        error = None if run.work.cancelled() else run.work.exception()
        if run.work.cancelled() or (error and self._stopping):
            await run.lease.insist(lambda: self._queue.release(run.job, STOPPING))
            return Outcome.RELEASED
        if error:
            return await self._fail(run, error)
        return await self._complete(run, run.work.result())

    async def _complete(self, run: Run, finished: Finished) -> Outcome:
        try:
            await run.lease.insist(lambda: self._queue.complete(run.job, finished.result, finished.effects))
        except LeaseLost:
            raise
        except Exception as error:
            return await self._fail(run, error)
        run.lease.close()
        try:
            await finished.afterwards()
        except Exception:
            logger.exception("left for later", extra=_labels(run.job))
        return Outcome.DONE

    async def _fail(self, run: Run, error: BaseException) -> Outcome:
        failure = failure_of(error)
        logger.warning("job failed", extra={**_labels(run.job), "error": failure.type}, exc_info=error)
        job = await run.lease.insist(lambda: self._queue.fail(run.job, failure))
        if job.status is JobStatus.FAILED:
            metrics.FAILURES.labels(job.job_type).inc()
            return Outcome.FAILED
        metrics.RETRIES.labels(job.job_type).inc()
        return Outcome.RETRIED

    async def _report(self, run: Run, percent: int) -> None:
        """Progress is worth nothing that a job could fail of."""
        try:
            await self._queue.report(run.job, percent)
        except LeaseLost:
            run.lease.lose()
        except Exception as error:
            logger.warning("progress not told", extra={**_labels(run.job), "reason": str(error)})

    async def _give_back(self) -> None:
        for run in self._running.values():
            run.work.cancel()
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=self._settings.stop_grace.total_seconds())
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)


def _labels(job: Job) -> dict[str, Any]:
    return {
        "job_id": str(job.id),
        "job_type": job.job_type,
        "video_id": str(job.video_id),
        "attempt": job.attempt,
        "status": job.status,
    }
