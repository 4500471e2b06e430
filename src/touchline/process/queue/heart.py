"""The heartbeats of one worker: all its leases in one statement, from a thread that its work cannot starve.

Invariant: a lease that the database refuses, or that was not renewed for as long as it lasts, is lost on the worker's
own loop, where its work is stopped.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from touchline.platform.postgres.wakeups import Wakeup

from .lease import Lease
from .service import Queue
from .settings import WorkerSettings

logger = logging.getLogger(__name__)


class Heart:
    def __init__(self, queue: Queue, settings: WorkerSettings) -> None:
        self._queue = queue
        self._settings = settings
        self._leases: set[Lease] = set()
        self._stopping = False
        self._wakeup: Wakeup | None = None
        self._thread_loop: asyncio.AbstractEventLoop | None = None

    def hold(self, lease: Lease) -> None:
        self._leases.add(lease)

    def drop(self, lease: Lease) -> None:
        lease.close()
        self._leases.discard(lease)

    def beat_now(self) -> None:
        """Somebody may have taken a job from us. From any thread."""
        if self._thread_loop and self._wakeup:
            self._thread_loop.call_soon_threadsafe(self._wakeup.wake)

    @asynccontextmanager
    async def beating(self) -> AsyncGenerator[None]:
        main = asyncio.get_running_loop()
        ready = asyncio.Event()
        thread = threading.Thread(
            target=lambda: asyncio.run(self._beat_always(main, ready)), name="heartbeats", daemon=True
        )
        thread.start()
        await ready.wait()
        try:
            yield
        finally:
            self._stopping = True
            self.beat_now()
            await asyncio.to_thread(thread.join)

    async def _beat_always(self, main: asyncio.AbstractEventLoop, ready: asyncio.Event) -> None:
        self._thread_loop, self._wakeup = asyncio.get_running_loop(), Wakeup()
        main.call_soon_threadsafe(ready.set)
        async with self._queue.alone() as queue:
            while not self._stopping:
                await self._wakeup.wait(self._settings.heartbeat_interval)
                if self._leases and not self._stopping:
                    await self._beat(queue, main)

    async def _beat(self, queue: Queue, main: asyncio.AbstractEventLoop) -> None:
        held, asked = list(self._leases), time.monotonic()
        try:
            async with asyncio.timeout(self._settings.heartbeat_interval.total_seconds()):
                kept = await queue.heartbeats([lease.job for lease in held])
        except Exception as error:  # nobody answered: they stay ours until their time is over
            logger.warning("heartbeat failed", extra={"jobs": len(held), "reason": str(error)})
            end = time.monotonic() - queue.lease.total_seconds()
            for lease in held:
                if lease.renewed_at <= end:
                    main.call_soon_threadsafe(lease.lose)
        else:
            # One that we lost and got again is held twice: what is still ours is the later attempt.
            latest = {lease.job.id: lease for lease in sorted(held, key=lambda lease: lease.job.attempt)}
            refused = [lease for lease in held if lease.job.id not in kept or latest[lease.job.id] is not lease]
            for lease in held:
                lease.renewed_at = asked  # from before the request: the database counts from a moment that is later
            for lease in refused:
                main.call_soon_threadsafe(lease.refuse)
