"""The line to a node: it registers, then reports; who is silent for too long is hung up on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

from touchline.contracts.rpc.v1 import node_pb2 as pb
from touchline.kernel.errors import DeadlineExceeded, InvalidInput
from touchline.platform.rpc.credentials import RpcCall

from .model import Registration, Storage
from .service import NodeService

SERVICE = pb.DESCRIPTOR.services_by_name["Nodes"]
MILLISECOND = timedelta(milliseconds=1)


class NodesServicer:
    def __init__(self, service: NodeService) -> None:
        self._service = service

    async def connect(self, messages: AsyncIterator[pb.NodeMessage], call: RpcCall) -> AsyncIterator[pb.NodeCommand]:
        first = await self._next(messages)
        if first is None:
            return
        if not first.HasField("registration"):
            raise InvalidInput("a node registers first", field="registration")
        line = await self._service.register(_registration(first.registration))
        yield self._welcome()
        while (message := await self._next(messages)) is not None:
            await self._service.heard(line, _storage(message.storage) if message.HasField("storage") else None)

    async def _next(self, messages: AsyncIterator[pb.NodeMessage]) -> pb.NodeMessage | None:
        """None when the node hung up."""
        patience = self._service.settings.node_gone_after
        try:
            async with asyncio.timeout(patience.total_seconds()):
                return await anext(messages, None)
        except TimeoutError as error:
            raise DeadlineExceeded("the node was silent", why=f"for {patience}") from error

    def _welcome(self) -> pb.NodeCommand:
        settings = self._service.settings
        heartbeat_ms, gone_after_ms = settings.node_heartbeat // MILLISECOND, settings.node_gone_after // MILLISECOND
        return pb.NodeCommand(welcome=pb.NodeWelcome(heartbeat_ms=heartbeat_ms, gone_after_ms=gone_after_ms))


def _registration(message: pb.NodeRegistration) -> Registration:
    return Registration(message.node_id, message.base_url, message.version)


def _storage(message: pb.NodeStorage) -> Storage:
    return Storage(message.budget_bytes, message.used_bytes)
