"""Live connections: how many a tenant may have, and how the gateway ends one.

Invariant: a connection is closed once, with one code; one whose client does not even take that is dropped.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from contextlib import suppress
from datetime import timedelta
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from touchline.gateway.metrics import LIVE_CLOSINGS, LIVE_CONNECTIONS
from touchline.kernel import TenantId

from .closing import Closing

CLOSE_WITHIN = timedelta(seconds=5)


class LiveConnection:
    def __init__(self, websocket: WebSocket, time: asyncio.Timeout) -> None:
        self._websocket = websocket
        self._time = time  # how long it is served
        self._closing: asyncio.Task[None] | None = None
        self._beside: list[asyncio.Task[None]] = []
        self.position = 0  # of the log when the connection said who it is

    @property
    def is_closing(self) -> bool:
        return self._closing is not None

    def close(self, closing: Closing) -> None:
        if self._closing is None:
            LIVE_CLOSINGS.labels(closing.name.lower()).inc()
            self._time.reschedule(asyncio.get_running_loop().time() + CLOSE_WITHIN.total_seconds())
            self._closing = asyncio.create_task(self._close(closing), name="close a live connection")

    def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Work that goes on for as long as the connection is served."""
        self._beside.append(asyncio.create_task(work, name="beside a live connection"))

    async def end(self) -> None:
        """When it is no longer served: lets a close go out, unless there was time enough for it."""
        if self._closing is not None and not self._time.expired():
            await asyncio.wait([self._closing])
        ending = [*self._beside, *([self._closing] if self._closing else [])]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    async def _close(self, closing: Closing) -> None:
        with suppress(RuntimeError, WebSocketDisconnect):  # it is gone already
            await self._websocket.close(closing.code, closing.reason)


class Connections:
    """How many live connections each tenant has at this gateway."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counted: Counter[TenantId] = Counter()

    def enter(self, tenant_id: TenantId) -> bool:
        """False when the tenant has as many as it may."""
        if self._counted[tenant_id] >= self._most:
            return False
        self._counted[tenant_id] += 1
        LIVE_CONNECTIONS.inc()
        return True

    def leave(self, tenant_id: TenantId) -> None:
        LIVE_CONNECTIONS.dec()
        self._counted[tenant_id] -= 1
        if not self._counted[tenant_id]:
            del self._counted[tenant_id]
