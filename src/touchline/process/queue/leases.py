"""Leases of claimed jobs, and the thread that renews all leases of a worker with one statement.

Invariant: a lease that the database refuses, or that could not be renewed in time, is lost, and its work is
stopped on the worker's own event loop. The database's clock decides; ours only stops what would be refused
anyway.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TypeVar

from touchline.kernel import LeaseLost
from touchline.platform.postgres.database import Wakeup
from touchline.platform.retry import retry_transient
from touchline.process.settings import WorkerSettings

from .jobs import Job
from .service import Queue

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
        """The job has ended: the lease can no longer be lost."""
        self._closed = True

    def lose(self) -> None:
        if not self._closed:
            self.close()
            self.lost = True
            logger.warning("lease lost", extra={"job_id": str(self.job.id), "attempt": self.job.attempt})
            self._on_lost()

    def refuse(self) -> None:
        """A heartbeat found that we no longer hold the job. While its end is being recorded that means nothing: the
        heartbeat may have seen that end, and the response to it decides."""
        if not self._ending:
            self.lose()

    async def retry_while_held(self, act: Callable[[], Awaitable[Answer]], retry_delay: timedelta) -> Answer:
        """Records how the job ended. Retries transient errors for as long as the lease is held."""
        self._ending = True

        async def act_while_held() -> Answer:
            if self.lost:
                why = "the database was unavailable for too long"
                raise LeaseLost(f"the lease of job {self.job.id} has expired", why=why)
            return await act()

        def warn(error: Exception) -> None:
            logger.warning(
                "retrying to record the end of a job", extra={"job_id": str(self.job.id), "reason": str(error)}
            )

        return await retry_transient(act_while_held, retry_delay, warn)


class Heartbeats:
    def __init__(self, queue: Queue, settings: WorkerSettings) -> None:
        self._queue = queue
        self._settings = settings
        self._leases: set[Lease] = set()
        self._stopping = False
        self._wakeup: Wakeup | None = None
        self._thread_loop: asyncio.AbstractEventLoop | None = None

    def add(self, lease: Lease) -> None:
        self._leases.add(lease)

    def remove(self, lease: Lease) -> None:
        lease.close()
        self._leases.discard(lease)

    def renew_now(self) -> None:
        """A job may have been cancelled. May be called from any thread."""
        if self._thread_loop and self._wakeup:
            self._thread_loop.call_soon_threadsafe(self._wakeup.wake)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        main = asyncio.get_running_loop()
        ready = asyncio.Event()
        thread = threading.Thread(
            target=lambda: asyncio.run(self._renew_forever(main, ready)), name="heartbeats", daemon=True
        )
        thread.start()
        await ready.wait()
        try:
            yield
        finally:
            self._stopping = True
            self.renew_now()
            await asyncio.to_thread(thread.join)

    async def _renew_forever(self, main: asyncio.AbstractEventLoop, ready: asyncio.Event) -> None:
        self._thread_loop, self._wakeup = asyncio.get_running_loop(), Wakeup()
        main.call_soon_threadsafe(ready.set)
        async with self._queue.dedicated() as queue:
            while not self._stopping:
                await self._wakeup.wait(self._settings.heartbeat_interval)
                if self._leases and not self._stopping:
                    await self._renew(queue, main)

    async def _renew(self, queue: Queue, main: asyncio.AbstractEventLoop) -> None:
        held, asked = list(self._leases), time.monotonic()
        try:
            async with asyncio.timeout(self._settings.heartbeat_interval.total_seconds()):
                kept = await queue.heartbeats([lease.job for lease in held])
        except Exception as error:  # no response: we hold them until they expire
            logger.warning("heartbeat failed", extra={"jobs": len(held), "reason": str(error)})
            end = time.monotonic() - queue.lease.total_seconds()
            for lease in held:
                if lease.renewed_at <= end:
                    main.call_soon_threadsafe(lease.lose)
        else:
            # A job that we lost and claimed again is held twice: only the later attempt is still ours.
            latest = {lease.job.id: lease for lease in sorted(held, key=lambda lease: lease.job.attempt)}
            refused = [lease for lease in held if lease.job.id not in kept or latest[lease.job.id] is not lease]
            for lease in held:
                lease.renewed_at = asked  # the time before the request: the database counts from a later one
            for lease in refused:
                main.call_soon_threadsafe(lease.refuse)
