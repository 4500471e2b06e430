"""All SQL of the business records of clips.

Invariant: of the same source, range and padding one clip at most holds the range, by the database's own index. One that
failed has given it up.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb

from touchline.contracts.registry import Clip, ClipFilter, Identity, NewClip, RowKey, RowWindow, Span
from touchline.kernel import TenantId
from touchline.kernel.ids import ArtifactHash
from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one
from touchline.serve.clips.rules import Entry
from touchline.serve.registry.store import Counted, after, before

COLUMNS: LiteralString = """c.id, c.artifact_hash, i.playback_id, i.internal_name, i.user_id, c.source_hash,
       c.stream_id, c.title, c.description, c.start_ms, c.end_ms, c.padding_ms, c.shown_start_ms, c.shown_end_ms,
       c.created_at, c.retention_until AS expires_at, c.revision"""
RECORDS: LiteralString = f"""
SELECT {COLUMNS}
  FROM serve.clips AS c JOIN serve.identities AS i USING (tenant_id, artifact_hash)
 WHERE c.tenant_id = %(tenant_id)s AND c.deleted_at IS NULL"""
ROW: LiteralString = "(c.created_at, c.artifact_hash)"
AFTER: LiteralString = "(coalesce(%(after_time)s, 'infinity'::timestamptz), %(after_hash)s)"
BEFORE: LiteralString = "(coalesce(%(before_time)s, '-infinity'::timestamptz), %(before_hash)s)"
BETWEEN: LiteralString = f" AND {ROW} < {AFTER} AND {ROW} > {BEFORE}"
THIS: LiteralString = "tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND deleted_at IS NULL"
SAME_RANGE: LiteralString = """
     SELECT FROM serve.clips AS o
      WHERE o.tenant_id = c.tenant_id AND o.source_hash = c.source_hash
        AND o.deleted_at IS NULL AND NOT o.range_released
        AND (o.start_ms, o.end_ms, o.padding_ms) = (c.start_ms, c.end_ms, c.padding_ms)"""

ADD: LiteralString = """
-- In one statement: where one like it lives already, nothing is left of this one.
WITH made AS (
  INSERT INTO serve.clips (tenant_id, artifact_hash, id, source_hash, title, description, start_ms, end_ms, padding_ms,
                           shown_start_ms, shown_end_ms, requested_params, created_at, retention_until)
  VALUES (%(tenant_id)s, %(hash)s, %(id)s, %(source_hash)s, %(title)s, %(description)s, %(start_ms)s, %(end_ms)s,
          %(padding_ms)s, %(shown_start_ms)s, %(shown_end_ms)s, %(requested_params)s, %(now)s, %(until)s)
  ON CONFLICT (tenant_id, source_hash, start_ms, end_ms, padding_ms)
        WHERE deleted_at IS NULL AND NOT range_released DO NOTHING
  RETURNING tenant_id, artifact_hash, created_at
)
INSERT INTO serve.identities (tenant_id, artifact_hash, playback_id, internal_name, artifact_type, user_id, created_at)
SELECT tenant_id, artifact_hash, %(playback_id)s, %(internal_name)s, 'clip', %(user_id)s, created_at FROM made
"""
SAME: LiteralString = f"""{RECORDS} AND NOT c.range_released AND c.source_hash = %(source_hash)s
   AND (c.start_ms, c.end_ms, c.padding_ms) = (%(start_ms)s, %(end_ms)s, %(padding_ms)s)
"""
BY_HASHES: LiteralString = f"{RECORDS} AND c.artifact_hash = ANY (%(hashes)s)"
OF_SOURCE: LiteralString = " AND c.source_hash = %(source_hash)s"
OF_STREAM: LiteralString = " AND c.stream_id = %(stream_id)s"
COUNT: LiteralString = f"""
SELECT count(*) AS total, count(*) FILTER (WHERE {ROW} >= {AFTER}) AS ahead
  FROM serve.clips AS c
 WHERE c.tenant_id = %(tenant_id)s AND c.deleted_at IS NULL"""
CUT: LiteralString = f"""
UPDATE serve.clips
   SET shown_start_ms = %(shown_start_ms)s, shown_end_ms = %(shown_end_ms)s, revision = revision + 1
 WHERE {THIS}
"""
RELEASE_RANGE: LiteralString = f"""
UPDATE serve.clips SET range_released = true, retention_until = %(until)s, revision = revision + 1 WHERE {THIS}
"""
RECLAIM_RANGE: LiteralString = f"""
-- Unless the same one was made meanwhile: then that one keeps the range, and this one lives beside it.
UPDATE serve.clips AS c
   SET retention_until = %(until)s, revision = revision + 1, range_released = EXISTS ({SAME_RANGE})
 WHERE {THIS}
"""
DELETE: LiteralString = f"UPDATE serve.clips SET deleted_at = %(now)s, revision = revision + 1 WHERE {THIS}"

UNDELETE: LiteralString = f"""
-- Refused where the same clip lives: it was asked for again meanwhile. One that had given up its range may live beside
-- it.
UPDATE serve.clips AS c SET deleted_at = NULL, retention_until = %(until)s, revision = revision + 1
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND deleted_at IS NOT NULL
   AND (range_released OR NOT EXISTS ({SAME_RANGE}))
"""

# --- across tenants

OVERDUE: LiteralString = """
-- Clips that are over their time, longest first, from the partial index artifacts_clip_expiry.
SELECT tenant_id, artifact_hash
  FROM serve.artifacts
 WHERE artifact_type = 'clip' AND deleted_at IS NULL AND retention_until <= %(now)s
 ORDER BY retention_until
 LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Due:
    tenant_id: TenantId
    artifact_hash: ArtifactHash


class ClipStore:
    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id

    async def add(self, identity: Identity, new: NewClip, entry: Entry) -> Clip | None:
        """None when one like it lives already."""
        added = await self._execute(
            ADD,
            **_range(new),
            hash=identity.artifact_hash,
            playback_id=identity.playback_id,
            internal_name=identity.internal_name,
            user_id=identity.user_id,
            **_shown(entry.shown),
            id=entry.id,
            title=new.title,
            description=new.description,
            requested_params=Jsonb(new.requested_params),
            now=entry.now,
            until=entry.until,
        )
        return await self.find(identity.artifact_hash) if added else None

    async def same(self, new: NewClip) -> Clip | None:
        return await fetch_one(self._connection, _clip, SAME, tenant_id=self._tenant_id, **_range(new))

    async def find(self, artifact_hash: ArtifactHash) -> Clip | None:
        return next(iter(await self.by_hashes([artifact_hash])), None)

    async def by_hashes(self, hashes: Sequence[str]) -> Sequence[Clip]:
        return await fetch_all(self._connection, _clip, BY_HASHES, tenant_id=self._tenant_id, hashes=list(hashes))

    async def window(self, window: RowWindow, wanted: ClipFilter) -> list[Clip]:
        order: LiteralString = "" if window.from_the_end else " DESC"
        sorted_by: LiteralString = f" ORDER BY c.created_at{order}, c.artifact_hash{order} LIMIT %(size)s"
        values = {"size": window.size, **after(window.after), **before(window.before)}
        query: LiteralString = RECORDS + _filter(wanted) + BETWEEN + sorted_by
        found = list(await fetch_all(self._connection, _clip, query, **self._values(wanted), **values))
        return found[::-1] if window.from_the_end else found

    async def count(self, place: RowKey | None, wanted: ClipFilter) -> Counted:
        query: LiteralString = COUNT + _filter(wanted)
        [counted] = await fetch_all(self._connection, Counted, query, **self._values(wanted), **after(place))
        return counted

    async def cut(self, artifact_hash: ArtifactHash, shown: Span) -> None:
        await self._execute(CUT, hash=artifact_hash, **_shown(shown))

    async def release_range(self, artifact_hash: ArtifactHash, until: datetime) -> None:
        """It failed: from now on the same may be asked for again."""
        await self._execute(RELEASE_RANGE, hash=artifact_hash, until=until)

    async def reclaim_range(self, artifact_hash: ArtifactHash, until: datetime) -> None:
        """A retry brought it back."""
        try:
            async with self._connection.transaction():
                await self._execute(RECLAIM_RANGE, hash=artifact_hash, until=until)
        except UniqueViolation:  # the same one is made at this very moment
            await self._execute(RELEASE_RANGE, hash=artifact_hash, until=until)

    async def delete(self, artifact_hash: ArtifactHash, now: datetime) -> None:
        await self._execute(DELETE, hash=artifact_hash, now=now)

    async def undelete(self, artifact_hash: ArtifactHash, until: datetime | None) -> bool:
        """False when the same one lives already. Then nothing else of the transaction may stay, either."""
        try:
            return await self._execute(UNDELETE, hash=artifact_hash, until=until) == 1
        except UniqueViolation:  # made at this very moment
            return False

    def _values(self, wanted: ClipFilter) -> dict[str, Any]:
        return {"tenant_id": self._tenant_id, "source_hash": wanted.source_hash, "stream_id": wanted.stream_id}

    async def _execute(self, query: LiteralString, **values: Any) -> int:
        return (await self._connection.execute(query, {"tenant_id": self._tenant_id, **values})).rowcount


async def overdue(connection: AsyncConnection[Any], now: datetime, limit: int) -> Sequence[Due]:
    return await fetch_all(connection, Due, OVERDUE, now=now, limit=limit)


def _clip(*, shown_start_ms: int, shown_end_ms: int, **columns: Any) -> Clip:
    return Clip(shown=Span(shown_start_ms, shown_end_ms), **columns)


def _shown(shown: Span) -> dict[str, int]:
    return {"shown_start_ms": shown.start_ms, "shown_end_ms": shown.end_ms}


def _range(new: NewClip) -> dict[str, Any]:
    return {
        "source_hash": new.source_hash,
        "start_ms": new.start_ms,
        "end_ms": new.end_ms,
        "padding_ms": new.padding_ms,
    }


def _filter(wanted: ClipFilter) -> LiteralString:
    return (OF_SOURCE if wanted.source_hash else "") + (OF_STREAM if wanted.stream_id else "")
