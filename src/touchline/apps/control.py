"""The roles registry, artifacts, events and gateway: all in one loop as `control`, or each as a process of its own.

Invariant: no process holds state of its own. Any number of each may run at once; killing one loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from touchline.kernel import SystemClock, TouchlineError
from touchline.measure.analytics.rollups.service import RollupService
from touchline.measure.audit.service import AuditFeed
from touchline.measure.facts.service import FoldService, FoldWorker
from touchline.measure.ingest.self_metrics import SelfMetrics
from touchline.measure.lifecycle.service import LifecycleFeed
from touchline.measure.sessions.rules import Rules
from touchline.media.sandbox import Sandbox
from touchline.platform.events import store
from touchline.platform.events.consumer import Consumer
from touchline.platform.events.log import Archive, EventHandler, PostgresLog, Sequencer
from touchline.platform.periodic.runner import PeriodicRunner, PeriodicTask
from touchline.platform.postgres.database import Database
from touchline.platform.retry import retry_forever
from touchline.serve.scanner.service import Scanner
from touchline.serve.watched.consumer import WatchedVideos
from touchline.watch.archive.consumer import PurgedVideos
from touchline.watch.views import service as watch_views

from .planes import ALL_ROLES, ControlRole, Planes, open_planes, prepare
from .runtime import Loop, health_server, on_stop_signal, process_name, run_with_background
from .settings import Loaded, Settings

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
OBSERVE_EVERY = timedelta(seconds=10)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RoleWork:
    """What a role does besides answering."""

    tasks: list[PeriodicTask] = field(default_factory=list[PeriodicTask])
    handlers: list[EventHandler] = field(default_factory=list[EventHandler])
    feeds: list[EventHandler] = field(default_factory=list[EventHandler])  # to ClickHouse: many rows at once
    loops: list[Loop] = field(default_factory=list[Loop])


async def run_control(loaded: Loaded) -> None:
    """Until SIGTERM or SIGINT. It brings the schemas up to date first; roles of their own find them so."""
    await prepare(loaded, logger.info)
    await run_roles(loaded, ALL_ROLES)


def role_runner(role: ControlRole) -> Callable[[Loaded], Coroutine[Any, Any, None]]:
    return lambda loaded: run_roles(loaded, frozenset({role}))


async def run_roles(loaded: Loaded, roles: frozenset[ControlRole]) -> None:
    """Until SIGTERM or SIGINT."""
    settings = loaded.settings
    async with open_planes(loaded, roles) as planes:
        archive = Archive(planes.context.database, planes.context.objects, settings.events, SystemClock())
        log = PostgresLog(planes.context.database, planes.context.wakeups, archive)
        work = [_work(role, planes, settings, archive) for role in sorted(roles - {ControlRole.GATEWAY})]
        if ControlRole.GATEWAY in roles:
            main, of_gateway = _gateway(loaded, planes, log)
            work.append(of_gateway)
        else:
            main = _until_stopped(loaded, planes.context.database)
        await run_with_background(main, _loops(planes, settings, log, work))


def _gateway(loaded: Loaded, planes: Planes, log: PostgresLog) -> tuple[Loop, RoleWork]:
    """Until it is stopped, and what it does besides answering."""
    from . import gateway  # half of what a process loads

    composition = gateway.build_gateway(loaded, planes)
    server = gateway.gateway_server(composition)
    on_stop_signal(server.stop)
    loops = gateway.gateway_loops(composition, log, loaded.settings)
    return server.serve(), RoleWork(tasks=gateway.gateway_tasks(planes, loaded.settings), loops=loops)


async def _until_stopped(loaded: Loaded, database: Database) -> None:
    stop, settings = asyncio.Event(), loaded.settings.rpc
    on_stop_signal(stop.set)
    health = health_server(settings.host, settings.health_port, "rpc.health_port", lambda: store.log_status(database))
    async with health if settings.health_port else nullcontext():
        await stop.wait()


def _work(role: ControlRole, planes: Planes, settings: Settings, archive: Archive) -> RoleWork:
    match role:
        case ControlRole.REGISTRY:
            return RoleWork(tasks=list(planes.serve.registry_tasks))
        case ControlRole.ARTIFACTS:
            return _artifacts(planes, settings)
        case _:
            return _events(planes, settings, archive)


def _artifacts(planes: Planes, settings: Settings) -> RoleWork:
    from touchline.gateway.auth.service import TenantOwners

    context, clock = planes.context, SystemClock()
    owners = TenantOwners(context.database)
    scanner = Scanner(context.database, context.objects, owners, settings.serve, clock)
    scan = PeriodicTask("scan the bucket", settings.serve.scan_interval, scanner.run_pass, catches_up=True)
    return RoleWork(
        tasks=[*planes.serve.artifact_tasks, scan],
        handlers=[*planes.serve.handlers, WatchedVideos(context.objects, owners, clock), PurgedVideos()],
        loops=[_start(planes.sandbox)],
    )


def _events(planes: Planes, settings: Settings, archive: Archive) -> RoleWork:
    context = planes.context
    rollups = RollupService(context.analytics, settings.answers)
    folds = FoldService(context.database, context.analytics, Rules.of(settings.sessions), settings.ingest)

    async def archive_events() -> bool:
        return (await archive.run_pass()).more

    return RoleWork(
        tasks=[
            PeriodicTask("archive events", HOUR, archive_events, catches_up=True),
            PeriodicTask("roll up days of sessions", MINUTE, rollups.run_pass, catches_up=True),
            PeriodicTask("clean up rollups", HOUR, rollups.tidy, catches_up=True),
        ],
        feeds=[LifecycleFeed(context.analytics), AuditFeed(context.analytics), SelfMetrics(planes.ingest)],
        loops=[
            Sequencer(context.database, context.wakeups, settings.events).run(),
            FoldWorker(folds, planes.ingest, context.wakeups).run(),
            _observe(context.database, settings),
        ],
    )


def _loops(planes: Planes, settings: Settings, log: PostgresLog, work: list[RoleWork]) -> list[Loop]:
    database = planes.context.database
    tasks = [task for each in work for task in each.tasks]
    handlers = [handler for each in work for handler in each.handlers]
    feeds = [feed for each in work for feed in each.feeds]
    return [
        PeriodicRunner(database, tasks, settings.periodic, process_name()).run(),
        *(Consumer(database, log, handler, settings.events).run() for handler in handlers),
        *(Consumer(database, log, feed, settings.events, settings.events.gather).run() for feed in feeds),
        *(loop for each in work for loop in each.loops),
    ]


async def _start(sandbox: Sandbox) -> None:
    """So that the first upload does not wait for it. What is wrong with it is said again to whoever needs it."""
    try:
        await sandbox.isolation()
    except TouchlineError:
        logger.exception("the sandbox cannot be started")


async def _observe(database: Database, settings: Settings) -> None:
    """Keeps the gauges of the log and of watching current."""

    async def turn() -> None:
        await store.update_gauges(database)
        await watch_views.observe(database, settings.watch, SystemClock().now())
        await asyncio.sleep(OBSERVE_EVERY.total_seconds())

    await retry_forever(turn, OBSERVE_EVERY, logger)
