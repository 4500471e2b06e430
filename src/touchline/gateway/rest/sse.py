"""Server-sent events: how they are written, where a client goes on, and what keeps an idle one alive.

Invariant: an id is a position of the log; a client that comes back with it misses nothing and hears nothing twice.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any, TypeVar

MEDIA_TYPE = "text/event-stream"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # a proxy that collects would keep it to itself
HEARTBEAT = ": alive\n\n"
RETRY_MS = 2_000
_POSITION = re.compile(r"[0-9]{1,18}", re.ASCII)

Item = TypeVar("Item")


def frame(name: str, document: Any, position: int) -> str:
    """JSON has no line breaks of its own, so the document is one line of data."""
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return f"id: {position}\nevent: {name}\ndata: {body}\n\n"


def last_position(header: str | None) -> int | None:
    """What a client says it has heard last; what is no position counts as nothing."""
    return int(header) if header is not None and _POSITION.fullmatch(header) else None


async def with_pauses(items: AsyncGenerator[Item], pause: timedelta) -> AsyncGenerator[Item | None]:
    """Every item as it comes, and None whenever none came for a while."""
    coming: asyncio.Task[Item] | None = None
    try:
        while True:
            coming = coming or asyncio.create_task(anext(items), name="next event")  # pyright: ignore[reportArgumentType]
            done, _ = await asyncio.wait({coming}, timeout=pause.total_seconds())
            if not done:
                yield None
                continue
            try:
                item = coming.result()
            except StopAsyncIteration:
                return
            coming = None
            yield item
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        await items.aclose()
