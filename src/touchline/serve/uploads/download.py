"""A completed upload on the local disk, for as long as somebody looks at it.

Invariant: the file has no name, so that nothing of it stays, however the process ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_UN, flock
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from touchline.kernel.errors import Unavailable
from touchline.platform.objects.store import ObjectStore


@dataclass(frozen=True, slots=True)
class Download:
    descriptor: int
    whole: asyncio.Task[None]  # until then the file is locked


@asynccontextmanager
async def downloading(objects: ObjectStore, key: str, scratch: Path) -> AsyncGenerator[Download]:
    """It arrives while its reader gets ready. The size was checked when the parts were put together."""
    try:
        file = TemporaryFile(dir=scratch)  # noqa: SIM115  made on a thread it would get lost when we are cancelled
    except OSError as error:
        raise _no_room(error) from error
    flock(file, LOCK_EX)
    filling = asyncio.create_task(_fill(file, objects, key))
    try:
        yield Download(file.fileno(), filling)
    finally:
        filling.cancel()
        await asyncio.gather(filling, return_exceptions=True)  # whoever waited for it was told
        await asyncio.to_thread(file.close)


async def _fill(file: IO[bytes], objects: ObjectStore, key: str) -> None:
    try:
        async for chunk in objects.stream(key):
            await asyncio.to_thread(file.write, chunk)
        await asyncio.to_thread(file.flush)
    except OSError as error:
        raise _no_room(error) from error
    flock(file, LOCK_UN)


def _no_room(error: OSError) -> Unavailable:
    return Unavailable("there is no room to look at the upload", why=error.strerror or "the disk failed")
