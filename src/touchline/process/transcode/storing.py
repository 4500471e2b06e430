"""Files on their way into the store, while more of them are made.

Invariant: a failure takes away what was stored of its attempt; what a killed worker leaves is named by nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from touchline.kernel.errors import Unavailable
from touchline.media.model import OutputFile
from touchline.platform.objects.store import ObjectStore

from . import rules


@dataclass(frozen=True, slots=True)
class Attempt:
    video_id: UUID
    number: int


@dataclass(slots=True)
class Storing:
    """A few lanes that take from one queue: a long video has thousands of segments."""

    objects: ObjectStore
    attempt: Attempt
    folder: Path
    told: Callable[[float], None]  # the share that is stored, once it is known how much there is
    _waiting: asyncio.Queue[OutputFile | None] = field(default_factory=asyncio.Queue[OutputFile | None])
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
            key = rules.proxy_key(self.attempt.video_id, self.attempt.number, file.path)
            await self.objects.put_new(key, self.folder / file.path, content_type=rules.content_type(key))
            self._stored += 1
            if self._all:
                self.told(self._stored / self._all)


@asynccontextmanager
async def undone_on_failure(objects: ObjectStore, attempt: Attempt) -> AsyncGenerator[None]:
    """Not on a cancellation: whoever stops a worker does not wait for the store."""
    try:
        yield
    except Exception:
        with suppress(Unavailable):
            for prefix in rules.attempt_prefixes(attempt.video_id, attempt.number):
                await objects.delete_prefix(prefix)
        raise
