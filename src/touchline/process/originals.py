"""Brings an original to this machine, in bounded steps.

Invariant: memory stays flat whatever its size; a part that is away is never taken for a missing original.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from touchline.kernel.errors import LimitExceeded, NotFound, Unavailable
from touchline.platform.objects.store import ObjectStore
from touchline.platform.opening import opened

ROOM = 2.2  # the original, what is made of it, and a little


class OriginalMissing(NotFound):
    next_step = "Upload the video again; its original is gone."


class OriginalReplaced(OriginalMissing):
    next_step = "Upload the new video for itself; the original of this one was replaced."


class OriginalTooLarge(LimitExceeded):
    next_step = "Send a smaller file, or raise `process.largest_original`."


async def fetch_original(
    objects: ObjectStore, key: str, target: Path, largest: int, tell: Callable[[float], None]
) -> str:
    """Into a new file; answers its digest. `tell` gets the share that has arrived."""
    try:
        size_bytes = (await objects.head(key)).size_bytes
        if size_bytes > largest:
            raise OriginalTooLarge("the original is too large", why=f"it has {size_bytes} bytes, {largest} are allowed")
        await asyncio.to_thread(_require_room, target.parent, int(size_bytes * ROOM))
        return await _copy(objects, key, target, lambda done: tell(done / size_bytes))
    except NotFound as error:
        raise OriginalMissing("the original is missing", why=f"there is no object {key}") from error


def require_same(made_of: str | None, digest: str) -> None:
    """What is made of one original must not be mixed with what is made of another. None: nobody knows any more."""
    if made_of not in {None, digest}:
        raise OriginalReplaced(
            "the original is another one", why="the video was made playable from what was there before"
        )


def _require_room(folder: Path, size_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size_bytes:
        raise Unavailable(
            "there is no room for the original on this machine",
            why=f"{size_bytes} bytes are needed, {free} are free",
            hint="Make room on the disk of `process.scratch`; the job is tried again by itself.",
        )


async def _copy(objects: ObjectStore, key: str, target: Path, tell: Callable[[int], None]) -> str:
    done, digest = 0, hashlib.blake2b(digest_size=16)
    async with opened(target, "xb") as file:
        async for chunk in objects.stream(key):
            await asyncio.to_thread(_take, file, digest, chunk)
            done += len(chunk)
            tell(done)
        await asyncio.to_thread(file.flush)
    return digest.hexdigest()


def _take(file: BinaryIO, digest: hashlib.blake2b, chunk: bytes) -> None:
    file.write(chunk)
    digest.update(chunk)
