"""All SQL of streams.

Invariant: a key is there as its hash only, and belongs to one stream. Only what lives is changed.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from touchline.contracts.registry import NewStream, RowKey, RowWindow, Stream, StreamChange
from touchline.kernel import TenantId
from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one
from touchline.serve.registry.store import AFTER, BEFORE, Counted, after, before

COLUMNS: LiteralString = """s.id, i.playback_id, i.internal_name, i.user_id, s.title, s.description, s.record,
       s.created_at, s.key_rotated_at, s.live_since, s.suspended_at, s.revision"""
RECORDS: LiteralString = f"""
SELECT {COLUMNS}
  FROM serve.streams AS s JOIN serve.identities AS i ON i.tenant_id = s.tenant_id AND i.artifact_hash = s.stream_hash
 WHERE s.tenant_id = %(tenant_id)s AND s.deleted_at IS NULL"""
ROW: LiteralString = "(s.created_at, s.stream_hash)"
THIS: LiteralString = "tenant_id = %(tenant_id)s AND id = %(id)s AND deleted_at IS NULL"

ADD: LiteralString = """
INSERT INTO serve.streams (tenant_id, id, title, description, record, key_hash, key_rotated_at, created_at)
VALUES (%(tenant_id)s, %(id)s, %(title)s, %(description)s, %(record)s, %(key_hash)s, %(now)s, %(now)s)
"""
BY_IDS: LiteralString = f"{RECORDS} AND s.id = ANY (%(ids)s)"
LOCKED: LiteralString = f"{RECORDS} AND s.id = %(id)s FOR UPDATE OF s"
NEWEST: LiteralString = f"""{RECORDS} AND {ROW} < {AFTER} AND {ROW} > {BEFORE}
 ORDER BY s.created_at DESC, s.stream_hash DESC LIMIT %(size)s
"""
OLDEST: LiteralString = f"""{RECORDS} AND {ROW} < {AFTER} AND {ROW} > {BEFORE}
 ORDER BY s.created_at, s.stream_hash LIMIT %(size)s
"""
COUNT: LiteralString = f"""
SELECT count(*) AS total, count(*) FILTER (WHERE {ROW} >= {AFTER}) AS ahead
  FROM serve.streams AS s
 WHERE s.tenant_id = %(tenant_id)s AND s.deleted_at IS NULL
"""
UPDATE: LiteralString = f"""
-- Who is suspended is live no more.
UPDATE serve.streams
   SET title = coalesce(%(title)s, title), description = coalesce(%(description)s, description),
       record = coalesce(%(record)s, record),
       suspended_at = CASE %(suspended)s::boolean WHEN true THEN coalesce(suspended_at, %(now)s) WHEN false THEN NULL
                                                  ELSE suspended_at END,
       live_since = CASE WHEN %(suspended)s::boolean THEN NULL ELSE live_since END,
       live_node_id = CASE WHEN %(suspended)s::boolean THEN NULL ELSE live_node_id END,
       revision = revision + 1
 WHERE {THIS}
   AND (title, description, record, suspended_at IS NOT NULL)
       <> (coalesce(%(title)s, title), coalesce(%(description)s, description), coalesce(%(record)s, record),
           coalesce(%(suspended)s::boolean, suspended_at IS NOT NULL))
"""
ROTATE_KEY: LiteralString = f"""
UPDATE serve.streams SET key_hash = %(key_hash)s, key_rotated_at = %(now)s, revision = revision + 1 WHERE {THIS}
"""
LIVE: LiteralString = f"""
-- Null: its media come no more. Refused while it is suspended.
UPDATE serve.streams SET live_since = %(since)s, live_node_id = %(node_id)s, revision = revision + 1
 WHERE {THIS} AND (suspended_at IS NULL OR %(since)s::timestamptz IS NULL)
"""
DELETE: LiteralString = f"""
UPDATE serve.streams SET deleted_at = %(now)s, live_since = NULL, live_node_id = NULL, revision = revision + 1
 WHERE {THIS}
RETURNING revision
"""
EXISTED: LiteralString = """
SELECT FROM serve.streams WHERE tenant_id = %(tenant_id)s AND id = %(id)s AND deleted_at IS NOT NULL
"""

# --- across tenants

FIND_KEY: LiteralString = "SELECT tenant_id, id FROM serve.find_stream_key(%(key_hash)s)"


class StreamStore:
    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id

    async def add(self, stream_id: UUID, new: NewStream, key_hash: bytes | None, now: datetime) -> None:
        """Its identity comes first."""
        values = {"title": new.title, "description": new.description, "record": new.record}
        await self._execute(ADD, stream_id, key_hash=key_hash, now=now, **values)

    async def find(self, stream_id: UUID) -> Stream | None:
        return next(iter(await self.by_ids([stream_id])), None)

    async def find_locked(self, stream_id: UUID) -> Stream | None:
        """Until the transaction ends nobody changes it, nor begins a recording of it."""
        return await fetch_one(self._connection, Stream, LOCKED, tenant_id=self._tenant_id, id=stream_id)

    async def by_ids(self, ids: Sequence[UUID]) -> Sequence[Stream]:
        return await fetch_all(self._connection, Stream, BY_IDS, tenant_id=self._tenant_id, ids=list(ids))

    async def window(self, window: RowWindow) -> list[Stream]:
        query = OLDEST if window.from_the_end else NEWEST
        values = {"tenant_id": self._tenant_id, "size": window.size, **after(window.after), **before(window.before)}
        found = list(await fetch_all(self._connection, Stream, query, **values))
        return found[::-1] if window.from_the_end else found

    async def count(self, place: RowKey | None = None) -> Counted:
        [counted] = await fetch_all(self._connection, Counted, COUNT, tenant_id=self._tenant_id, **after(place))
        return counted

    async def update(self, stream_id: UUID, change: StreamChange, now: datetime) -> bool:
        """False when nothing changes."""
        values = {name: getattr(change, name) for name in ("title", "description", "record", "suspended")}
        return await self._execute(UPDATE, stream_id, now=now, **values) == 1

    async def rotate_key(self, stream_id: UUID, key_hash: bytes | None, now: datetime) -> None:
        await self._execute(ROTATE_KEY, stream_id, key_hash=key_hash, now=now)

    async def set_live(self, stream_id: UUID, since: datetime | None, node_id: str | None) -> bool:
        """Whether its media arrive, and where. False: it is suspended, or gone."""
        return await self._execute(LIVE, stream_id, since=since, node_id=node_id) == 1

    async def delete(self, stream_id: UUID, now: datetime) -> int | None:
        """The revision; None when it is deleted already."""
        values = {"tenant_id": self._tenant_id, "id": stream_id, "now": now}
        row = await (await self._connection.execute(DELETE, values)).fetchone()
        return row[0] if row else None

    async def existed(self, stream_id: UUID) -> bool:
        """It was deleted."""
        return await self._execute(EXISTED, stream_id) == 1

    async def _execute(self, query: LiteralString, stream_id: UUID, **values: Any) -> int:
        cursor = await self._connection.execute(query, {"tenant_id": self._tenant_id, "id": stream_id, **values})
        return cursor.rowcount


async def find_key(connection: AsyncConnection[Any], key_hash: bytes) -> tuple[TenantId, UUID] | None:
    """Whose stream it is, as long as its key is accepted."""
    row = await (await connection.execute(FIND_KEY, {"key_hash": key_hash})).fetchone()
    return (TenantId(row[0]), row[1]) if row else None
