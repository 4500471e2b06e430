from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from touchline.contracts.rpc.v1.node_pb2 import NodeCommand, NodeHeartbeat, NodeMessage, NodeRegistration, NodeStorage
from touchline.kernel import Conflict, InvalidInput, LeaseLost, ManualClock, TenantId
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.platform.rpc.server import RpcServer
from touchline.serve.composition import add_services, serve_parts
from touchline.serve.context import ServeContext
from touchline.serve.nodes.rpc import SERVICE
from touchline.serve.nodes.rules import Node, NodeIdentity, NodeStatus

from .conftest import RPC, SECRET, World

FOLDER = UUID(int=1)
REGISTRATION = NodeIdentity("node-1", "http://10.0.0.1:8080", "1.0", FOLDER)


async def only_node(world: World) -> Node:
    [node] = await world.parts.nodes.listed()
    return node


async def test_a_node_registers_is_seen_and_is_gone_after_its_deadline(world: World) -> None:
    line = await world.parts.nodes.register(REGISTRATION)
    world.later(seconds=15)
    await world.parts.nodes.heard(line)
    world.later(seconds=15)
    await world.parts.nodes.mark_gone()
    assert (await only_node(world)).status is NodeStatus.PRESENT
    world.later(seconds=5)
    await world.parts.nodes.mark_gone()
    node = await only_node(world)
    assert node.status is NodeStatus.GONE
    await world.parts.nodes.mark_gone()
    assert await only_node(world) == node
    await world.parts.nodes.heard(line)
    assert (await only_node(world)).status is NodeStatus.PRESENT


async def test_a_newer_line_takes_the_place_of_the_older(world: World) -> None:
    old = await world.parts.nodes.register(REGISTRATION)
    new = await world.parts.nodes.register(REGISTRATION)
    with pytest.raises(LeaseLost):
        await world.parts.nodes.heard(old)
    await world.parts.nodes.heard(new)
    assert len(await world.parts.nodes.listed()) == 1


async def test_another_folder_under_the_same_id_is_refused_while_the_node_lives(world: World) -> None:
    await world.parts.nodes.register(REGISTRATION)
    other = replace(REGISTRATION, instance_id=UUID(int=2), base_url="http://10.0.0.2:8080")
    with pytest.raises(Conflict, match="another node uses this id"):
        await world.parts.nodes.register(other)
    assert (await only_node(world)).base_url == REGISTRATION.base_url
    world.later(seconds=30)
    await world.parts.nodes.register(other)  # it held nothing
    assert (await only_node(world)).base_url == other.base_url


@pytest.mark.parametrize(
    "wrong",
    [
        NodeIdentity("", "http://a", "1", FOLDER),
        NodeIdentity("../node", "http://a", "1", FOLDER),
        NodeIdentity("node", "file:///etc/passwd", "1", FOLDER),
        NodeIdentity("node", "http://", "1", FOLDER),
        NodeIdentity("node", "http://[", "1", FOLDER),
        NodeIdentity("node", "http://a", "v" * 300, FOLDER),
    ],
)
async def test_a_node_says_who_it_is_and_where(world: World, wrong: NodeIdentity) -> None:
    with pytest.raises(InvalidInput):
        await world.parts.nodes.register(wrong)


async def test_the_line_of_a_node(world: World) -> None:
    said: asyncio.Queue[NodeMessage | None] = asyncio.Queue()

    async def messages() -> AsyncIterator[NodeMessage]:
        while (message := await said.get()) is not None:
            yield message

    async with RpcServer(SECRET, RPC) as server, RpcClient(server.address, SECRET, RPC) as client:
        add_services(server, world.parts)
        await server.start()
        async with aclosing(Stub(client, SERVICE).connect("Connect", messages(), NodeCommand)) as line:
            registration = NodeRegistration(
                node_id="node-1", base_url="http://10.0.0.1", version="1", instance_id=str(FOLDER)
            )
            await said.put(NodeMessage(registration=registration))
            welcome = (await anext(line)).welcome
            assert (welcome.heartbeat_ms, welcome.gone_after_ms) == (5000, 20000)
            before = await only_node(world)
            world.later(seconds=3)
            await said.put(NodeMessage(heartbeat=NodeHeartbeat()))
            await said.put(NodeMessage(storage=NodeStorage(budget_bytes=100, used_bytes=40)))
            await said.put(None)
            assert [command async for command in line] == []
    node = await only_node(world)
    assert (node.budget_bytes, node.used_bytes) == (100, 40)
    assert node.last_seen_at > before.last_seen_at


async def test_a_node_hears_who_is_suspended(environment: ServeContext, clock: ManualClock) -> None:
    suspended = {TenantId(uuid4())}

    async def found() -> frozenset[TenantId]:
        return frozenset(suspended)

    async def messages() -> AsyncIterator[NodeMessage]:
        yield NodeMessage(registration=registration)
        await asyncio.Event().wait()

    registration = NodeRegistration(node_id="node-1", base_url="http://a", version="1", instance_id=str(FOLDER))
    async with (
        serve_parts(replace(environment, find_suspended=found), RPC.deadline) as parts,
        RpcServer(SECRET, RPC) as server,
        RpcClient(server.address, SECRET, RPC) as client,
    ):
        add_services(server, parts)
        await server.start()
        async with aclosing(Stub(client, SERVICE).connect("Connect", messages(), NodeCommand)) as line:
            welcome = (await anext(line)).welcome
            assert set(welcome.suspended_tenants.tenant_ids) == set(map(str, suspended))
            suspended.add(TenantId(uuid4()))
            clock.advance(timedelta(seconds=4))  # looked for every three seconds
            told = (await anext(line)).suspended_tenants
            assert set(told.tenant_ids) == set(map(str, suspended))


async def test_a_line_begins_with_a_registration(world: World) -> None:
    async def messages() -> AsyncIterator[NodeMessage]:
        yield NodeMessage(heartbeat=NodeHeartbeat())

    async with RpcServer(SECRET, RPC) as server, RpcClient(server.address, SECRET, RPC) as client:
        add_services(server, world.parts)
        await server.start()
        with pytest.raises(InvalidInput, match="must register first"):
            async for _ in Stub(client, SERVICE).connect("Connect", messages(), NodeCommand):
                raise AssertionError
    assert await world.parts.nodes.listed() == []
