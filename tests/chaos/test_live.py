"""A live stream is recorded while its publisher, node, artifacts role, object store or database is killed:
every closed segment is stored, the recording ends by itself and plays to its last segment."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import av
import psycopg
import pytest
from psycopg import OperationalError
from psycopg.conninfo import conninfo_to_dict

from tests.integration.platform.objects.relay import Relay, relayed
from tests.integration.serve.conftest import RPC, SECRET, nobody_suspended, principal
from tests.integration.serve.ingest.publishers import publisher
from tests.support.clickhouse_owner import free_port
from tests.support.nodes import NodeProcess, node_lab
from tests.support.postgres import PostgresServer
from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.registry import NewRecording, NewStream, StreamWithKey
from touchline.kernel import ArtifactHash, Principal, SystemClock, TouchlineError
from touchline.media.sandbox import Sandbox
from touchline.platform.endpoints import ObjectsEndpoint, PostgresEndpoint
from touchline.platform.foreground import open_foreground
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.rpc import client as peers
from touchline.platform.rpc.server import RpcServer
from touchline.platform.settings import ObjectsSettings
from touchline.serve.artifacts.rules import Artifact
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.composition import ServeParts, add_services, serve_parts
from touchline.serve.context import ServeContext
from touchline.serve.dvr.rules import Segment
from touchline.serve.dvr.store import DvrStore
from touchline.serve.settings import ServeSettings

SILENCE = timedelta(minutes=1)  # a node needs some of it to start again
RECOVERY_LIMIT_S = 180.0
RATE = 25
Answer = TypeVar("Answer")


class Victim(StrEnum):
    PUBLISHER = "publisher"
    NODE = "node"
    CONTROL = "control"
    OBJECTS = "objects"
    POSTGRES = "postgres"


@dataclass
class Studio:
    """One node, one stream, and an artifacts role that may go and come back."""

    context: ServeContext
    node: NodeProcess
    relay: Relay
    caller: Principal
    rpc_port: int
    rtmp_port: int
    parts: ServeParts | None = None
    _control: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def start_control(self) -> None:
        stack = self._control
        self.parts = await stack.enter_async_context(serve_parts(self.context, RPC.deadline))
        server = await stack.enter_async_context(RpcServer(SECRET, RPC.model_copy(update={"port": self.rpc_port})))
        server.add(peers.SERVICE, peers.ProcessServicer(["artifacts"]))
        add_services(server, self.parts)
        await server.start()
        passes = asyncio.create_task(self._passes(self.parts))
        stack.push_async_callback(_cancelled, passes)

    async def kill_control(self) -> None:
        await self._control.aclose()

    async def _passes(self, parts: ServeParts) -> None:
        while True:
            try:
                await parts.dvr.run_pass()
                await parts.tier_passes.end_overdue()
            except (TouchlineError, OperationalError):
                pass  # as the runner of passes: again at the next turn
            await asyncio.sleep(0.5)

    @asynccontextmanager
    async def published(self, made: StreamWithKey) -> AsyncGenerator[None]:
        """At the pace of the clock, until the block ends."""
        async with publisher(f"rtmp://127.0.0.1:{self.rtmp_port}/live/{made.key}", "flv", seconds=None):
            yield

    async def is_live(self, made: StreamWithKey) -> bool:
        assert self.parts
        [stream] = await self.parts.registry_client.streams(self.caller, [made.stream.id])
        return bool(stream.live and stream.live.playable_at and not stream.live.broken_at)

    async def artifact(self, dvr_hash: ArtifactHash) -> Artifact:
        async with self.context.database.transaction(self.caller) as transaction:
            found = await ArtifactStore(transaction).find(dvr_hash)
        assert found
        return found

    async def segments(self, dvr_hash: ArtifactHash) -> list[Segment]:
        async with self.context.database.transaction(self.caller) as transaction:
            return list(await DvrStore(transaction).segments(dvr_hash))

    async def listed(self, dvr_hash: ArtifactHash, count: int) -> None:
        async def look() -> bool:
            return len(await self.segments(dvr_hash)) >= count

        await until(look)

    async def has_waiting(self, count: int) -> bool:
        """Segments on the disk of the node."""
        return len([*(self.node.folder / "recordings").rglob("*.m4s")]) >= count

    async def has_ended(self, dvr_hash: ArtifactHash) -> bool:
        return (await self.artifact(dvr_hash)).ended_at is not None

    async def played(self, dvr_hash: ArtifactHash) -> int:
        """How many pictures its manifest leads to."""
        key = (await answered(lambda: self.artifact(dvr_hash))).manifest_key or ""
        header, shown, folder = b"", 0, key.rpartition("/")[0]
        for line in (await self.context.objects.get(key)).decode().splitlines():
            if line.startswith("#EXT-X-MAP"):
                header = await self.context.objects.get(f"{folder}/{line.split(chr(34))[1]}")
            elif not line.startswith("#"):
                data = header + await self.context.objects.get(f"{folder}/{line}")
                with av.open(io.BytesIO(data), "r") as container:
                    shown += sum(1 for _ in container.decode(video=0))
        return shown


async def until(look: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(RECOVERY_LIMIT_S):
        while True:
            try:
                if await look():
                    return
            except (TouchlineError, OperationalError):
                pass  # it was killed a moment ago
            await asyncio.sleep(0.1)


async def answered(read: Callable[[], Awaitable[Answer]]) -> Answer:
    """A killed connection is noticed by the first who uses it, and that may be a question of the test."""
    found: list[Answer] = []

    async def look() -> bool:
        found.append(await read())
        return True

    await until(look)
    return found[-1]


async def kill_sessions(server: PostgresServer, postgres: PostgresEndpoint) -> None:
    """Of this test's database."""
    name = conninfo_to_dict(postgres.app_url)["dbname"]
    async with await psycopg.AsyncConnection.connect(server.superuser_url) as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
            (name,),
        )


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def studio(
    postgres: PostgresEndpoint, bucket: ObjectsEndpoint, sandbox: Sandbox, tmp_path: Path
) -> AsyncGenerator[Studio]:
    rpc_port, rtmp_port, clock = free_port(), free_port(), SystemClock()
    settings = ServeSettings(recording_silence=SILENCE)
    with open_foreground(tmp_path.with_name(f"{tmp_path.name}-foreground")) as foreground:
        async with (
            relayed(bucket) as relay,
            ObjectStore(relay.endpoint, ObjectsSettings()) as objects,
            Database(postgres.app_url, clock=clock) as database,
        ):
            context = ServeContext(database, objects, sandbox, tmp_path, settings, clock, foreground, nobody_suspended)
            with node_lab(tmp_path / "nodes", f"127.0.0.1:{rpc_port}", SECRET, relay.endpoint) as lab:
                node = lab.node("node-1", RECORDING_SILENCE="4s")
                own = {"PUBLISH_RTMP_PORT": str(rtmp_port), "LIVE_SEGMENT": "1s", "LIVE_RECONNECT_TIME": "2s"}
                node.environment = {**node.environment, **{f"TOUCHLINE_{name}": value for name, value in own.items()}}
                studio = Studio(context, node, relay, principal(), rpc_port, rtmp_port)
                await studio.start_control()
                node.start()
                await asyncio.to_thread(node.wait_until_ready)
                try:
                    yield studio
                finally:
                    await studio.kill_control()


@pytest.mark.chaos(seconds=30)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("victim", Victim)
async def test_every_closed_segment_of_a_recording_is_stored_whatever_is_killed(
    studio: Studio, victim: Victim, postgres_server: PostgresServer, postgres: PostgresEndpoint
) -> None:
    assert studio.parts
    registry = studio.parts.registry_client
    made = await registry.create_stream(studio.caller, NewStream(uuid4().hex, "The derby"))
    async with AsyncExitStack() as publishing:
        await publishing.enter_async_context(studio.published(made))
        await until(lambda: studio.is_live(made))
        started = await registry.start_dvr(studio.caller, NewRecording(made.stream.id))
        dvr_hash = started.recording.artifact_hash
        await studio.listed(dvr_hash, 2)
        match victim:
            case Victim.PUBLISHER:
                await publishing.aclose()
            case Victim.NODE:
                studio.node.kill()
                await publishing.aclose()
                studio.node.start()
                await asyncio.to_thread(studio.node.wait_until_ready)
            case Victim.CONTROL:
                await studio.kill_control()
                await until(lambda: studio.has_waiting(3))  # nobody lists them
                await studio.start_control()
            case Victim.OBJECTS:
                studio.relay.refuse = b"PUT"
                await until(lambda: studio.has_waiting(4))
                studio.relay.refuse = b""
            case Victim.POSTGRES:
                await kill_sessions(postgres_server, postgres)
        before = len(await answered(lambda: studio.segments(dvr_hash)))
        if victim in {Victim.PUBLISHER, Victim.NODE}:
            await publishing.enter_async_context(studio.published(made))
        await studio.listed(dvr_hash, before + 3)
    await until(lambda: studio.has_ended(dvr_hash))
    ended = await answered(lambda: studio.artifact(dvr_hash))
    segments = await answered(lambda: studio.segments(dvr_hash))
    whole = {Victim.NODE: ArtifactStatus.COMPLETED_PARTIAL}.get(victim, ArtifactStatus.COMPLETED)
    assert ended.status is whole, ended.reason
    seconds = sum(segment.duration_us for segment in segments) / 1_000_000
    assert await studio.played(dvr_hash) == pytest.approx(seconds * RATE, abs=len(segments))
    if victim in {Victim.CONTROL, Victim.OBJECTS, Victim.POSTGRES}:
        assert not [segment for segment in segments[1:] if segment.follows_break]
        lasted = (segments[-1].ends_at - segments[0].starts_at).total_seconds()
        assert seconds == pytest.approx(lasted, abs=0.2), "no segment is missing in between"
