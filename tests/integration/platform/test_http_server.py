"""Clients that are slow, silent or many, at a real port."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.asyncio.client import connect

from tests.support.wait import LOOK_AGAIN_S
from touchline.apps.runtime import Server
from touchline.platform import http_server
from touchline.platform.http_server import SENDFILE, HttpLimits, is_this_machine

SHORT = timedelta(milliseconds=200)
LONG = timedelta(hours=1)
PATIENT = HttpLimits(LONG, LONG, LONG, LONG)
WHOLE = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 100000\r\n\r\n"
TIMEOUT_S = 30


async def answer(request: Request) -> Response:
    try:
        return PlainTextResponse(str(len(await request.body())))
    except ClientDisconnect:
        return Response(status_code=499)


async def flood(request: Request) -> Response:
    return Response(b"x" * 50_000_000)


CONTENT = bytes(range(251)) * 40_000  # ten megabytes, more than sockets hold


async def send_file(scope: Scope, receive: Receive, send: Send) -> None:
    """All of it but the first byte, in two pieces, by the kernel."""
    head = [(b"content-length", b"%d" % (len(CONTENT) - 1))]
    assert SENDFILE in scope["extensions"]
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(CONTENT[: int(scope["query_string"] or len(CONTENT))])
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": SENDFILE, "file": file, "offset": 1, "count": 999_999, "more_body": True})
        await send({"type": SENDFILE, "file": file, "offset": 1_000_000, "count": len(CONTENT) - 1_000_000})


async def echo(websocket: WebSocket) -> None:
    await websocket.accept()
    with suppress(WebSocketDisconnect):
        while True:
            await websocket.send_text(await websocket.receive_text())


APP = Starlette(
    routes=[
        Route("/", answer, methods=["GET", "POST"]),
        Route("/flood", flood),
        Mount("/file", send_file),
        WebSocketRoute("/live", echo),
    ]
)


@pytest.fixture(autouse=True)
def frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks at its connections at every tick."""
    monkeypatch.setattr(http_server, "SWEEP_EVERY_S", 0.0)


@asynccontextmanager
async def running(limits: HttpLimits) -> AsyncGenerator[Server]:
    config = uvicorn.Config(APP, port=0, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    server = Server(config, limits)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0)
    try:
        yield server
    finally:
        server.stop()
        await serving


def port_of(server: Server) -> int:
    return server.servers[0].sockets[0].getsockname()[1]


@asynccontextmanager
async def serving(limits: HttpLimits) -> AsyncGenerator[int]:
    async with running(limits) as server:
        yield port_of(server)


async def opened(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port)


async def rest(reader: asyncio.StreamReader) -> bytes:
    """What still comes until the other side closes; nothing when it breaks off."""
    async with asyncio.timeout(TIMEOUT_S):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


async def trickle(writer: asyncio.StreamWriter, data: bytes) -> None:
    """A byte whenever the server has had time to look, until it does not want any more."""
    with suppress(ConnectionError):
        while True:
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(0.02)


async def silent(writer: asyncio.StreamWriter) -> None:
    pass


async def half_a_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"GET / HTTP/1.1\r\n")
    await trickle(writer, b"X-A: b\r\n")


async def half_a_body(writer: asyncio.StreamWriter) -> None:
    writer.write(POST)
    await trickle(writer, b"x")


async def second_head(writer: asyncio.StreamWriter) -> None:
    writer.write(WHOLE + b"GET /")
    await trickle(writer, b"x")


@pytest.mark.parametrize(
    ("client", "limits"),
    [
        (silent, replace(PATIENT, header_timeout=SHORT)),
        (half_a_head, replace(PATIENT, header_timeout=SHORT)),
        (second_head, replace(PATIENT, header_timeout=SHORT)),
        (half_a_body, replace(PATIENT, body_timeout=SHORT)),
    ],
    ids=["silent", "slow head", "slow second head", "slow body"],
)
async def test_who_sends_slowly_is_not_waited_for(
    client: Callable[[asyncio.StreamWriter], Awaitable[None]], limits: HttpLimits
) -> None:
    async with serving(limits) as port:
        reader, writer = await opened(port)
        sending = asyncio.ensure_future(client(writer))
        said = await rest(reader)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        writer.close()
        assert b"500" not in said
        async with asyncio.timeout(TIMEOUT_S):  # and others are served
            reader, writer = await opened(port)
            writer.write(WHOLE)
            assert (await reader.readline()).endswith(b"200 OK\r\n")
            writer.close()


async def test_a_body_that_comes_steadily_has_its_time() -> None:
    """The time grows with what has come: what is large is not slow."""
    async with serving(replace(PATIENT, body_timeout=SHORT)) as port:
        reader, writer = await opened(port)
        writer.write(POST)
        for _ in range(20):
            writer.write(b"x" * 5000)
            await writer.drain()
            await asyncio.sleep(0.03)
        assert (await reader.readline()).endswith(b"200 OK\r\n")
        writer.close()


@pytest.mark.parametrize("path", [b"/flood", b"/file/"])
async def test_who_does_not_read_is_dropped(path: bytes) -> None:
    async with running(replace(PATIENT, send_timeout=SHORT)) as server:
        with socket.create_connection(("127.0.0.1", port_of(server))) as client:
            client.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: here\r\n\r\n")
            async with asyncio.timeout(TIMEOUT_S):
                while not server.server_state.total_requests and not server.server_state.connections:
                    await asyncio.sleep(LOOK_AGAIN_S)
                while server.server_state.connections:
                    await asyncio.sleep(LOOK_AGAIN_S)


async def test_files_arrive_whole_one_after_the_other() -> None:
    async with serving(PATIENT) as port:
        reader, writer = await opened(port)
        ask = b"GET /file/ HTTP/1.1\r\nHost: here\r\n"
        writer.write(ask + b"\r\n" + ask + b"Connection: close\r\n\r\n")
        answers = await rest(reader)
        writer.close()
    first, _, others = answers.partition(b"\r\n\r\n")
    between, _, second = others[len(CONTENT) - 1 :].partition(b"\r\n\r\n")
    assert (first[:15], between[:15]) == (b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK")
    assert others[: len(CONTENT) - 1] == CONTENT[1:]
    assert second == CONTENT[1:]


async def test_a_file_that_became_shorter_ends_the_connection() -> None:
    async with serving(PATIENT) as port:
        reader, writer = await opened(port)
        writer.write(b"GET /file/?5000000 HTTP/1.1\r\nHost: here\r\n\r\n")
        _, _, content = (await rest(reader)).partition(b"\r\n\r\n")
        assert len(content) < len(CONTENT) - 1
        writer.close()


async def test_a_viewer_who_leaves_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    async with running(PATIENT) as server:
        with socket.create_connection(("127.0.0.1", port_of(server))) as client:
            client.sendall(b"GET /file/ HTTP/1.1\r\nHost: here\r\n\r\n")
            assert await asyncio.to_thread(client.recv, 1)
        async with asyncio.timeout(TIMEOUT_S):
            while server.server_state.connections or server.server_state.tasks:
                await asyncio.sleep(LOOK_AGAIN_S)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_head_without_end_is_refused() -> None:
    async with serving(PATIENT) as port:
        reader, writer = await opened(port)
        writer.write(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 200_000)
        assert (await rest(reader))[:12] in {b"HTTP/1.1 431", b""}  # or it breaks off while it is still sent
        writer.close()


async def test_an_idle_connection_is_closed() -> None:
    async with serving(replace(PATIENT, idle_timeout=timedelta(seconds=1))) as port:
        reader, writer = await opened(port)
        writer.write(WHOLE)
        assert (await rest(reader)).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_idle_connections_make_room() -> None:
    """Many that say nothing, and one that asks: it is answered."""
    async with serving(replace(PATIENT, connections=30)) as port:
        idle = [await opened(port) for _ in range(100)]
        reader, writer = await opened(port)
        writer.write(WHOLE)
        async with asyncio.timeout(TIMEOUT_S):
            assert (await reader.readline()).endswith(b"200 OK\r\n")
        for _, one in [*idle, (reader, writer)]:
            one.close()


async def test_slow_bodies_make_room(caplog: pytest.LogCaptureFixture) -> None:
    """Many that have sent little of what they announced: others are answered, and so is one that sends at a good pace
    since before they came."""
    async with serving(replace(PATIENT, connections=30)) as port:
        steady = await opened(port)
        steady[1].write(POST + b"x" * 99_000)
        await steady[1].drain()
        slow = [await opened(port) for _ in range(100)]
        for _, writer in slow:
            writer.write(POST + b"x")
        async with asyncio.timeout(TIMEOUT_S):
            for _ in range(100):
                reader, writer = await opened(port)
                writer.write(WHOLE)
                assert (await reader.readline()).endswith(b"200 OK\r\n")
                slow.append((reader, writer))
            steady[1].write(b"x" * 1000)
            assert (await steady[0].readline()).endswith(b"200 OK\r\n")
        for _, writer in [*slow, steady]:
            writer.close()
    assert "connections are refused" not in caplog.text


async def test_an_address_has_a_limit_that_live_connections_count_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "is_this_machine", lambda address: False)
    async with serving(replace(PATIENT, connections_per_address=2)) as port:
        async with (
            connect(f"ws://127.0.0.1:{port}/live", proxy=None),
            connect(f"ws://127.0.0.1:{port}/live", proxy=None),
        ):
            reader, writer = await opened(port)
            assert (await rest(reader)).startswith(b"HTTP/1.1 503")
            writer.close()
        reader, writer = await opened(port)
        writer.write(WHOLE)
        assert (await reader.readline()).endswith(b"200 OK\r\n")
        writer.close()


async def test_running_out_of_files_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """asyncio says it for every attempt: thousands of times a second."""
    async with serving(PATIENT):
        loop = asyncio.get_running_loop()
        with caplog.at_level(logging.WARNING):
            for _ in range(1000):
                context = {"message": http_server.OUT_OF_FILES, "exception": OSError(24, "Too many open files")}
                loop.call_exception_handler(context)
        lines = [record for record in caplog.records if "too many open files" in record.message]
        assert len(lines) == 1


@pytest.mark.parametrize(
    ("wanted", "open_files", "connections"),
    [(4000, 1024, 412), (4000, 20_000, 4000), (100, 1024, 100), (4000, 210, 20), (4000, resource.RLIM_INFINITY, 4000)],
)
def test_connections_leave_files_for_the_rest(wanted: int, open_files: int, connections: int) -> None:
    assert http_server.connection_limit(wanted, open_files) == connections


@pytest.mark.parametrize(
    ("address", "here"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("", True), ("192.0.2.7", False), ("2001:db8::1", False)],
)
def test_which_addresses_are_this_machine(address: str, here: bool) -> None:
    assert is_this_machine(address) is here


async def test_every_process_may_open_as_many_files_as_the_system_allows() -> None:
    code = (
        "import resource; hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1];"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard));"
        "from touchline.platform.files import raise_open_files_limit, MAX_OPEN_FILES;"
        "assert raise_open_files_limit() == (MAX_OPEN_FILES if hard < 0 else min(hard, MAX_OPEN_FILES))"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await process.wait() == 0
