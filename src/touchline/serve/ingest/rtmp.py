"""Takes publishers by RTMP: one port for the keys of all streams.

Invariants: a sink is ended exactly once, however its connection ends. What a publisher sends waits in its connection as
long as the sink takes no more.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from touchline.kernel import DeadlineExceeded, Misconfigured, TouchlineError
from touchline.platform.http_server import BACKLOG
from touchline.serve.live.model import Admission, Container, PublishRequest, Sink

from .connections import ConnectionLimiter, Place, RefusalLog, end
from .rtmp_session import FLV_HEADER, HANDSHAKE_BYTES, Flv, PublishAsked, PublishEnded, RtmpSession
from .settings import PublishSettings

READ_BYTES = 64 * 1024
LINGER_S = 1.0  # for a client to read why it was refused
LINGER_BYTES = 4 * 1024**2
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ListenAddress:
    host: str
    port: int


@asynccontextmanager
async def rtmp_listener(settings: PublishSettings, admission: Admission) -> AsyncGenerator[ListenAddress]:
    """Takes publishers as long as the block runs; then hangs up on all of them, and ends their sinks."""
    listener = listening(settings.host, settings.rtmp_port, "publish.rtmp_port")
    port = _RtmpPort(settings, admission)
    server = await asyncio.start_server(port.take, sock=listener, limit=READ_BYTES, backlog=BACKLOG)
    try:
        host, number = listener.getsockname()[:2]
        yield ListenAddress(host, number)
    finally:
        server.close()
        await port.close()


def listening(host: str, port: int, setting: str) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        hint = f"Give each process on one machine a `{setting}` of its own."
        raise Misconfigured(f"{host}:{port} cannot be listened on", why=error.strerror or "", hint=hint) from error


class _RtmpPort:
    def __init__(self, settings: PublishSettings, admission: Admission) -> None:
        self._settings, self._admission = settings, admission
        self._limiter, self._refusals = ConnectionLimiter(settings), RefusalLog()
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A new connection. Not a coroutine: the server would log what happens in its task."""
        peer = writer.get_extra_info("peername")
        address = str(peer[0]) if peer else ""
        try:
            place = self._limiter.enter(address, writer.transport.abort)
        except TouchlineError:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._serve(_Connection(reader, writer, place, self._settings), place))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, connection: _Connection, place: Place) -> None:
        try:
            await connection.run(self._admission)
            await connection.linger()
        except TouchlineError as error:
            self._refusals.log(place.address, error)
            with suppress(OSError, TimeoutError):
                await connection.refuse(error)
        except (OSError, EOFError):
            if place.is_publishing:
                logger.info("publisher gone", extra={"peer": place.address})
        except Exception:
            logger.exception("a publisher's connection failed", extra={"peer": place.address})
        finally:
            self._limiter.leave(place)
            connection.abort()


class _Connection:
    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, place: Place, settings: PublishSettings
    ) -> None:
        self._reader, self._writer, self._place, self._settings = reader, writer, place, settings
        self._session = RtmpSession(os.urandom(HANDSHAKE_BYTES - 8))

    async def run(self, admission: Admission) -> None:
        """Until the publisher goes. EOFError: it went without a word."""
        try:
            async with asyncio.timeout(self._settings.handshake_time.total_seconds()):
                asked = await self._until_publish()
        except TimeoutError as error:
            raise DeadlineExceeded("the client did not publish in time") from error
        sink = await admission(PublishRequest(asked.key, Container.FLV, self._place.address))
        try:
            self._place.is_publishing = True
            self._session.accept()
            await sink.write(FLV_HEADER)
            await self._pass_on(sink)
        finally:
            await end(sink)

    async def refuse(self, error: TouchlineError) -> None:
        """Tell the client why, if it can be told."""
        self._session.refuse(error)
        async with asyncio.timeout(LINGER_S):
            await self._send()
        self._writer.write_eof()
        await self.linger()

    async def linger(self) -> None:
        """Let the client close: what it still sends would otherwise reset the connection, and lose our last words."""
        left = LINGER_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                while left > 0 and (data := await self._reader.read(READ_BYTES)):
                    left -= len(data)

    def abort(self) -> None:
        self._writer.transport.abort()

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
                    await self._read()
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

    async def _read(self) -> None:
        data = await self._reader.read(READ_BYTES)
        if not data:
            raise EOFError
        self._session.feed(data)

    async def _send(self) -> None:
        if data := self._session.take_outgoing():
            self._writer.write(data)
        await self._writer.drain()  # nobody makes us collect answers by not reading them
