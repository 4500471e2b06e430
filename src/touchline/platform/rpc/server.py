"""The server: methods of a service descriptor, answered by an object with a function for each of them.

Invariant: nothing runs before the caller proved to know the secret, nothing runs longer than its deadline, and every
answer and failure carries the server's own proof.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Self

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from touchline.kernel import Clock, SystemClock
from touchline.kernel.errors import Defect, SetupError

from .answering import StreamAnswer, UnaryAnswer
from .credentials import Gate
from .options import server_options
from .proofs import Proofs
from .replay import ReplayGuard
from .settings import RpcSettings

_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


class RpcServer:
    """Entered, it has its address; then services are added, and `start` opens the door."""

    def __init__(self, cluster_secret: str, settings: RpcSettings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._proofs = Proofs(cluster_secret)
        guard = ReplayGuard(settings.clock_tolerance, settings.remembered_calls)
        self._gate = Gate(self._proofs, guard, clock or SystemClock())
        self._server: grpc.aio.Server | None = None
        self.address = ""

    async def __aenter__(self) -> Self:
        settings = self._settings
        server = grpc.aio.server(options=server_options(settings), maximum_concurrent_rpcs=settings.concurrent_calls)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        try:
            port = server.add_insecure_port(f"{host}:{settings.port}")
        except RuntimeError as error:
            why = f"{host}:{settings.port} cannot be listened on"
            raise SetupError("the internal RPC cannot start", why=why, hint="Choose another `rpc.port`.") from error
        self._server, self.address = server, f"{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._bound().stop(self._settings.stop_grace.total_seconds())

    def add(self, service: ServiceDescriptor, servicer: object) -> None:
        """`CreateUpload` of the service is answered by `create_upload(request, call)` of the servicer."""
        handlers = {method.name: self._handler(method, function_for(servicer, method)) for method in service.methods}
        handler = grpc.method_handlers_generic_handler(service.full_name, handlers)
        self._bound().add_generic_rpc_handlers([handler])

    async def start(self) -> None:
        await self._bound().start()

    def _bound(self) -> grpc.aio.Server:
        if self._server is None:
            raise Defect("the server was not entered")
        return self._server

    def _handler(self, method: MethodDescriptor, function: Callable[..., Any]) -> grpc.RpcMethodHandler[bytes, bytes]:
        match method.client_streaming, method.server_streaming:
            case False, False:
                unary = UnaryAnswer(method, function, self._gate, self._proofs, self._settings)
                return grpc.unary_unary_rpc_method_handler(unary.answer)
            case True, True:
                stream = StreamAnswer(method, function, self._gate, self._proofs)
                return grpc.stream_stream_rpc_method_handler(stream.answer)
            case _:
                raise Defect(f"{method.full_name} streams one way", why="calls are unary or stream both ways")


def function_for(servicer: object, method: MethodDescriptor) -> Callable[..., Any]:
    name = _WORDS.sub("_", method.name).lower()
    function = getattr(servicer, name, None)
    if function is None:
        raise Defect(f"nobody answers {method.full_name}", why=f"{type(servicer).__name__} has no {name}")
    return function
