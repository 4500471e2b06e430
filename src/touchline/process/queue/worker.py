"""The worker: claims jobs, runs as many at once as it may, and records how each ends.

Invariants: a job ends in exactly one way: done, failed, released, or lost to whoever has its lease now. Only the
work itself is interrupted, never the recording of its end. A worker that is told to stop releases what it holds;
what it cannot release is reclaimed when the lease expires.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from functools import cache
from typing import Any, Never
from uuid import UUID

from prometheus_client import Counter, Histogram

from touchline.kernel import InvalidInput, LeaseLost, current_trace, tracing
from touchline.platform.foreground import Foreground
from touchline.platform.postgres.database import Wakeups
from touchline.platform.process_registry import ProcessRegistry
from touchline.platform.retry import backoff_seconds, is_transient, retry_forever
from touchline.process.settings import WorkerSettings

from . import rules
from .handler import Finished, JobHandler, no_effects, nothing_after_commit, on_continue_in_background
from .jobs import DeadWorkers, Job, JobCompletion, JobStatus, JobType, parse_payload
from .leases import Heartbeats, Lease
from .service import Queue, ReclaimFailed


class ProgressReporter:
    """Reports the latest progress of a job, but not too often. Costs nothing until the job reports something."""

    __slots__ = ("_moved", "_percent", "_report", "_reporting", "_started_at")
    _moved: asyncio.Event

    def __init__(self, report: Callable[[int], Awaitable[None]]) -> None:
        self._report = report
        self._percent = 0
        self._started_at = time.monotonic()
        self._reporting: asyncio.Task[Never] | None = None

    def reached(self, percent: int) -> None:
        self._percent = max(self._percent, min(percent, 100))
        if self._reporting is None:
            self._moved = asyncio.Event()
            self._reporting = asyncio.create_task(self._report_forever())
        self._moved.set()

    @property
    def is_reporting(self) -> bool:
        return self._reporting is not None

    async def close(self) -> None:
        if self._reporting:
            self._reporting.cancel()
            await asyncio.wait([self._reporting])

    async def _report_forever(self) -> Never:
        """Until cancelled."""
        reported, reported_at = 0, self._started_at
        while True:
            await self._moved.wait()
            self._moved.clear()
            # Progress made meanwhile is reported with it.
            await asyncio.sleep(reported_at + rules.MIN_REPORT_INTERVAL_S - time.monotonic())
            percent = self._percent
            if rules.is_worth_reporting(percent, reported, time.monotonic() - reported_at):
                await self._report(percent)
                reported, reported_at = percent, time.monotonic()


MAX_BATCH = 1000  # in one statement

PendingCompletion = tuple[JobCompletion, asyncio.Future[None]]


class CompletionBatcher:
    """Completes jobs without effects in batches: those that come during one statement go into the next.

    Invariant: each caller gets its own result: what the database refused is a lost lease, and a transient error is
    retried by the caller.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._waiting: list[PendingCompletion] = []
        self._flushing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def connected(self) -> AsyncGenerator[None]:
        """With a dedicated connection."""
        async with self._queue.dedicated() as self._queue:
            yield

    def complete(self, done: JobCompletion) -> asyncio.Future[None]:
        """Resolves when the completion is committed."""
        answer = asyncio.get_running_loop().create_future()
        self._waiting.append((done, answer))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        return answer

    async def _flush(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            try:
                refused = await self._queue.complete_all([done for done, _ in batch])
            except Exception as error:
                if len(batch) == 1 or is_transient(error):
                    _fail_all(batch, error)
                else:  # one of them cannot be stored: try them one by one
                    await self._flush_each(batch)
                continue
            _resolve(batch, refused)

    async def _flush_each(self, batch: Sequence[PendingCompletion]) -> None:
        for waiting in batch:
            try:
                _resolve([waiting], await self._queue.complete_all([waiting[0]]))
            except Exception as error:
                _fail_all([waiting], error)


def _resolve(batch: Sequence[PendingCompletion], refused: Collection[UUID]) -> None:
    for done, answer in batch:
        if answer.done():
            continue
        if refused and done.job.id in refused:
            answer.set_exception(LeaseLost(f"attempt {done.job.attempt} no longer holds job {done.job.id}"))
        else:
            answer.set_result(None)


def _fail_all(batch: Sequence[PendingCompletion], error: Exception) -> None:
    for _, answer in batch:
        if not answer.done():
            answer.set_exception(error)


STOPPING = "the worker is stopping"

DURATION = Histogram(
    "touchline_job_duration_seconds",
    "How long one run of a job took.",
    ["job_type", "outcome"],
    buckets=(0.1, 0.3, 1, 3, 10, 30, 60, 180, 600, 1800, 3600, 10_800),
)
RETRIES = Counter("touchline_job_retries", "Runs that failed and will be tried again.", ["job_type"])
FAILURES = Counter("touchline_job_failures", "Jobs that failed permanently.", ["job_type"])

logger = logging.getLogger(__name__)


class JobOutcome(StrEnum):
    DONE = "done"
    RETRIED = "retried"
    FAILED = "failed"
    RELEASED = "released"
    LOST = "lost"


STATUS_AFTER = {
    JobOutcome.DONE: JobStatus.DONE,
    JobOutcome.RETRIED: JobStatus.QUEUED,
    JobOutcome.FAILED: JobStatus.FAILED,
    JobOutcome.RELEASED: JobStatus.QUEUED,
    JobOutcome.LOST: None,  # only its new holder knows
}


class RunningJob:
    """A job, its lease and the task that runs it. Losing the lease interrupts the work."""

    __slots__ = ("held_job", "lease", "task", "working")

    def __init__(self, job: Job, slot: rules.Slot = rules.Slot.REGULAR) -> None:
        self.lease = Lease(job, self.interrupt)
        kind = JobType(job.job_type)  # nobody claims what this version does not know
        self.held_job = rules.HeldJob(kind, job.tenant_id, slot, kind not in rules.LONG_TYPES)
        self.task: asyncio.Task[None] | None = None
        self.working = True  # it may be interrupted

    @property
    def job(self) -> Job:
        return self.lease.job

    def interrupt(self) -> None:
        if self.task and self.working:
            self.working = False
            self.task.cancel()


@dataclass(slots=True)
class JobRunner:
    """Runs one claimed job to its end: done, failed, released or lost. Never raises."""

    queue: Queue
    handlers: Mapping[JobType, JobHandler[Any]]
    completions: CompletionBatcher
    retry_delay: timedelta
    slot_freed: Callable[[], object]
    foreground: Foreground | None = None
    stopping: bool = field(default=False, init=False)

    async def run_to_end(self, run: RunningJob) -> None:
        started, outcome = time.monotonic(), JobOutcome.LOST
        if logger.isEnabledFor(logging.INFO):
            logger.info("job begun", extra=log_fields(run.job))
        try:
            outcome = await self._work_and_record(run)
        except LeaseLost:
            run.lease.lose()
        except Exception:
            logger.exception("job left until its lease expires", extra=log_fields(run.job))
        took_s = time.monotonic() - started
        _duration(run.job.job_type, outcome).observe(took_s)
        if logger.isEnabledFor(logging.INFO):
            after = {"status": STATUS_AFTER[outcome], "outcome": outcome, "duration_ms": round(took_s * 1000)}
            logger.info("job ended", extra={**log_fields(run.job), **after})

    async def _work_and_record(self, run: RunningJob) -> JobOutcome:
        """Does the work, then records how it ended."""
        try:
            finished = await self._work(run)
        except asyncio.CancelledError as error:
            if not _uncancel():
                return await self._fail_work(run, error)
            return await self._release(run)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # a panic in a library that was written in Rust is no Exception
            return await self._fail_work(run, error)
        run.working = False
        return await self._complete(run, finished)

    async def _fail_work(self, run: RunningJob, error: BaseException) -> JobOutcome:
        run.working = False
        return await (self._release(run) if self.stopping else self._fail(run, error))

    async def _work(self, run: RunningJob) -> Finished:
        job, progress = run.job, ProgressReporter(lambda percent: self._report(run, percent))
        if job.unreadable:
            raise InvalidInput("this job cannot be read", field="payload", why=job.unreadable)
        kind = run.held_job.job_type
        payload = parse_payload(kind, job.payload)
        try:
            with self._in_foreground(kind) as foreground:
                on_continue_in_background(lambda: self._enter_background(run, foreground))
                return await self.handlers[kind].work(job, payload, progress.reached)
        finally:
            if progress.is_reporting:
                await progress.close()

    def _in_foreground(self, kind: JobType) -> ExitStack:
        stack = ExitStack()
        if self.foreground and kind in rules.PLAYS:
            stack.enter_context(self.foreground.working())
        return stack

    def _enter_background(self, run: RunningJob, foreground: ExitStack) -> None:
        run.held_job.is_foreground = False
        foreground.close()
        self.slot_freed()

    async def _release(self, run: RunningJob) -> JobOutcome:
        if run.lease.lost:
            return JobOutcome.LOST
        await run.lease.retry_while_held(lambda: self.queue.release(run.job, STOPPING), self.retry_delay)
        return JobOutcome.RELEASED

    async def _complete(self, run: RunningJob, finished: Finished) -> JobOutcome:
        job = run.job

        def complete() -> Awaitable[None]:
            if finished.effects is no_effects:
                return self.completions.complete(JobCompletion(job, finished.result))
            return self.queue.complete(job, finished.result, finished.effects)

        try:
            await run.lease.retry_while_held(complete, self.retry_delay)
        except LeaseLost:
            raise
        except Exception as error:
            return await self._fail(run, error)
        run.lease.close()
        if finished.after_commit is not nothing_after_commit:
            try:
                await finished.after_commit()
            except Exception:
                logger.exception("work after the commit left for later", extra=log_fields(job))
        return JobOutcome.DONE

    async def _fail(self, run: RunningJob, error: BaseException) -> JobOutcome:
        if run.lease.lost:
            return JobOutcome.LOST
        failure = rules.failure_of(error)
        logger.warning("job failed", extra={**log_fields(run.job), "error": failure.type}, exc_info=error)
        job = await run.lease.retry_while_held(lambda: self.queue.fail(run.job, failure), self.retry_delay)
        if job.status is JobStatus.FAILED:
            FAILURES.labels(job.job_type).inc()
            return JobOutcome.FAILED
        RETRIES.labels(job.job_type).inc()
        return JobOutcome.RETRIED

    async def _report(self, run: RunningJob, percent: int) -> None:
        """A job does not fail because its progress cannot be reported."""
        try:
            await self.queue.report(run.job, percent)
        except LeaseLost:
            run.lease.lose()
        except Exception as error:
            logger.warning("progress not reported", extra={**log_fields(run.job), "reason": str(error)})


@cache
def _duration(job_type: str, outcome: str) -> Histogram:
    """Looking up a label costs more than counting."""
    return DURATION.labels(job_type, outcome)


def log_fields(job: Job) -> dict[str, Any]:
    return {
        "job_id": str(job.id),
        "job_type": job.job_type,
        "video_id": str(job.video_id),
        "attempt": job.attempt,
        "status": job.status,
        "tenant": str(job.tenant_id),
        "trace": job.trace,
    }


def _uncancel() -> bool:
    """The interruption was meant for the work; what follows may use timeouts of its own. False: there was none, and a
    library of the work's own said so. Released as if it had been, that job would run again and again at once."""
    task = asyncio.current_task()
    if task is None or not task.cancelling():
        return False
    task.uncancel()
    return True


JOBS_CHANNEL = "touchline_jobs"
STOPS_CHANNEL = "touchline_job_stops"
CHANNELS = (JOBS_CHANNEL, STOPS_CHANNEL)
CLAIM_RESPONSE_LOST = "the response to the worker's claim was lost"
SECOND_POLL_DELAY = timedelta(milliseconds=10)  # jobs enqueued right after a wake-up send none of their own
THOROUGH_CLAIM_INTERVAL_S = 1.0  # at most this often,
THOROUGH_CLAIM_SHARE = 20  # and at most a twentieth of the time
EXTRA_SLOT_PAUSE_S = 0.1  # between claims for the extra slots
HOUR = timedelta(hours=1)

JobHandlers = Mapping[JobType, JobHandler[Any]]


class Worker:
    def __init__(
        self,
        queue: Queue,
        handlers: JobHandlers,
        wakeups: Wakeups,
        settings: WorkerSettings,
        presence: ProcessRegistry | None = None,
        foreground: Foreground | None = None,
    ) -> None:
        self._queue = self._claims = queue
        self._settings = settings
        self._presence = presence
        self._types = deque(handlers)
        self._wakeup = wakeups.subscribe(JOBS_CHANNEL)
        self._stops = wakeups.subscribe(STOPS_CHANNEL)
        self._heartbeats = Heartbeats(queue, settings)
        self._completions = CompletionBatcher(queue)
        self._runner = JobRunner(
            queue, handlers, self._completions, settings.retry_delay, self._wakeup.wake, foreground
        )
        self._running: dict[asyncio.Task[None], RunningJob] = {}
        self._stopping = False
        self._in_doubt = False  # a claim may have been granted although its response was lost
        self._next_thorough_claim = self._next_extra_claim = 0.0
        self._extra_claim_scheduled = False

    def stop(self) -> None:
        """Makes `run` release what it holds and return."""
        self._stopping = True
        self._runner.stopping = True
        self._wakeup.wake()

    async def run(self) -> None:
        # Claims, completions and heartbeats have dedicated connections, so their statements are prepared only once.
        async with self._queue.dedicated() as self._claims, self._completions.connected(), self._heartbeats.running():
            try:
                async with asyncio.TaskGroup() as group:
                    background = [
                        group.create_task(self._reclaim_forever()),
                        group.create_task(self._check_leases_on_cancel()),
                    ]
                    await self._claim_until_stopped()
                    for task in background:
                        task.cancel()
            finally:
                await self._release_all()

    async def _claim_until_stopped(self) -> None:
        failures, woken = 0, False
        while not self._stopping:
            pause, drained = self._settings.poll_interval, False
            try:
                drained = await self._fill_slots()
                failures = 0
                if not drained and self._has_free_slot():
                    continue
            except Exception as error:
                if not is_transient(error):
                    raise
                logger.warning("claim failed, retrying", extra={"reason": str(error)})
                pause = timedelta(seconds=backoff_seconds(self._settings.retry_delay, failures))
                failures += 1
            woken = await self._wakeup.wait(min(SECOND_POLL_DELAY, pause) if woken and drained else pause)

    @property
    def running_jobs(self) -> int:
        """How many jobs it holds now."""
        return len(self._running)

    def _claim_requests(self) -> Sequence[rules.ClaimRequest]:
        held = [run.held_job for run in self._running.values()]
        return rules.next_claims(list(self._types), held, self._settings.concurrency)

    def _has_free_slot(self) -> bool:
        return any(request.slot is rules.Slot.REGULAR for request in self._claim_requests())

    async def _fill_slots(self) -> bool:
        """Claims jobs for some of its free slots; returns whether the queue has no more for it."""
        if self._in_doubt:
            await self._release_unknown_jobs()
        self._types.rotate(-1)  # each type comes first in turn
        requests = self._claim_requests()
        for request in requests:
            if request.slot is not rules.Slot.REGULAR and not self._may_claim_extra():
                continue
            self._in_doubt = True
            jobs = await self._claim(request)
            self._in_doubt = False
            for job in jobs:
                self._start(job, request.slot)
            if jobs:
                return len(jobs) < request.most and request is requests[-1]
        return True

    def _may_claim_extra(self) -> bool:
        """For the extra slots: without a pause, a full worker would claim again whenever a job ends."""
        now = time.monotonic()
        if now >= self._next_extra_claim:
            self._next_extra_claim = now + EXTRA_SLOT_PAUSE_S
            return True
        if not self._extra_claim_scheduled:
            self._extra_claim_scheduled = True
            asyncio.get_running_loop().call_later(self._next_extra_claim - now, self._claim_extra_now)
        return False

    def _claim_extra_now(self) -> None:
        self._extra_claim_scheduled = False
        self._wakeup.wake()

    async def _claim(self, request: rules.ClaimRequest) -> Sequence[Job]:
        if request.excluded:
            return await self._claims.claim_from_others(request.types, request.excluded)
        begun = time.monotonic()
        thorough = begun >= self._next_thorough_claim
        jobs = await self._claims.claim(request.types, request.most, thorough=thorough)
        if thorough:
            now = time.monotonic()
            self._next_thorough_claim = now + max(THOROUGH_CLAIM_INTERVAL_S, THOROUGH_CLAIM_SHARE * (now - begun))
        return jobs

    async def _release_unknown_jobs(self) -> None:
        """Releases jobs that the database says we hold but we do not run: the response to their claim was lost."""
        known = {run.job.id for run in self._running.values()}
        for job in await self._queue.held():
            if job.id not in known:
                await self._release_unknown_job(job)
        self._in_doubt = False

    async def _release_unknown_job(self, job: Job) -> None:
        try:
            with suppress(LeaseLost), tracing(job.trace):
                await self._queue.release(job, CLAIM_RESPONSE_LOST)
        except Exception as error:
            if is_transient(error):
                raise
            logger.exception("job left until its lease expires", extra=log_fields(job))

    async def _reclaim_forever(self) -> Never:
        """The first time at once: a worker that restarts after a crash reclaims what it held."""

        async def turn() -> None:
            try:
                await self._reclaim_all()
            except Exception as error:
                if is_transient(error):
                    raise
                logger.exception("expired leases were not reclaimed")
            await asyncio.sleep(self._settings.reclaim_interval.total_seconds())

        await retry_forever(turn, self._settings.retry_delay, logger)

    async def _reclaim_all(self) -> None:
        dead = await asyncio.to_thread(self._presence.dead) if self._presence else ()
        excluded: set[UUID] = set()
        while True:
            try:
                job = await self._queue.reclaim(DeadWorkers(dead, excluded))
            except ReclaimFailed as error:  # retried in the next turn
                logger.exception("job not reclaimed", extra=log_fields(error.job))
                excluded.add(error.job.id)
                continue
            if job is None:
                break
            logger.warning("job reclaimed", extra=log_fields(job))
        if self._presence and dead and not excluded:
            await asyncio.to_thread(self._presence.forget, dead)

    async def _check_leases_on_cancel(self) -> Never:
        """When a running job was cancelled, a heartbeat shows whether it was one of ours."""
        while True:
            if await self._stops.wait(HOUR):
                self._heartbeats.renew_now()

    def _start(self, job: Job, slot: rules.Slot = rules.Slot.REGULAR) -> None:
        run = RunningJob(job, slot)
        self._heartbeats.add(run.lease)
        if job.trace == current_trace():
            task = asyncio.create_task(self._run_job(run))
        else:
            with tracing(job.trace):  # the task keeps it
                task = asyncio.create_task(self._run_job(run))
        run.task = task
        self._running[task] = run

    async def _run_job(self, run: RunningJob) -> None:
        try:
            await self._runner.run_to_end(run)
        finally:
            if run.task:
                del self._running[run.task]
            self._heartbeats.remove(run.lease)
            self._wakeup.wake()

    async def _release_all(self) -> None:
        await asyncio.sleep(0)  # a task that has not started yet could not release its job
        for run in self._running.values():
            run.interrupt()
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=self._settings.stop_grace.total_seconds())
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
