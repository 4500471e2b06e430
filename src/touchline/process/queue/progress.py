"""Tells how far a job is: the latest figure only, and not too often."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Never

from . import rules


class Progress:
    """Costs nothing until a job tells something."""

    __slots__ = ("_moved", "_percent", "_report", "_started_at", "_telling")
    _moved: asyncio.Event

    def __init__(self, report: Callable[[int], Awaitable[None]]) -> None:
        self._report = report
        self._percent = 0
        self._started_at = time.monotonic()
        self._telling: asyncio.Task[Never] | None = None

    def reached(self, percent: int) -> None:
        self._percent = max(self._percent, min(percent, 100))
        if self._telling is None:
            self._moved = asyncio.Event()
            self._telling = asyncio.create_task(self._keep_telling())
        self._moved.set()

    @property
    def is_telling(self) -> bool:
        return self._telling is not None

    async def close(self) -> None:
        if self._telling:
            self._telling.cancel()
            await asyncio.wait([self._telling])

    async def _keep_telling(self) -> Never:
        """Until cancelled."""
        told, told_at = 0, self._started_at
        while True:
            await self._moved.wait()
            self._moved.clear()
            await asyncio.sleep(told_at + rules.SHORTEST_S - time.monotonic())  # what moves meanwhile is told with it
            percent = self._percent
            if rules.is_worth_telling(percent, told, time.monotonic() - told_at):
                await self._report(percent)
                told, told_at = percent, time.monotonic()
