"""Health and metrics of a process that has no other way to be asked.

Invariant: alive says nothing about other parts, so that nobody restarts us because the database is away.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from touchline.kernel.errors import Misconfigured
from touchline.platform.http_server import HostCheck, HttpLimits

from .running import Server

CHECK_S = 3.0
FEW_CONNECTIONS = 100
JSON = "application/json"

logger = logging.getLogger(__name__)


@asynccontextmanager
async def answering(host: str, port: int, check: Callable[[], Awaitable[object]]) -> AsyncGenerator[None]:
    """`/health/live`, `/health/ready` and `/metrics`, as long as the block runs. Ready means that the check passes."""
    with _listening(host, port) as listener:
        app = HostCheck(HealthApp(check), [host])
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none", proxy_headers=False)
        server = Server(config, HttpLimits(connections=FEW_CONNECTIONS))
        running = asyncio.create_task(server.serve([listener]))
        try:
            yield
        finally:
            server.stop()
            await running


def _listening(host: str, port: int) -> socket.socket:
    """Bound here and not by the server, which would end the process without a word of ours."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        hint = "Give each worker on one machine a `worker.port` of its own."
        raise Misconfigured(f"{host}:{port} cannot be listened on", why=error.strerror or "", hint=hint) from error


@dataclass(frozen=True, slots=True)
class HealthApp:
    check: Callable[[], Awaitable[object]]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        status, content_type, body = await self._answer(scope["path"])
        headers = [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, path: str) -> tuple[int, str, bytes]:
        match path:
            case "/health/live":
                return 200, JSON, b'{"status": "live"}'
            case "/health/ready":
                ready = await self._is_ready()
                return 200 if ready else 503, JSON, json.dumps({"status": "ready" if ready else "not ready"}).encode()
            case "/metrics":
                return 200, CONTENT_TYPE_LATEST, generate_latest()
            case _:
                return 404, JSON, b'{"status": "no such page"}'

    async def _is_ready(self) -> bool:
        """Whatever goes wrong means no; why is for the log."""
        try:
            async with asyncio.timeout(CHECK_S):
                await self.check()
        except Exception as error:
            logger.warning("not ready", extra={"reason": f"{type(error).__name__}: {error}"})
            return False
        return True
