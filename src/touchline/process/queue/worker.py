"""Claims jobs and does them, as many at once as it may.

Invariant: a job ends in exactly one way: done, failed, given back, or lost to whoever has its lease now. A worker that
is told to stop gives back what it holds; what it cannot give back is taken from it when the lease ends.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Never
from uuid import UUID

from touchline.kernel.errors import LeaseLost
from touchline.kernel.trace import current_trace, tracing
from touchline.platform.postgres.wakeups import Wakeups
from touchline.platform.presence import Presence
from touchline.platform.retry import delay_seconds, passes_by_itself, retried_forever

from . import rules
from .attendance import Attendance, Run, labels
from .completions import Completions
from .handler import Handler
from .heart import Heart
from .model import Dead, Job, JobType
from .rules import Slot
from .service import NotReclaimed, Queue
from .settings import WorkerSettings

JOBS_CHANNEL = "touchline_jobs"
STOPS_CHANNEL = "touchline_job_stops"
CHANNELS = (JOBS_CHANNEL, STOPS_CHANNEL)
LOST_ANSWER = "the worker never heard that it got the job"
ECHO = timedelta(milliseconds=10)  # after a wake-up: what came right behind it sent none of its own
SHORTEST_LOOK_S, LOOK_SHARE = 1.0, 20  # thorough claims: at most so often, and at most a twentieth of the time

SEARCH_PAUSE_S = 0.1  # between claims for the slots beside the usual ones

HOUR = timedelta(hours=1)

logger = logging.getLogger(__name__)

Handlers = Mapping[JobType, Handler[Any]]


class Worker:
    def __init__(
        self,
        queue: Queue,
        handlers: Handlers,
        wakeups: Wakeups,
        settings: WorkerSettings,
        presence: Presence | None = None,
    ) -> None:
        self._queue = self._claims = queue
        self._settings = settings
        self._presence = presence
        self._types = deque(handlers)
        self._wakeup = wakeups.subscribe(JOBS_CHANNEL)
        self._stops = wakeups.subscribe(STOPS_CHANNEL)
        self._heart = Heart(queue, settings)
        self._completions = Completions(queue)
        self._attendance = Attendance(queue, handlers, self._completions, settings.retry_delay, self._wakeup.wake)
        self._running: dict[asyncio.Task[None], Run] = {}
        self._stopping = False
        self._in_doubt = False  # a claim may have been granted whose answer was lost
        self._next_look = self._next_search = 0.0
        self._searching_later = False

    def stop(self) -> None:
        """`run` gives back what it holds, and returns."""
        self._stopping = True
        self._attendance.stopping = True
        self._wakeup.wake()

    async def run(self) -> None:
        # What comes with every job has connections that do nothing else: they know their plans after the first one.
        async with self._queue.alone() as self._claims, self._completions.connected(), self._heart.beating():
            try:
                async with asyncio.TaskGroup() as group:
                    beside = [group.create_task(self._reclaim_always()), group.create_task(self._heed_stops())]
                    await self._claim_until_stopped()
                    for task in beside:
                        task.cancel()
            finally:
                await self._give_back()

    async def _claim_until_stopped(self) -> None:
        failures, woken = 0, False
        while not self._stopping:
            pause, drained = self._settings.poll_interval, False
            try:
                drained = await self._fill()
                failures = 0
                if not drained and self._free():
                    continue
            except Exception as error:
                if not passes_by_itself(error):
                    raise
                logger.warning("claiming again soon", extra={"reason": str(error)})
                pause = timedelta(seconds=delay_seconds(self._settings.retry_delay, failures))
                failures += 1
            woken = await self._wakeup.wait(min(ECHO, pause) if woken and drained else pause)

    @property
    def in_hand(self) -> int:
        """How many jobs it has and has not ended."""
        return len(self._running)

    def _asks(self) -> Sequence[rules.Ask]:
        held = [run.holding for run in self._running.values()]
        return rules.next_asks(list(self._types), held, self._settings.concurrency)

    def _free(self) -> bool:
        return any(ask.slot is Slot.USUAL for ask in self._asks())

    async def _fill(self) -> bool:
        """Claims what it has slots for, a part of them at a time; answers whether there was nothing more."""
        if self._in_doubt:
            await self._release_strangers()
        self._types.rotate(-1)  # each type is asked for first in its turn
        asks = self._asks()
        for ask in asks:
            if ask.slot is not Slot.USUAL and not self._may_search():
                continue
            self._in_doubt = True
            jobs = await self._claim(ask)
            self._in_doubt = False
            for job in jobs:
                self._start(job, ask.slot)
            if jobs:
                return len(jobs) < ask.most and ask is asks[-1]
        return True

    def _may_search(self) -> bool:
        """For the slots beside the usual ones: a worker that is full would ask again with every job that ends."""
        now = time.monotonic()
        if now >= self._next_search:
            self._next_search = now + SEARCH_PAUSE_S
            return True
        if not self._searching_later:
            self._searching_later = True
            asyncio.get_running_loop().call_later(self._next_search - now, self._search_now)
        return False

    def _search_now(self) -> None:
        self._searching_later = False
        self._wakeup.wake()

    async def _claim(self, ask: rules.Ask) -> Sequence[Job]:
        if ask.passed_over:
            return await self._claims.claim_from_others(ask.types, ask.passed_over)
        begun = time.monotonic()
        thorough = begun >= self._next_look
        jobs = await self._claims.claim(ask.types, ask.most, thorough=thorough)
        if thorough:
            now = time.monotonic()
            self._next_look = now + max(SHORTEST_LOOK_S, LOOK_SHARE * (now - begun))
        return jobs

    async def _release_strangers(self) -> None:
        """What is booked on us and not in our hands: the answer to that claim was lost on the way."""
        known = {run.job.id for run in self._running.values()}
        for job in await self._queue.held():
            if job.id not in known:
                await self._release_stranger(job)
        self._in_doubt = False

    async def _release_stranger(self, job: Job) -> None:
        try:
            with suppress(LeaseLost), tracing(job.trace):
                await self._queue.release(job, LOST_ANSWER)
        except Exception as error:
            if passes_by_itself(error):
                raise
            logger.exception("job left to its lease", extra=labels(job))

    async def _reclaim_always(self) -> Never:
        """The first time at once: a worker that starts again after a crash takes back what it held."""

        async def turn() -> None:
            try:
                await self._reclaim_all()
            except Exception as error:
                if passes_by_itself(error):
                    raise
                logger.exception("leases that are over were not looked for")
            await asyncio.sleep(self._settings.reclaim_interval.total_seconds())

        await retried_forever(turn, self._settings.retry_delay, logger)

    async def _reclaim_all(self) -> None:
        dead = await asyncio.to_thread(self._presence.dead) if self._presence else ()
        passed_over: set[UUID] = set()
        while True:
            try:
                job = await self._queue.reclaim(Dead(dead, passed_over))
            except NotReclaimed as error:  # by itself it is tried again in the next turn
                logger.exception("job not reclaimed", extra=labels(error.job))
                passed_over.add(error.job.id)
                continue
            if job is None:
                break
            logger.warning("job reclaimed", extra=labels(job))
        if self._presence and dead and not passed_over:
            await asyncio.to_thread(self._presence.forget, dead)

    async def _heed_stops(self) -> Never:
        """Somebody took a running job away: the next heartbeat tells whether it was ours."""
        while True:
            if await self._stops.wait(HOUR):
                self._heart.beat_now()

    def _start(self, job: Job, slot: Slot = Slot.USUAL) -> None:
        run = Run(job, slot)
        self._heart.hold(run.lease)
        if job.trace == current_trace():
            task = asyncio.create_task(self._attend(run))
        else:
            with tracing(job.trace):  # the task keeps it
                task = asyncio.create_task(self._attend(run))
        run.task = task
        self._running[task] = run

    async def _attend(self, run: Run) -> None:
        try:
            await self._attendance.attend(run)
        finally:
            if run.task:
                del self._running[run.task]
            self._heart.drop(run.lease)
            self._wakeup.wake()

    async def _give_back(self) -> None:
        await asyncio.sleep(0)  # a task that never began could not give anything back
        for run in self._running.values():
            run.interrupt()
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=self._settings.stop_grace.total_seconds())
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
