"""The roles of serve, a worker and three nodes as processes of their own, over servers that may be killed as well.

Nothing is faked: what passes the time of a deadline or of a periodic task is written into its row, "as if it had come".
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, LiteralString, TypeVar
from uuid import uuid4

import httpx
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.integration.platform.objects.relay import Relay, relayed
from tests.support.nodes import NodeLab, NodeProcess, node_lab
from tests.support.roles import SECRET, RoleProcesses, outside_environment, own_clickhouse, role_processes
from tests.support.stack import RunningStack, StackPlan, running_stack, temporary_root
from tests.support.videos import MANY_SEGMENTS, make_video
from touchline.contracts.registry import NewUpload
from touchline.kernel import ArtifactHash, PlaybackId, Principal, Role, SystemClock, TenantId, TouchlineError, UserId
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.postgres.migrations import migrate
from touchline.platform.retry import is_transient
from touchline.platform.rpc.client import RpcClient
from touchline.platform.settings import ObjectsSettings, RpcSettings
from touchline.process.purge.service import VideoHoldingsOf
from touchline.serve.artifacts.rpc import GrpcArtifactClient
from touchline.serve.fsck.inventories import NodeInventories
from touchline.serve.fsck.service import Fsck, FsckReport
from touchline.serve.playback.tokens import Grant, InventoryTokens, MediaTokens
from touchline.serve.registry.rpc import GrpcRegistryClient
from touchline.serve.settings import ServeSettings
from touchline.serve.tiers.rpc import GrpcStorageClient

NODES = ("node-1", "node-2", "node-3")
ROLES = ("registry", "artifacts", "events", "worker")
SERVERS = {"object store": "objects", "postgres": "postgres"}  # as the stack names its parts
SETTINGS = {
    "WORKER_JOB_TYPES": "transcode,clip_generate",
    "WORKER_LEASE": "5s",
    "WORKER_HEARTBEAT_INTERVAL": "1s",
    "WORKER_RECLAIM_INTERVAL": "1s",
    "PERIODIC_POLL_INTERVAL": "200ms",
    "PERIODIC_RETRY_DELAY": "1s",
    "SERVE_NODE_HEARTBEAT": "1s",
    "RPC_START_TIMEOUT": "5m",  # a busy machine is no finding
}
WITHIN_S = 240.0
LOOK_AGAIN_S = 0.2
GRACE = timedelta(hours=24)

DUE = """
-- What somebody else changes right now is left for the next time: nobody waits for another.
UPDATE platform.periodic SET next_run_at = now()
 WHERE name IN (SELECT name FROM platform.periodic
                 WHERE name IN ('end uploads', 'end registered artifacts that do not exist', 'purge', 'purge videos',
                                'clean up orphan copies', 'end overdue commands to nodes')
                   FOR UPDATE SKIP LOCKED)
"""
COMPLETIONS_DUE = """
UPDATE serve.multiparts AS m SET due_at = now() FROM serve.artifacts AS a
 WHERE a.artifact_hash = m.artifact_hash AND a.status = 'completing'
"""
PURGES_DUE = """
UPDATE process.purges SET next_at = now()
 WHERE video_id IN (SELECT video_id FROM process.purges WHERE next_at > now() FOR UPDATE SKIP LOCKED)
"""
RETRIES_DUE = """
UPDATE serve.artifacts SET purge_next_at = now()
 WHERE artifact_hash IN (SELECT artifact_hash FROM serve.artifacts
                          WHERE purge_next_at > now() AND purge_error IS NOT NULL FOR UPDATE SKIP LOCKED)
"""
UNDER_WAY = """
SELECT artifact_hash, status || coalesce(' ' || transfer, '') FROM serve.artifacts
 WHERE status IN ('completing', 'aborting', 'processing') OR (status = 'requested' AND artifact_type = 'clip')
    OR transfer IS NOT NULL OR (purge_due_at IS NOT NULL AND purged_at IS NULL)
UNION ALL
SELECT artifact_hash, kind || ' on ' || node_id FROM serve.node_commands WHERE outcome IS NULL
UNION ALL
SELECT c.artifact_hash, c.state || ' on ' || c.node_id FROM serve.artifact_nodes AS c
  JOIN serve.artifacts AS a ON a.artifact_hash = c.artifact_hash
 WHERE c.state IN ('defrosting', 'evicting') OR (c.state = 'present' AND a.status = 'deleted')
"""
OVERDUE = """
SELECT artifact_hash, 'command of ' || node_id FROM serve.node_commands WHERE outcome IS NULL AND deadline <= now()
UNION ALL
SELECT artifact_hash, 'upload in parts' FROM serve.multiparts WHERE due_at <= now()
UNION ALL
SELECT artifact_hash, status FROM serve.artifacts WHERE NOT pinned AND retention_until <= now() AND status = 'ready'
UNION ALL
SELECT artifact_hash, 'record without its artifact' FROM serve.uploads
 WHERE placed_at IS NULL AND error_code IS NULL AND deleted_at IS NULL AND created_at <= now() - interval '10 minutes'
"""
ARTIFACT = """
SELECT status, synced, transfer, original_key, manifest_key, local_copies, deleted_at, purged_at
  FROM serve.artifacts WHERE artifact_hash = %s
"""
COPIES = "SELECT node_id, state FROM serve.artifact_nodes WHERE artifact_hash = %s ORDER BY node_id"
COMMANDS = "SELECT node_id, kind, outcome FROM serve.node_commands WHERE artifact_hash = %s ORDER BY created_at, id"
OPEN_AT = "SELECT node_id FROM serve.node_commands WHERE artifact_hash = %s AND kind = %s AND sent_at IS NOT NULL"
WAITING_FOR_LOCKS = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'touchline' AND wait_event_type = 'Lock'"

Found = TypeVar("Found")


@dataclass(frozen=True)
class Playable:
    """A video as it was when it became playable: what its record promises."""

    artifact_hash: ArtifactHash
    playback_id: PlaybackId
    original: bytes
    rendition: Mapping[str, str]  # digests by the names of media addresses


@dataclass(frozen=True)
class State:
    status: str
    synced: bool
    transfer: str | None
    original_key: str
    manifest_key: str | None
    local_copies: int
    deleted_at: Any
    purged_at: Any


@dataclass
class Cluster:
    stack: RunningStack
    relay: Relay
    roles: RoleProcesses
    lab: NodeLab
    registry: GrpcRegistryClient
    artifacts: GrpcArtifactClient
    storage: GrpcStorageClient
    objects: ObjectStore
    database: Database
    http: httpx.AsyncClient
    video: bytes
    ours: Principal
    killed: int = 0  # of the servers the last one

    def node(self, node_id: str) -> NodeProcess:
        return next(node for node in self.lab.nodes if node.node_id == node_id)

    # --- What its tables say.

    @property
    def superuser_url(self) -> str:
        name = conninfo_to_dict(self.stack.endpoints.postgres.app_url)["dbname"]
        return make_conninfo(self.stack.superuser_url, dbname=str(name))

    async def rows(self, query: LiteralString, *values: Any) -> list[tuple[Any, ...]]:
        async with await psycopg.AsyncConnection.connect(self.superuser_url, autocommit=True) as connection:
            cursor = await connection.execute(query, values)
            return await cursor.fetchall() if cursor.description else []

    async def state(self, artifact_hash: str) -> State | None:
        found = await self.rows(ARTIFACT, artifact_hash)
        return State(*found[0]) if found else None

    async def copies(self, artifact_hash: str) -> dict[str, str]:
        """Where it is, and was."""
        return {node_id: state for node_id, state in await self.rows(COPIES, artifact_hash) if state != "gone"}

    async def commands(self, artifact_hash: str) -> list[tuple[str, str | None]]:
        return [(kind, outcome) for _, kind, outcome in await self.rows(COMMANDS, artifact_hash)]

    # --- Waiting.

    async def until(self, look: Callable[[], Awaitable[Found]], what: str) -> Found:
        """Servers that are away meanwhile are waited for."""
        loop = asyncio.get_running_loop()
        deadline, last = loop.time() + WITHIN_S, "nobody has looked"
        while loop.time() < deadline:
            try:
                if found := await look():
                    return found
                last = repr(found)
            except (psycopg.OperationalError, httpx.TransportError, TouchlineError) as error:
                if isinstance(error, TouchlineError) and not is_transient(error):
                    raise
                last = repr(error)
            await asyncio.sleep(LOOK_AGAIN_S)
        raise AssertionError(f"{what}: {last}\n{await self.rows(UNDER_WAY)}")

    async def pass_time(self) -> None:
        """As if the next run of every periodic task had come, and the next try of what failed."""
        await self.rows(DUE)
        await self.rows(PURGES_DUE)
        await self.rows(RETRIES_DUE)

    async def settle(self) -> None:
        """Until nothing is under way any more. What whoever died left half done is over its time from now on."""

        async def is_over() -> bool:
            await self.rows(COMPLETIONS_DUE)
            return True

        async def is_settled() -> bool:
            await self.pass_time()
            return not await self.rows(UNDER_WAY)

        await self.until(is_over, "the database is away")
        await self.until(is_settled, "something is still under way")

    # --- Dying, and coming back.

    async def kill(self, victim: str) -> None:
        if victim in SERVERS:
            pid = self.stack.part(SERVERS[victim]).pid
            assert pid
            os.kill(pid, signal.SIGKILL)
            self.killed = pid
        elif victim in NODES:
            await asyncio.to_thread(self.node(victim).kill)
        else:
            await asyncio.to_thread(self.roles.kill, victim)

    async def restart(self, victim: str) -> None:
        if victim in SERVERS:
            await self.until(lambda: self._is_back(SERVERS[victim]), f"{victim} is still away")
        elif victim in NODES:
            node = self.node(victim)
            await asyncio.to_thread(node.start)
            await asyncio.to_thread(node.wait_until_ready)
        else:
            await asyncio.to_thread(self.roles.start, victim)
            await asyncio.to_thread(self.roles.wait_until_ready, victim)
        await self.until(self.nodes_are_ready, "nodes without a line")

    async def _is_back(self, part: str) -> bool:
        status = self.stack.part(part)
        return status.state == "ready" and status.pid != self.killed

    async def nodes_are_ready(self) -> bool:
        return all([await asyncio.to_thread(node.is_ready) for node in self.lab.nodes])

    # --- Videos.

    async def created(self, key: str) -> ArtifactHash:
        new = NewUpload(key, "match.mp4", len(self.video), title="The final")
        return (await self.registry.create_upload(self.ours, new)).upload.artifact_hash

    async def sent(self) -> ArtifactHash:
        """All parts are there; nothing is completed."""
        artifact_hash = await self.created(uuid4().hex)
        [address] = await self.artifacts.presign_parts(self.ours, artifact_hash, [1])
        (await self.http.put(address.url, content=self.video)).raise_for_status()
        return artifact_hash

    async def playable(self) -> Playable:
        artifact_hash = await self.sent()
        await self.artifacts.complete_upload(self.ours, artifact_hash)
        return await self.when_playable(artifact_hash)

    async def when_playable(self, artifact_hash: ArtifactHash) -> Playable:
        async def is_playable() -> State | None:
            state = await self.state(artifact_hash)
            assert state
            assert state.status != "failed"
            return state if state.status == "ready" else None

        state = await self.until(is_playable, "it does not become playable")
        assert state
        [[playback_id]] = await self.rows(
            "SELECT playback_id FROM serve.identities WHERE artifact_hash = %s", artifact_hash
        )
        original = await self.objects.get(state.original_key)
        return Playable(artifact_hash, PlaybackId(playback_id), original, await self.in_store(state))

    async def warm(self, video: Playable) -> str:
        """On one node; which."""
        await self.storage.warm(self.ours, video.artifact_hash)

        async def where() -> str | None:
            copies = await self.copies(video.artifact_hash)
            return next((node_id for node_id, state in copies.items() if state == "present"), None)

        found = await self.until(where, "it does not get warm")
        assert found
        return found

    async def in_store(self, state: State) -> dict[str, str]:
        """The files of its rendition in the object store, and their digests."""
        assert state.manifest_key
        folder = state.manifest_key.removesuffix("index.m3u8")
        listed = (await self.objects.list(folder)).objects
        files = {each.key.removeprefix(folder): await self.objects.get(each.key) for each in listed}
        return {name: digest(content) for name, content in files.items() if name != "first.m3u8"}

    async def on_node(self, node_id: str, video: Playable) -> dict[str, str]:
        """The same as its viewers get it there."""
        until = SystemClock().now() + timedelta(hours=1)
        token = MediaTokens(SECRET).sign(Grant(self.ours.tenant_id, video.playback_id, video.artifact_hash, until))
        found: dict[str, str] = {}
        for name in video.rendition:
            path = f"/media/{token}/{video.artifact_hash}/{name}"
            answer = await asyncio.to_thread(self.node(node_id).get, path)
            assert answer.status_code == 200, (node_id, name, answer.content)
            found[name] = digest(answer.content)
        return found

    async def lost_bytes(self, video: Playable) -> list[str]:
        """What its record promises, and neither the object store nor a node has."""
        state = await self.state(video.artifact_hash)
        assert state
        if state.purged_at is not None:
            return []
        copies = await self.copies(video.artifact_hash)
        found = [await self.in_store(state)]
        found += [await self.on_node(node, video) for node, there in copies.items() if there == "present"]
        names = [name for name, wanted in video.rendition.items() if wanted not in {one.get(name) for one in found}]
        is_whole = await self.objects.get(state.original_key) == video.original
        return names if is_whole else [*names, state.original_key]

    async def fsck(self) -> FsckReport:
        """As `touchline fsck`."""
        clock = SystemClock()
        inventories = NodeInventories(self.http, InventoryTokens(SECRET), clock)
        parts = self.database, self.objects, VideoHoldingsOf(self.database), ServeSettings(), clock, GRACE, inventories
        return await Fsck(*parts).run()


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def many_segments(folder: Path) -> bytes:
    path = folder / MANY_SEGMENTS.name
    make_video(path, MANY_SEGMENTS)
    return path.read_bytes()


@asynccontextmanager
async def running_cluster() -> AsyncGenerator[Cluster]:
    async with AsyncExitStack() as open_parts:
        root = open_parts.enter_context(temporary_root())
        plan = StackPlan(root, only=("postgres", "objects", "clickhouse"))
        stack = open_parts.enter_context(running_stack(plan, ready=False))
        await asyncio.to_thread(stack.wait_until_ready)
        endpoints = stack.endpoints
        await migrate(endpoints.postgres.owner_url)
        relay = await open_parts.enter_async_context(relayed(endpoints.objects))
        clickhouse = await open_parts.enter_async_context(own_clickhouse(endpoints))
        objects = await open_parts.enter_async_context(ObjectStore(endpoints.objects, ObjectsSettings()))
        await objects.ensure_bucket()
        folder = root.parent
        environment = outside_environment(folder / "roles", endpoints, endpoints.postgres, relay.endpoint, clickhouse)
        environment |= {f"TOUCHLINE_{name}": value for name, value in SETTINGS.items()}
        roles = open_parts.enter_context(role_processes(folder, environment))
        for role in ROLES:
            roles.start(role)
        address = f"127.0.0.1:{roles.ports['artifacts']}"
        lab = open_parts.enter_context(node_lab(folder / "nodes", address, SECRET, relay.endpoint))
        for node_id in NODES:
            lab.node(node_id).start()
        video = await asyncio.to_thread(many_segments, folder)
        await asyncio.to_thread(roles.wait_until_ready, *ROLES)
        rpc = RpcSettings(deadline=timedelta(seconds=60))
        ports = {role: f"127.0.0.1:{roles.ports[role]}" for role in ("registry", "artifacts")}
        clients = {
            role: await open_parts.enter_async_context(RpcClient(where, SECRET, rpc)) for role, where in ports.items()
        }
        cluster = Cluster(
            stack,
            relay,
            roles,
            lab,
            GrpcRegistryClient(clients["registry"]),
            GrpcArtifactClient(clients["artifacts"]),
            GrpcStorageClient(clients["artifacts"]),
            objects,
            await open_parts.enter_async_context(Database(endpoints.postgres.app_url)),
            await open_parts.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=60)),
            video,
            Principal(TenantId(uuid4()), UserId(uuid4()), Role.EDITOR),
        )
        await cluster.until(cluster.nodes_are_ready, "nodes without a line")
        yield cluster
