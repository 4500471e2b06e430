"""The same answers through the internal RPC, for whoever asks on a tenant's behalf."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tests.support.events import new_tenant
from touchline.contracts.rpc.v1 import lifecycle_pb2 as pb
from touchline.kernel import (
    ArtifactHash,
    Forbidden,
    LimitExceeded,
    Principal,
    Role,
    Scope,
    TenantId,
    Unauthenticated,
    UserId,
    new_artifact_hash,
)
from touchline.measure.lifecycle.rpc import SERVICE, LifecycleServicer
from touchline.measure.lifecycle.rules import ArtifactEvent, ArtifactFacts
from touchline.measure.lifecycle.service import LifecycleRole, LifecycleService
from touchline.measure.lifecycle.store import LifecycleStore
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.rpc.calls import CALLERS_DEADLINE
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.platform.rpc.server import RpcServer
from touchline.platform.settings import RpcSettings

SECRET = "the secret of this cluster"
SETTINGS = RpcSettings(stop_grace=timedelta(0), deadline=timedelta(minutes=1))
NOW = datetime(2026, 3, 31, 12, 0, 0, 123_456, tzinfo=UTC)


@pytest.fixture
async def stub(lifecycle: LifecycleService) -> AsyncGenerator[Stub]:
    async with RpcServer(SECRET, SETTINGS) as server:
        server.add(SERVICE, LifecycleServicer(LifecycleRole(lifecycle, CALLERS_DEADLINE)))
        await server.start()
        async with RpcClient(server.address, SECRET, SETTINGS) as client:
            yield Stub(client, SERVICE)


def viewer(tenant: TenantId) -> Principal:
    return Principal(tenant, UserId(uuid4()), Role.VIEWER)


async def ask(stub: Stub, caller: Principal | None, *hashes: str) -> list[pb.ArtifactState]:
    request = pb.GetArtifactStatesRequest(request_ids=hashes)
    return list((await stub.call("GetArtifactStates", request, pb.GetArtifactStatesResponse, caller)).states)


async def known(analytics: Analytics, tenant: TenantId, facts: ArtifactFacts) -> ArtifactHash:
    artifact = new_artifact_hash()
    event = ArtifactEvent(uuid4(), 7, artifact, "artifact.lifecycle", 3, NOW, facts, "broken", "no frames")
    await LifecycleStore(analytics).add(tenant, [event])
    return artifact


async def test_all_that_is_known_is_told(stub: Stub, analytics: Analytics) -> None:
    tenant = new_tenant()
    facts = ArtifactFacts("upload", "failed", 0, 2**40, 5, 1920, 1080, "o", "m", "p", synced=False, local_copies=0)
    artifact = await known(analytics, tenant, facts)
    [state] = await ask(stub, viewer(tenant), artifact)
    assert (state.artifact_hash, state.artifact_type, state.stage, state.revision) == (artifact, "upload", "failed", 3)
    assert (state.size_bytes, state.duration_ms, state.width, state.height) == (2**40, 5, 1920, 1080)
    assert (state.manifest_key, state.poster_key) == ("m", "p")
    assert (state.error_code, state.error_message) == ("broken", "no frames")
    assert all(state.HasField(name) for name in ("progress_percent", "synced", "local_copies"))
    assert state.updated_at.ToDatetime(UTC) == NOW


async def test_what_is_unknown_is_not_set(stub: Stub, analytics: Analytics) -> None:
    tenant = new_tenant()
    [state] = await ask(stub, viewer(tenant), await known(analytics, tenant, ArtifactFacts(stage="ready")))
    assert {field.name for field, _ in state.ListFields()} >= {"artifact_hash", "stage", "revision", "updated_at"}
    for name in ("progress_percent", "size_bytes", "manifest_key", "synced", "local_copies", "width"):
        assert not state.HasField(name), name


async def test_another_tenants_hash_is_as_unknown_as_any(stub: Stub, analytics: Analytics) -> None:
    foreign = await known(analytics, new_tenant(), ArtifactFacts(stage="ready"))
    assert await ask(stub, viewer(new_tenant()), foreign, new_artifact_hash()) == []


async def test_who_may_not_read_gets_nothing(stub: Stub) -> None:
    with pytest.raises(Unauthenticated):
        await ask(stub, None, new_artifact_hash())
    with pytest.raises(Forbidden):
        writer = Principal(new_tenant(), UserId(uuid4()), Role.ADMIN, frozenset({Scope.WRITE}))
        await ask(stub, writer, new_artifact_hash())


async def test_too_many_at_once_are_refused(stub: Stub) -> None:
    with pytest.raises(LimitExceeded):
        await ask(stub, viewer(new_tenant()), *(new_artifact_hash() for _ in range(501)))
