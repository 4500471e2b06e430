"""All SQL of streams.

Invariant: a key is there as its hash only, and belongs to one stream. Only what lives is changed.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from touchline.contracts.registry import LiveHealth, LiveSession, NewStream, RowKey, RowWindow, Stream, StreamChange
from touchline.kernel import TenantId
from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one
from touchline.serve.registry.store import AFTER, BEFORE, Counted, after, before

COLUMNS: LiteralString = """s.id, i.playback_id, i.internal_name, i.user_id, s.title, s.description, s.record,
       s.created_at, s.key_rotated_at, s.live_since, s.suspended_at, s.revision, s.live_node_id, s.live_session_id,
       s.live_playable_at, s.live_broken_at, s.live_health, s.live_problem, s.lost_session_id"""
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
       live_session_id = CASE WHEN %(suspended)s::boolean THEN NULL ELSE live_session_id END,
       lost_session_id = CASE WHEN %(suspended)s::boolean THEN NULL ELSE lost_session_id END,
       revision = revision + 1
 WHERE {THIS}
   AND (title, description, record, suspended_at IS NOT NULL)
       <> (coalesce(%(title)s, title), coalesce(%(description)s, description), coalesce(%(record)s, record),
           coalesce(%(suspended)s::boolean, suspended_at IS NOT NULL))
"""
ROTATE_KEY: LiteralString = f"""
-- Who publishes with the old one is hung up on.
UPDATE serve.streams
   SET key_hash = %(key_hash)s, key_rotated_at = %(now)s, live_since = NULL, live_node_id = NULL,
       live_session_id = NULL, lost_session_id = NULL, revision = revision + 1
 WHERE {THIS}
"""
PUBLISH: LiteralString = f"""
-- A session begins, or goes on: at this node, whichever had it before.
UPDATE serve.streams
   SET live_playable_at = CASE WHEN live_session_id = %(session_id)s THEN live_playable_at END,
       live_since = CASE WHEN live_session_id = %(session_id)s THEN live_since ELSE %(now)s END,
       live_node_id = %(node_id)s, live_session_id = %(session_id)s, live_broken_at = NULL, live_seen_at = %(now)s,
       live_problem = NULL, live_health = NULL, lost_session_id = NULL, revision = revision + 1
 WHERE {THIS} AND suspended_at IS NULL
"""
SEEN: LiteralString = f"""
-- What the node says of its session. Only what people wait for raises the revision.
UPDATE serve.streams
   SET live_seen_at = %(now)s, live_health = coalesce(%(health)s, live_health),
       live_playable_at = CASE WHEN %(playable)s THEN coalesce(live_playable_at, %(now)s) ELSE live_playable_at END,
       live_broken_at = CASE WHEN %(broken)s THEN coalesce(live_broken_at, %(now)s) END,
       revision = revision + CASE WHEN %(changes)s THEN 1 ELSE 0 END
 WHERE {THIS} AND live_session_id = %(session_id)s AND live_node_id = %(node_id)s
"""
END: LiteralString = f"""
-- `lost`: the node may still have it, and say so later.
UPDATE serve.streams
   SET live_since = NULL, live_node_id = NULL, live_session_id = NULL, live_problem = nullif(%(problem)s, ''),
       lost_session_id = CASE WHEN %(lost)s THEN live_session_id END, revision = revision + 1
 WHERE {THIS} AND live_session_id = %(session_id)s AND live_node_id = %(node_id)s
   AND (NOT %(lost)s OR live_seen_at <= %(silent_since)s)
"""
DELETE: LiteralString = f"""
UPDATE serve.streams
   SET deleted_at = %(now)s, live_since = NULL, live_node_id = NULL, live_session_id = NULL, lost_session_id = NULL,
       revision = revision + 1
 WHERE {THIS}
RETURNING revision
"""
EXISTED: LiteralString = """
SELECT FROM serve.streams WHERE tenant_id = %(tenant_id)s AND id = %(id)s AND deleted_at IS NOT NULL
"""

# --- across tenants

FIND_KEY: LiteralString = "SELECT tenant_id, id FROM serve.find_stream_key(%(key_hash)s)"
AT_NODE: LiteralString = """
SELECT tenant_id, id, live_session_id AS session_id, live_node_id AS node_id FROM serve.streams
 WHERE live_since IS NOT NULL AND live_node_id = %(node_id)s
"""
SILENT: LiteralString = """
SELECT tenant_id, id, live_session_id AS session_id, live_node_id AS node_id FROM serve.streams
 WHERE live_since IS NOT NULL AND live_seen_at <= %(before)s
 LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class SessionPlace:
    """Which session a stream has, and at which node."""

    tenant_id: TenantId
    id: UUID
    session_id: UUID
    node_id: str


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A stream, and the session that it lost when its node fell silent."""

    stream: Stream
    lost_session_id: UUID | None


@dataclass(frozen=True, slots=True)
class SessionReport:
    """What a node says of a session that goes on. `changes`: in a way that people wait for."""

    playable: bool
    broken: bool
    health: LiveHealth | None
    changes: bool


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
        row = await self.find_session(stream_id)
        return row.stream if row else None

    async def find_session(self, stream_id: UUID) -> SessionRow | None:
        """Locked, too."""
        return await fetch_one(self._connection, _session, LOCKED, tenant_id=self._tenant_id, id=stream_id)

    async def by_ids(self, ids: Sequence[UUID]) -> Sequence[Stream]:
        return await fetch_all(self._connection, _stream, BY_IDS, tenant_id=self._tenant_id, ids=list(ids))

    async def window(self, window: RowWindow) -> list[Stream]:
        query = OLDEST if window.from_the_end else NEWEST
        values = {"tenant_id": self._tenant_id, "size": window.size, **after(window.after), **before(window.before)}
        found = list(await fetch_all(self._connection, _stream, query, **values))
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

    async def publish(self, stream_id: UUID, node_id: str, session_id: UUID, now: datetime) -> bool:
        """Its media arrive. False: it is suspended, or gone."""
        return await self._execute(PUBLISH, stream_id, node_id=node_id, session_id=session_id, now=now) == 1

    async def seen(self, place: SessionPlace, report: SessionReport, now: datetime) -> bool:
        """False: another session is the stream's."""
        values = {"playable": report.playable, "broken": report.broken, "changes": report.changes}
        values |= {"health": Jsonb(asdict(report.health)) if report.health else None, "now": now}
        return await self._of_session(SEEN, place, **values)

    async def end_session(self, place: SessionPlace, problem: str = "", silent_since: datetime | None = None) -> bool:
        """False: it is the stream's no more; or, where it is to be lost, the node was heard meanwhile."""
        values = {"problem": problem, "lost": silent_since is not None, "silent_since": silent_since}
        return await self._of_session(END, place, **values)

    async def delete(self, stream_id: UUID, now: datetime) -> int | None:
        """The revision; None when it is deleted already."""
        values = {"tenant_id": self._tenant_id, "id": stream_id, "now": now}
        row = await (await self._connection.execute(DELETE, values)).fetchone()
        return row[0] if row else None

    async def existed(self, stream_id: UUID) -> bool:
        """It was deleted."""
        return await self._execute(EXISTED, stream_id) == 1

    async def _of_session(self, query: LiteralString, place: SessionPlace, **values: Any) -> bool:
        named = {"session_id": place.session_id, "node_id": place.node_id}
        return await self._execute(query, place.id, **named, **values) == 1

    async def _execute(self, query: LiteralString, stream_id: UUID, **values: Any) -> int:
        cursor = await self._connection.execute(query, {"tenant_id": self._tenant_id, "id": stream_id, **values})
        return cursor.rowcount


async def find_key(connection: AsyncConnection[Any], key_hash: bytes) -> tuple[TenantId, UUID] | None:
    """Whose stream it is, as long as its key is accepted."""
    row = await (await connection.execute(FIND_KEY, {"key_hash": key_hash})).fetchone()
    return (TenantId(row[0]), row[1]) if row else None


async def sessions_at(connection: AsyncConnection[Any], node_id: str) -> Sequence[SessionPlace]:
    """Of all tenants, in a system transaction."""
    return await fetch_all(connection, SessionPlace, AT_NODE, node_id=node_id)


async def silent_sessions(connection: AsyncConnection[Any], before: datetime, limit: int) -> Sequence[SessionPlace]:
    """The same."""
    return await fetch_all(connection, SessionPlace, SILENT, before=before, limit=limit)


def _stream(**columns: Any) -> Stream:
    return _session(**columns).stream


def _session(  # noqa: PLR0913  the columns of a session
    *,
    live_since: datetime | None,
    live_node_id: str | None,
    live_session_id: UUID | None,
    live_playable_at: datetime | None,
    live_broken_at: datetime | None,
    live_health: Mapping[str, Any] | None,
    live_problem: str | None,
    lost_session_id: UUID | None,
    **columns: Any,
) -> SessionRow:
    live: LiveSession | None = None
    if live_since and live_node_id and live_session_id:
        health = LiveHealth(**live_health) if live_health else None
        live = LiveSession(live_session_id, live_node_id, live_since, live_playable_at, live_broken_at, health)
    stream = Stream(live_since=live_since, live=live, live_problem=live_problem or "", **columns)
    return SessionRow(stream, lost_session_id)
