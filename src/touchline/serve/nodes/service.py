"""Nodes come, are seen, and go when nobody heard of them for too long.

Invariant: a line that broke does not make a node gone, only silence does: it may be back in a second.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.kernel import Clock, LeaseLost, uuid7
from touchline.platform.postgres.database import Database
from touchline.serve.context import WITHOUT_TENANT
from touchline.serve.settings import ServeSettings

from . import rules
from .store import NodeStore, sent, unsent

MOST_NODES = 1000
MOST_COMMANDS = 100  # at once


async def publish_urls(database: Database) -> Sequence[str]:
    """Where encoders publish to: the nodes that are there. They belong to no tenant, and serve all."""
    async with database.transaction(WITHOUT_TENANT) as transaction:
        nodes = await NodeStore(transaction.connection).all(MOST_NODES)
    return [url for node in nodes if rules.is_usable(node) for url in node.publish_urls]


class NodeService:
    def __init__(self, database: Database, settings: ServeSettings, clock: Clock) -> None:
        self._database = database
        self.settings = settings
        self._clock = clock

    async def register(self, registration: rules.NodeIdentity) -> rules.NodeConnection:
        """The line that speaks for the node from now on."""
        now, known = self._clock.now(), rules.checked(registration)
        line = rules.NodeConnection(known.node_id, uuid7(now))
        async with self._database.system("count the copies of a node") as transaction:
            copies = await NodeStore(transaction.connection).copies_on_record(known.node_id)
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            store = NodeStore(transaction.connection)
            if node := await store.find_locked(known.node_id):
                rules.require_same_folder(node, known, copies, now - self.settings.node_gone_after)
            await store.register(line, known, now)
        return line

    async def heard(self, line: rules.NodeConnection, storage: rules.StorageReport | None = None) -> None:
        report = rules.checked_storage(storage) if storage else None
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            if not await NodeStore(transaction.connection).seen(line, report, self._clock.now()):
                raise LeaseLost("another connection is registered for this node", why=line.node_id)

    async def unsent(self, line: rules.NodeConnection) -> Sequence[rules.Command]:
        """What the node is to be sent now. It counts as sent on this line: another line is sent it again."""
        async with self._database.system("find commands for a node") as transaction:
            commands = await unsent(transaction.connection, line, MOST_COMMANDS)
            if commands:
                ids = [command.id for command in commands]
                await sent(transaction.connection, line, ids, self._clock.now())
        return commands

    async def mark_gone(self) -> bool:
        """One pass over the silent ones. There is never more of it."""
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            await NodeStore(transaction.connection).mark_gone(self._clock.now() - self.settings.node_gone_after)
        return False

    async def listed(self) -> Sequence[rules.Node]:
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            return await NodeStore(transaction.connection).all(MOST_NODES)
