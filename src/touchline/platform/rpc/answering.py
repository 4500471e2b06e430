"""One method on the server's side, between the bytes of a call and the function that answers it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Never, TypeAlias, cast

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from touchline.contracts.rpc.v1.common_pb2 import Credentials
from touchline.kernel import TouchlineError
from touchline.kernel.errors import DeadlineExceeded, InvalidInput, Unauthenticated
from touchline.kernel.trace import tracing

from .credentials import FAILURE, PROOF, Gate
from .deadlines import ending_in
from .failures import to_failure, to_status
from .metrics import CALLS, SECONDS
from .model import Call, to_principal
from .proofs import NO_BODY, Proofs
from .settings import RpcSettings

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"
Messages: TypeAlias = AsyncIterator[Message]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UnaryAnswer:
    method: MethodDescriptor
    function: Callable[[Any, Call], Awaitable[Message]]
    gate: Gate
    proofs: Proofs
    settings: RpcSettings

    async def answer(self, body: bytes, context: Context) -> bytes:
        path, began = path_of(self.method), time.monotonic()
        credentials = await admitted(self.gate, path, context, body)
        try:
            answer = (await self._asked(body, credentials, context)).SerializeToString()
        except Exception as error:
            await fail(context, path, self.proofs, credentials.nonce, error)
        finally:
            SECONDS.labels(path).observe(time.monotonic() - began)
        CALLS.labels(path, "ok").inc()
        context.set_trailing_metadata(((PROOF, self.proofs.of_answer(path, credentials.nonce, answer)),))
        return answer

    async def _asked(self, body: bytes, credentials: Credentials, context: Context) -> Message:
        seconds = self._seconds(context)
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                with ending_in(seconds), tracing(credentials.trace or None):
                    return await self.function(decoded(self.method, body), call_of(credentials))
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise DeadlineExceeded("the service was too slow", why=f"it had {seconds:.1f} s") from error

    def _seconds(self, context: Context) -> float:
        longest = self.settings.longest_deadline.total_seconds()
        asked_for = cast("float | None", context.time_remaining())
        return longest if asked_for is None else min(asked_for, longest)


@dataclass(frozen=True, slots=True)
class StreamAnswer:
    """A line that stays open. Who serves it decides how long the other side may be silent."""

    method: MethodDescriptor
    function: Callable[[Messages, Call], AsyncIterator[Message]]
    gate: Gate
    proofs: Proofs

    async def answer(self, bodies: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
        path = path_of(self.method)
        credentials = await admitted(self.gate, path, context, NO_BODY)
        proof = self.proofs.of_answer(path, credentials.nonce, NO_BODY)
        await context.send_initial_metadata(((PROOF, proof),))
        try:
            with tracing(credentials.trace or None):
                messages = (decoded(self.method, body) async for body in bodies)
                async for answer in self.function(messages, call_of(credentials)):
                    yield answer.SerializeToString()
        except Exception as error:
            await fail(context, path, self.proofs, credentials.nonce, error)
        CALLS.labels(path, "ok").inc()


async def admitted(gate: Gate, path: str, context: Context, body: bytes) -> Credentials:
    try:
        return gate.admit(path, context.invocation_metadata(), body)
    except Unauthenticated as error:
        CALLS.labels(path, "refused").inc()
        logger.warning("a call was refused", extra={"method": path, "peer": context.peer(), "reason": str(error)})
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, str(error))


async def fail(context: Context, path: str, proofs: Proofs, nonce: bytes, error: Exception) -> Never:
    if not isinstance(error, TouchlineError):
        logger.error("a call failed", exc_info=error, extra={"method": path})
    failure = to_failure(error)
    CALLS.labels(path, failure.code).inc()
    detail = failure.SerializeToString()
    proof = proofs.of_failure(path, nonce, detail)
    await context.abort(to_status(error), failure.what, ((FAILURE, detail), (PROOF, proof)))


def decoded(method: MethodDescriptor, body: bytes) -> Message:
    try:
        return GetMessageClass(method.input_type).FromString(body)
    except DecodeError as error:
        raise InvalidInput("not a message of this call", why=method.full_name) from error


def call_of(credentials: Credentials) -> Call:
    return Call(to_principal(credentials.caller) if credentials.HasField("caller") else None)


def path_of(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"
