"""A server that answers one call and one stream as each test wants, and a client that knows its secret."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import uuid4

import pytest

from touchline.contracts.rpc.v1 import lifecycle_pb2, node_pb2
from touchline.contracts.rpc.v1.lifecycle_pb2 import (
    ArtifactState,
    GetArtifactEventsRequest,
    GetArtifactEventsResponse,
    GetArtifactStatesRequest,
    GetArtifactStatesResponse,
    GetStorageEventsRequest,
    GetStorageEventsResponse,
)
from touchline.contracts.rpc.v1.node_pb2 import (
    AuthorizePublisherRequest,
    AuthorizePublisherResponse,
    NodeCommand,
    NodeMessage,
)
from touchline.kernel import Clock, Principal, Role, Scope, TenantId, UserId
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.platform.rpc.protocol import RpcCall
from touchline.platform.rpc.server import RpcServer
from touchline.platform.settings import RpcSettings

SECRET = "the secret of this cluster"
SETTINGS = RpcSettings(stop_grace=timedelta(0), deadline=timedelta(minutes=1))
LIFECYCLE = lifecycle_pb2.DESCRIPTOR.services_by_name["Lifecycle"]
NODES = node_pb2.DESCRIPTOR.services_by_name["Nodes"]
SOMEBODY = Principal(TenantId(uuid4()), UserId(uuid4()), Role.EDITOR, frozenset({Scope.READ}))

Answering = Callable[[GetArtifactStatesRequest, RpcCall], Awaitable[GetArtifactStatesResponse]]


async def echo(request: GetArtifactStatesRequest, call: RpcCall) -> GetArtifactStatesResponse:
    return GetArtifactStatesResponse(states=[ArtifactState(artifact_hash=one) for one in request.request_ids])


class Service:
    def __init__(self, answering: Answering = echo) -> None:
        self.answering = answering

    async def get_artifact_states(self, request: GetArtifactStatesRequest, call: RpcCall) -> GetArtifactStatesResponse:
        return await self.answering(request, call)

    async def get_artifact_events(self, request: GetArtifactEventsRequest, call: RpcCall) -> GetArtifactEventsResponse:
        return GetArtifactEventsResponse()

    async def get_storage_events(self, request: GetStorageEventsRequest, call: RpcCall) -> GetStorageEventsResponse:
        return GetStorageEventsResponse()


class Lines:
    async def connect(self, messages: AsyncIterator[NodeMessage], call: RpcCall) -> AsyncIterator[NodeCommand]:
        async for _ in messages:
            yield NodeCommand()

    async def authorize_publisher(
        self, request: AuthorizePublisherRequest, call: RpcCall
    ) -> AuthorizePublisherResponse:
        return AuthorizePublisherResponse()


@asynccontextmanager
async def serving(
    answering: Answering = echo, *, secret: str = SECRET, settings: RpcSettings = SETTINGS, clock: Clock | None = None
) -> AsyncGenerator[RpcServer]:
    async with RpcServer(secret, settings, clock) as server:
        server.add(LIFECYCLE, Service(answering))
        server.add(NODES, Lines())
        await server.start()
        yield server


@asynccontextmanager
async def calling(
    address: str, *, secret: str = SECRET, settings: RpcSettings = SETTINGS, clock: Clock | None = None
) -> AsyncGenerator[Stub]:
    async with RpcClient(address, secret, settings, clock) as client:
        yield Stub(client, LIFECYCLE)


async def ask(
    stub: Stub, *hashes: str, caller: Principal | None = SOMEBODY, deadline: timedelta | None = None
) -> list[str]:
    request = GetArtifactStatesRequest(request_ids=hashes)
    answer = await stub.call("GetArtifactStates", request, GetArtifactStatesResponse, caller, deadline)
    return [state.artifact_hash for state in answer.states]


@pytest.fixture
async def server() -> AsyncGenerator[RpcServer]:
    async with serving() as server:
        yield server


@pytest.fixture
async def stub(server: RpcServer) -> AsyncGenerator[Stub]:
    async with calling(server.address) as stub:
        yield stub
