"""A day prepared and served over HTTP on loopback: its videos are drawn, its clock is set, then the server starts.

Invariant: with a fixed start, the same day is the same world at the same moment, however often it is served. Once the
URL is known the server accepts connections; after the end the port is free again.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from touchline.kernel import Clock, SetupError, SystemClock
from touchline.platform import http_server
from touchline.platform.http_server import HostCheck
from touchline_world.days.model import Day
from touchline_world.videos.library import VideoLibrary, recipes_of

from .world import DayClock, World


@dataclass(frozen=True, slots=True)
class ServerOptions:
    day: Day
    folder: Path  # of the videos
    speed: float = 1.0
    starts_in: timedelta = timedelta(minutes=2)  # until the first kick-off, counted when everything is ready
    starts_at: datetime | None = None  # of the first kick-off; wins
    prepares: bool = True


@asynccontextmanager
async def open_world(
    plan: ServerOptions, progress: Callable[[str], None], stopped: asyncio.Event, wall: Clock | None = None
) -> AsyncGenerator[World | None]:
    """None: it was stopped before it was ready."""
    wall = wall or SystemClock()
    async with VideoLibrary(plan.folder) as library:
        if plan.prepares and not await _prepare_videos(library, plan.day, progress, stopped):
            yield None
            return
        clock = day_clock(plan, wall)
        progress(f"{plan.day.name}: the first match kicks off at {clock.at(first_kick_off_ms(plan.day)):%H:%M:%S} UTC.")
        yield World(plan.day, clock, library)


def day_clock(plan: ServerOptions, wall: Clock) -> DayClock:
    kick_off = plan.starts_at or wall.now() + plan.starts_in
    if kick_off.tzinfo is None:
        kick_off = kick_off.replace(tzinfo=UTC)
    before = timedelta(milliseconds=first_kick_off_ms(plan.day) / plan.speed)
    return DayClock(wall, kick_off.astimezone(UTC) - before, plan.speed)


def first_kick_off_ms(day: Day) -> int:
    return min((fixture.kick_off_ms for fixture in day.fixtures), default=0)


async def _prepare_videos(
    library: VideoLibrary, day: Day, progress: Callable[[str], None], stopped: asyncio.Event
) -> bool:
    def report_progress(done: int, of: int) -> None:
        progress(f"{done} of {of} videos are ready")

    making = asyncio.create_task(library.prepare(recipes_of(day), report_progress))
    stopping = asyncio.create_task(stopped.wait())
    await asyncio.wait({making, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if making.done():
        await making
        return True
    making.cancel()
    return False


HOST = "127.0.0.1"
LAST_REQUESTS_S = 1


class _UvicornServer(http_server.HttpServer):
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


class WorldServer:
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
        self._server = _UvicornServer(config)
        self._socket = _listening(port)
        self.url = f"http://{HOST}:{self._socket.getsockname()[1]}"
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._server.serve([self._socket]))
        answering = asyncio.create_task(self._server.answers.wait())
        await asyncio.wait({self._task, answering}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            answering.cancel()
            await self._task  # raises the reason
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
            hint="Choose another port with --port, or 0 for any free one.",
        ) from error
    return listener
