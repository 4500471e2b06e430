"""Local files: opened in a thread, closed whatever happens; and how many a process may have open."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal

LARGEST_OPEN_FILES = 1024 * 1024  # where the system says that there is no limit


def raise_open_files_limit() -> int:
    """As many files as the system allows this process: its default is from the days of `select`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = LARGEST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, LARGEST_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # a system that promises more than it gives
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@asynccontextmanager
async def opened(path: Path, mode: Literal["rb", "xb"]) -> AsyncGenerator[BinaryIO]:
    """Whoever is cancelled while it is being opened will not get it: then it is closed as soon as it is open."""
    opening = asyncio.ensure_future(asyncio.to_thread(path.open, mode))
    try:
        file = await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close)
        raise
    try:
        yield file
    finally:
        await asyncio.to_thread(file.close)


def _close(opening: asyncio.Future[BinaryIO]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
