"""Completions that change nothing but their jobs: those that come while one is under way go together in the next.

Invariant: each waits for its own answer; what the database refused is a lost lease, what nobody answered is tried again
by whoever waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

from touchline.kernel.errors import LeaseLost
from touchline.platform.retry import passes_by_itself

from .model import Done
from .service import Queue

MOST = 1000  # in one statement

Waiting = tuple[Done, asyncio.Future[None]]


class Completions:
    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._waiting: list[Waiting] = []
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
                if len(batch) == 1 or passes_by_itself(error):
                    _answer_all(batch, error)
                else:  # one of them cannot be written down; which one, and the others, are seen one by one
                    await self._flush_each(batch)
                continue
            _answer(batch, refused)

    async def _flush_each(self, batch: Sequence[Waiting]) -> None:
        for waiting in batch:
            try:
                _answer([waiting], await self._queue.complete_all([waiting[0]]))
            except Exception as error:
                _answer_all([waiting], error)


def _answer(batch: Sequence[Waiting], refused: Collection[UUID]) -> None:
    for done, answer in batch:
        if answer.done():
            continue
        if refused and done.job.id in refused:
            answer.set_exception(LeaseLost(f"attempt {done.job.attempt} no longer holds job {done.job.id}"))
        else:
            answer.set_result(None)


def _answer_all(batch: Sequence[Waiting], error: Exception) -> None:
    for _, answer in batch:
        if not answer.done():
            answer.set_exception(error)
