"""The server: methods of a service descriptor, answered by an object with a function for each of them.

Invariant: nothing runs before the caller proved to know the secret, nothing runs longer than its deadline, and every
answer and failure carries the server's own proof.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Never, Self, TypeAlias, cast

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from prometheus_client import Counter, Histogram

from touchline.contracts.rpc.v1.common_pb2 import Credentials
from touchline.kernel import Clock, SystemClock, errors, tracing
from touchline.platform.settings import RpcSettings

from .calls import deadline_in
from .protocol import (
    FAILURE,
    NO_BODY,
    PROOF,
    CallAuthenticator,
    ProofSigner,
    ReplayGuard,
    RpcCall,
    method_path,
    server_options,
    to_failure,
    to_principal,
    to_status,
)

CALLS = Counter("touchline_rpc_calls", "Calls that this process answered.", ["method", "outcome"])
SECONDS = Histogram("touchline_rpc_seconds", "How long this process took to answer a call.", ["method"])

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Messages: TypeAlias = AsyncIterator[Message]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UnaryHandler:
    method: MethodDescriptor
    function: Callable[[Any, RpcCall], Awaitable[Message]]
    gate: CallAuthenticator
    proofs: ProofSigner
    settings: RpcSettings

    async def answer(self, body: bytes, context: Context) -> bytes:
        path, began = method_path(self.method), time.monotonic()
        credentials = await authenticate(self.gate, path, context, body)
        try:
            answer = (await self._asked(body, credentials, context)).SerializeToString()
        except Exception as error:
            await abort_with_failure(context, path, self.proofs, credentials.nonce, error)
        finally:
            SECONDS.labels(path).observe(time.monotonic() - began)
        CALLS.labels(path, "ok").inc()
        context.set_trailing_metadata(((PROOF, self.proofs.sign_answer(path, credentials.nonce, answer)),))
        return answer

    async def _asked(self, body: bytes, credentials: Credentials, context: Context) -> Message:
        seconds = self._seconds(context)
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                with deadline_in(seconds), tracing(credentials.trace or None):
                    return await self.function(decode_request(self.method, body), call_from(credentials))
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise errors.DeadlineExceeded("the service took too long", why=f"it had {seconds:.1f} s") from error

    def _seconds(self, context: Context) -> float:
        longest = self.settings.longest_deadline.total_seconds()
        asked_for = cast("float | None", context.time_remaining())
        return longest if asked_for is None else min(asked_for, longest)


@dataclass(frozen=True, slots=True)
class StreamHandler:
    """A stream that stays open. The service decides how long the other side may send nothing."""

    method: MethodDescriptor
    function: Callable[[Messages, RpcCall], AsyncIterator[Message]]
    gate: CallAuthenticator
    proofs: ProofSigner

    async def answer(self, bodies: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
        path = method_path(self.method)
        credentials = await authenticate(self.gate, path, context, NO_BODY)
        proof = self.proofs.sign_answer(path, credentials.nonce, NO_BODY)
        await context.send_initial_metadata(((PROOF, proof),))
        try:
            with tracing(credentials.trace or None):
                messages = (decode_request(self.method, body) async for body in bodies)
                async for answer in self.function(messages, call_from(credentials)):
                    yield answer.SerializeToString()
        except Exception as error:
            await abort_with_failure(context, path, self.proofs, credentials.nonce, error)
        CALLS.labels(path, "ok").inc()


async def authenticate(gate: CallAuthenticator, path: str, context: Context, body: bytes) -> Credentials:
    try:
        return gate.admit(path, context.invocation_metadata(), body)
    except errors.Unauthenticated as error:
        CALLS.labels(path, "refused").inc()
        logger.warning("a call was refused", extra={"method": path, "peer": context.peer(), "reason": str(error)})
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, str(error))


async def abort_with_failure(context: Context, path: str, proofs: ProofSigner, nonce: bytes, error: Exception) -> Never:
    if not isinstance(error, errors.TouchlineError):
        logger.error("a call failed", exc_info=error, extra={"method": path})
    failure = to_failure(error)
    CALLS.labels(path, failure.code).inc()
    detail = failure.SerializeToString()
    proof = proofs.sign_failure(path, nonce, detail)
    await context.abort(to_status(error), failure.what, ((FAILURE, detail), (PROOF, proof)))


def decode_request(method: MethodDescriptor, body: bytes) -> Message:
    try:
        return GetMessageClass(method.input_type).FromString(body)
    except DecodeError as error:
        raise errors.InvalidInput("not a valid request for this method", why=method.full_name) from error


def call_from(credentials: Credentials) -> RpcCall:
    return RpcCall(to_principal(credentials.caller) if credentials.HasField("caller") else None)


_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class RpcServer:
    """Once entered, it has its address; then add services, and call `start`."""

    def __init__(self, cluster_secret: str, settings: RpcSettings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._proofs = ProofSigner(cluster_secret)
        guard = ReplayGuard(settings.clock_tolerance, settings.remembered_calls)
        self._gate = CallAuthenticator(self._proofs, guard, clock or SystemClock())
        self._server: grpc.aio.Server | None = None
        self.address = ""

    async def __aenter__(self) -> Self:
        settings = self._settings
        server = grpc.aio.server(options=server_options(settings), maximum_concurrent_rpcs=settings.concurrent_calls)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        try:
            port = server.add_insecure_port(f"{host}:{settings.port}")
        except RuntimeError as error:
            why = f"cannot listen on {host}:{settings.port}"
            raise errors.SetupError(
                "the internal RPC cannot start", why=why, hint="Choose another `rpc.port`."
            ) from error
        self._server, self.address = server, f"{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._bound().stop(self._settings.stop_grace.total_seconds())

    def add(self, service: ServiceDescriptor, servicer: object) -> None:
        """`CreateUpload` of the service is answered by `create_upload(request, call)` of the servicer."""
        handlers = {method.name: self._handler(method, servicer_method(servicer, method)) for method in service.methods}
        handler = grpc.method_handlers_generic_handler(service.full_name, handlers)
        self._bound().add_generic_rpc_handlers([handler])

    async def start(self) -> None:
        await self._bound().start()

    def _bound(self) -> grpc.aio.Server:
        if self._server is None:
            raise errors.Defect("the server was not entered")
        return self._server

    def _handler(self, method: MethodDescriptor, function: Callable[..., Any]) -> grpc.RpcMethodHandler[bytes, bytes]:
        match method.client_streaming, method.server_streaming:
            case False, False:
                unary = UnaryHandler(method, function, self._gate, self._proofs, self._settings)
                return grpc.unary_unary_rpc_method_handler(unary.answer)
            case True, True:
                stream = StreamHandler(method, function, self._gate, self._proofs)
                return grpc.stream_stream_rpc_method_handler(stream.answer)
            case _:
                raise errors.Defect(f"{method.full_name} streams one way", why="calls are unary or stream both ways")


def servicer_method(servicer: object, method: MethodDescriptor) -> Callable[..., Any]:
    name = _WORDS.sub("_", method.name).lower()
    function = getattr(servicer, name, None)
    if function is None:
        raise errors.Defect(f"{method.full_name} has no handler", why=f"{type(servicer).__name__} has no {name}")
    return function
