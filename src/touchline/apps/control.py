"""The control process: it brings the schemas up to date, then runs sequencer, periodic work and gateway in one loop.

Invariant: it holds no state of its own. Any number may run at once; killing one loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Coroutine, Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import uvicorn

from touchline.gateway.auth.parts import build_auth
from touchline.gateway.auth.sessions.upkeep import upkeep
from touchline.gateway.rest.app import build_app
from touchline.gateway.rest.parts import GatewayParts
from touchline.kernel import SystemClock
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.events import queries
from touchline.platform.events.archive import Archive
from touchline.platform.events.sequencer import INBOX_CHANNEL, Sequencer
from touchline.platform.objects import ObjectStore
from touchline.platform.periodic import PeriodicRunner, Task
from touchline.platform.postgres import Database
from touchline.platform.postgres.wakeups import Wakeups
from touchline.platform.retry import retried_forever

from . import wiring
from .prepare import prepare
from .settings import Loaded, Settings

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
OBSERVE_EVERY = timedelta(seconds=10)
LAST_REQUESTS = timedelta(seconds=5)  # well within the grace that the supervisor gives a role

logger = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """The signals are handled by the process, which has more to stop than this."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def run_control(loaded: Loaded) -> None:
    """Until SIGTERM or SIGINT."""
    settings, where = loaded.settings, wiring.endpoints(loaded)
    await prepare(loaded, logger.info)
    wakeups = Wakeups(where.postgres.app_url, [INBOX_CHANNEL])
    async with (
        Database(where.postgres.app_url, settings.postgres) as database,
        ObjectStore(where.objects, settings.objects) as objects,
        Analytics(where.clickhouse, settings.clickhouse) as analytics,
        wakeups.listening(),
    ):
        parts = GatewayParts(
            database=database,
            auth=build_auth(database, wiring.cluster_secret(loaded), settings.auth, SystemClock()),
            settings=wiring.gateway_settings(loaded),
            checks={
                "postgres": lambda: queries.status(database),
                "objects": lambda: objects.exists("health"),
                "clickhouse": analytics.ping,
            },
        )
        periodic = PeriodicRunner(database, _tasks(database, objects, settings), settings.periodic, process_name())
        sequencer = Sequencer(database, wakeups, settings.events)
        await serve(_server(parts), [sequencer.run(), periodic.run(), _observe(database)])


async def serve(server: Server, loops: Sequence[Coroutine[Any, Any, None]]) -> None:
    """The server until a stop signal, the loops beside it. A loop that fails ends everything: it is started again."""

    def stop() -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(loop) for loop in loops]
        await server.serve()
        for task in running:
            task.cancel()


def process_name() -> str:
    return f"{socket.gethostname()}/{os.getpid()}"


def _server(parts: GatewayParts) -> Server:
    return Server(
        uvicorn.Config(
            build_app(parts),
            host=parts.settings.host,
            port=parts.settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=int(LAST_REQUESTS.total_seconds()),
        )
    )


def _tasks(database: Database, objects: ObjectStore, settings: Settings) -> list[Task]:
    clock = SystemClock()
    archive = Archive(database, objects, settings.events, clock)

    async def archive_events() -> bool:
        return (await archive.run_pass()).more

    async def tidy_access() -> bool:
        return (await upkeep(database, settings.auth, clock)).more

    return [Task("archive events", HOUR, archive_events), Task("tidy access", DAY, tidy_access)]


async def _observe(database: Database) -> None:
    """Keeps the gauges of the log current."""

    async def turn() -> None:
        await queries.observe(database)
        await asyncio.sleep(OBSERVE_EVERY.total_seconds())

    await retried_forever(turn, OBSERVE_EVERY, logger)
