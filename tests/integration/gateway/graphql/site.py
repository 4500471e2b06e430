"""A gateway with everything behind it: registry, artifacts and lifecycle, two tenants, one log.

As in the control process these roles are asked directly; a plan may take them apart, and then the real RPC is between.

Time moves when told, and so does the log: `settle` hands out positions and lets every consumer take what is there.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from fastapi import FastAPI

from tests.integration.gateway.conftest import SECRET, World
from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.videos import VideoTranscoded
from touchline.contracts.events.watch import GoalVideoLabeled
from touchline.contracts.registry import NewUpload, Upload
from touchline.contracts.roles import RoleClients
from touchline.gateway.auth.rules import COMMAND_LINE, NewToken, Tenant
from touchline.gateway.auth.service import TenantOwners, suspended_tenants
from touchline.gateway.composition import (
    Check,
    DataSources,
    GatewayComposition,
    GraphqlComposition,
    MeasureReads,
    MediaAccess,
    WebPage,
    build_feeds,
    build_media,
    build_sources,
)
from touchline.gateway.graphql.pages import Cursors
from touchline.gateway.media_links import EndpointCacheFollower
from touchline.gateway.rest.app import build_app
from touchline.gateway.settings import GatewaySettings, GraphqlSettings, MediaLinkSettings
from touchline.kernel import Principal, Role, Scope, video_id
from touchline.measure.analytics.service import SessionAnalytics
from touchline.measure.audit.service import Audit, AuditFeed
from touchline.measure.ingest.service import IngestService
from touchline.measure.lifecycle import rpc as lifecycle_rpc
from touchline.measure.lifecycle.service import LifecycleFeed, LifecycleRole, LifecycleService
from touchline.measure.settings import IngestSettings
from touchline.media.sandbox import Sandbox
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.endpoints import ClickHouseEndpoint, ObjectsEndpoint
from touchline.platform.events.consumer import Consumer
from touchline.platform.events.log import EVENTS_CHANNEL, Archive, PostgresLog, Sequencer
from touchline.platform.foreground import open_foreground
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Wakeups
from touchline.platform.rpc.calls import CALLERS_DEADLINE
from touchline.platform.rpc.client import RpcClient
from touchline.platform.rpc.server import RpcServer
from touchline.platform.settings import ClickHouseSettings, EventSettings, ObjectsSettings, RpcSettings
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rpc import GrpcArtifactClient
from touchline.serve.composition import ServeParts, add_services, serve_parts
from touchline.serve.context import ServeContext
from touchline.serve.playback.rpc import GrpcPlaybackClient
from touchline.serve.registry.rpc import GrpcRegistryClient
from touchline.serve.settings import ServeSettings
from touchline.serve.storage.queries import StorageReads
from touchline.serve.tiers.rpc import GrpcStorageClient
from touchline.serve.watched.consumer import WatchedVideos

EVENTS = EventSettings()
RPC = RpcSettings(stop_grace=timedelta(0), deadline=timedelta(minutes=1))
STORE = "http://objects.example"
PICTURE = b"\xff\xd8 a picture"
SEGMENT = bytes(range(256)) * 40
PLAYLIST = b"#EXTM3U\nv0/index.m3u8\n"


@dataclass(frozen=True, slots=True)
class Needs:
    """What a site stands on."""

    world: World
    objects: ObjectStore
    analytics: Analytics
    sandbox: Sandbox
    scratch: Path


@dataclass(frozen=True, slots=True)
class Plan:
    gateway: GatewaySettings = field(default_factory=lambda: GatewaySettings(port=4000))
    graphql: GraphqlSettings = field(default_factory=GraphqlSettings)
    media: MediaLinkSettings = field(default_factory=MediaLinkSettings)
    serve: ServeSettings = field(default_factory=ServeSettings)
    ingest: IngestSettings = field(default_factory=IngestSettings)
    page: WebPage = field(default_factory=lambda: WebPage(None, STORE))
    checks: Mapping[str, Check] = field(default_factory=dict)
    separate: bool = False  # the roles answer from behind a socket, as if they were other processes
    away: frozenset[str] = frozenset()  # roles that nobody answers for


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a token, in the browser and behind it."""

    principal: Principal
    token: str = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True, slots=True)
class Site:
    needs: Needs
    parts: GatewayComposition
    serve: ServeParts
    server: RpcServer
    rpc: RpcClient
    log: PostgresLog
    sequencer: Sequencer
    consumers: list[Consumer]
    app: FastAPI
    client: httpx.AsyncClient
    positions: dict[Consumer, int] = field(default_factory=dict)

    @property
    def world(self) -> World:
        return self.needs.world

    @property
    def media(self) -> MediaAccess:
        return self.parts.media

    async def person(self, role: Role = Role.EDITOR, tenant: Tenant | None = None, *scopes: Scope) -> Person:
        user = await self.world.user(role, tenant, email=f"{uuid4().hex}@example.org")
        allowed = frozenset(scopes or (Scope.READ, Scope.WRITE)[: 2 if role.includes(Role.EDITOR) else 1])
        issued = await self.world.auth.administration.tokens.issue(
            COMMAND_LINE, user.tenant_id, user.id, NewToken("test", allowed)
        )
        return Person(Principal(user.tenant_id, user.id, role, allowed), issued.text)

    async def ask(self, person: Person, document: str, /, **variables: Any) -> dict[str, Any]:
        """The whole answer, errors included."""
        body = {"query": document, "variables": variables}
        response = await self.client.post("/api/graphql", json=body, headers=person.headers)
        assert response.status_code == 200, response.text
        return response.json()

    async def data(self, person: Person, document: str, /, **variables: Any) -> dict[str, Any]:
        answer = await self.ask(person, document, **variables)
        assert "errors" not in answer, answer
        return answer["data"]

    async def upload(self, person: Person, title: str = "A match", key: str = "") -> Upload:
        """Registered, with its artifact; nothing sent."""
        new = NewUpload(key or uuid4().hex, file_name="match.mp4", size_bytes=1000, title=title)
        return (await self.serve.registry_client.create_upload(person.principal, new)).upload

    async def ready(self, person: Person, title: str = "A match", key: str = "") -> Upload:
        """As if sent, completed and processed: a playlist, a segment and a poster lie in the store."""
        upload = await self.upload(person, title, key)
        async with self.world.database.transaction(person.principal) as transaction:
            await transitions.move(
                transaction, upload.artifact_hash, ArtifactStatus.COMPLETING, (ArtifactStatus.UPLOADING,)
            )
            await transitions.store_original(transaction, upload.artifact_hash)
        folder = f"videos/proxy/{video_id(upload.artifact_hash)}/1"
        for name, content in (("index.m3u8", PLAYLIST), ("v0/segment-1.m4s", SEGMENT), ("poster.jpg", PICTURE)):
            await self.needs.objects.put_new(f"{folder}/{name}", content)
        async with self.world.database.transaction(person.principal) as transaction:
            transaction.announce(
                VideoTranscoded(
                    artifact_hash=upload.artifact_hash,
                    job_id=uuid4(),
                    attempt=1,
                    manifest_key=f"{folder}/index.m3u8",
                    poster_key=f"{folder}/poster.jpg",
                    duration_ms=60_000,
                    width=1920,
                    height=1080,
                )
            )
        await self.settle()
        return upload

    async def label(self, person: Person, upload: Upload, player: str, revision: int) -> None:
        """Watch says whose goal the video shows, and it is called by that from then on."""
        labeled = GoalVideoLabeled(
            artifact_hash=upload.artifact_hash,
            event_id="4200_1_2_Goal_1",
            generation=1,
            fixture_id=4200,
            title=f"Arsenal 1-0 Liverpool, {player} 23'",
            home_team="Arsenal",
            away_team="Liverpool",
            player=player,
        )
        async with self.world.database.transaction(person.principal) as transaction:
            transaction.announce(labeled, revision=revision)
        await self.settle()

    async def settle(self) -> None:
        """Until nothing moves any more: consumers announce, too."""
        moved = True
        while moved:
            moved = await self.sequencer.step() > 0
            for consumer in self.consumers:
                position = self.positions.get(consumer, 0) or await consumer.position()
                self.positions[consumer] = await consumer.step(position)
                moved = moved or self.positions[consumer] > position

    async def stop_services(self) -> None:
        """Registry, artifacts and lifecycle are away from now on, for those who ask them by RPC."""
        await self.server.__aexit__()

    def follower(self) -> EndpointCacheFollower:
        return EndpointCacheFollower(self.log, self.media.places, EVENTS.poll_interval)


def clients_over(client: RpcClient) -> RoleClients:
    return RoleClients(
        GrpcRegistryClient(client),
        GrpcArtifactClient(client),
        lifecycle_rpc.GrpcLifecycleClient(client),
        GrpcPlaybackClient(client),
        GrpcStorageClient(client),
    )


@asynccontextmanager
async def running_site(needs: Needs, plan: Plan | None = None) -> AsyncGenerator[Site]:
    plan, world = plan or Plan(), needs.world
    async with AsyncExitStack() as stack:
        foreground = stack.enter_context(open_foreground(needs.scratch))
        environment = ServeContext(
            world.database,
            needs.objects,
            needs.sandbox,
            needs.scratch,
            plan.serve,
            world.clock,
            foreground,
            lambda: suspended_tenants(world.database),
        )
        wakeups = await stack.enter_async_context(Wakeups(world.postgres.app_url, [EVENTS_CHANNEL]).listening())
        server = await stack.enter_async_context(RpcServer(SECRET, RPC))
        rpc = await stack.enter_async_context(RpcClient(server.address, SECRET, RPC))
        serve = await stack.enter_async_context(serve_parts(environment, RPC.deadline))
        add_services(server, serve)
        answering = LifecycleRole(LifecycleService(needs.analytics), CALLERS_DEADLINE)
        server.add(lifecycle_rpc.SERVICE, lifecycle_rpc.LifecycleServicer(answering))
        await server.start()
        log = PostgresLog(world.database, wakeups, Archive(world.database, needs.objects, EVENTS, world.clock))
        watched = WatchedVideos(needs.objects, TenantOwners(world.database), world.clock)
        handlers = [*serve.handlers, watched, LifecycleFeed(needs.analytics), AuditFeed(needs.analytics)]
        away = await stack.enter_async_context(nobody())
        lifecycle = LifecycleRole(LifecycleService(needs.analytics), RPC.deadline)
        clients = RoleClients(
            serve.registry_client, serve.artifact_client, lifecycle, serve.playback_client, serve.storage_client
        )
        if plan.separate:
            clients = clients_over(rpc)
        clients = replace(clients, **{role: getattr(clients_over(away), role) for role in plan.away})
        sessions = SessionAnalytics(needs.analytics, clock=world.clock)
        stored = StorageReads(world.database, plan.serve.purge_after)
        sources = build_sources(clients, world.database, MeasureReads(sessions, Audit(needs.analytics)), stored)
        parts = gateway_parts(world, needs.objects, plan, sources, wakeups, needs.analytics)
        app = build_app(parts)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=("127.0.0.1", 50000))
        client = await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url=plan.gateway.base_url))
        yield Site(
            needs=needs,
            parts=parts,
            serve=serve,
            server=server,
            rpc=rpc,
            log=log,
            sequencer=Sequencer(world.database, wakeups, EVENTS),
            consumers=[Consumer(world.database, log, handler, EVENTS) for handler in handlers],
            app=app,
            client=client,
        )


def nobody() -> RpcClient:
    """Leads to a port where nobody answers."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        return RpcClient(f"127.0.0.1:{closed.getsockname()[1]}", SECRET, RPC)


def nowhere() -> ObjectStore:
    return ObjectStore(
        ObjectsEndpoint("http://127.0.0.1:9", "nowhere", "us-east-1", "key", "secret"), ObjectsSettings()
    )


def no_analytics() -> Analytics:
    """A ClickHouse that nobody runs; it is not asked before it is needed."""
    return Analytics(ClickHouseEndpoint("http://127.0.0.1:9", "nowhere", "nobody", "secret"), ClickHouseSettings())


def gateway_parts(
    world: World,
    objects: ObjectStore,
    plan: Plan,
    sources: DataSources,
    wakeups: Wakeups,
    analytics: Analytics | None = None,
) -> GatewayComposition:
    """As the composition root does it."""
    media = build_media(sources, world.database, objects, SECRET, plan.media, world.clock)
    feeds = build_feeds(world.database, wakeups, plan.graphql)
    graphql = GraphqlComposition(
        sources, world.auth, media, feeds, Cursors(SECRET), plan.graphql, plan.gateway.base_url
    )
    ingest = IngestService(world.database, analytics or no_analytics(), plan.ingest)
    return GatewayComposition(world.database, world.auth, plan.gateway, graphql, plan.page, ingest, plan.checks)
