"""The control process: it brings the schemas up to date, then runs registry, artifacts, events and gateway in one loop.

Invariant: it holds no state of its own. Any number may run at once; killing one loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Any

import uvicorn

from touchline.gateway.auth.service import TenantOwners
from touchline.gateway.auth.sessions.service import remove_ended_sessions
from touchline.gateway.composition import GatewayComposition
from touchline.gateway.media.endpoints import EndpointCacheFollower
from touchline.gateway.rest.app import build_app
from touchline.gateway.settings import GatewaySettings
from touchline.kernel import SystemClock, TouchlineError
from touchline.measure.analytics.rollups.service import RollupService
from touchline.media.sandbox import Sandbox
from touchline.platform.events import queries
from touchline.platform.events.consumer import Consumer
from touchline.platform.events.log import Archive, PostgresLog, Sequencer
from touchline.platform.http_server import HttpLimits
from touchline.platform.periodic.runner import PeriodicRunner, PeriodicTask
from touchline.platform.postgres.database import Database
from touchline.platform.retry import retry_forever
from touchline.serve.scanner.service import Scanner
from touchline.watch.views import service as watching

from .planes import Planes, open_planes
from .prepare import prepare
from .runtime import Loop, Server, beside, on_stop_signal, process_name
from .settings import Loaded, Settings

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
OBSERVE_EVERY = timedelta(seconds=10)
LAST_REQUESTS = timedelta(seconds=5)  # well within the grace that the supervisor gives a role

logger = logging.getLogger(__name__)


async def run_control(loaded: Loaded) -> None:
    """Until SIGTERM or SIGINT."""
    await prepare(loaded, logger.info)
    async with open_planes(loaded) as planes:
        server = gateway_server(planes.gateway)
        on_stop_signal(server.stop)
        await beside(server.serve(), _loops(planes, loaded.settings))


def _loops(planes: Planes, settings: Settings) -> list[Loop]:
    ground, clock = planes.ground, SystemClock()
    archive = Archive(ground.database, ground.objects, settings.events, clock)
    log = PostgresLog(ground.database, ground.wakeups, archive)
    scanner = Scanner(ground.database, ground.objects, TenantOwners(ground.database), settings.serve, clock)
    scan = PeriodicTask("scan the bucket", settings.serve.scan_interval, scanner.run_pass)
    sums = RollupService(ground.analytics, settings.answers)
    summing = [
        PeriodicTask("sum days of sessions", MINUTE, sums.run_pass),
        PeriodicTask("tidy sums of days", HOUR, sums.tidy),
    ]
    tasks = [*_tasks(ground.database, archive, settings), *planes.serve.tasks, scan, *summing]
    return [
        Sequencer(ground.database, ground.wakeups, settings.events).run(),
        PeriodicRunner(ground.database, tasks, settings.periodic, process_name()).run(),
        EndpointCacheFollower(log, planes.media.places, settings.events.poll_interval).run(),
        *(Consumer(ground.database, log, handler, settings.events).run() for handler in planes.handlers),
        *(Consumer(ground.database, log, feed, settings.events, settings.events.gather).run() for feed in planes.feeds),
        planes.folds.run(),
        _observe(ground.database, settings),
        _warm(planes.sandbox),
    ]


def _tasks(database: Database, archive: Archive, settings: Settings) -> list[PeriodicTask]:
    async def archive_events() -> bool:
        return (await archive.run_pass()).more

    async def tidy_access() -> bool:
        return (await remove_ended_sessions(database, settings.auth, SystemClock())).more

    return [PeriodicTask("archive events", HOUR, archive_events), PeriodicTask("tidy access", DAY, tidy_access)]


def believed_proxies(settings: GatewaySettings) -> dict[str, Any]:
    """Who may say where a request comes from. Left alone, the server believes everybody on this machine, and attempts
    to sign in are counted by address."""
    return {
        "proxy_headers": bool(settings.trusted_proxies),
        "forwarded_allow_ips": list(settings.trusted_proxies),
    }


def gateway_server(parts: GatewayComposition) -> Server:
    return Server(
        uvicorn.Config(
            build_app(parts),
            host=parts.settings.host,
            port=parts.settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            **believed_proxies(parts.settings),
            ws_max_size=int(parts.settings.max_body),
            timeout_graceful_shutdown=int(LAST_REQUESTS.total_seconds()),
        ),
        _limits(parts.settings),
    )


def _limits(settings: GatewaySettings) -> HttpLimits:
    return HttpLimits(
        settings.header_timeout,
        settings.body_timeout,
        settings.idle_timeout,
        settings.send_timeout,
        settings.max_connections,
        settings.connections_per_address,
    )


async def _warm(sandbox: Sandbox) -> None:
    """So that the first upload does not wait for it. What is wrong with it is said again to whoever needs it."""
    try:
        await sandbox.walls()
    except TouchlineError:
        logger.exception("the sandbox cannot be started")


async def _observe(database: Database, settings: Settings) -> None:
    """Keeps the gauges of the log and of watching current."""

    async def turn() -> None:
        await queries.update_gauges(database)
        await watching.observe(database, settings.watch, SystemClock().now())
        await asyncio.sleep(OBSERVE_EVERY.total_seconds())

    await retry_forever(turn, OBSERVE_EVERY, logger)
