"""Completions that change nothing but their jobs: those that come while one is under way go together in the next.

Invariant: each waits for its own answer; what the database refused is a lost lease, what nobody answered is tried again
by whoever waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from touchline.kernel.errors import LeaseLost

from .model import Done
from .service import Queue

MOST = 1000  # in one statement


class Completions:
    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._waiting: list[tuple[Done, asyncio.Future[None]]] = []
        self._flushing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def connected(self) -> AsyncGenerator[None]:
        """By a connection of its own."""
        async with self._queue.alone() as self._queue:
            yield

    def complete(self, done: Done) -> asyncio.Future[None]:
        """Ends when it is written down."""
        answer = asyncio.get_running_loop().create_future()
        self._waiting.append((done, answer))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        return answer

    async def _flush(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            try:
                refused = await self._queue.complete_all([done for done, _ in batch])
            except Exception as error:
                _answer_all(batch, error)
                continue
            for done, answer in batch:
                if answer.done():
                    continue
                if refused and done.job.id in refused:
                    answer.set_exception(LeaseLost(f"attempt {done.job.attempt} no longer holds job {done.job.id}"))
                else:
                    answer.set_result(None)


def _answer_all(batch: list[tuple[Done, asyncio.Future[None]]], error: Exception) -> None:
    for _, answer in batch:
        if not answer.done():
            answer.set_exception(error)
