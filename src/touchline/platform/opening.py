"""Local files for coroutines: opened in a thread, closed whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO, Literal


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
