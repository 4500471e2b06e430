"""The gateway behind a real port, and a client that speaks graphql-transport-ws."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

PROTOCOL = "graphql-transport-ws"
LIVE = """
subscription ($after: String) {
  liveVodLifecycle(after: $after) {
    cursor artifactHash stage title titleRevision progressPercent sizeBytes durationMs errorCode error revision
    occurredAt
  }
}
"""
TIMEOUT_S = 60


class Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@asynccontextmanager
async def listening(app: Starlette, send_buffer: int = 0) -> AsyncGenerator[str]:
    """Where it answers, without the scheme."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        if send_buffer:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
        server = Server(config)
        serving = asyncio.create_task(server.serve([bound]))
        while not server.started:
            await asyncio.sleep(0)
        try:
            yield f"127.0.0.1:{bound.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


@dataclass(frozen=True, slots=True)
class Socket:
    connection: ClientConnection

    async def say(self, kind: str, **message: Any) -> None:
        await self.connection.send(json.dumps({"type": kind, **message}))

    async def hear(self) -> dict[str, Any]:
        async with asyncio.timeout(TIMEOUT_S):
            return json.loads(await self.connection.recv())

    async def hello(self, token: str | None) -> None:
        await self.say("connection_init", payload={} if token is None else {"accessToken": token})
        assert (await self.hear())["type"] == "connection_ack"

    async def subscribe(self, after: str | None = None, query: str = LIVE, name: str = "1") -> None:
        await self.say("subscribe", id=name, payload={"query": query, "variables": {"after": after}})

    async def event(self) -> dict[str, Any]:
        message = await self.hear()
        assert message["type"] == "next", message
        assert "errors" not in message["payload"], message
        [event] = message["payload"]["data"].values()
        return event

    async def events(self, count: int) -> list[dict[str, Any]]:
        return [await self.event() for _ in range(count)]

    async def refusal(self) -> str:
        """The code of the error that ends a subscription."""
        message = await self.hear()
        errors = message["payload"] if message["type"] == "error" else message["payload"]["errors"]
        return errors[0]["extensions"]["code"]

    async def closing(self) -> tuple[int, str]:
        """How the server ended it."""
        _, closing = await self.until_closed()
        return closing

    async def until_closed(self) -> tuple[list[dict[str, Any]], tuple[int, str]]:
        """What came before it was ended, and how it was."""
        events: list[dict[str, Any]] = []
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                events.append(await self.event())
        assert closed.value.rcvd
        return events, (closed.value.rcvd.code, closed.value.rcvd.reason)


@asynccontextmanager
async def opened(address: str, **options: Any) -> AsyncGenerator[Socket]:
    where = f"ws://{address}/api/graphql"
    async with connect(where, subprotocols=[PROTOCOL], proxy=None, **options) as connection:  # pyright: ignore[reportArgumentType]
        yield Socket(connection)
