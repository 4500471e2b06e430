"""Nodes come, are seen, and go when nobody heard of them for too long.

Invariant: a line that broke does not make a node gone, only silence does: it may be back in a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

from touchline.contracts.rpc.v1 import node_pb2 as pb
from touchline.kernel import Clock, uuid7
from touchline.kernel.errors import DeadlineExceeded, InvalidInput, LeaseLost
from touchline.platform.postgres.database import Database
from touchline.platform.rpc.credentials import RpcCall
from touchline.serve.context import WITHOUT_TENANT
from touchline.serve.settings import ServeSettings

from . import rules
from .rules import Node, NodeConnection, NodeIdentity, StorageReport
from .store import NodeStore

MOST_NODES = 1000


class NodeService:
    def __init__(self, database: Database, settings: ServeSettings, clock: Clock) -> None:
        self._database = database
        self.settings = settings
        self._clock = clock

    async def register(self, registration: NodeIdentity) -> NodeConnection:
        """The line that speaks for the node from now on."""
        now, known = self._clock.now(), rules.checked(registration)
        line = NodeConnection(known.node_id, uuid7(now))
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            await NodeStore(transaction.connection).register(line, known, now)
        return line

    async def heard(self, line: NodeConnection, storage: StorageReport | None = None) -> None:
        report = rules.checked_storage(storage) if storage else None
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            if not await NodeStore(transaction.connection).seen(line, report, self._clock.now()):
                raise LeaseLost("another line speaks for this node", why=line.node_id)

    async def mark_gone(self) -> bool:
        """One pass over the silent ones. There is never more of it."""
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            await NodeStore(transaction.connection).mark_gone(self._clock.now() - self.settings.node_gone_after)
        return False

    async def listed(self) -> Sequence[Node]:
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            return await NodeStore(transaction.connection).all(MOST_NODES)


# The line to a node: it registers, then reports; who is silent for too long is hung up on.

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


def _registration(message: pb.NodeRegistration) -> NodeIdentity:
    return NodeIdentity(message.node_id, message.base_url, message.version)


def _storage(message: pb.NodeStorage) -> StorageReport:
    return StorageReport(message.budget_bytes, message.used_bytes)
