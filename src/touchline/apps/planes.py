"""The planes as one control process holds them: registry, artifacts and events by RPC, the gateway in front.

Invariant: the gateway and the registry speak to the other roles by RPC even here, so that any role can move to
another machine without a line of code.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from touchline.gateway.auth.authentication import Auth, build_auth
from touchline.gateway.auth.service import TenantOwners
from touchline.gateway.composition import (
    GatewayComposition,
    MediaAccess,
    WebPage,
    build_feeds,
    build_graphql,
    build_media,
)
from touchline.gateway.graphql.sources import build_sources
from touchline.gateway.web_page import find_page
from touchline.kernel import SystemClock
from touchline.measure.analytics.service import SessionAnalytics
from touchline.measure.facts.service import FoldService
from touchline.measure.facts.worker import FoldWorker
from touchline.measure.ingest.self_metrics import SelfMetrics
from touchline.measure.ingest.service import IngestService
from touchline.measure.ingest.store import CHANNEL as MEASURE_CHANNEL
from touchline.measure.lifecycle.consumer import LifecycleFeed
from touchline.measure.lifecycle.rpc import SERVICE as LIFECYCLE
from touchline.measure.lifecycle.rpc import LifecycleServicer
from touchline.measure.lifecycle.service import LifecycleService
from touchline.measure.sessions.rules import Rules
from touchline.media.sandbox import Sandbox
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.endpoints import Endpoints
from touchline.platform.events import queries
from touchline.platform.events.log import EVENTS_CHANNEL, INBOX_CHANNEL, EventHandler
from touchline.platform.foreground import Foreground, open_foreground
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.postgres.wakeups import Wakeups
from touchline.platform.rpc.client import RpcClient
from touchline.platform.rpc.server import RpcServer
from touchline.serve.artifacts.rpc import GrpcArtifactClient
from touchline.serve.composition import ServeParts, add_services, serve_parts
from touchline.serve.context import ServeContext
from touchline.serve.watched.consumer import WatchedVideos

from . import wiring
from .settings import Loaded


@dataclass(frozen=True, slots=True)
class Ground:
    """What every plane stands on."""

    database: Database
    objects: ObjectStore
    analytics: Analytics
    wakeups: Wakeups
    foreground: Foreground


@dataclass(frozen=True, slots=True)
class Planes:
    ground: Ground
    sandbox: Sandbox
    serve: ServeParts
    gateway: GatewayComposition
    media: MediaAccess
    handlers: tuple[EventHandler, ...]
    feeds: tuple[EventHandler, ...]  # these write to ClickHouse, which would rather have many rows at once
    folds: FoldWorker


@asynccontextmanager
async def open_planes(loaded: Loaded) -> AsyncGenerator[Planes]:
    settings, secret = loaded.settings, wiring.cluster_secret(loaded)
    async with (
        _open_ground(loaded) as ground,
        Sandbox(settings.media) as sandbox,
        RpcServer(secret, settings.rpc) as server,
        RpcClient(server.address, secret, settings.rpc) as client,
        serve_parts(_environment(loaded, ground, sandbox), client) as serve,
    ):
        add_services(server, serve)
        server.add(LIFECYCLE, LifecycleServicer(LifecycleService(ground.analytics)))
        await server.start()
        media = build_media(GrpcArtifactClient(client), ground.objects, secret, settings.media_links, SystemClock())
        ingest = IngestService(ground.database, ground.analytics, settings.ingest)
        gateway = _gateway(loaded, ground, client, media, ingest)
        watched = WatchedVideos(ground.objects, TenantOwners(ground.database), SystemClock())
        handlers, feeds = (*serve.handlers, watched), (LifecycleFeed(ground.analytics), SelfMetrics(ingest))
        yield Planes(ground, sandbox, serve, gateway, media, handlers, feeds, _folds(loaded, ground, ingest))


@asynccontextmanager
async def _open_ground(loaded: Loaded) -> AsyncGenerator[Ground]:
    settings, where = loaded.settings, wiring.endpoints(loaded)
    wakeups = Wakeups(where.postgres.app_url, [INBOX_CHANNEL, EVENTS_CHANNEL, MEASURE_CHANNEL])
    async with (
        Database(where.postgres.app_url, settings.postgres) as database,
        ObjectStore(where.objects, settings.objects) as objects,
        Analytics(where.clickhouse, settings.clickhouse) as analytics,
        wakeups.listening(),
    ):
        with open_foreground(wiring.scratch_folder(loaded)) as foreground:
            yield Ground(database, objects, analytics, wakeups, foreground)


def _environment(loaded: Loaded, ground: Ground, sandbox: Sandbox) -> ServeContext:
    return ServeContext(
        database=ground.database,
        objects=ground.objects,
        sandbox=sandbox,
        scratch=wiring.scratch_folder(loaded),
        settings=loaded.settings.serve,
        clock=SystemClock(),
        foreground=ground.foreground,
    )


def _folds(loaded: Loaded, ground: Ground, ingest: IngestService) -> FoldWorker:
    rules = Rules.of(loaded.settings.sessions)
    folds = FoldService(ground.database, ground.analytics, rules, loaded.settings.ingest)
    return FoldWorker(folds, ingest, ground.wakeups)


def _gateway(
    loaded: Loaded, ground: Ground, client: RpcClient, media: MediaAccess, ingest: IngestService
) -> GatewayComposition:
    settings, secret = loaded.settings, wiring.cluster_secret(loaded)
    auth: Auth = build_auth(ground.database, secret, settings.auth, SystemClock())
    sessions = SessionAnalytics(ground.analytics, settings.answers, settings.sessions)
    sources = build_sources(client, client, client, ground.database, sessions, settings.watch)
    feeds = build_feeds(ground.database, ground.wakeups, settings.graphql)
    return GatewayComposition(
        database=ground.database,
        auth=auth,
        settings=wiring.gateway_settings(loaded),
        checks={
            "postgres": lambda: queries.log_status(ground.database),
            "objects": lambda: ground.objects.exists("health"),
            "clickhouse": ground.analytics.ping,
        },
        graphql=build_graphql(sources, auth, media, feeds, secret, settings.graphql),
        ingest=ingest,
        page=WebPage(find_page(), _upload_origin(loaded, wiring.endpoints(loaded))),
    )


def _upload_origin(loaded: Loaded, where: Endpoints) -> str:
    """The object store as browsers reach it: the page sends its uploads straight there."""
    return loaded.settings.objects.public_url or where.objects.url
