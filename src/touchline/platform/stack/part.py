"""What the supervisor needs to know about a part (a server or a role of ours), and the probes that prove it works.

Invariant: a probe returns when the answer is right and raises what was wrong otherwise; it never waits for long.
"""

from __future__ import annotations

import asyncio
import http.client
import signal
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from urllib.parse import SplitResult, urlsplit

from touchline.kernel import Unavailable
from touchline.platform.settings import StackSettings

from .folder import DataFolder
from .process import Launch, python_environment

Probe = Callable[[], Awaitable[None]]  # returns when the part answers correctly, raises what is wrong otherwise


MIN_FREE_BYTES = 32 * 1024**2  # PostgreSQL writes its log in files of 16 MiB, and ClickHouse reserves before it writes


class PartKind(StrEnum):
    SERVER = "server"
    ROLE = "role"


async def no_step() -> None:
    """The default step: nothing to do."""


@dataclass(frozen=True, slots=True)
class StackPart:
    name: str
    kind: PartKind
    launch: Launch
    probe: Probe
    stop_grace: timedelta
    alive: Probe | None = (
        None  # the liveness probe: without an answer the part is restarted. It must not depend on other parts
    )
    stop_signal: signal.Signals = signal.SIGTERM
    before_start: Callable[[], Awaitable[None]] = no_step  # before every start; a SetupError ends everything
    after_start: Callable[[], Awaitable[None]] = no_step  # once it answers, before it counts as ready
    after_stop: Callable[[], None] = lambda: None  # after every end of its process
    needs: tuple[str, ...] = ()  # parts that must be ready before it starts, as far as they are ours to start
    address: str = ""  # for people; without secrets
    ports: Mapping[str, int] = field(default_factory=dict[str, int])
    least_free_bytes: int = MIN_FREE_BYTES  # with less on the disk of its data it writes nothing more


LIMIT = timedelta(seconds=5)
SLOW = timedelta(seconds=10)
LONGEST_ANSWER = 64 * 1024
FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    body: bytes


async def send_request(
    method: str,
    url: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
    limit: timedelta = LIMIT,
) -> HttpAnswer:
    """One plain HTTP request without a proxy. `tls` is for a server that accepts only its own certificates."""
    connection = _connection(urlsplit(url), limit, tls)
    return await asyncio.to_thread(_send_request, connection, method, url, body, headers or {})


def _connection(target: SplitResult, limit: timedelta, tls: ssl.SSLContext | None) -> http.client.HTTPConnection:
    if target.scheme == "https":
        return http.client.HTTPSConnection(target.netloc, timeout=limit.total_seconds(), context=tls)
    return http.client.HTTPConnection(target.netloc, timeout=limit.total_seconds())


def _send_request(
    connection: http.client.HTTPConnection, method: str, url: str, body: bytes, headers: Mapping[str, str]
) -> HttpAnswer:
    target = urlsplit(url)
    try:
        path = f"{target.path or '/'}?{target.query}" if target.query else target.path or "/"
        connection.request(method, path, body, dict(headers))
        response = connection.getresponse()
        return HttpAnswer(response.status, response.read(LONGEST_ANSWER))
    finally:
        connection.close()


def http_probe(url: str, headers: Mapping[str, str] | None = None, limit: timedelta = LIMIT) -> Probe:
    async def probe() -> None:
        answer = await send_request("GET", url, headers=headers, limit=limit)
        if answer.status != http.HTTPStatus.OK:
            raise Unavailable(f"{url} responds with status {answer.status}")

    return probe


async def probe_error(probe: Probe, limit: timedelta = LIMIT) -> str:
    """What is wrong; an empty text when nothing is."""
    try:
        async with asyncio.timeout(limit.total_seconds()):
            await probe()
    except TimeoutError:
        return f"no answer within {limit.total_seconds():g} s"
    except ConnectionRefusedError:
        return "it does not accept connections"
    except Exception as error:
        # Any failure means "not ready, because": the reason is returned to the caller.
        return str(error) or type(error).__name__
    return ""


async def wait_until_answering(probe: Probe, still_not: Callable[[str], None]) -> None:
    """Returns as soon as the part answers; reports what is wrong when that takes long. The caller sets the limit."""
    begun, pause, said = time.monotonic(), FIRST_PAUSE_S, ""
    while why := await probe_error(probe):
        if why != said and time.monotonic() - begun > SLOW.total_seconds():
            still_not(why)
            said = why
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE_S)


# Otherwise each thread has its own heap, and keeps memory that others could use.
ALLOCATOR = {"MALLOC_ARENA_MAX": "2"}


@dataclass(frozen=True, slots=True)
class StackRole:
    name: str
    command: Sequence[str]
    health_url: str  # whether it is ready, which may depend on other parts
    needs: tuple[str, ...] = ()  # other roles; all servers are ready before any role starts
    live_url: str = ""  # whether its event loop runs, independent of other parts; without it: the same as `health_url`


def role_part(role: StackRole, folder: DataFolder, settings: StackSettings) -> StackPart:
    return StackPart(
        name=role.name,
        kind=PartKind.ROLE,
        launch=Launch(command=role.command, folder=folder.root, environment=ALLOCATOR | python_environment(folder)),
        probe=http_probe(role.health_url),
        stop_grace=settings.role_stop_grace,
        alive=http_probe(role.live_url or role.health_url, limit=settings.health_timeout),
        needs=role.needs,
        address=role.health_url,
    )
