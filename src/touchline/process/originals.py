"""Brings an original to this machine, in bounded steps.

Invariant: memory stays flat whatever its size; a part that is away is never taken for a missing original.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from fcntl import LOCK_EX, LOCK_UN, flock
from pathlib import Path
from typing import BinaryIO

from touchline.kernel.errors import LimitExceeded, NotFound, Unavailable
from touchline.platform.objects.store import ObjectStore

ROOM = 2.2  # the original, what is made of it, and a little


class OriginalMissing(NotFound):
    next_step = "Upload the video again; its original is gone."


class OriginalTooLarge(LimitExceeded):
    next_step = "Send a smaller file, or raise `process.largest_original`."


@asynccontextmanager
async def fetching_original(
    objects: ObjectStore, key: str, target: Path, largest: int, tell: Callable[[float], None]
) -> AsyncGenerator[asyncio.Task[None]]:
    """It arrives while its reader gets ready: locked until the task is done. `tell` gets the share that has arrived."""
    with await asyncio.to_thread(target.open, "xb") as file:
        flock(file, LOCK_EX)
        fetching = asyncio.create_task(_fetch(objects, key, file, largest, tell))
        try:
            yield fetching
        finally:
            fetching.cancel()
            await asyncio.gather(fetching, return_exceptions=True)  # whoever waited for it was told


async def _fetch(objects: ObjectStore, key: str, file: BinaryIO, largest: int, tell: Callable[[float], None]) -> None:
    try:
        size_bytes = (await objects.head(key)).size_bytes
        if size_bytes > largest:
            raise OriginalTooLarge("the original is too large", why=f"it has {size_bytes} bytes, {largest} are allowed")
        await asyncio.to_thread(_require_room, Path(file.name).parent, int(size_bytes * ROOM))
        await _copy(objects, key, file, lambda done: tell(done / size_bytes))
    except NotFound as error:
        raise OriginalMissing("the original is missing", why=f"there is no object {key}") from error
    flock(file, LOCK_UN)


def _require_room(folder: Path, size_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size_bytes:
        raise Unavailable(
            "there is no room for the original on this machine",
            why=f"{size_bytes} bytes are needed, {free} are free",
            hint="Make room on the disk of `process.scratch`; the job is tried again by itself.",
        )


async def _copy(objects: ObjectStore, key: str, file: BinaryIO, tell: Callable[[int], None]) -> None:
    done = 0
    async for chunk in objects.stream(key):
        await asyncio.to_thread(file.write, chunk)
        done += len(chunk)
        tell(done)
    await asyncio.to_thread(file.flush)
