"""One claim of a job, kept alive by heartbeats while its work runs.

Invariant: a lease that was lost, or that could not be renewed in time, stops the work. The database's clock decides;
ours only ends what would be refused anyway.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from touchline.kernel.errors import LeaseLost
from touchline.platform.retry import delay_seconds, passes_by_itself

from .model import Job
from .service import Queue

Answer = TypeVar("Answer")

logger = logging.getLogger(__name__)


class Lease:
    def __init__(self, queue: Queue, job: Job, retry_delay: timedelta) -> None:
        self.job = job
        self.lost = False
        self._closed = False
        self._queue = queue
        self._retry_delay = retry_delay
        self._on_lost: Callable[[], object] = lambda: None
        self._end = self._ends_after(asyncio.get_running_loop().time())

    def when_lost(self, stop: Callable[[], object]) -> None:
        self._on_lost = stop
        if self.lost:
            stop()

    def close(self) -> None:
        """The job has ended: there is nothing left to lose."""
        self._closed = True
        self._end.cancel()

    def lose(self) -> None:
        if not self._closed:
            self.close()
            self.lost = True
            logger.warning("lease lost", extra={"job_id": str(self.job.id), "attempt": self.job.attempt})
            self._on_lost()

    async def keep(self, interval: timedelta) -> None:
        """Heartbeats until the job has ended or is lost."""
        while not self._closed:
            await asyncio.sleep(interval.total_seconds())
            await self.beat()

    async def beat(self) -> None:
        asked = asyncio.get_running_loop().time()
        try:
            held = await self._queue.heartbeat(self.job)
        except Exception as error:  # nobody answered: it stays ours until its time is over
            logger.warning("heartbeat failed", extra={"job_id": str(self.job.id), "reason": str(error)})
            return
        if not held:
            self.lose()
        elif not self._closed:
            self._end.cancel()
            self._end = self._ends_after(asked)

    async def insist(self, act: Callable[[], Awaitable[Answer]]) -> Answer:
        """Tries again while parts are away, as long as the lease lasts."""
        failures = 0
        while not self.lost:
            try:
                return await act()
            except Exception as error:
                if not passes_by_itself(error):
                    raise
                logger.warning("trying again", extra={"job_id": str(self.job.id), "reason": str(error)})
            await asyncio.sleep(delay_seconds(self._retry_delay, failures))
            failures += 1
        raise LeaseLost(f"the lease of job {self.job.id} is over", why="the database was away for too long")

    def _ends_after(self, asked: float) -> asyncio.TimerHandle:
        """Counted from before the request: the database counts from a moment that is later."""
        return asyncio.get_running_loop().call_at(asked + self._queue.lease.total_seconds(), self.lose)
