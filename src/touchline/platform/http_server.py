"""How our processes serve HTTP: uvicorn, with time limits on whoever sends or reads slowly, and a bound on connections.

Invariant: a connection without a request in progress, a request that does not come in, and an answer that is not taken
all end by themselves; and no number of idle connections keeps a new one out.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from ipaddress import ip_address
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

logger = logging.getLogger(__name__)

LONGEST_HEAD_BYTES = 64 * 1024
SLOWEST_BODY_BYTES_PER_S = 2 * 1024  # slower than any line that people use
FILES_OF_OUR_OWN = 200  # databases, logs, pipes: what a process needs beside its connections
FILES_PER_CONNECTION = 2  # its own, and one behind it
LEAST_CONNECTIONS = 20
BACKLOG = 256
SWEEP_EVERY_S = 1.0
LOG_EVERY_S = 60.0
OUT_OF_FILES = "socket.accept() out of system resource"  # asyncio's words
REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class HttpLimits:
    header_timeout: timedelta = timedelta(seconds=15)  # until a request's head is there, from its first moment
    body_timeout: timedelta = timedelta(seconds=30)  # until its body is there, and more for what has come
    idle_timeout: timedelta = timedelta(seconds=60)  # between two requests
    send_timeout: timedelta = timedelta(minutes=2)  # while a client takes nothing of its answer
    connections: int = 1000
    connections_per_address: int = 500  # but for this machine, where a proxy speaks for many


def affordable(wanted: int, open_files: int) -> int:
    """How many connections there may be: never so many that accepting one more fails."""
    if open_files == resource.RLIM_INFINITY:
        return wanted
    return max(LEAST_CONNECTIONS, min(wanted, (open_files - FILES_OF_OUR_OWN) // FILES_PER_CONNECTION))


class Seldom:
    """A line of the log that strangers can cause: written at once, then at most once a minute with how often it was."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._again_at = 0.0
        self._unsaid = 0

    def say(self, now: float, **extra: object) -> None:
        self._unsaid += 1
        if now >= self._again_at:
            logger.warning(self._text, extra={"times": self._unsaid, **extra})
            self._again_at, self._unsaid = now + LOG_EVERY_S, 0


@dataclass(eq=False, slots=True)
class Door:
    """The connections of one server, oldest first. WebSockets stay in here after they have changed the protocol."""

    limits: HttpLimits
    _open: dict[Connection, str] = field(default_factory=dict["Connection", str])
    _counted: Counter[str] = field(default_factory=Counter[str])
    _refused: Seldom = field(default_factory=lambda: Seldom("connections are refused: there are too many"))

    def admit(self, connection: Connection, address: str) -> bool:
        """False when there is no place for it; an older connection that does nothing makes place."""
        if not self._has_place(address):
            self.forget_closed()
        while not self._has_place(address):
            if not self._close_an_idle_one(address):
                self._refused.say(time.monotonic(), address=address)
                return False
        self._open[connection] = address
        self._counted[address] += 1
        return True

    def leave(self, connection: Connection) -> None:
        address = self._open.pop(connection, None)
        if address is not None:
            self._counted[address] -= 1
            if not self._counted[address]:
                del self._counted[address]

    def _has_place(self, address: str) -> bool:
        return len(self._open) < self.limits.connections and not self._is_over(address)

    def _is_over(self, address: str) -> bool:
        return self._counted[address] >= self.limits.connections_per_address and not is_this_machine(address)

    def _close_an_idle_one(self, address: str) -> bool:
        of_this_address = self._is_over(address)
        for connection, whose in self._open.items():
            if connection.is_idle() and (whose == address or not of_this_address):
                connection.drop()
                self.leave(connection)
                return True
        return False

    def forget_closed(self) -> None:
        """A WebSocket does not tell us that it is gone."""
        for connection in [connection for connection in self._open if connection.is_gone()]:
            self.leave(connection)


def is_this_machine(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return True  # a socket of this machine that has no address


class Connection(HttpToolsProtocol):
    """One connection, as uvicorn serves it, and for how long it has been waited for."""

    def __init__(self, *arguments: Any, door: Door, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._door = door
        self._head_since: float | None = None  # when the head that has not come yet was begun, or could have been
        self._head_bytes = 0
        self._body_since: float | None = None
        self._body_bytes = 0
        self._stuck_since: float | None = None
        self._stuck_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_since = time.monotonic()
        if not self._door.admit(self, self.client[0] if self.client else ""):
            self._end(REFUSAL)

    def connection_lost(self, exc: Exception | None) -> None:
        self._door.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._head_bytes = self._head_bytes + len(data) if self._head_since is not None else 0
        if self._head_bytes > LONGEST_HEAD_BYTES and not self.is_gone():
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
        """No request in progress. A WebSocket is none of ours any more."""
        answered = not self.cycle or self.cycle.response_complete
        return answered and not self.is_gone() and self.transport.get_protocol() is self

    def is_gone(self) -> bool:
        return self.transport.is_closing()

    def drop(self) -> None:
        self.transport.abort()

    def end_if_overdue(self, now: float) -> None:
        if self.is_gone():
            return
        if self._is_head_late(now):
            self._end(TOO_LATE)
        elif self._is_body_late(now) or self._is_stuck(now):
            self.drop()

    def _is_head_late(self, now: float) -> bool:
        since = self._head_since
        return since is not None and now - since > self._door.limits.header_timeout.total_seconds()

    def _is_body_late(self, now: float) -> bool:
        """What the application does not read yet is not the client's fault."""
        if self._body_since is None or self.flow.read_paused:
            return False
        allowed_s = self._door.limits.body_timeout.total_seconds() + self._body_bytes / SLOWEST_BODY_BYTES_PER_S
        return now - self._body_since > allowed_s

    def _is_stuck(self, now: float) -> bool:
        waiting = self.transport.get_write_buffer_size()
        if not waiting or waiting != self._stuck_bytes or self._stuck_since is None:
            self._stuck_since, self._stuck_bytes = now if waiting else None, waiting
            return False
        return now - self._stuck_since > self._door.limits.send_timeout.total_seconds()

    def _end(self, answer: bytes) -> None:
        self.transport.write(answer)
        self.transport.close()


class Server(uvicorn.Server):
    """As uvicorn, with limits. Whoever runs it calls `raise_open_files_limit` first."""

    def __init__(self, config: uvicorn.Config, limits: HttpLimits | None = None) -> None:
        super().__init__(config)
        limits = limits or HttpLimits()
        open_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        connections = affordable(limits.connections, open_files)
        self._door = Door(replace(limits, connections=connections))
        self._next_sweep = 0.0
        self._out_of_files = Seldom("connections cannot be accepted: the process has too many open files")
        config.http = partial(Connection, door=self._door)  # pyright: ignore[reportAttributeAccessIssue]
        config.timeout_keep_alive = max(1, round(limits.idle_timeout.total_seconds()))
        config.backlog = BACKLOG  # asyncio tries as often at once, also when there are no files left

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
            for connection in [one for one in self.server_state.connections if isinstance(one, Connection)]:
                connection.end_if_overdue(now)
            self._door.forget_closed()
        return await super().on_tick(counter)

    def _handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if context.get("message") == OUT_OF_FILES:
            self._out_of_files.say(time.monotonic(), reason=str(context.get("exception")))
        else:
            loop.default_exception_handler(context)
