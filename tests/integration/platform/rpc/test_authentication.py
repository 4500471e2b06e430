"""Both sides prove that they know the cluster secret; nothing that was heard on the way is of use to anybody."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import grpc
import pytest

from touchline.contracts.rpc.v1.common_pb2 import Credentials, Failure
from touchline.contracts.rpc.v1.lifecycle_pb2 import GetArtifactStatesRequest, GetArtifactStatesResponse
from touchline.contracts.rpc.v1.node_pb2 import NodeCommand, NodeMessage
from touchline.kernel import ManualClock, Misconfigured, SystemClock
from touchline.platform.rpc.client import RpcClient, SignedCall, Stub
from touchline.platform.rpc.protocol import CREDENTIALS, FAILURE, PROOF, ProofSigner, metadata_value
from touchline.platform.rpc.server import RpcServer

from .conftest import LIFECYCLE, NODES, SECRET, SETTINGS, SOMEBODY, ask, calling, serving

PATH = "/touchline.rpc.v1.Lifecycle/GetArtifactStates"
BODY = GetArtifactStatesRequest(request_ids=["one"]).SerializeToString()


@pytest.fixture
async def raw(server: RpcServer) -> AsyncGenerator[grpc.aio.Channel]:
    """Somebody at the port who is not our client."""
    async with grpc.aio.insecure_channel(server.address) as channel:
        yield channel


async def signed(body: bytes = BODY, secret: str = SECRET) -> SignedCall:
    async with RpcClient("127.0.0.1:1", secret, SETTINGS) as client:
        return client.sign(PATH, body, SOMEBODY)


async def send(channel: grpc.aio.Channel, body: bytes, metadata: Any, path: str = PATH) -> grpc.StatusCode:
    try:
        await channel.unary_unary(path)(body, timeout=60, metadata=metadata)
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def test_another_secret_is_refused(server: RpcServer) -> None:
    async with calling(server.address, secret="another secret") as stub:
        with pytest.raises(Misconfigured, match="refuses this process"):
            await ask(stub, "one")


async def test_without_any_proof_nobody_is_let_in(raw: grpc.aio.Channel) -> None:
    assert await send(raw, BODY, ()) is grpc.StatusCode.UNAUTHENTICATED
    assert await send(raw, BODY, (("touchline-proof-bin", b""),)) is grpc.StatusCode.UNAUTHENTICATED


async def test_a_call_counts_once(raw: grpc.aio.Channel) -> None:
    metadata = (await signed()).metadata
    assert await send(raw, BODY, metadata) is grpc.StatusCode.OK
    assert await send(raw, BODY, metadata) is grpc.StatusCode.UNAUTHENTICATED


async def test_a_proof_is_for_one_method_and_one_message(raw: grpc.aio.Channel) -> None:
    metadata = (await signed()).metadata
    assert await send(raw, BODY + BODY, metadata) is grpc.StatusCode.UNAUTHENTICATED
    other = "/touchline.rpc.v1.Nodes/Connect"
    assert await send(raw, BODY, metadata, other) is grpc.StatusCode.UNAUTHENTICATED
    assert await send(raw, BODY, metadata) is grpc.StatusCode.OK


async def test_nobody_can_say_to_be_somebody_else(raw: grpc.aio.Channel) -> None:
    ours, theirs = await signed(), await signed(secret="another secret")
    forged = (theirs.metadata[0], ours.metadata[1])
    assert await send(raw, BODY, forged) is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("away", [timedelta(minutes=-5), timedelta(minutes=5)])
async def test_clocks_may_be_apart_only_a_little(away: timedelta) -> None:
    clock = ManualClock(SystemClock().now() + away)
    async with serving(clock=clock) as server, calling(server.address) as stub:
        with pytest.raises(Misconfigured, match="too old"):
            await ask(stub, "one")
    async with serving(clock=clock) as server, calling(server.address, clock=clock) as stub:
        assert await ask(stub, "one") == ["one"]


@asynccontextmanager
async def impostor(secret: str, failing: bool = False) -> AsyncGenerator[str]:
    """Listens where our server should, and lets everybody in."""

    async def answer(body: bytes, context: Any) -> bytes:
        nonce = Credentials.FromString(metadata_value(context.invocation_metadata(), CREDENTIALS)).nonce
        if failing:
            detail = Failure(code="error").SerializeToString()
            trailer = ((FAILURE, detail), (PROOF, ProofSigner(secret).sign_failure(PATH, nonce, detail)))
            await context.abort(grpc.StatusCode.UNKNOWN, "", trailer)
        reply = GetArtifactStatesResponse().SerializeToString()
        context.set_trailing_metadata(((PROOF, ProofSigner(secret).sign_answer(PATH, nonce, reply)),))
        return reply

    async def stream(bodies: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        yield NodeCommand().SerializeToString()

    server = grpc.aio.server()
    unary = {"GetArtifactStates": grpc.unary_unary_rpc_method_handler(answer)}
    streaming = {"Connect": grpc.stream_stream_rpc_method_handler(stream)}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(LIFECYCLE.full_name, unary)])
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(NODES.full_name, streaming)])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


@pytest.mark.parametrize("failing", [False, True])
async def test_a_server_with_another_secret_is_not_believed(failing: bool) -> None:
    async with impostor("another secret", failing) as address, calling(address) as stub:
        with pytest.raises(Misconfigured, match="does not know the cluster secret"):
            await ask(stub, "one")
    async with impostor(SECRET) as address, calling(address) as stub:
        assert await ask(stub) == []


async def test_a_line_is_proved_both_ways(server: RpcServer) -> None:
    async def messages() -> AsyncIterator[NodeMessage]:
        yield NodeMessage()
        yield NodeMessage()

    async def answers(address: str, secret: str) -> int:
        async with RpcClient(address, secret, SETTINGS) as client:
            line = Stub(client, NODES).connect("Connect", messages(), NodeCommand)
            return len([answer async for answer in line])

    assert await answers(server.address, SECRET) == 2
    with pytest.raises(Misconfigured, match="refuses this process"):
        await answers(server.address, "another secret")
    async with impostor("another secret") as address:
        with pytest.raises(Misconfigured, match="does not know the cluster secret"):
            await answers(address, SECRET)


def test_no_secret_is_no_secret() -> None:
    with pytest.raises(Misconfigured):
        RpcServer("", SETTINGS)
