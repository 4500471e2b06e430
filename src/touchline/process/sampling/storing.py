"""Pictures on their way into the store, while more of them are taken.

Invariant: a picture that is stored takes no room here any more; a failure takes away what was stored of its attempt.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from touchline.kernel.errors import Unavailable
from touchline.media.model import OutputFile
from touchline.platform.objects.keys import ObjectKey
from touchline.platform.objects.store import ObjectStore

from . import rules

PICTURE = ".jpg"


@dataclass(slots=True)
class PictureStoring:
    objects: ObjectStore
    folder: Path
    key: Callable[[str], ObjectKey]
    told: Callable[[float], None]  # the share that is stored, once it is known how many there are
    _waiting: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue[str | None])
    _all: int = 0
    _stored: int = 0

    def take(self, file: OutputFile) -> None:
        if file.path.endswith(PICTURE):
            self._waiting.put_nowait(file.path)

    def finish(self, count: int, lanes: int) -> None:
        self._all = count
        for _ in range(lanes):
            self._waiting.put_nowait(None)

    async def lane(self) -> None:
        while name := await self._waiting.get():
            path = self.folder / name
            await self.objects.put_new(self.key(name), path, content_type=rules.PICTURE_TYPE)
            await asyncio.to_thread(os.truncate, path, 0)  # whoever made it still counts its files
            self._stored += 1
            if self._all:
                self.told(self._stored / self._all)


@asynccontextmanager
async def undone_on_failure(objects: ObjectStore, prefix: ObjectKey) -> AsyncGenerator[None]:
    """Not on a cancellation: whoever stops a worker does not wait for the store."""
    try:
        yield
    except Exception:
        with suppress(Unavailable):
            await objects.delete_prefix(prefix)
        raise
