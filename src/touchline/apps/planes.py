"""The planes as a process holds them that runs some of the roles registry, artifacts, events and gateway.

Invariant: a role of this process is asked directly, by the same client protocol and with the same checks as by RPC. A
role without an address is asked directly as well: its services need nothing but the database and the object store.

What must be there before the roles start: schemas, bucket, namespace, database. On our servers and on others.

Invariant: making what is there already changes nothing, from however many machines it is asked for.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum

from touchline.contracts.artifacts import ArtifactClient
from touchline.contracts.roles import RoleClients
from touchline.kernel import Misconfigured, SystemClock, TenantId
from touchline.measure.ingest.service import IngestService
from touchline.measure.ingest.store import CHANNEL as MEASURE_CHANNEL
from touchline.measure.lifecycle.rpc import SERVICE as LIFECYCLE, GrpcLifecycleClient, LifecycleServicer
from touchline.measure.lifecycle.service import LifecycleRole, LifecycleService
from touchline.measure.tables import ensure_tables
from touchline.media.sandbox import Sandbox
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.store import ensure_database
from touchline.platform.events.log import EVENTS_CHANNEL, INBOX_CHANNEL
from touchline.platform.foreground import Foreground, open_foreground
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Wakeups
from touchline.platform.postgres.migrations import Migration, migrate
from touchline.platform.rpc import client as peers
from touchline.platform.rpc.calls import CALLERS_DEADLINE
from touchline.platform.rpc.server import RpcServer
from touchline.serve.artifacts.rpc import GrpcArtifactClient
from touchline.serve.composition import ServeParts, add_artifacts, add_registry, serve_parts
from touchline.serve.context import ServeContext
from touchline.serve.nodes.store import CHANNEL as NODES_CHANNEL
from touchline.serve.playback.rpc import GrpcPlaybackClient
from touchline.serve.registry.rpc import GrpcRegistryClient
from touchline.serve.tiers.rpc import GrpcStorageClient

from . import wiring
from .settings import Loaded, Settings


class ControlRole(StrEnum):
    """What `control` runs in one loop, and what may run as processes of their own."""

    REGISTRY = "registry"
    ARTIFACTS = "artifacts"
    EVENTS = "events"
    GATEWAY = "gateway"


ALL_ROLES = frozenset(ControlRole)
ANSWERING = frozenset({ControlRole.REGISTRY, ControlRole.ARTIFACTS, ControlRole.EVENTS})  # by RPC
ASKED = {
    ControlRole.REGISTRY: frozenset({ControlRole.ARTIFACTS}),
    ControlRole.ARTIFACTS: frozenset[ControlRole](),
    ControlRole.EVENTS: frozenset[ControlRole](),
    ControlRole.GATEWAY: ANSWERING,
}


@dataclass(frozen=True, slots=True)
class PlanesContext:
    """What every plane works with."""

    database: Database
    objects: ObjectStore
    analytics: Analytics
    wakeups: Wakeups
    foreground: Foreground


@dataclass(frozen=True, slots=True)
class Planes:
    roles: frozenset[ControlRole]
    context: PlanesContext
    sandbox: Sandbox
    serve: ServeParts
    ingest: IngestService
    clients: RoleClients


@asynccontextmanager
async def open_planes(loaded: Loaded, roles: frozenset[ControlRole] = ALL_ROLES) -> AsyncGenerator[Planes]:
    settings = loaded.settings
    async with (
        _remote(loaded, roles) as remote,
        _open_context(loaded) as context,
        Sandbox(settings.media) as sandbox,
        serve_parts(_serve_context(loaded, context, sandbox), settings.rpc.deadline, _artifacts(remote)) as serve,
        _answering(loaded, roles, context, serve),
    ):
        clients = _clients(remote, serve, context, settings)
        ingest = IngestService(context.database, context.analytics, settings.ingest)
        yield Planes(roles, context, sandbox, serve, ingest, clients)


def peers_of(settings: Settings, roles: frozenset[ControlRole] = frozenset({ControlRole.GATEWAY})) -> list[peers.Peer]:
    """The roles at addresses that a process with these roles asks there and not itself."""
    addresses = {
        ControlRole.REGISTRY: ("registry.address", settings.registry.address),
        ControlRole.ARTIFACTS: ("artifacts.address", settings.artifacts.address),
        ControlRole.EVENTS: ("lifecycle.address", settings.lifecycle.address),
    }
    asked = frozenset[ControlRole]().union(*(ASKED[role] for role in roles)) - roles
    return [peers.Peer(role, *addresses[role]) for role in sorted(asked) if addresses[role][1]]


Remote = dict[str, peers.RpcClient]  # by role


@asynccontextmanager
async def _remote(loaded: Loaded, roles: frozenset[ControlRole]) -> AsyncGenerator[Remote]:
    secret, settings = wiring.cluster_secret(loaded), loaded.settings
    async with AsyncExitStack() as stack:
        found: Remote = {}
        for peer in peers_of(settings, roles):
            found[peer.role] = await stack.enter_async_context(peers.connect(peer, secret, settings.rpc))
        yield found


def _artifacts(remote: Remote) -> ArtifactClient | None:
    client = remote.get(ControlRole.ARTIFACTS)
    return GrpcArtifactClient(client) if client else None


def _clients(remote: Remote, serve: ServeParts, context: PlanesContext, settings: Settings) -> RoleClients:
    registry, events = remote.get(ControlRole.REGISTRY), remote.get(ControlRole.EVENTS)
    artifacts = remote.get(ControlRole.ARTIFACTS)
    local_lifecycle = LifecycleRole(LifecycleService(context.analytics), settings.rpc.deadline)
    return RoleClients(
        registry=GrpcRegistryClient(registry) if registry else serve.registry_client,
        artifacts=serve.artifact_client,
        lifecycle=GrpcLifecycleClient(events) if events else local_lifecycle,
        playback=GrpcPlaybackClient(artifacts) if artifacts else serve.playback_client,
        storage=GrpcStorageClient(artifacts) if artifacts else serve.storage_client,
    )


@asynccontextmanager
async def _open_context(loaded: Loaded) -> AsyncGenerator[PlanesContext]:
    settings, where = loaded.settings, wiring.endpoints(loaded)
    wakeups = Wakeups(where.postgres.app_url, [INBOX_CHANNEL, EVENTS_CHANNEL, MEASURE_CHANNEL, NODES_CHANNEL])
    async with (
        Database(where.postgres.app_url, settings.postgres) as database,
        ObjectStore(where.objects, settings.objects) as objects,
        Analytics(where.clickhouse, settings.clickhouse) as analytics,
        wakeups.listening(),
    ):
        with open_foreground(wiring.scratch_folder(loaded)) as foreground:
            yield PlanesContext(database, objects, analytics, wakeups, foreground)


def _serve_context(loaded: Loaded, context: PlanesContext, sandbox: Sandbox) -> ServeContext:
    return ServeContext(
        database=context.database,
        objects=context.objects,
        sandbox=sandbox,
        scratch=wiring.scratch_folder(loaded),
        settings=loaded.settings.serve,
        clock=SystemClock(),
        foreground=context.foreground,
        wakeups=context.wakeups,
        find_suspended=lambda: _suspended(context.database),
    )


async def _suspended(database: Database) -> frozenset[TenantId]:
    from touchline.gateway.auth.service import suspended_tenants  # the accounts are the gateway's

    return await suspended_tenants(database)


@asynccontextmanager
async def _answering(
    loaded: Loaded, roles: frozenset[ControlRole], context: PlanesContext, serve: ServeParts
) -> AsyncGenerator[None]:
    """The RPC of the roles that are asked by others; a gateway alone has none."""
    if not roles & ANSWERING:
        yield
        return
    settings = wiring.rpc_settings(loaded) if roles == ALL_ROLES else loaded.settings.rpc
    if not settings.port and roles != ALL_ROLES:
        hint = "Set it to the port that the other processes have in their settings, like registry.address."
        raise Misconfigured(
            "rpc.port is not set", why=f"other processes could not connect to {' and '.join(sorted(roles))}", hint=hint
        )
    async with RpcServer(wiring.cluster_secret(loaded), settings) as server:
        server.add(peers.SERVICE, peers.ProcessServicer(sorted(roles)))
        if ControlRole.REGISTRY in roles:
            add_registry(server, serve)
        if ControlRole.ARTIFACTS in roles:
            add_artifacts(server, serve)
        if ControlRole.EVENTS in roles:
            lifecycle = LifecycleRole(LifecycleService(context.analytics), CALLERS_DEADLINE)
            server.add(LIFECYCLE, LifecycleServicer(lifecycle))
        await server.start()
        yield


async def prepare(loaded: Loaded, report: Callable[[str], None]) -> list[Migration]:
    """Answers which migrations were applied now."""
    settings, where = loaded.settings, wiring.endpoints(loaded)
    applied = await migrate(where.postgres.owner_url)
    for migration in applied:
        report(f"applied {migration}")
    async with ObjectStore(where.objects, settings.objects) as objects:
        await objects.ensure_bucket()
    await ensure_database(where.clickhouse, settings.clickhouse)
    async with Analytics(where.clickhouse, settings.clickhouse) as analytics:
        await ensure_tables(analytics)
    if settings.temporal.address:  # the embedded one starts with its namespace
        from touchline.platform.temporal.client import connect, ensure_namespace  # a second to load

        await ensure_namespace(await connect(where.temporal, settings.temporal), settings.temporal)
    return applied
