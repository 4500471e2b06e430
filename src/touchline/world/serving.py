"""Serves the world over HTTP on loopback, until it is told to stop.

Invariant: whoever was told an address can connect to it; after the end the port is free again.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from touchline.kernel.errors import SetupError
from touchline.platform import http_server
from touchline.platform.host_check import HostCheck

HOST = "127.0.0.1"
LAST_REQUESTS_S = 1


class _Server(http_server.Server):
    """The signals belong to the process. Says when it answers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.answers = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.answers.set()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class Serving:
    """`async with Serving(app, port=0) as serving:` and it answers at `serving.url`."""

    def __init__(self, app: ASGIApp, port: int = 0) -> None:
        config = uvicorn.Config(
            HostCheck(app, pages=True),  # it has pages of its own, and no secrets
            log_config=None,
            log_level="critical",  # what breaks off here does so on purpose
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=LAST_REQUESTS_S,
        )
        self._server = _Server(config)
        self._socket = _listening(port)
        self.url = f"http://{HOST}:{self._socket.getsockname()[1]}"
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._server.serve([self._socket]))
        answering = asyncio.create_task(self._server.answers.wait())
        await asyncio.wait({self._task, answering}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            answering.cancel()
            await self._task  # tells why
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        await self.wait()
        self._socket.close()

    def stop(self) -> None:
        self._server.should_exit = True

    async def wait(self) -> None:
        if self._task:
            await self._task


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise SetupError(
            f"the world cannot listen on port {port}",
            why=str(error),
            hint="Name another one by --port, or 0 for any that is free.",
        ) from error
    return listener
