"""Takes publishers by RTMP: one port for the keys of all streams.

Invariants: a sink is ended exactly once, however its connection ends. What a publisher sends waits in its connection as
long as the sink takes no more.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from touchline.kernel import DeadlineExceeded, LimitExceeded, Misconfigured, TouchlineError
from touchline.platform.http_server import BACKLOG
from touchline.serve.live.model import Admission, Container, PublishRequest, Sink

from .connections import Place, Publishers, end
from .rtmp_session import FLV_HEADER, HANDSHAKE_BYTES, Flv, PublishAsked, PublishEnded, RtmpSession
from .settings import PublishSettings

READ_BYTES = 64 * 1024
GATHER_S = 0.05  # publishers send frame by frame: taken together, they wake this process and the reader less often
LINGER_S = 1.0  # for a client to read why it was refused
LINGER_BYTES = 4 * 1024**2


@dataclass(frozen=True, slots=True)
class ListenAddress:
    host: str
    port: int


@asynccontextmanager
async def rtmp_listener(settings: PublishSettings, admission: Admission) -> AsyncGenerator[ListenAddress]:
    """Takes publishers as long as the block runs; then hangs up on all of them, and ends their sinks."""
    listener = listening(settings.host, settings.rtmp_port, "publish.rtmp_port")
    publishers = Publishers(settings)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Not a coroutine: the server would log what happens in its task."""
        connection = _Connection(reader, writer, settings, admission)
        try:
            publishers.start(connection.address, connection)
        except LimitExceeded:
            connection.close()

    server = await asyncio.start_server(accept, sock=listener, limit=READ_BYTES, backlog=BACKLOG)
    try:
        host, number = listener.getsockname()[:2]
        yield ListenAddress(host, number)
    finally:
        server.close()
        await publishers.close()


def listening(host: str, port: int, setting: str) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        hint = f"Give each process on one machine a `{setting}` of its own."
        raise Misconfigured(f"{host}:{port} cannot be listened on", why=error.strerror or "", hint=hint) from error


class _Connection:
    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        settings: PublishSettings,
        admission: Admission,
    ) -> None:
        self._reader, self._writer, self._settings, self._admission = reader, writer, settings, admission
        self._session = RtmpSession(os.urandom(HANDSHAKE_BYTES - 8))
        peer = writer.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""

    async def serve(self, place: Place) -> None:
        try:
            async with asyncio.timeout(self._settings.handshake_time.total_seconds()):
                asked = await self._until_publish()
        except TimeoutError as error:
            raise DeadlineExceeded("the client did not publish in time") from error
        sink = await self._admission(PublishRequest(asked.key, Container.FLV, self.address))
        try:
            place.is_publishing = True
            self._session.accept()
            await sink.write(FLV_HEADER)
            await self._pass_on(sink)
        finally:
            await end(sink)
        await self._linger()

    async def refuse(self, error: TouchlineError) -> None:
        self._session.refuse(error)
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                await self._send()
        self._writer.write_eof()
        await self._linger()

    def close(self) -> None:
        self._writer.transport.abort()

    async def _linger(self) -> None:
        """Let the client close: what it still sends would otherwise reset the connection, and lose our last words."""
        left = LINGER_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                while left > 0 and (data := await self._reader.read(READ_BYTES)):
                    left -= len(data)

    async def _until_publish(self) -> PublishAsked:
        while True:
            await self._read()
            for event in self._session.events():
                if isinstance(event, PublishAsked):
                    return event
            await self._send()

    async def _pass_on(self, sink: Sink) -> None:
        idle_s = self._settings.idle_time.total_seconds()
        while True:
            ended = await self._write_events(sink)
            if ended:
                return
            try:
                async with asyncio.timeout(idle_s):
                    await self._send()
                    if await self._read() < READ_BYTES:  # not one who sends faster than this takes
                        await asyncio.sleep(GATHER_S)
            except TimeoutError as error:
                raise DeadlineExceeded("the publisher sent nothing for too long", why=f"{idle_s:g} s") from error

    async def _write_events(self, sink: Sink) -> bool:
        """Whether the publisher said that it is done. What came before that, or before an error, is written."""
        parts: list[bytes] = []
        is_ended = False
        try:
            for event in self._session.events():
                if isinstance(event, Flv):
                    parts.append(event.data)
                is_ended = is_ended or isinstance(event, PublishEnded)
        finally:
            if parts:
                await sink.write(b"".join(parts))
        return is_ended

    async def _read(self) -> int:
        data = await self._reader.read(READ_BYTES)
        if not data:
            raise EOFError
        self._session.feed(data)
        return len(data)

    async def _send(self) -> None:
        if data := self._session.take_outgoing():
            self._writer.write(data)
        await self._writer.drain()  # nobody makes us collect answers by not reading them
