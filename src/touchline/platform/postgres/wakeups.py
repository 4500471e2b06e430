"""Wake-ups by NOTIFY, one listening connection per process.

Invariant: a wake-up may be lost or come twice, so it only ever shortens a wait: every waiter also polls.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable
from datetime import timedelta
from weakref import WeakSet

import psycopg
from psycopg import AsyncConnection, sql

RECONNECT_AFTER_SECONDS = 0.5

logger = logging.getLogger(__name__)


class Wakeup:
    """One waiter. What arrives while it works is kept for its next wait."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def wait(self, at_most: timedelta) -> bool:
        """Whether it was woken; false after the timeout."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(at_most.total_seconds()):
                await self._woken.wait()
        woken = self._woken.is_set()
        self._woken.clear()
        return woken


class Wakeups:
    def __init__(self, url: str, channels: Iterable[str]) -> None:
        self._url = url
        self._channels = tuple(channels)
        self._waiting: dict[str, WeakSet[Wakeup]] = defaultdict(WeakSet)

    def subscribe(self, channel: str) -> Wakeup:
        wakeup = Wakeup()
        self._waiting[channel].add(wakeup)
        return wakeup

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncGenerator[Wakeups]:
        task = asyncio.create_task(self._listen_always(), name="wakeups")
        try:
            yield self
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _listen_always(self) -> None:
        while True:
            try:
                await self._listen()
            except (psycopg.Error, OSError) as error:
                logger.warning("reconnecting the listener", extra={"reason": type(error).__name__})
            await asyncio.sleep(RECONNECT_AFTER_SECONDS)

    async def _listen(self) -> None:
        async with await AsyncConnection.connect(self._url, autocommit=True, connect_timeout=5) as connection:
            for channel in self._channels:
                await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                self._wake(channel)  # a notification may have been missed before LISTEN
            async for notification in connection.notifies():
                self._wake(notification.channel)

    def _wake(self, channel: str) -> None:
        for wakeup in self._waiting[channel]:
            wakeup.wake()
