"""Nodes come, are seen, and go when nobody heard of them for too long.

Invariant: a line that broke does not make a node gone, only silence does: it may be back in a second.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.kernel import Clock, uuid7
from touchline.kernel.errors import LeaseLost
from touchline.platform.postgres.database import Database
from touchline.serve.settings import ServeSettings
from touchline.serve.tenants import NOBODY

from . import rules
from .model import Line, Node, Registration, Storage
from .store import NodeStore

MOST_NODES = 1000


class NodeService:
    def __init__(self, database: Database, settings: ServeSettings, clock: Clock) -> None:
        self._database = database
        self.settings = settings
        self._clock = clock

    async def register(self, registration: Registration) -> Line:
        """The line that speaks for the node from now on."""
        now, known = self._clock.now(), rules.checked(registration)
        line = Line(known.node_id, uuid7(now))
        async with self._database.transaction(NOBODY) as transaction:
            await NodeStore(transaction.connection).register(line, known, now)
        return line

    async def heard(self, line: Line, storage: Storage | None = None) -> None:
        report = rules.checked_storage(storage) if storage else None
        async with self._database.transaction(NOBODY) as transaction:
            if not await NodeStore(transaction.connection).seen(line, report, self._clock.now()):
                raise LeaseLost("another line speaks for this node", why=line.node_id)

    async def mark_gone(self) -> bool:
        """One pass over the silent ones. There is never more of it."""
        async with self._database.transaction(NOBODY) as transaction:
            await NodeStore(transaction.connection).mark_gone(self._clock.now() - self.settings.node_gone_after)
        return False

    async def listed(self) -> Sequence[Node]:
        async with self._database.transaction(NOBODY) as transaction:
            return await NodeStore(transaction.connection).all(MOST_NODES)
