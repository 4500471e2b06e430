"""Background work that rests while something more urgent is done.

Invariant: what rests uses no processor, and its time by the clock does not go on. It is ended like any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakSet


class Pausable(Protocol):
    """A process; one that has ended hears nothing."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...


class Pause:
    """For all that is started in the background of one sandbox, also while it lasts."""

    def __init__(self) -> None:
        self.is_on = False
        self.waiting = 0  # how many are about to start a process
        self._ended = asyncio.Event()
        self._processes: WeakSet[Pausable] = WeakSet()
        self._timeouts: dict[asyncio.Timeout, float | None] = {}  # with what was left when the pause began

    def begin(self) -> None:
        if not self.is_on:
            self.is_on = True
            self._ended.clear()
            for timeout in self._timeouts:
                self._stop(timeout)
            for process in self._processes:
                process.pause()

    def end(self) -> None:
        if self.is_on:
            self.is_on = False
            self._ended.set()
            for timeout in self._timeouts:
                self._go_on(timeout)
            for process in self._processes:
                process.resume()

    async def wait_until_ended(self) -> None:
        """Who is about to start a process starts it after this, in the same step: one that is started and then stopped
        has worked in between."""
        self.waiting += 1
        try:
            while self.is_on:
                await self._ended.wait()
        finally:
            self.waiting -= 1

    def add(self, process: Pausable) -> None:
        """From now on, as long as somebody holds it."""
        self._processes.add(process)
        if self.is_on:
            process.pause()

    @contextmanager
    def stopping(self, timeout: asyncio.Timeout) -> Generator[None]:
        """Inside of a time-out that is not to count the pauses."""
        self._timeouts[timeout] = None
        if self.is_on:
            self._stop(timeout)
        try:
            yield
        finally:
            del self._timeouts[timeout]

    def _stop(self, timeout: asyncio.Timeout) -> None:
        when = timeout.when()
        if when is not None and not timeout.expired():
            self._timeouts[timeout] = when - asyncio.get_running_loop().time()
            timeout.reschedule(None)

    def _go_on(self, timeout: asyncio.Timeout) -> None:
        left, self._timeouts[timeout] = self._timeouts[timeout], None
        if left is not None and not timeout.expired():
            timeout.reschedule(asyncio.get_running_loop().time() + left)
