"""All SQL of nodes and of the commands to them. Nodes belong to no tenant, commands to the artifact's.

Invariant: only the newest line of a node changes it; a command is ended once.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from touchline.kernel import ArtifactHash
from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one

from .rules import Command, CommandKind, CommandOutcome, Node, NodeConnection, NodeIdentity, NodeStatus, StorageReport

COLUMNS: LiteralString = """node_id, instance_id, base_url, version, locality, status, trouble, budget_bytes,
       used_bytes, free_bytes, load, inventory_at, inventory_refusal, registered_at, last_seen_at, revision,
       publish_urls"""

REGISTER: LiteralString = """
INSERT INTO serve.nodes (node_id, instance_id, connection_id, base_url, version, locality, publish_urls, status,
                         registered_at, last_seen_at)
VALUES (%(node_id)s, %(instance_id)s, %(connection_id)s, %(base_url)s, %(version)s, %(locality)s,
        %(publish_urls)s, 'present', %(now)s, %(now)s)
ON CONFLICT (node_id) DO UPDATE
   SET instance_id = excluded.instance_id, connection_id = excluded.connection_id, base_url = excluded.base_url,
       version = excluded.version, locality = excluded.locality, publish_urls = excluded.publish_urls,
       status = 'present',
       last_seen_at = excluded.last_seen_at, revision = nodes.revision + 1
"""
SEEN: LiteralString = """
UPDATE serve.nodes
   SET status = 'present', last_seen_at = %(now)s, budget_bytes = coalesce(%(budget)s, budget_bytes),
       used_bytes = coalesce(%(used)s, used_bytes), free_bytes = coalesce(%(free)s, free_bytes),
       load = coalesce(%(load)s, load), trouble = CASE WHEN %(load)s::integer IS NULL THEN trouble ELSE %(trouble)s END,
       revision = revision + 1
 WHERE node_id = %(node_id)s AND connection_id = %(connection_id)s
"""
COUNTED: LiteralString = """
-- Once for each batch of access counts, however often it is sent.
UPDATE serve.nodes SET report_sequence = %(sequence)s
 WHERE node_id = %(node_id)s AND connection_id = %(connection_id)s AND report_sequence < %(sequence)s
"""
INVENTORY: LiteralString = """
UPDATE serve.nodes
   SET inventory_at = CASE WHEN %(refusal)s::text IS NULL THEN %(now)s ELSE inventory_at END,
       inventory_refusal = %(refusal)s, revision = revision + 1
 WHERE node_id = %(node_id)s AND connection_id = %(connection_id)s
"""
MARK_GONE: LiteralString = """
UPDATE serve.nodes SET status = 'gone', revision = revision + 1
 WHERE status = 'present' AND last_seen_at <= %(before)s
"""
FORGET: LiteralString = """
-- From now on any folder may come under this id.
UPDATE serve.nodes
   SET status = 'gone', instance_id = %(nobody)s, connection_id = %(nobody)s, inventory_refusal = NULL, trouble = NULL,
       revision = revision + 1
 WHERE node_id = %(node_id)s
"""
FIND: LiteralString = f"SELECT {COLUMNS} FROM serve.nodes WHERE node_id = %(node_id)s"
FIND_LOCKED: LiteralString = f"{FIND} FOR UPDATE"
ALL: LiteralString = f"SELECT {COLUMNS} FROM serve.nodes ORDER BY node_id LIMIT %(limit)s"
COPIES_ON_RECORD: LiteralString = """
SELECT count(*) FROM serve.artifact_nodes WHERE node_id = %(node_id)s AND state IN ('present', 'evicting')
"""


class NodeStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def register(self, line: NodeConnection, registration: NodeIdentity, now: datetime) -> None:
        values = {"connection_id": line.connection_id, "now": now, "node_id": registration.node_id}
        values |= {"base_url": registration.base_url, "version": registration.version}
        values |= {"instance_id": registration.instance_id, "locality": registration.locality}
        values |= {"publish_urls": list(registration.publish_urls)}
        await self._connection.execute(REGISTER, values)

    async def find(self, node_id: str) -> Node | None:
        return await fetch_one(self._connection, _node, FIND, node_id=node_id)

    async def find_locked(self, node_id: str) -> Node | None:
        return await fetch_one(self._connection, _node, FIND_LOCKED, node_id=node_id)

    async def copies_on_record(self, node_id: str) -> int:
        """Of all tenants: in a system transaction."""
        cursor = await self._connection.execute(COPIES_ON_RECORD, {"node_id": node_id})
        [(count,)] = await cursor.fetchall()
        return count

    async def seen(self, line: NodeConnection, storage: StorageReport | None, now: datetime) -> bool:
        """False when a newer line speaks for the node."""
        values = {"budget": storage and storage.budget_bytes, "used": storage and storage.used_bytes}
        values |= {"free": storage and storage.free_bytes, "load": storage and storage.load}
        values |= {"trouble": storage and (storage.trouble or None)}
        return await self._of_line(SEEN, line, now=now, **values)

    async def counted(self, line: NodeConnection, sequence: int) -> bool:
        """False when this batch was counted before."""
        return await self._of_line(COUNTED, line, sequence=sequence)

    async def inventory(self, line: NodeConnection, refusal: str | None, now: datetime) -> None:
        await self._of_line(INVENTORY, line, refusal=refusal, now=now)

    async def mark_gone(self, before: datetime) -> int:
        return (await self._connection.execute(MARK_GONE, {"before": before})).rowcount

    async def forget(self, node_id: str) -> None:
        await self._connection.execute(FORGET, {"node_id": node_id, "nobody": UUID(int=0)})

    async def all(self, limit: int) -> Sequence[Node]:
        return await fetch_all(self._connection, _node, ALL, limit=limit)

    async def _of_line(self, query: LiteralString, line: NodeConnection, **values: Any) -> bool:
        named = {"node_id": line.node_id, "connection_id": line.connection_id, **values}
        return (await self._connection.execute(query, named)).rowcount == 1


def _node(*, status: str, publish_urls: list[str], **columns: Any) -> Node:
    return Node(status=NodeStatus(status), publish_urls=tuple(publish_urls), **columns)


# --- Commands.

CHANNEL = "touchline_nodes"
COMMAND: LiteralString = "id, node_id, kind, tenant_id, artifact_hash, payload, deadline"

ADD: LiteralString = """
WITH added AS (
  INSERT INTO serve.node_commands (id, node_id, kind, tenant_id, artifact_hash, payload, created_at, deadline)
  VALUES (%(id)s, %(node_id)s, %(kind)s, %(tenant_id)s, %(hash)s, %(payload)s, %(now)s, %(deadline)s)
  ON CONFLICT DO NOTHING
  RETURNING id)
SELECT pg_notify('touchline_nodes', id::text) FROM added
"""
END: LiteralString = """
UPDATE serve.node_commands
   SET outcome = %(outcome)s, ended_at = %(now)s, error_code = %(code)s, error_message = %(message)s,
       acknowledged_at = CASE WHEN %(outcome)s = 'expired' THEN NULL ELSE %(now)s END
 WHERE tenant_id = %(tenant_id)s AND id = %(id)s AND outcome IS NULL
"""
OPEN_OF_ARTIFACT: LiteralString = f"""
SELECT {COMMAND} FROM serve.node_commands
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND outcome IS NULL
 ORDER BY created_at, id
"""
UNSENT: LiteralString = f"""
-- Of one node and all tenants, oldest first: what lies open and was not sent on this line yet.
SELECT {COMMAND} FROM serve.node_commands
 WHERE node_id = %(node_id)s AND outcome IS NULL AND sent_on IS DISTINCT FROM %(connection_id)s
 ORDER BY created_at, id
 LIMIT %(limit)s
"""
SENT: LiteralString = """
UPDATE serve.node_commands SET sent_on = %(connection_id)s, sent_at = %(now)s
 WHERE id = ANY (%(ids)s) AND outcome IS NULL
"""
OF_NODE: LiteralString = f"""
-- Of all tenants: whose command it is that a node acknowledges. None when it was ended before.
SELECT {COMMAND} FROM serve.node_commands WHERE id = %(id)s AND node_id = %(node_id)s AND outcome IS NULL
"""
OPEN_OF_NODE: LiteralString = f"""
SELECT {COMMAND} FROM serve.node_commands WHERE node_id = %(node_id)s AND outcome IS NULL ORDER BY created_at, id
"""
OVERDUE: LiteralString = f"""
-- Of all tenants, longest first, from the partial index node_commands_due.
SELECT {COMMAND} FROM serve.node_commands
 WHERE outcome IS NULL AND deadline <= %(now)s
 ORDER BY deadline
 LIMIT %(limit)s
"""
FORGET_ENDED: LiteralString = """
DELETE FROM serve.node_commands
 WHERE id IN (SELECT id FROM serve.node_commands WHERE outcome IS NOT NULL AND ended_at <= %(before)s LIMIT %(limit)s)
"""


class CommandStore:
    """The commands of one tenant's artifacts."""

    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id

    async def add(self, command: Command, now: datetime) -> bool:
        """False when the same is asked already, or the artifact's bytes are on the move."""
        values = {"id": command.id, "node_id": command.node_id, "kind": command.kind, "tenant_id": self._tenant_id}
        values |= {"hash": command.artifact_hash, "payload": Jsonb(dict(command.payload))}
        cursor = await self._connection.execute(ADD, {**values, "now": now, "deadline": command.deadline})
        return cursor.rowcount == 1

    async def end(
        self, command: Command, outcome: CommandOutcome, now: datetime, reason: tuple[str, str] | None = None
    ) -> bool:
        """False when it was ended before: then nothing that belongs to it may change."""
        code, message = reason or (None, None)
        values = {"tenant_id": self._tenant_id, "id": command.id, "outcome": outcome, "now": now}
        cursor = await self._connection.execute(END, {**values, "code": code, "message": message})
        return cursor.rowcount == 1

    async def open_of(self, artifact_hash: ArtifactHash) -> Sequence[Command]:
        values = {"tenant_id": self._tenant_id, "hash": artifact_hash}
        return await fetch_all(self._connection, _command, OPEN_OF_ARTIFACT, **values)


# Across tenants, in a system transaction.


async def unsent(connection: AsyncConnection[Any], line: NodeConnection, limit: int) -> Sequence[Command]:
    values = {"node_id": line.node_id, "connection_id": line.connection_id, "limit": limit}
    return await fetch_all(connection, _command, UNSENT, **values)


async def sent(connection: AsyncConnection[Any], line: NodeConnection, ids: Sequence[UUID], now: datetime) -> None:
    await connection.execute(SENT, {"connection_id": line.connection_id, "ids": list(ids), "now": now})


async def open_command(connection: AsyncConnection[Any], node_id: str, command_id: UUID) -> Command | None:
    return await fetch_one(connection, _command, OF_NODE, node_id=node_id, id=command_id)


async def open_of_node(connection: AsyncConnection[Any], node_id: str) -> Sequence[Command]:
    return await fetch_all(connection, _command, OPEN_OF_NODE, node_id=node_id)


async def overdue(connection: AsyncConnection[Any], now: datetime, limit: int) -> Sequence[Command]:
    return await fetch_all(connection, _command, OVERDUE, now=now, limit=limit)


async def forget_ended(connection: AsyncConnection[Any], before: datetime, limit: int) -> int:
    return (await connection.execute(FORGET_ENDED, {"before": before, "limit": limit})).rowcount


def _command(*, kind: str, **columns: Any) -> Command:
    return Command(kind=CommandKind(kind), **columns)
