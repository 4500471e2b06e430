"""Tells how far a job is: the latest figure only, and not too often."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Never

from . import rules


class Progress:
    def __init__(self) -> None:
        self._percent = 0
        self._moved = asyncio.Event()

    def reached(self, percent: int) -> None:
        self._percent = max(self._percent, min(percent, 100))
        self._moved.set()

    async def keep_telling(self, report: Callable[[int], Awaitable[None]]) -> Never:
        """Until cancelled."""
        told, told_at = 0, time.monotonic()
        while True:
            await self._moved.wait()
            self._moved.clear()
            await asyncio.sleep(told_at + rules.SHORTEST_S - time.monotonic())  # what moves meanwhile is told with it
            percent = self._percent
            if rules.is_worth_telling(percent, told, time.monotonic() - told_at):
                await report(percent)
                told, told_at = percent, time.monotonic()
