"""One claim of a job: whose it is, until when, and what stops when it is lost.

Invariant: a lease that was lost, or that could not be renewed in time, stops the work. The database's clock decides;
ours only ends what would be refused anyway.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from touchline.kernel.errors import LeaseLost
from touchline.platform.retry import delay_seconds, passes_by_itself

from .model import Job

Answer = TypeVar("Answer")

logger = logging.getLogger(__name__)


class Lease:
    __slots__ = ("_closed", "_ending", "_on_lost", "job", "lost", "renewed_at")

    def __init__(self, job: Job, on_lost: Callable[[], object]) -> None:
        self.job = job
        self.lost = False
        self.renewed_at = time.monotonic()
        self._closed = self._ending = False
        self._on_lost = on_lost

    def close(self) -> None:
        """The job has ended: there is nothing left to lose."""
        self._closed = True

    def lose(self) -> None:
        if not self._closed:
            self.close()
            self.lost = True
            logger.warning("lease lost", extra={"job_id": str(self.job.id), "attempt": self.job.attempt})
            self._on_lost()

    def refuse(self) -> None:
        """A heartbeat found it with nobody or with another. While an end is being written down that says nothing: it
        may have seen that end, whose answer is still on its way and decides."""
        if not self._ending:
            self.lose()

    async def insist(self, act: Callable[[], Awaitable[Answer]], retry_delay: timedelta) -> Answer:
        """Writes down how the job ended. Tries again while parts are away, as long as the lease lasts."""
        self._ending = True
        failures = 0
        while not self.lost:
            try:
                return await act()
            except Exception as error:
                if not passes_by_itself(error):
                    raise
                logger.warning("trying again", extra={"job_id": str(self.job.id), "reason": str(error)})
            await asyncio.sleep(delay_seconds(retry_delay, failures))
            failures += 1
        raise LeaseLost(f"the lease of job {self.job.id} is over", why="the database was away for too long")
