"""Files on their way into the store, while more of them are made.

Invariant: a master playlist is stored after all that was made before it. A failure takes away what was stored of its
attempt, unless people watch it already; what a killed worker leaves is named by nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from uuid import UUID

from touchline.kernel.errors import Unavailable
from touchline.media.model import FIRST_MASTER, MASTER, OutputFile
from touchline.platform.objects.store import ObjectStore

from . import rules

MASTERS = (FIRST_MASTER, MASTER)


@dataclass(slots=True)
class Attempt:
    video_id: UUID
    number: int
    is_published: bool = False


@dataclass(slots=True)
class Storing:
    """A few lanes that take from one queue: a long video has thousands of segments."""

    objects: ObjectStore
    attempt: Attempt
    folder: Path
    told: Callable[[float], None]  # the share that is stored, once it is known how much there is
    masters: asyncio.Queue[str] = field(default_factory=asyncio.Queue[str])  # stored, with all that they name
    _waiting: asyncio.Queue[OutputFile | None] = field(default_factory=asyncio.Queue[OutputFile | None])
    _numbers: Iterator[int] = field(default_factory=count)
    _under_way: set[int] = field(default_factory=set[int])
    _moved: asyncio.Condition = field(default_factory=asyncio.Condition)
    _all: int = 0
    _stored: int = 0

    def take(self, file: OutputFile) -> None:
        self._waiting.put_nowait(file)

    def finish(self, count: int, lanes: int) -> None:
        self._all = count
        self.told(self._stored / count)
        for _ in range(lanes):
            self._waiting.put_nowait(None)

    async def lane(self) -> None:
        while file := await self._waiting.get():
            number = next(self._numbers)
            self._under_way.add(number)
            await self._store(file, number)
            async with self._moved:
                self._under_way.remove(number)
                self._moved.notify_all()
            self._stored += 1
            if self._all:
                self.told(self._stored / self._all)

    async def _store(self, file: OutputFile, number: int) -> None:
        if file.path in MASTERS:
            async with self._moved:
                await self._moved.wait_for(lambda: min(self._under_way) == number)
        key = rules.proxy_key(self.attempt.video_id, self.attempt.number, file.path)
        await self.objects.put_new(key, self.folder / file.path, content_type=rules.content_type(key))
        if file.path in MASTERS:
            self.masters.put_nowait(file.path)


@asynccontextmanager
async def undone_on_failure(objects: ObjectStore, attempt: Attempt) -> AsyncGenerator[None]:
    """Not on a cancellation: whoever stops a worker does not wait for the store."""
    try:
        yield
    except Exception:
        if not attempt.is_published:
            with suppress(Unavailable):
                for prefix in rules.attempt_prefixes(attempt.video_id, attempt.number):
                    await objects.delete_prefix(prefix)
        raise
