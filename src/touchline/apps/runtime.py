"""What every role process has: stop signals, background loops, and a health endpoint where it has no other server.

Invariant: `/health/live` says nothing about others, so that no role is restarted because the database is down.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from secrets import token_hex
from typing import Any

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from touchline.kernel import Misconfigured
from touchline.platform import http_server

Loop = Coroutine[Any, Any, None]


class Server(http_server.HttpServer):
    """The signals are handled by the process, which has more to stop than this."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    def stop(self) -> None:
        self.should_exit = True


def on_stop_signal(stop: Callable[[], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)


async def run_with_background(main: Loop, loops: Sequence[Loop]) -> None:
    """The main loop to its end, the others as long as it runs. One that fails ends the process, to be started again."""
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(loop) for loop in loops]
        await main
        for task in running:
            task.cancel()


@cache
def process_name() -> str:
    """Of this process and no other, also after a restart that gives its number to another."""
    return f"{socket.gethostname()}/{os.getpid()}/{token_hex(4)}"


def keep_what_is_loaded() -> None:
    """What a role has loaded stays: its collector need not go through it again, and not after every few objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


# Health and metrics of a process that has no other way to be asked.
#
# Invariant: alive says nothing about other parts, so that nobody restarts us because the database is away.

CHECK_S = 3.0
FEW_CONNECTIONS = 100
JSON = "application/json"
logger = logging.getLogger(__name__)


@asynccontextmanager
async def health_server(
    host: str, port: int, setting: str, check: Callable[[], Awaitable[object]]
) -> AsyncGenerator[None]:
    """`/health/live`, `/health/ready` and `/metrics`, as long as the block runs. Ready means that the check passes.
    `setting` is where the port comes from."""
    with listening(host, port, setting) as listener:
        app = http_server.HostCheck(HealthApp(check), [host])
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none", proxy_headers=False)
        server = Server(config, http_server.HttpLimits(connections=FEW_CONNECTIONS))
        running = asyncio.create_task(server.serve([listener]))
        try:
            yield
        finally:
            server.stop()
            await running


def listening(host: str, port: int, setting: str) -> socket.socket:
    """Bound here and not by the server, which would end the process without a word of ours."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        hint = f"Give each process on one machine a `{setting}` of its own."
        raise Misconfigured(f"cannot listen on {host}:{port}", why=error.strerror or "", hint=hint) from error


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
