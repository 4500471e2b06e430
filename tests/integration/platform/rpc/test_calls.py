from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from touchline.contracts.rpc.v1.lifecycle_pb2 import GetArtifactStatesRequest, GetArtifactStatesResponse
from touchline.contracts.rpc.v1.registry_pb2 import GetUploadsRequest, GetUploadsResponse
from touchline.contracts.settings import ByteSize
from touchline.kernel import (
    DeadlineExceeded,
    Defect,
    Forbidden,
    LimitExceeded,
    Scope,
    SetupError,
    TouchlineError,
    Unauthenticated,
    Unavailable,
    current_trace,
    error_classes,
    tracing,
)
from touchline.platform.rpc.calls import require
from touchline.platform.rpc.client import Stub
from touchline.platform.rpc.protocol import RpcCall
from touchline.platform.rpc.server import RpcServer
from touchline.platform.settings import RpcSettings

from .conftest import LIFECYCLE, SETTINGS, SOMEBODY, Answering, Service, ask, calling, echo, serving

LONG = timedelta(seconds=60)
KERNEL_ERRORS = [kind for kind in error_classes() if kind.__module__ == error_classes.__module__]
SOON = timedelta(milliseconds=200)


def raising(error: Exception) -> Answering:
    async def answer(request: GetArtifactStatesRequest, call: RpcCall) -> GetArtifactStatesResponse:
        raise error

    return answer


async def never(request: GetArtifactStatesRequest, call: RpcCall) -> GetArtifactStatesResponse:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_call_is_answered(stub: Stub) -> None:
    assert await ask(stub, "one", "two") == ["one", "two"]
    assert await asyncio.gather(*(ask(stub, f"{n}") for n in range(50))) == [[f"{n}"] for n in range(50)]


async def test_who_calls_and_the_trace_arrive() -> None:
    seen: list[object] = []

    async def note(request: GetArtifactStatesRequest, call: RpcCall) -> GetArtifactStatesResponse:
        seen.extend((call.caller, current_trace()))
        return GetArtifactStatesResponse()

    async with serving(note) as server, calling(server.address) as stub:
        with tracing("a story"):
            await ask(stub)
        await ask(stub, caller=None)
    assert seen == [SOMEBODY, "a story", None, None]


async def test_a_caller_may_do_what_its_scopes_say() -> None:
    async def write(request: GetArtifactStatesRequest, call: RpcCall) -> GetArtifactStatesResponse:
        require(call.caller, Scope.READ)
        require(call.principal, Scope.WRITE)
        raise AssertionError

    async with serving(write) as server, calling(server.address) as stub:
        with pytest.raises(Forbidden):
            await ask(stub)
        with pytest.raises(Unauthenticated, match="needs a user"):
            await ask(stub, caller=None)


@pytest.mark.parametrize("kind", KERNEL_ERRORS)
async def test_every_error_is_raised_as_itself(kind: type[TouchlineError]) -> None:
    async with serving(raising(kind("what", why="why", hint="Do."))) as server, calling(server.address) as stub:
        with pytest.raises(kind) as caught:
            await ask(stub)
    assert type(caught.value) is kind
    assert (caught.value.what, caught.value.why, caught.value.hint) == ("what", "why", "Do.")


async def test_a_defect_tells_no_more_than_that() -> None:
    async with serving(raising(KeyError("a password"))) as server, calling(server.address) as stub:
        with pytest.raises(Defect) as caught:
            await ask(stub)
    assert "password" not in repr(caught.value) + str(caught.value)


async def test_a_caller_waits_no_longer_than_its_deadline() -> None:
    async with serving(never) as server, calling(server.address) as stub:
        with pytest.raises(DeadlineExceeded):
            await ask(stub, deadline=SOON)


async def test_a_server_works_no_longer_than_its_own() -> None:
    settings = SETTINGS.model_copy(update={"longest_deadline": SOON})
    async with serving(never, settings=settings) as server, calling(server.address) as stub:
        with pytest.raises(DeadlineExceeded, match="took too long"):
            await ask(stub, deadline=LONG)


async def test_what_a_service_asks_others_ends_with_what_it_was_asked() -> None:
    async with serving(never) as behind, calling(behind.address) as inner:
        outcome: list[type[BaseException]] = []

        async def pass_on(request: GetArtifactStatesRequest, call: RpcCall) -> GetArtifactStatesResponse:
            try:
                await ask(inner, deadline=LONG)
            except BaseException as error:
                outcome.append(type(error))
                raise
            raise AssertionError

        settings = SETTINGS.model_copy(update={"longest_deadline": SOON})
        async with serving(pass_on, settings=settings) as server, calling(server.address) as stub:
            with pytest.raises(DeadlineExceeded):
                await ask(stub, deadline=LONG)
        assert outcome in ([DeadlineExceeded], [asyncio.CancelledError])


async def test_a_server_that_is_down_is_unavailable_and_found_again() -> None:
    async with serving() as server:
        address = server.address
    async with calling(address) as stub:
        with pytest.raises(Unavailable):
            await ask(stub, "one")
        port = int(address.rpartition(":")[2])
        async with serving(settings=SETTINGS.model_copy(update={"port": port})):
            assert await until_answered(stub) == ["one"]


async def until_answered(stub: Stub) -> list[str]:
    async with asyncio.timeout(60):
        while True:
            try:
                return await ask(stub, "one")
            except Unavailable:
                await asyncio.sleep(0.05)


async def test_a_message_has_a_size() -> None:
    settings = SETTINGS.model_copy(update={"max_message": ByteSize(10_000)})
    async with serving(settings=settings) as server, calling(server.address) as roomy:
        with pytest.raises(LimitExceeded):
            await ask(roomy, "x" * 20_000)
        async with calling(server.address, settings=settings) as stub:
            with pytest.raises(LimitExceeded):
                await ask(stub, "x" * 20_000)
            assert await ask(stub, "x" * 5_000) == ["x" * 5_000]


async def test_a_server_answers_no_more_calls_at_once_than_it_may() -> None:
    settings = SETTINGS.model_copy(update={"concurrent_calls": 1})
    async with serving(never, settings=settings) as server, calling(server.address) as stub:
        outcomes = await asyncio.gather(*(ask(stub, deadline=SOON) for _ in range(3)), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {DeadlineExceeded, Unavailable}


async def test_a_call_that_the_server_does_not_know() -> None:
    async with RpcServer("s", SETTINGS) as quiet, calling(quiet.address, secret="s") as stub:
        await quiet.start()
        with pytest.raises(Defect, match="does not have this method"):
            await ask(stub)


async def test_a_taken_port_is_refused(server: RpcServer) -> None:
    port = int(server.address.rpartition(":")[2])
    with pytest.raises(SetupError, match="cannot start"):
        async with RpcServer("s", RpcSettings(port=port)):
            raise AssertionError


async def test_mistakes_of_ours_are_found_early(stub: Stub) -> None:
    with pytest.raises(Defect, match="does not take"):
        await stub.call("GetArtifactStates", GetUploadsRequest(), GetArtifactStatesResponse, None)
    with pytest.raises(Defect, match="does not answer"):
        await stub.call("GetArtifactStates", GetArtifactStatesRequest(), GetUploadsResponse, None)
    async with RpcServer("s", SETTINGS) as other:
        with pytest.raises(Defect, match="has no handler"):
            other.add(LIFECYCLE, object())
    with pytest.raises(Defect, match="not entered"):
        RpcServer("s", SETTINGS).add(LIFECYCLE, Service(echo))
