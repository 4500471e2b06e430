"""A relay in front of a real server that loses answers the way networks do, and holds requests back when told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from touchline.platform.endpoints import ObjectsEndpoint

BLOCK = 64 * 1024
FAILURE = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass
class Relay:
    upstream: ObjectsEndpoint
    lose_answer_to: bytes = b""  # the first answer to this method is swallowed after the server gave it
    cut_after: int | None = None  # so many bytes of an answer come through
    refuse: bytes = b""  # requests that begin like this fail, whatever the server says
    damage: bytes = b""  # where this is in a request, something else arrives
    lost: int = 0
    url: str = ""
    _connections: set[asyncio.Task[None]] = field(default_factory=set)
    _held_like: re.Pattern[bytes] | None = None
    _held: asyncio.Event = field(default_factory=asyncio.Event)
    _released: asyncio.Event = field(default_factory=asyncio.Event)
    _forget_held: bool = False

    @property
    def endpoint(self) -> ObjectsEndpoint:
        return replace(self.upstream, url=self.url)

    def hold(self, pattern: str) -> None:
        """From now on requests that begin like this wait; the server has heard nothing of them."""
        self._held_like = re.compile(pattern.encode())
        self._held, self._released, self._forget_held = asyncio.Event(), asyncio.Event(), False

    @property
    def is_holding(self) -> bool:
        return self._held.is_set()

    def release(self, *, forget: bool = False) -> None:
        """`forget`: the requests that waited never reach the server, as when whoever sent them has died."""
        self._held_like, self._forget_held = None, forget
        self._released.set()

    async def close(self) -> None:
        self.release(forget=True)
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(connection)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = urlsplit(self.upstream.url)
        try:
            server_reader, server_writer = await asyncio.open_connection(address.hostname, address.port)
        except OSError:  # the server is away
            writer.transport.abort()
            return
        asked = bytearray()
        requests = asyncio.create_task(self._requests(reader, server_writer, asked))
        try:
            with suppress(OSError):
                await self._answer(server_reader, writer, asked)
        finally:
            requests.cancel()
            for side in (writer, server_writer):
                side.transport.abort()
            await asyncio.gather(requests, return_exceptions=True)

    async def _requests(self, reader: asyncio.StreamReader, server: asyncio.StreamWriter, asked: bytearray) -> None:
        with suppress(OSError):
            while data := await reader.read(BLOCK):
                if not asked and await self._is_forgotten(data):
                    server.transport.abort()
                    return
                asked += data
                server.write(data.replace(self.damage, bytes(len(self.damage))) if self.damage else data)
                await server.drain()

    async def _is_forgotten(self, request: bytes) -> bool:
        if self._held_like is None or not self._held_like.match(request):
            return False
        self._held.set()
        await self._released.wait()
        return self._forget_held

    async def _answer(self, server: asyncio.StreamReader, client: asyncio.StreamWriter, asked: bytearray) -> None:
        left: int | None = None
        while data := await server.read(BLOCK):
            left = self.cut_after if left is None else left  # from then on, also on a connection that was there before
            if not data.startswith(b"HTTP/1.1 100"):  # which only asks for the body
                if self.lose_answer_to and not self.lost and asked.startswith(self.lose_answer_to):
                    self.lost += 1
                    return
                if self.refuse and asked.startswith(self.refuse):
                    client.write(FAILURE)
                    await client.drain()
                    return
                asked.clear()
            client.write(data if left is None else data[:left])
            await client.drain()
            if left is not None:
                left -= len(data)
                if left <= 0:
                    return


@asynccontextmanager
async def relayed(upstream: ObjectsEndpoint) -> AsyncGenerator[Relay]:
    relay = Relay(upstream)
    server = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
    relay.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield relay
    finally:
        server.close()
        await relay.close()
