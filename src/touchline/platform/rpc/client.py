"""The client: one connection to one process, and stubs for its services.

Invariant: every call has a deadline, and no answer is believed before the server proved to know the secret.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Never, Self, TypeVar

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message

from touchline.contracts.rpc.v1.common_pb2 import Credentials, Failure
from touchline.kernel import Clock, Principal, SystemClock
from touchline.kernel.errors import DeadlineExceeded, Defect, Misconfigured

from .answering import path_of
from .credentials import CREDENTIALS, FAILURE, PROOF, Metadata, new_credentials, value
from .deadlines import seconds_left
from .failures import to_error, without_failure
from .options import client_options
from .proofs import NO_BODY, Proofs, is_same
from .settings import RpcSettings

Answer = TypeVar("Answer", bound=Message)


class RpcClient:
    """Make it where a loop runs. It connects with the first call, and again whenever that is needed."""

    def __init__(self, address: str, cluster_secret: str, settings: RpcSettings, clock: Clock | None = None) -> None:
        self.settings = settings
        self.proofs = Proofs(cluster_secret)
        self._clock = clock or SystemClock()
        self.channel = grpc.aio.insecure_channel(address, options=client_options(settings))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.channel.close()

    def sign(self, path: str, request: bytes, caller: Principal | None) -> Signed:
        credentials = new_credentials(caller, self._clock)
        return Signed(path, credentials, self.proofs, request)


@dataclass(frozen=True, slots=True)
class Signed:
    """One call: what is sent with it, and whether what came back is from somebody who knows the secret."""

    path: str
    credentials: Credentials
    proofs: Proofs
    request: bytes

    @property
    def metadata(self) -> tuple[tuple[str, bytes], ...]:
        signed = self.credentials.SerializeToString()
        return (CREDENTIALS, signed), (PROOF, self.proofs.of_call(self.path, signed, self.request))

    def check_answer(self, answer: bytes, metadata: Metadata | None) -> None:
        expected = self.proofs.of_answer(self.path, self.credentials.nonce, answer)
        if not is_same(value(metadata, PROOF), expected):
            raise self._impostor()

    def reraise(self, error: grpc.aio.AioRpcError) -> Never:
        metadata = error.trailing_metadata()
        detail = value(metadata, FAILURE)
        if not detail:
            raise without_failure(error.code(), error.details(), self.path) from None
        if not is_same(value(metadata, PROOF), self.proofs.of_failure(self.path, self.credentials.nonce, detail)):
            raise self._impostor()
        raise to_error(Failure.FromString(detail)) from None

    def _impostor(self) -> Misconfigured:
        hint = "Give every process the same `cluster_secret`; look who listens on that port."
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
        path = path_of(self._method(name, request, answer))
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
        """A stream both ways. It has no end of its own: close it, or let the server close it."""
        path = path_of(self._method(name, None, answer))
        signed = self._client.sign(path, NO_BODY, caller)
        opened = asyncio.Event()

        async def bodies() -> AsyncGenerator[bytes]:
            await opened.wait()  # writing to a server that refuses would hide the reason behind a broken write
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

    async def _opened(self, call: grpc.aio.StreamStreamCall[bytes, bytes], signed: Signed) -> None:
        try:
            async with asyncio.timeout(self._client.settings.deadline.total_seconds()):
                metadata = await call.initial_metadata()
                if not value(metadata, PROOF):
                    await call.read()  # a refusal has no proof either, but raises what it is
        except TimeoutError:
            raise DeadlineExceeded("the service did not open the line in time", why=signed.path) from None
        signed.check_answer(NO_BODY, metadata)

    def _method(self, name: str, request: Message | None, answer: type[Message]) -> MethodDescriptor:
        method = self._service.methods_by_name[name]
        if method.output_type is not answer.DESCRIPTOR:
            raise Defect(f"{method.full_name} does not answer {answer.DESCRIPTOR.full_name}")
        if request is not None and method.input_type is not request.DESCRIPTOR:
            raise Defect(f"{method.full_name} does not take {request.DESCRIPTOR.full_name}")
        return method
