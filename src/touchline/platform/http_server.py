"""How our processes serve HTTP: uvicorn with limits on slow clients and on connections, and a check of the Host header.

Invariants: a connection without a request in progress, a request that does not come in, and a response that is not
read all end by themselves; and no number of idle connections keeps a new one out.

A page from anywhere can make its visitor's browser send requests to this machine. It reads the responses if the name
of its own site suddenly resolves to this machine (DNS rebinding), so only names that are ours are answered; an IP
address is fine, since nobody else's page was loaded from it. Servers that are not meant for web pages refuse them
altogether.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import resource
import select
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from ipaddress import ip_address
from typing import Any, BinaryIO, TypeAlias

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from touchline.kernel import Forbidden, TouchlineError, surface

# As in the ASGI specification.
Scope: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Any]]
Send: TypeAlias = Callable[[Any], Awaitable[None]]
App: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]

LOCALHOST = "localhost"
POLICY_VIOLATION = 1008  # of a WebSocket
PAGE_FETCH_SITES = frozenset({"cross-site", "same-site", "same-origin"})  # `none`: a person typed the address


def is_own_host(host: str, names: Collection[str] = ()) -> bool:
    """`host` as in the header. A request without one is not from a browser: every browser sends it."""
    if not host:
        return True
    name = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] or host
    name = name.lower().removesuffix(".")
    return name == LOCALHOST or name in names or _is_address(name)


def is_from_page(headers: Mapping[str, str]) -> bool:
    return "origin" in headers or headers.get("sec-fetch-site", "none") in PAGE_FETCH_SITES


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class HostCheck:
    """ASGI middleware. `pages`: whether web pages may send requests; the application decides which ones."""

    def __init__(self, app: App, names: Iterable[str] = (), *, pages: bool = False) -> None:
        self._app, self._names, self._pages = app, frozenset(name.lower() for name in names), pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"} or (refusal := self._refusal(scope)) is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()  # `websocket.connect`, before which nothing may be sent
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": refusal.what})
        else:
            await send_problem(send, refusal, scope.get("state", {}).get("request_id", ""))

    def _refusal(self, scope: Scope) -> Forbidden | None:
        pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in pairs if name == "host"]
        if not all(is_own_host(host, self._names) for host in hosts):
            hint = "Use the IP address of the machine, or add this host name to the settings."
            return Forbidden("unknown host name", why="any web page can make a name resolve to this machine", hint=hint)
        if not self._pages and is_from_page(dict(pairs)):
            return Forbidden("requests from web pages are refused", hint="Send the request from a program.")
        return None


async def send_problem(
    send: Send, error: TouchlineError, request_id: str = "", headers: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    """As the gateway tells of errors, for servers that have no framework."""
    status = surface(error).http
    document = {
        "type": f"urn:touchline:problem:{error.code}",
        "code": error.code,
        "title": error.what,
        "detail": error.why,
        "status": status,
        "next": error.hint,
        "retryable": error.retryable,
        "request_id": request_id,
    }
    body = json.dumps(document).encode()
    own = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})


logger = logging.getLogger(__name__)

MAX_HEAD_BYTES = 64 * 1024
MIN_BODY_BYTES_PER_S = 2 * 1024  # slower than any connection that people use
RESERVED_FILES = 200  # databases, logs, pipes: what a process needs besides its connections
FILES_PER_CONNECTION = 2  # its socket, and one to a server behind it
MIN_CONNECTIONS = 20
BACKLOG = 256
SWEEP_EVERY_S = 1.0
LOG_EVERY_S = 60.0
SENDFILE = "http.response.zerocopysend"  # as in the ASGI specification; `file` is a file opened without a buffer
SENDFILE_BYTES = 1024**2  # what a client must read in the time that it has
SENDFILE_WAIT_MS = 2  # how long a thread waits for a client: one on a fast network takes more within that time
SENDFILE_THREADS = ThreadPoolExecutor(4, "sendfile")
OUT_OF_FILES = "socket.accept() out of system resource"  # asyncio's message
REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class HttpLimits:
    header_timeout: timedelta = timedelta(seconds=15)  # until the head of a request is complete, from its first moment
    body_timeout: timedelta = timedelta(seconds=30)  # until its body is complete, and longer for large bodies
    idle_timeout: timedelta = timedelta(seconds=60)  # between two requests
    send_timeout: timedelta = timedelta(minutes=2)  # while a client reads nothing of its response
    connections: int = 1000
    connections_per_address: int = 500  # except for this machine, where a proxy connects for many


def connection_limit(wanted: int, open_files: int) -> int:
    """How many connections to allow: never so many that accepting one more fails for lack of files."""
    if open_files == resource.RLIM_INFINITY:
        return wanted
    return max(MIN_CONNECTIONS, min(wanted, (open_files - RESERVED_FILES) // FILES_PER_CONNECTION))


class ThrottledWarning:
    """A warning that strangers can cause: logged at once, then at most once a minute with a count."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._next_at = 0.0
        self._suppressed = 0

    def log(self, now: float, **extra: object) -> None:
        self._suppressed += 1
        if now >= self._next_at:
            logger.warning(self._text, extra={"times": self._suppressed, **extra})
            self._next_at, self._suppressed = now + LOG_EVERY_S, 0


@dataclass(eq=False, slots=True)
class ConnectionLimiter:
    """Limits the connections of one server. It holds them oldest first; WebSockets stay after their protocol switch."""

    limits: HttpLimits
    _open: dict[HttpConnection, str] = field(default_factory=dict["HttpConnection", str])
    _counted: Counter[str] = field(default_factory=Counter[str])
    _refused: ThrottledWarning = field(
        default_factory=lambda: ThrottledWarning("connections refused: too many are open")
    )

    def admit(self, connection: HttpConnection, address: str) -> bool:
        """False when there is no place for it. An older connection that does nothing makes place, else the one whose
        request has come in most slowly: only answers that are being made keep their places."""
        if not self._has_place(address):
            self.forget_closed()
        while not self._has_place(address):
            if not self._close_one(address):
                self._refused.log(time.monotonic(), address=address)
                return False
        self._open[connection] = address
        self._counted[address] += 1
        return True

    def leave(self, connection: HttpConnection) -> None:
        address = self._open.pop(connection, None)
        if address is not None:
            self._counted[address] -= 1
            if not self._counted[address]:
                del self._counted[address]

    def _has_place(self, address: str) -> bool:
        return len(self._open) < self.limits.connections and not self._is_over(address)

    def _is_over(self, address: str) -> bool:
        return self._counted[address] >= self.limits.connections_per_address and not is_this_machine(address)

    def _close_one(self, address: str) -> bool:
        of_this_address = self._is_over(address)
        whose = [one for one, owner in self._open.items() if owner == address or not of_this_address]
        found = next((one for one in whose if one.is_idle()), None)
        if found is None:
            now = time.monotonic()
            slow = [one for one in whose if one.is_sending()]
            found = min(slow, key=lambda one: one.body_rate(now), default=None)
        if found is None:
            return False
        found.drop()
        self.leave(found)
        return True

    def forget_closed(self) -> None:
        """A WebSocket does not report that it was closed."""
        for connection in [connection for connection in self._open if connection.is_gone()]:
            self.leave(connection)


def is_this_machine(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return True  # a Unix socket, which has no address


class HttpConnection(HttpToolsProtocol):
    """One connection as uvicorn serves it, with the times that its timeouts are measured from."""

    def __init__(self, *arguments: Any, limiter: ConnectionLimiter, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._limiter = limiter
        self._head_since: float | None = (
            None  # when the head that is still incomplete began, or the connection was opened
        )
        self._head_bytes = 0
        self._body_since: float | None = None
        self._body_bytes = 0
        self._stuck_since: float | None = None
        self._stuck_bytes = 0
        self._sends_file = False
        self._takes_files_slowly = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_since = time.monotonic()
        if not self._limiter.admit(self, self.client[0] if self.client else ""):
            self._end(REFUSAL)

    def connection_lost(self, exc: Exception | None) -> None:
        self._limiter.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._head_bytes = self._head_bytes + len(data) if self._head_since is not None else 0
        if self._head_bytes > MAX_HEAD_BYTES and not self.is_gone():
            self._end(TOO_LARGE)

    def on_message_begin(self) -> None:
        self._head_since = self._head_since or time.monotonic()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_since, self._body_since, self._body_bytes = None, time.monotonic(), 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._body_since = None
        super().on_message_complete()

    def is_idle(self) -> bool:
        """No request in progress. A WebSocket has another protocol and does not count."""
        answered = not self.cycle or self.cycle.response_complete
        return answered and not self.is_gone() and self.transport.get_protocol() is self

    def is_sending(self) -> bool:
        """Its body has not come in yet, and nobody but the client is to blame."""
        is_foreground = self._body_since is not None and not self.flow.read_paused
        return is_foreground and not self.is_gone() and self.transport.get_protocol() is self

    def body_rate(self, now: float) -> float:
        """Bytes a second. A moment is added, so that one that has just begun is not the slowest of all."""
        return (self._body_bytes + MIN_BODY_BYTES_PER_S) / (now - (self._body_since or now) + 1)

    def is_gone(self) -> bool:
        return self.transport.is_closing()

    def drop(self) -> None:
        self.transport.abort()

    def end_if_overdue(self, now: float) -> None:
        if self.is_gone() or self._sends_file:  # which has its own time, and meanwhile nothing else can be written
            return
        if self._is_head_late(now):
            self._end(TOO_LATE)
        elif self._is_body_late(now) or self._is_stuck(now):
            self.drop()

    def _is_head_late(self, now: float) -> bool:
        since = self._head_since
        return since is not None and now - since > self._limiter.limits.header_timeout.total_seconds()

    def _is_body_late(self, now: float) -> bool:
        """What the application does not read yet is not the client's fault."""
        if self._body_since is None or self.flow.read_paused:
            return False
        allowed_s = self._limiter.limits.body_timeout.total_seconds() + self._body_bytes / MIN_BODY_BYTES_PER_S
        return now - self._body_since > allowed_s

    def _is_stuck(self, now: float) -> bool:
        waiting = self.transport.get_write_buffer_size()
        if not waiting or waiting != self._stuck_bytes or self._stuck_since is None:
            self._stuck_since, self._stuck_bytes = now if waiting else None, waiting
            return False
        return now - self._stuck_since > self._limiter.limits.send_timeout.total_seconds()

    def _end(self, answer: bytes) -> None:
        self.transport.write(answer)
        self.transport.close()

    # --- Files, which the kernel sends from its cache.

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        super()._start_asgi_task(cycle, partial(self._run_with_files, cycle, app))

    async def _run_with_files(self, cycle: RequestResponseCycle, app: App, scope: Any, receive: Any, send: Any) -> None:
        async def send_or_copy(message: Any) -> None:
            if message["type"] != SENDFILE:
                await send(message)
                return
            await self._send_file(cycle, message["file"], message["offset"], message["count"])
            if not message.get("more_body", False):
                await send({"type": "http.response.body", "body": b""})

        self._takes_files_slowly = False
        if isinstance(asyncio.get_running_loop(), asyncio.SelectorEventLoop):  # others have no sendfile
            scope["extensions"] = {**scope.get("extensions", {}), SENDFILE: {}}
        await app(scope, receive, send_or_copy)

    async def _send_file(self, cycle: RequestResponseCycle, file: BinaryIO, offset: int, count: int) -> None:
        """A client that leaves or reads nothing ends its connection; that is no error of the application."""
        if count > cycle.expected_content_length:
            raise RuntimeError("the file is longer than the response")
        stop = offset + count
        while offset < stop and not cycle.disconnected:
            try:
                sent = await self._send_piece(file, offset, min(SENDFILE_BYTES, stop - offset))
            except (ConnectionError, TimeoutError):
                cycle.disconnected = True
                self.transport.abort()
                return
            if not sent:
                raise OSError("the file is shorter than it was")  # ends the connection: nobody takes a part for all
            offset += sent
            cycle.expected_content_length -= sent

    async def _send_piece(self, file: BinaryIO, offset: int, count: int) -> int:
        """By a thread as long as the client takes all at once; the rest by the loop, which waits for many. Read and
        written where the kernel cannot; asyncio also says so when the client has left."""
        if self.is_gone():
            raise ConnectionResetError
        self._sends_file = True
        sent = 0
        try:
            async with asyncio.timeout(self._limiter.limits.send_timeout.total_seconds()):
                if not self._takes_files_slowly and self._is_plain_and_empty():
                    sent = await self._send_by_thread(file, offset, count)
                    self._takes_files_slowly = sent < count
                if sent < count:
                    loop = asyncio.get_running_loop()
                    sent += await loop.sendfile(self.transport, file, offset + sent, count - sent)
                return sent
        finally:
            self._sends_file = False

    def _is_plain_and_empty(self) -> bool:
        is_encrypted = self.transport.get_extra_info("sslcontext") is not None
        return not is_encrypted and not self.transport.get_write_buffer_size()

    async def _send_by_thread(self, file: BinaryIO, offset: int, count: int) -> int:
        """It has descriptors of its own, so that whatever is closed meanwhile, it sends this file to this client."""
        was_reading = self.transport.is_reading()
        self.transport.pause_reading()  # an answer to what comes in would end up in the file
        client = os.dup(self.transport.get_extra_info("socket").fileno())
        job = partial(send_what_is_taken, client, os.dup(file.fileno()), offset, count)
        try:
            return await asyncio.get_running_loop().run_in_executor(SENDFILE_THREADS, job)
        finally:
            if was_reading and not self.is_gone():
                self.transport.resume_reading()


def send_what_is_taken(client: int, file: int, offset: int, count: int) -> int:
    """How much the client took without making us wait for long. Blocking; closes both descriptors."""
    sent = 0
    try:
        room = select.poll()
        room.register(client, select.POLLOUT)
        while sent < count:
            try:
                taken = os.sendfile(client, file, offset + sent, count - sent)
            except BlockingIOError:
                if not room.poll(SENDFILE_WAIT_MS):
                    break
                continue
            except ConnectionError:
                raise
            except OSError:
                break  # the loop reads and writes what the kernel cannot send
            if not taken:
                break
            sent += taken
        return sent
    finally:
        os.close(client)
        os.close(file)


class HttpServer(uvicorn.Server):
    """uvicorn with limits. Call `raise_open_files_limit` before running it."""

    def __init__(self, config: uvicorn.Config, limits: HttpLimits | None = None) -> None:
        super().__init__(config)
        limits = limits or HttpLimits()
        open_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        connections = connection_limit(limits.connections, open_files)
        self._limiter = ConnectionLimiter(replace(limits, connections=connections))
        self._next_sweep = 0.0
        self._out_of_files = ThrottledWarning("connections cannot be accepted: the process has too many open files")
        config.http = partial(HttpConnection, limiter=self._limiter)  # pyright: ignore[reportAttributeAccessIssue]
        config.timeout_keep_alive = max(1, round(limits.idle_timeout.total_seconds()))
        config.backlog = BACKLOG  # asyncio accepts that many at once, also when no files are left

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._handle)
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        asyncio.get_running_loop().set_exception_handler(None)

    async def on_tick(self, counter: int) -> bool:
        now = time.monotonic()
        if now >= self._next_sweep:
            self._next_sweep = now + SWEEP_EVERY_S
            for connection in [one for one in self.server_state.connections if isinstance(one, HttpConnection)]:
                connection.end_if_overdue(now)
            self._limiter.forget_closed()
        return await super().on_tick(counter)

    def _handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if context.get("message") == OUT_OF_FILES:
            self._out_of_files.log(time.monotonic(), reason=str(context.get("exception")))
        else:
            loop.default_exception_handler(context)
