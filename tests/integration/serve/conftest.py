"""A control process of two tenants with a clock that moves when told: real database, objects, sandbox and RPC.

It is asked as the gateway asks it, in one process; what `both_ways` marks is asked over a socket, too.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from touchline.contracts.artifacts import ArtifactClient, ArtifactStatus
from touchline.contracts.events import Event, Payload
from touchline.contracts.playback import PlaybackClient
from touchline.contracts.registry import Clip, NewUpload, Recording, RegistryClient, Upload
from touchline.contracts.settings import ByteSize
from touchline.kernel import ArtifactHash, ManualClock, Principal, Role, TenantId, UserId, uuid7
from touchline.media.sandbox import Sandbox
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.foreground import open_foreground
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.rpc.client import RpcClient
from touchline.platform.rpc.server import RpcServer
from touchline.platform.settings import RpcSettings
from touchline.serve.artifacts.rpc import GrpcArtifactClient
from touchline.serve.artifacts.rules import Artifact
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.composition import ServeParts, add_services, serve_parts
from touchline.serve.context import ServeContext
from touchline.serve.playback.rpc import GrpcPlaybackClient
from touchline.serve.registry.rpc import GrpcRegistryClient
from touchline.serve.registry.rules import Record
from touchline.serve.registry.store import RegistryStore
from touchline.serve.retention.rules import RetentionReport
from touchline.serve.retention.service import RetentionContext, RetentionPass
from touchline.serve.settings import ServeSettings
from touchline.serve.uploads.store import MultipartStore

from .videos import video

EVENTS = """
SELECT data || jsonb_build_object('revision', revision)
  FROM platform.event_inbox
 WHERE key = %s AND type = %s
 ORDER BY sequence
"""
SECRET = "the secret of this cluster"
SETTINGS = ServeSettings(largest_upload=ByteSize(64 * 1024**2), concurrent_uploads=5)
RPC = RpcSettings(stop_grace=timedelta(0), deadline=timedelta(minutes=1))


def principal(role: Role = Role.EDITOR, tenant_id: TenantId | None = None) -> Principal:
    return Principal(tenant_id or TenantId(uuid4()), UserId(uuid4()), role)


@dataclass(frozen=True, slots=True)
class World:
    environment: ServeContext
    clock: ManualClock
    parts: ServeParts
    registry: RegistryClient
    artifacts: ArtifactClient
    playback: PlaybackClient
    ours: Principal
    theirs: Principal

    async def create(self, data: bytes = b"", caller: Principal | None = None, **request: Any) -> Upload:
        request = {"idempotency_key": uuid4().hex, "file_name": "match.mp4", "size_bytes": len(data) or 1000} | request
        new = NewUpload(**request)
        return (await self.registry.create_upload(caller or self.ours, new)).upload

    async def send(self, artifact_hash: str, data: bytes, caller: Principal | None = None) -> None:
        """All parts, as a browser sends them: it has nothing but the addresses."""
        caller = caller or self.ours
        plan = await self.artifacts.list_parts(caller, artifact_hash)
        for number in range(1, plan.part_count + 1):
            start = (number - 1) * plan.part_size_bytes
            await self.send_part(artifact_hash, number, data[start : start + plan.part_size_bytes], caller)

    async def send_part(
        self, artifact_hash: str, number: int, data: bytes, caller: Principal | None = None
    ) -> httpx.Response:
        [address] = await self.artifacts.presign_parts(caller or self.ours, artifact_hash, [number])
        async with httpx.AsyncClient(trust_env=False) as browser:
            return (await browser.put(address.url, content=data)).raise_for_status()

    async def send_otherwise(self, artifact_hash: str, number: int, data: bytes) -> None:
        """A part past its address, as the store's own keys allow."""
        async with self.environment.database.transaction(self.ours) as transaction:
            found = await MultipartStore(transaction).find(ArtifactHash(artifact_hash))
        assert found
        await self.environment.objects.uploads.send_part(found.upload, number, data)

    async def uploaded(self, data: bytes = b"", **request: Any) -> Upload:
        """Everything sent, nothing completed."""
        data = data or video()
        upload = await self.create(data, **request)
        await self.send(upload.artifact_hash, data)
        return upload

    async def processing(self) -> Upload:
        upload = await self.uploaded()
        await self.artifacts.complete_upload(self.ours, upload.artifact_hash)
        return upload

    async def artifact(self, upload: Upload, caller: Principal | None = None) -> Artifact:
        async with self.environment.database.transaction(caller or self.ours) as transaction:
            found = await ArtifactStore(transaction).find(upload.artifact_hash)
        assert found
        return found

    async def pass_of(self, kind: type[RetentionPass], *, most: int = 100, dry_run: bool = False) -> RetentionReport:
        """One pass, in an interval of its own: the quota of earlier ones counts no more."""
        async with self.environment.database.system("test: let the interval pass") as transaction:
            await transaction.connection.execute("UPDATE platform.periodic SET quota_started_at = NULL")
        every = timedelta(hours=1)
        context = RetentionContext(
            self.environment.database, self.environment.objects, self.environment.settings, self.clock
        )
        return await kind(context, every, most).run(dry_run=dry_run)

    async def status(self, upload: Upload) -> ArtifactStatus:
        return (await self.artifact(upload)).status

    async def record(self, upload: Upload) -> Record:
        async with self.environment.database.transaction(self.ours) as transaction:
            found = await RegistryStore(transaction).by_hash(upload.artifact_hash)
        assert found
        return found

    async def consume(self, payload: Payload, tenant_id: TenantId | None = None) -> None:
        """As the log delivers it: once, or again."""
        now = self.clock.now()
        tenant_id = tenant_id or self.ours.tenant_id
        data = payload.model_dump(mode="json")
        event = Event(uuid7(now), payload.event_type, 1, tenant_id, payload.key, 1, now, None, data, 1)
        [handler] = [each for each in self.parts.handlers if each.types and payload.event_type in each.types]
        async with self.environment.database.transaction(tenant_id) as transaction:
            await handler.handle(transaction, [event])

    async def events(
        self, upload: Upload | Clip | Recording, event_type: str = "artifact.lifecycle"
    ) -> list[dict[str, Any]]:
        """What was announced of it, in order, with the revision."""
        async with self.environment.database.system("test: read events") as transaction:
            cursor = await transaction.connection.execute(EVENTS, (f"artifact:{upload.artifact_hash}", event_type))
            return [row[0] for row in await cursor.fetchall()]

    async def told(self, upload: Upload) -> list[str]:
        return [event["status"] for event in await self.events(upload)]

    async def rows(self, table: str) -> int:
        """Of our tenant."""
        async with self.environment.database.transaction(self.ours) as transaction:
            cursor = await transaction.connection.execute(f"SELECT count(*) FROM serve.{table}".encode())  # noqa: S608
            return (await cursor.fetchall())[0][0]

    async def stored_keys(self) -> list[str]:
        return [item.key for item in (await self.environment.objects.list("")).objects]

    async def open_uploads(self) -> int:
        return len((await self.environment.objects.uploads.list()).uploads)

    def later(self, **by: float) -> None:
        self.clock.advance(timedelta(**by))

    def until(self, moment: datetime) -> None:
        """For what the store says by its own clock, which is the machine's."""
        self.clock.advance(moment - self.clock.now())


class Way(StrEnum):
    IN_PROCESS = "in process"
    RPC = "rpc"


both_ways = pytest.mark.parametrize("way", Way)


@asynccontextmanager
async def running(environment: ServeContext, clock: ManualClock, way: Way) -> AsyncGenerator[World]:
    async with (
        RpcServer(SECRET, RPC) as server,
        RpcClient(server.address, SECRET, RPC) as client,
        serve_parts(environment, RPC.deadline) as parts,
    ):
        add_services(server, parts)
        await server.start()
        clients = parts.registry_client, parts.artifact_client, parts.playback_client
        if way is Way.RPC:
            clients = GrpcRegistryClient(client), GrpcArtifactClient(client), GrpcPlaybackClient(client)
        yield World(environment, clock, parts, *clients, principal(), principal())


@pytest.fixture
def way() -> Way:
    return Way.IN_PROCESS


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 3, 31, 12, tzinfo=UTC))


async def nobody_suspended() -> frozenset[TenantId]:
    return frozenset()


@pytest.fixture
async def environment(
    postgres: PostgresEndpoint, objects: ObjectStore, sandbox: Sandbox, tmp_path: Path, clock: ManualClock
) -> AsyncGenerator[ServeContext]:
    with open_foreground(tmp_path.with_name(f"{tmp_path.name}-foreground")) as foreground:
        async with Database(postgres.app_url, clock=clock) as database:
            yield ServeContext(database, objects, sandbox, tmp_path, SETTINGS, clock, foreground, nobody_suspended)


@pytest.fixture
async def world(environment: ServeContext, clock: ManualClock, way: Way) -> AsyncGenerator[World]:
    async with running(environment, clock, way) as world:
        yield world


@asynccontextmanager
async def another_process(world: World, **settings: Any) -> AsyncGenerator[World]:
    """Of the same installation, perhaps with other settings."""
    changed = SETTINGS.model_copy(update=settings)
    async with running(replace(world.environment, settings=changed), world.clock, Way.RPC) as other:
        yield replace(other, ours=world.ours, theirs=world.theirs)
