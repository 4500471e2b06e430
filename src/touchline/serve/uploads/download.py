"""A completed upload on the local disk, for as long as somebody looks at it.

Invariant: the file has no name, so that nothing of it stays, however the process ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from touchline.kernel.errors import Unavailable
from touchline.platform.objects.store import ObjectStore


@asynccontextmanager
async def downloaded(objects: ObjectStore, key: str, scratch: Path) -> AsyncGenerator[int]:
    """Its descriptor. The size was checked when the parts were put together."""
    try:
        file = TemporaryFile(dir=scratch)  # noqa: SIM115  made on a thread it would get lost when we are cancelled
    except OSError as error:
        raise _no_room(error) from error
    try:
        await _fill(file, objects, key)
        yield file.fileno()
    finally:
        await asyncio.to_thread(_close, file)


async def _fill(file: IO[bytes], objects: ObjectStore, key: str) -> None:
    try:
        async for chunk in objects.stream(key):
            await asyncio.to_thread(file.write, chunk)
        await asyncio.to_thread(file.flush)
    except OSError as error:
        raise _no_room(error) from error


def _close(file: IO[bytes]) -> None:
    """What could not be written is nobody's loss now, and closing tries it once more."""
    with suppress(OSError):
        file.close()


def _no_room(error: OSError) -> Unavailable:
    return Unavailable("not enough disk space to inspect the upload", why=error.strerror or "the disk failed")
