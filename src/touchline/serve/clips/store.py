"""All SQL of the business records of clips.

Invariant: of the same source, range and padding one clip at most holds the range, by the database's own index. One that
failed has given it up.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, LiteralString

from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb

from touchline.contracts.registry import ArtifactChange, Clip, ClipFilter, ClipMode, RowKey, RowWindow, Span
from touchline.kernel import ArtifactHash, uuid7
from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one
from touchline.serve.artifacts.rules import Reason
from touchline.serve.clips.rules import CheckedClip, Record
from touchline.serve.registry.rules import NewIdentity, in_milliseconds
from touchline.serve.registry.store import Counted, after, before

COLUMNS: LiteralString = """c.id, c.artifact_hash, i.playback_id, i.internal_name, i.user_id, c.source_hash,
       c.stream_id, c.title, c.description, c.start_ms, c.end_ms, c.padding_ms, c.shown_start_ms, c.shown_end_ms,
       c.created_at, c.retention_until AS expires_at, c.revision, c.clip_mode, coalesce(a.pinned, false) AS pinned,
       c.retention_ms * interval '1 ms' AS retention, c.placed_at IS NOT NULL AS placed,
       c.error_code IS NOT NULL AS failed"""
RECORDS: LiteralString = f"""
SELECT {COLUMNS}
  FROM serve.clips AS c
  JOIN serve.identities AS i USING (tenant_id, artifact_hash)
  LEFT JOIN serve.artifacts AS a USING (tenant_id, artifact_hash)
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
  INSERT INTO serve.clips (tenant_id, artifact_hash, id, source_hash, stream_id, clip_mode, title, description,
                           start_ms, end_ms, padding_ms, shown_start_ms, shown_end_ms, requested_params, created_at,
                           retention_ms, retention_until)
  VALUES (%(tenant_id)s, %(hash)s, %(id)s, %(source_hash)s, %(stream_id)s, %(clip_mode)s, %(title)s, %(description)s,
          %(start_ms)s, %(end_ms)s, %(padding_ms)s, %(shown_start_ms)s, %(shown_end_ms)s, %(requested_params)s, %(now)s,
          %(retention_ms)s, %(now)s::timestamptz + %(retention_ms)s * interval '1 ms')
  ON CONFLICT (tenant_id, source_hash, start_ms, end_ms, padding_ms)
        WHERE deleted_at IS NULL AND NOT range_released DO NOTHING
  RETURNING tenant_id, artifact_hash, created_at
)
INSERT INTO serve.identities (tenant_id, artifact_hash, playback_id, internal_name, kind, user_id, created_at)
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
PLACED: LiteralString = f"""
-- Nothing that anybody is told of: the revision stays.
UPDATE serve.clips SET placed_at = %(now)s, error_code = NULL, error_message = NULL
 WHERE {THIS} AND placed_at IS NULL
"""
FAIL: LiteralString = f"""
UPDATE serve.clips
   SET error_code = %(code)s, error_message = %(message)s, range_released = true, retention_until = %(until)s,
       revision = revision + 1
 WHERE {THIS} AND placed_at IS NULL AND error_code IS NULL
"""
CHANGE: LiteralString = f"""
UPDATE serve.clips
   SET title = coalesce(%(title)s, title), description = coalesce(%(description)s, description),
       revision = revision + 1
 WHERE {THIS}
   AND (title, description) <> (coalesce(%(title)s, title), coalesce(%(description)s, description))
"""
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
DELETE_MANY: LiteralString = """
UPDATE serve.clips SET deleted_at = %(now)s, revision = revision + 1
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = ANY (%(hashes)s) AND deleted_at IS NULL
"""
UNDELETE: LiteralString = f"""
-- Refused where the same clip lives: it was asked for again meanwhile. One that had given up its range may live beside
-- it.
UPDATE serve.clips AS c SET deleted_at = NULL, retention_until = %(until)s, revision = revision + 1
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND deleted_at IS NOT NULL
   AND (range_released OR NOT EXISTS ({SAME_RANGE}))
"""


class ClipStore:
    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id

    async def add(self, identity: NewIdentity, new: CheckedClip, retention: timedelta, now: datetime) -> Record | None:
        """None when one like it lives already."""
        added = await self._execute(
            ADD,
            **_range(new),
            hash=identity.artifact_hash,
            playback_id=identity.playback_id,
            internal_name=identity.internal_name,
            user_id=identity.user_id,
            **_shown(new.shown),
            id=uuid7(now),
            stream_id=new.stream_id,
            clip_mode=new.mode,
            title=new.title,
            description=new.description,
            requested_params=Jsonb(new.requested_params),
            retention_ms=in_milliseconds(retention),
            now=now,
        )
        return await self.find(identity.artifact_hash) if added else None

    async def same(self, new: CheckedClip) -> Record | None:
        return await fetch_one(self._connection, _record, SAME, tenant_id=self._tenant_id, **_range(new))

    async def find(self, artifact_hash: str) -> Record | None:
        return next(iter(await self.by_hashes([artifact_hash])), None)

    async def by_hashes(self, hashes: Sequence[str]) -> Sequence[Record]:
        return await fetch_all(self._connection, _record, BY_HASHES, tenant_id=self._tenant_id, hashes=list(hashes))

    async def placed(self, artifact_hash: ArtifactHash, now: datetime) -> None:
        await self._execute(PLACED, hash=artifact_hash, now=now)

    async def fail(self, artifact_hash: ArtifactHash, reason: Reason, until: datetime) -> bool:
        """False when it has its artifact by now, or had failed before."""
        values = {"code": reason.code, "message": reason.message, "until": until}
        return await self._execute(FAIL, hash=artifact_hash, **values) == 1

    async def change(self, artifact_hash: ArtifactHash, change: ArtifactChange, now: datetime) -> bool:
        """False when nothing changes."""
        values = {"title": change.title, "description": change.description}
        return await self._execute(CHANGE, hash=artifact_hash, **values) == 1

    async def window(self, window: RowWindow, wanted: ClipFilter) -> list[Record]:
        order: LiteralString = "" if window.from_the_end else " DESC"
        sorted_by: LiteralString = f" ORDER BY c.created_at{order}, c.artifact_hash{order} LIMIT %(size)s"
        values = {"size": window.size, **after(window.after), **before(window.before)}
        query: LiteralString = RECORDS + _filter(wanted) + BETWEEN + sorted_by
        found = list(await fetch_all(self._connection, _record, query, **self._values(wanted), **values))
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

    async def delete_many(self, hashes: Sequence[ArtifactHash], now: datetime) -> None:
        """Those of them that are clips."""
        await self._execute(DELETE_MANY, hashes=list(hashes), now=now)

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


def _record(*, placed: bool, failed: bool, retention: timedelta, **columns: Any) -> Record:
    shown = Span(columns.pop("shown_start_ms"), columns.pop("shown_end_ms"))
    mode = ClipMode(columns.pop("clip_mode"))
    return Record(Clip(shown=shown, mode=mode, **columns), placed, failed, retention)


def _shown(shown: Span) -> dict[str, int]:
    return {"shown_start_ms": shown.start_ms, "shown_end_ms": shown.end_ms}


def _range(new: CheckedClip) -> dict[str, Any]:
    return {
        "source_hash": new.source_hash,
        "start_ms": new.requested.start_ms,
        "end_ms": new.requested.end_ms,
        "padding_ms": new.padding_ms,
    }


def _filter(wanted: ClipFilter) -> LiteralString:
    return (OF_SOURCE if wanted.source_hash else "") + (OF_STREAM if wanted.stream_id else "")
