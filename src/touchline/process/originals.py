"""Downloads an original to this machine in bounded steps.

Invariant: memory stays flat whatever its size; an unavailable object store is never mistaken for a missing original.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from touchline.kernel import LimitExceeded, NotFound, Unavailable, format_bytes
from touchline.platform.files import open_file
from touchline.platform.objects.store import ObjectStore

DISK_SPACE_FACTOR = 2.2  # the original, what is made from it, and a reserve


class OriginalMissing(NotFound):
    next_step = "Upload the video again; its original is gone."


class OriginalReplaced(OriginalMissing):
    next_step = "Upload the new file as a video of its own; the original of this video was replaced."


class OriginalTooLarge(LimitExceeded):
    next_step = "Send a smaller file, or raise `process.largest_original`."


async def fetch_original(
    objects: ObjectStore, key: str, target: Path, largest: int, report: Callable[[float], None]
) -> str:
    """Into a new file; returns its digest. `report` gets the share that was downloaded."""
    try:
        size_bytes = (await objects.head(key)).size_bytes
        if size_bytes > largest:
            raise OriginalTooLarge(
                "the original is too large",
                why=f"it has {format_bytes(size_bytes)}; the limit is {format_bytes(largest)}",
            )
        await asyncio.to_thread(_require_disk_space, target.parent, int(size_bytes * DISK_SPACE_FACTOR))
        return await _copy(objects, key, target, lambda done: report(done / size_bytes))
    except NotFound as error:
        raise OriginalMissing("the original is missing", why=f"there is no object {key}") from error


def require_same_original(made_from: str | None, digest: str) -> None:
    """What is made from one original must not be mixed with what is made from another. None: unknown."""
    if made_from not in {None, digest}:
        raise OriginalReplaced("the original was replaced", why="the video was transcoded from a different file")


def _require_disk_space(folder: Path, size_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size_bytes:
        raise Unavailable(
            "not enough disk space for the original on this machine",
            why=f"{size_bytes} bytes are needed, {free} are free",
            hint="Free disk space under `process.scratch`; the job is retried automatically.",
        )


async def _copy(objects: ObjectStore, key: str, target: Path, report: Callable[[int], None]) -> str:
    done, digest = 0, hashlib.blake2b(digest_size=16)
    async with open_file(target, "xb") as file:
        async for chunk in objects.stream(key):
            await asyncio.to_thread(_write_chunk, file, digest, chunk)
            done += len(chunk)
            report(done)
        await asyncio.to_thread(file.flush)
    return digest.hexdigest()


def _write_chunk(file: BinaryIO, digest: hashlib.blake2b, chunk: bytes) -> None:
    file.write(chunk)
    digest.update(chunk)
