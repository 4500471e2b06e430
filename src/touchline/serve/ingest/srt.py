"""Takes publishers by SRT: one UDP port for the keys of all streams.

libsrt speaks it, in an isolated process of its own (`srt_child`), which gets the bound socket from here and asks here
for each caller.

Invariants: a sink is ended exactly once, however its connection ends. That process dying ends the streams that it
carried, and nothing else: another one takes over the port.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Final

from touchline.kernel import (
    Conflict,
    DeadlineExceeded,
    Defect,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    Misconfigured,
    NotFound,
    SetupError,
    TouchlineError,
    Unavailable,
    is_plain,
)
from touchline.media.sandbox import IsolatedProgram, Sandbox
from touchline.platform.retry import retry_forever
from touchline.serve.live.model import Admission, Container, PublishRequest, Sink

from .connections import Place, Publishers, end
from .rtmp import ListenAddress
from .settings import PublishSettings
from .srt_child import ADMITTED, MAX_REQUEST_BYTES, NO_LIBRARY, READY

MODULE: Final = "touchline.serve.ingest.srt_child"
READ_BYTES = 64 * 1024
START_S = 30.0
RETRY_AFTER = timedelta(seconds=0.5)
INSTALL = (
    "On Debian and Ubuntu: apt-get install libsrt1.5-openssl. Without root: unpack that package anywhere, and name its "
    "file in `publish.srt_library`. RTMP needs nothing."
)
# As SRT's rules of access control name them. Callers show the number.
FORBIDDEN, CONFLICT, BAD_REQUEST, OVERLOAD, DOWN = 1403, 1409, 1400, 1402, 1503
logger = logging.getLogger(__name__)


@asynccontextmanager
async def srt_listener(
    settings: PublishSettings, admission: Admission, sandbox: Sandbox
) -> AsyncGenerator[ListenAddress]:
    """Takes publishers as long as the block runs; then hangs up on all of them, and ends their sinks. SetupError: this
    machine has no libsrt."""
    with bound(settings.host, settings.srt_port, "publish.srt_port") as udp:
        port = _SrtPort(settings, admission, sandbox, udp)
        await port.start()
        running = asyncio.create_task(port.run())
        try:
            host, number = udp.getsockname()[:2]
            yield ListenAddress(host, number)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await port.close()


def bound(host: str, port: int, setting: str) -> socket.socket:
    udp = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        udp.bind((host, port))
    except OSError as error:
        udp.close()
        hint = f"Give each process on one machine a `{setting}` of its own."
        raise Misconfigured(f"{host}:{port} cannot be listened on", why=error.strerror or "", hint=hint) from error
    return udp


def rejection_code(error: TouchlineError) -> int:
    match error:
        case Forbidden() | NotFound():
            return FORBIDDEN
        case Conflict():
            return CONFLICT
        case InvalidInput():
            return BAD_REQUEST
        case LimitExceeded():
            return OVERLOAD
        case _:
            return DOWN


class _SrtPort:
    def __init__(self, settings: PublishSettings, admission: Admission, sandbox: Sandbox, udp: socket.socket) -> None:
        self._settings, self._admission, self._sandbox, self._udp = settings, admission, sandbox, udp
        self._publishers = Publishers(settings)
        self._program: IsolatedProgram | None = None

    async def start(self) -> IsolatedProgram:
        library = self._settings.srt_library
        program = await self._sandbox.enclose(MODULE, folders=[library.absolute().parent] if library else [])
        self._program = program
        order = {"library": str(library.absolute()) if library else "", "latency_ms": _ms(self._settings.srt_latency)}
        loop = asyncio.get_running_loop()
        answer = b""
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(START_S):
                socket.send_fds(program.line, [json.dumps(order).encode()], [self._udp.fileno()])
                answer = await loop.sock_recv(program.line, len(READY))
        if answer != READY:
            await self._stop()
            raise _not_started(program.last_words)
        return program

    async def run(self) -> None:
        """As long as it is not cancelled. The first process is running already."""
        try:
            await retry_forever(self._turn, RETRY_AFTER, logger)
        except TouchlineError as error:
            logger.error("no more publishers by SRT", extra={"reason": str(error), "hint": error.hint})  # noqa: TRY400

    async def close(self) -> None:
        await self._publishers.close()
        await self._stop()

    async def _stop(self) -> None:
        program, self._program = self._program, None
        if program:
            await program.close()

    async def _turn(self) -> None:
        program = self._program or await self.start()
        try:
            await self._take_requests(program.line)
        finally:
            await self._stop()
        raise Unavailable("the process that speaks SRT has ended", why=program.last_words)

    async def _take_requests(self, line: socket.socket) -> None:
        """Until the process ends."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def take() -> None:
            try:
                data, descriptors, _, _ = socket.recv_fds(line, MAX_REQUEST_BYTES, 1)
            except BlockingIOError:
                return
            except OSError:
                data, descriptors = b"", []
            if not data or not descriptors:
                ended.set()
                return
            self._begin(data, socket.socket(fileno=descriptors[0]))

        loop.add_reader(line, take)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(line)

    def _begin(self, data: bytes, caller: socket.socket) -> None:
        """In a process that strangers feed the form of what it says is checked, too."""
        try:
            publish = _request(data)
            self._publishers.start(publish.peer, _Caller(caller, publish, self._settings, self._admission))
        except LimitExceeded:
            caller.close()
        except Defect as error:
            logger.error("a publisher by SRT was not taken", extra={"reason": str(error)})  # noqa: TRY400
            caller.close()


class _Caller:
    def __init__(
        self, channel: socket.socket, request: PublishRequest, settings: PublishSettings, admission: Admission
    ) -> None:
        self._channel, self._request, self._settings, self._admission = channel, request, settings, admission
        self._is_admitted = False
        channel.setblocking(False)

    async def serve(self, place: Place) -> None:
        sink = await self._admission(self._request)
        try:
            place.is_publishing = self._is_admitted = True
            await self._answer(ADMITTED)
            await self._pass_on(sink)
        finally:
            await end(sink)

    async def refuse(self, error: TouchlineError) -> None:
        """SRT has words for it at the beginning only."""
        if not self._is_admitted:
            await self._answer(str(rejection_code(error)).encode())

    def close(self) -> None:
        """Nobody waits for it then: another may close it before it is admitted, and its own task at the end."""
        self._channel.close()

    async def _answer(self, answer: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._channel, answer)

    async def _pass_on(self, sink: Sink) -> None:
        loop, idle_s = asyncio.get_running_loop(), self._settings.idle_time.total_seconds()
        while True:
            try:
                async with asyncio.timeout(idle_s):
                    data = await loop.sock_recv(self._channel, READ_BYTES)
            except TimeoutError as error:
                raise DeadlineExceeded("the publisher sent nothing for too long", why=f"{idle_s:g} s") from error
            if not data:
                return
            await sink.write(data)


def _request(data: bytes) -> PublishRequest:
    try:
        request: object = json.loads(data)
    except ValueError:
        request = None
    match request:
        case {"key": str(key), "address": str(address)} if is_plain(key) and is_plain(address):
            return PublishRequest(key, Container.MPEG_TS, address)
        case _:
            raise Defect("the process that speaks SRT asked for nonsense")


def _ms(value: timedelta) -> int:
    return round(value.total_seconds() * 1000)


def _not_started(last_words: str) -> TouchlineError:
    if NO_LIBRARY in last_words:
        return SetupError("publishers by SRT cannot be taken", why=last_words, hint=INSTALL)
    return Unavailable("the process that speaks SRT does not start", why=last_words)
