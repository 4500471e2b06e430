"""All SQL of nodes. They belong to no tenant.

Invariant: only the newest line of a node changes it.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection

from touchline.platform.postgres.database import fetch_all

from .rules import (
    Node,
    NodeConnection,
    NodeIdentity,
    NodeStatus,
    StorageReport,
)

COLUMNS: LiteralString = """node_id, base_url, version, status, budget_bytes, used_bytes, registered_at, last_seen_at,
       revision"""

REGISTER: LiteralString = """
INSERT INTO serve.nodes (node_id, connection_id, base_url, version, status, registered_at, last_seen_at)
VALUES (%(node_id)s, %(connection_id)s, %(base_url)s, %(version)s, 'present', %(now)s, %(now)s)
ON CONFLICT (node_id) DO UPDATE
   SET connection_id = excluded.connection_id, base_url = excluded.base_url, version = excluded.version,
       status = 'present', last_seen_at = excluded.last_seen_at, revision = nodes.revision + 1
"""
SEEN: LiteralString = """
UPDATE serve.nodes
   SET status = 'present', last_seen_at = %(now)s, budget_bytes = coalesce(%(budget)s, budget_bytes),
       used_bytes = coalesce(%(used)s, used_bytes), revision = revision + 1
 WHERE node_id = %(node_id)s AND connection_id = %(connection_id)s
"""
MARK_GONE: LiteralString = """
UPDATE serve.nodes SET status = 'gone', revision = revision + 1
 WHERE status = 'present' AND last_seen_at <= %(before)s
"""
ALL: LiteralString = f"SELECT {COLUMNS} FROM serve.nodes ORDER BY node_id LIMIT %(limit)s"


class NodeStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def register(self, line: NodeConnection, registration: NodeIdentity, now: datetime) -> None:
        values = {"connection_id": line.connection_id, "now": now, "node_id": registration.node_id}
        values |= {"base_url": registration.base_url, "version": registration.version}
        await self._connection.execute(REGISTER, values)

    async def seen(self, line: NodeConnection, storage: StorageReport | None, now: datetime) -> bool:
        """False when a newer line speaks for the node."""
        values = {"node_id": line.node_id, "connection_id": line.connection_id, "now": now}
        values |= {"budget": storage and storage.budget_bytes, "used": storage and storage.used_bytes}
        return (await self._connection.execute(SEEN, values)).rowcount == 1

    async def mark_gone(self, before: datetime) -> int:
        return (await self._connection.execute(MARK_GONE, {"before": before})).rowcount

    async def all(self, limit: int) -> Sequence[Node]:
        return await fetch_all(self._connection, _node, ALL, limit=limit)


def _node(*, status: str, **columns: Any) -> Node:
    return Node(status=NodeStatus(status), **columns)
