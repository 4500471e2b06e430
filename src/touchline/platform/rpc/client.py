"""The client: one connection to one process, and stubs for its services.

Invariant: every call has a deadline, and no answer is believed before the server proved to know the secret.

Processes at addresses that the settings name: what each says about itself, and the check before one is relied on.

Invariant: a role is not asked for anything at an address where nobody answers, another role runs, or the cluster secret
is another one; the error names the setting that holds the address.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Never, Self, TypeVar

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message

from touchline import __version__
from touchline.contracts.rpc.v1 import process_pb2 as pb
from touchline.contracts.rpc.v1.common_pb2 import Credentials, Failure
from touchline.kernel import (
    Clock,
    DeadlineExceeded,
    Defect,
    Misconfigured,
    Principal,
    SystemClock,
    TouchlineError,
    Unavailable,
    format_duration,
)
from touchline.platform.settings import RpcSettings

from .calls import seconds_left
from .protocol import (
    CREDENTIALS,
    FAILURE,
    NO_BODY,
    PROOF,
    Metadata,
    ProofSigner,
    RpcCall,
    client_options,
    is_same_proof,
    metadata_value,
    method_path,
    new_credentials,
    to_error,
    transport_error,
)

Answer = TypeVar("Answer", bound=Message)


class RpcClient:
    """Create it inside a running event loop. It connects with the first call, and reconnects when needed."""

    def __init__(self, address: str, cluster_secret: str, settings: RpcSettings, clock: Clock | None = None) -> None:
        self.settings = settings
        self.proofs = ProofSigner(cluster_secret)
        self._clock = clock or SystemClock()
        self.channel = grpc.aio.insecure_channel(address, options=client_options(settings))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.channel.close()

    def sign(self, path: str, request: bytes, caller: Principal | None) -> SignedCall:
        credentials = new_credentials(caller, self._clock)
        return SignedCall(path, credentials, self.proofs, request)


@dataclass(frozen=True, slots=True)
class SignedCall:
    """One call: the metadata to send, and the check that the response is from a server that knows the secret."""

    path: str
    credentials: Credentials
    proofs: ProofSigner
    request: bytes

    @property
    def metadata(self) -> tuple[tuple[str, bytes], ...]:
        signed = self.credentials.SerializeToString()
        return (CREDENTIALS, signed), (PROOF, self.proofs.sign_call(self.path, signed, self.request))

    def check_answer(self, answer: bytes, metadata: Metadata | None) -> None:
        expected = self.proofs.sign_answer(self.path, self.credentials.nonce, answer)
        if not is_same_proof(metadata_value(metadata, PROOF), expected):
            raise self._impostor()

    def reraise(self, error: grpc.aio.AioRpcError) -> Never:
        metadata = error.trailing_metadata()
        detail = metadata_value(metadata, FAILURE)
        if not detail:
            raise transport_error(error.code(), error.details(), self.path) from None
        if not is_same_proof(
            metadata_value(metadata, PROOF), self.proofs.sign_failure(self.path, self.credentials.nonce, detail)
        ):
            raise self._impostor()
        raise to_error(Failure.FromString(detail)) from None

    def _impostor(self) -> Misconfigured:
        hint = "Give every process the same `cluster_secret`; check which process listens on that port."
        return Misconfigured("the service does not know the cluster secret", why=self.path, hint=hint)


class Stub:
    """The methods of one service."""

    def __init__(self, client: RpcClient, service: ServiceDescriptor) -> None:
        self._client = client
        self._service = service

    async def call(
        self,
        name: str,
        request: Message,
        answer: type[Answer],
        caller: Principal | None,
        deadline: timedelta | None = None,
    ) -> Answer:
        path = method_path(self._method(name, request, answer))
        body = request.SerializeToString()
        signed = self._client.sign(path, body, caller)
        timeout = seconds_left(deadline or self._client.settings.deadline)
        method: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._client.channel.unary_unary(path)
        call = method(body, timeout=timeout, metadata=signed.metadata)
        try:
            received = await call
            metadata = await call.trailing_metadata()
        except grpc.aio.AioRpcError as error:
            signed.reraise(error)
        signed.check_answer(received, metadata)
        return answer.FromString(received)

    async def connect(
        self, name: str, requests: AsyncIterable[Message], answer: type[Answer], caller: Principal | None = None
    ) -> AsyncGenerator[Answer]:
        """A bidirectional stream without a deadline: close it, or let the server close it."""
        path = method_path(self._method(name, None, answer))
        signed = self._client.sign(path, NO_BODY, caller)
        opened = asyncio.Event()

        async def bodies() -> AsyncGenerator[bytes]:
            await opened.wait()  # writing to a server that refuses would hide the reason behind a write error
            async for request in requests:
                yield request.SerializeToString()

        method: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = self._client.channel.stream_stream(path)
        call = method(bodies(), metadata=signed.metadata)
        try:
            await self._opened(call, signed)
            opened.set()
            async for received in call:
                yield answer.FromString(received)
        except grpc.aio.AioRpcError as error:
            signed.reraise(error)
        finally:
            call.cancel()

    async def _opened(self, call: grpc.aio.StreamStreamCall[bytes, bytes], signed: SignedCall) -> None:
        try:
            async with asyncio.timeout(self._client.settings.deadline.total_seconds()):
                metadata = await call.initial_metadata()
                if not metadata_value(metadata, PROOF):
                    await call.read()  # a refusal has no proof either, but raises its reason
        except TimeoutError:
            raise DeadlineExceeded("the service did not open the stream in time", why=signed.path) from None
        signed.check_answer(NO_BODY, metadata)

    def _method(self, name: str, request: Message | None, answer: type[Message]) -> MethodDescriptor:
        method = self._service.methods_by_name[name]
        if method.output_type is not answer.DESCRIPTOR:
            raise Defect(f"{method.full_name} does not answer {answer.DESCRIPTOR.full_name}")
        if request is not None and method.input_type is not request.DESCRIPTOR:
            raise Defect(f"{method.full_name} does not take {request.DESCRIPTOR.full_name}")
        return method


SERVICE = pb.DESCRIPTOR.services_by_name["Process"]
ANSWER_WITHIN = timedelta(seconds=3)
RETRY_EVERY = timedelta(milliseconds=200)


@dataclass(frozen=True, slots=True)
class ProcessDescription:
    roles: frozenset[str]
    version: str


@dataclass(frozen=True, slots=True)
class Peer:
    """A role that another process runs."""

    role: str
    setting: str  # that holds the address
    address: str


class ProcessServicer:
    def __init__(self, roles: Sequence[str]) -> None:
        self._roles = sorted(roles)

    async def describe(self, request: pb.DescribeRequest, call: RpcCall) -> pb.DescribeResponse:
        return pb.DescribeResponse(roles=self._roles, version=__version__)


@asynccontextmanager
async def connect(peer: Peer, cluster_secret: str, settings: RpcSettings) -> AsyncGenerator[RpcClient]:
    """Once the role answers there. Processes may start in any order, so a silent address is asked again for a while."""
    async with RpcClient(peer.address, cluster_secret, settings) as client:
        await _wait_until_answering(client, peer, settings.start_timeout)
        yield client


async def describe(client: RpcClient, deadline: timedelta = ANSWER_WITHIN) -> ProcessDescription:
    answer = await Stub(client, SERVICE).call("Describe", pb.DescribeRequest(), pb.DescribeResponse, None, deadline)
    return ProcessDescription(frozenset(answer.roles), answer.version)


async def check(client: RpcClient, peer: Peer) -> ProcessDescription:
    """Unavailable: nobody answers. Misconfigured: something else does."""
    try:
        found = await describe(client)
    except Unavailable as error:
        hint = f"Start `touchline run {peer.role}` there, or correct {peer.setting}."
        raise Unavailable(f"{peer.setting} does not answer", why=f"{peer.address}: {error.why}", hint=hint) from error
    except TouchlineError as error:
        raise Misconfigured(f"{peer.setting} is wrong", why=f"{peer.address}: {error}", hint=error.hint) from error
    if peer.role not in found.roles:
        why = f"{peer.address} runs {' and '.join(sorted(found.roles)) or 'no role'}, not {peer.role}"
        raise Misconfigured(f"{peer.setting} is wrong", why=why, hint=f"Set it to where {peer.role} runs.")
    return found


async def _wait_until_answering(client: RpcClient, peer: Peer, time_limit: timedelta) -> None:
    ends_at = asyncio.get_running_loop().time() + time_limit.total_seconds()
    while error := await _silence(client, peer):
        if asyncio.get_running_loop().time() >= ends_at:
            raise Unavailable(error.what, why=f"{error.why}, for {format_duration(time_limit)}", hint=error.hint)
        await asyncio.sleep(RETRY_EVERY.total_seconds())


async def _silence(client: RpcClient, peer: Peer) -> Unavailable | None:
    """None when the role answers."""
    try:
        await check(client, peer)
    except Unavailable as error:
        return error
    return None
