"""All SQL of the business records of recordings.

Invariant: of each stream one recording at most goes on, by the database's own index.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID

from touchline.contracts.registry import ArtifactChange, NewRecording, Recording, RowKey, RowWindow, Stream
from touchline.kernel import ArtifactHash, uuid7
from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one
from touchline.serve.artifacts.rules import Reason
from touchline.serve.recordings.rules import Record
from touchline.serve.registry.rules import Kind, NewIdentity, in_milliseconds
from touchline.serve.registry.store import AFTER, BEFORE, Counted, RegistryStore, after, before

COLUMNS: LiteralString = """d.id, d.artifact_hash, i.playback_id, i.internal_name, i.user_id, d.stream_id,
       d.internal_name AS stream_name, d.title, d.description, d.created_at, d.ended_at,
       d.retention_until AS expires_at, d.revision, coalesce(a.pinned, false) AS pinned,
       d.retention_ms * interval '1 ms' AS retention,
       d.placed_at IS NOT NULL AS placed, d.error_code IS NOT NULL AS failed, d.deleted_at IS NOT NULL AS deleted"""
RECORDS: LiteralString = f"""
SELECT {COLUMNS}
  FROM serve.dvr_recordings AS d
  JOIN serve.identities AS i USING (tenant_id, artifact_hash)
  LEFT JOIN serve.artifacts AS a USING (tenant_id, artifact_hash)
 WHERE d.tenant_id = %(tenant_id)s"""
ROW: LiteralString = "(d.created_at, d.artifact_hash)"
BETWEEN: LiteralString = f" AND d.deleted_at IS NULL AND {ROW} < {AFTER} AND {ROW} > {BEFORE}"
OF_STREAM: LiteralString = " AND d.stream_id = %(stream_id)s"
GOES_ON: LiteralString = "d.ended_at IS NULL AND d.error_code IS NULL AND d.deleted_at IS NULL"
THIS: LiteralString = "tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND deleted_at IS NULL"

ADD: LiteralString = """
INSERT INTO serve.dvr_recordings (tenant_id, artifact_hash, id, stream_id, internal_name, title, description,
                                  created_at, retention_ms)
VALUES (%(tenant_id)s, %(hash)s, %(id)s, %(stream_id)s, %(stream_name)s, %(title)s, %(description)s, %(now)s,
        %(retention_ms)s)
"""
BY_HASH: LiteralString = f"{RECORDS} AND d.artifact_hash = %(hash)s"
BY_HASHES: LiteralString = f"{RECORDS} AND d.artifact_hash = ANY (%(hashes)s) AND d.deleted_at IS NULL"
GOING_ON: LiteralString = f"{RECORDS}{OF_STREAM} AND {GOES_ON}"
COUNT: LiteralString = f"""
SELECT count(*) AS total, count(*) FILTER (WHERE {ROW} >= {AFTER}) AS ahead
  FROM serve.dvr_recordings AS d
 WHERE d.tenant_id = %(tenant_id)s AND d.deleted_at IS NULL"""
PLACED: LiteralString = f"""
UPDATE serve.dvr_recordings
   SET placed_at = %(now)s, error_code = NULL, error_message = NULL, ended_at = NULL, retention_until = NULL,
       revision = revision + 1
 WHERE {THIS} AND placed_at IS NULL
"""
REOPEN: LiteralString = f"""
UPDATE serve.dvr_recordings
   SET error_code = NULL, error_message = NULL, retention_until = NULL, revision = revision + 1
 WHERE {THIS} AND placed_at IS NULL AND error_code IS NOT NULL
"""
FAIL: LiteralString = f"""
UPDATE serve.dvr_recordings
   SET error_code = %(code)s, error_message = %(message)s, retention_until = %(until)s, revision = revision + 1
 WHERE {THIS} AND placed_at IS NULL AND error_code IS NULL
"""
END: LiteralString = f"""
-- Another one of the stream may begin.
UPDATE serve.dvr_recordings
   SET ended_at = coalesce(ended_at, %(ended_at)s), retention_until = %(until)s, revision = revision + 1
 WHERE {THIS}
"""
CHANGE: LiteralString = f"""
UPDATE serve.dvr_recordings
   SET title = coalesce(%(title)s, title), description = coalesce(%(description)s, description),
       revision = revision + 1
 WHERE {THIS}
   AND (title, description) <> (coalesce(%(title)s, title), coalesce(%(description)s, description))
"""
DELETE: LiteralString = f"""
UPDATE serve.dvr_recordings SET deleted_at = %(now)s, revision = revision + 1 WHERE {THIS}
"""
DELETE_MANY: LiteralString = """
UPDATE serve.dvr_recordings SET deleted_at = %(now)s, revision = revision + 1
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = ANY (%(hashes)s) AND deleted_at IS NULL
"""
UNDELETE: LiteralString = """
UPDATE serve.dvr_recordings SET deleted_at = NULL, retention_until = %(until)s, revision = revision + 1
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND deleted_at IS NOT NULL AND ended_at IS NOT NULL
"""


class RecordingStore:
    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id

    async def add(
        self, identity: NewIdentity, stream: Stream, new: NewRecording, retention: timedelta, now: datetime
    ) -> None:
        await RegistryStore(self._transaction).add_identity(Kind.DVR, identity, now)
        await self._execute(
            ADD,
            identity.artifact_hash,
            id=uuid7(now),
            stream_id=stream.id,
            stream_name=stream.internal_name,
            title=new.title,
            description=new.description,
            retention_ms=in_milliseconds(retention),
            now=now,
        )

    async def by_hash(self, artifact_hash: str) -> Record | None:
        return await fetch_one(self._connection, _record, BY_HASH, tenant_id=self._tenant_id, hash=artifact_hash)

    async def by_hashes(self, hashes: Sequence[str]) -> Sequence[Record]:
        return await fetch_all(self._connection, _record, BY_HASHES, tenant_id=self._tenant_id, hashes=list(hashes))

    async def going_on(self, stream_id: UUID) -> Record | None:
        return await fetch_one(self._connection, _record, GOING_ON, tenant_id=self._tenant_id, stream_id=stream_id)

    async def window(self, window: RowWindow, stream_id: UUID | None) -> list[Record]:
        order: LiteralString = "" if window.from_the_end else " DESC"
        sorted_by: LiteralString = f" ORDER BY d.created_at{order}, d.artifact_hash{order} LIMIT %(size)s"
        query: LiteralString = RECORDS + (OF_STREAM if stream_id else "") + BETWEEN + sorted_by
        values = {"size": window.size, **after(window.after), **before(window.before)}
        named = {"tenant_id": self._tenant_id, "stream_id": stream_id, **values}
        found = list(await fetch_all(self._connection, _record, query, **named))
        return found[::-1] if window.from_the_end else found

    async def count(self, place: RowKey | None, stream_id: UUID | None) -> Counted:
        query: LiteralString = COUNT + (OF_STREAM if stream_id else "")
        values = {"tenant_id": self._tenant_id, "stream_id": stream_id, **after(place)}
        [counted] = await fetch_all(self._connection, Counted, query, **values)
        return counted

    async def placed(self, artifact_hash: ArtifactHash, now: datetime) -> None:
        await self._execute(PLACED, artifact_hash, now=now)

    async def reopen(self, artifact_hash: ArtifactHash) -> None:
        await self._execute(REOPEN, artifact_hash)

    async def fail(self, artifact_hash: ArtifactHash, reason: Reason, until: datetime) -> bool:
        """False when it has its artifact by now, or had failed before."""
        values = {"code": reason.code, "message": reason.message, "until": until}
        return await self._execute(FAIL, artifact_hash, **values) == 1

    async def end(self, artifact_hash: ArtifactHash, ended_at: datetime, until: datetime) -> None:
        await self._execute(END, artifact_hash, ended_at=ended_at, until=until)

    async def change(self, artifact_hash: ArtifactHash, change: ArtifactChange, now: datetime) -> bool:
        """False when nothing changes."""
        values = {"title": change.title, "description": change.description}
        return await self._execute(CHANGE, artifact_hash, **values) == 1

    async def delete(self, artifact_hash: ArtifactHash, now: datetime) -> None:
        await self._execute(DELETE, artifact_hash, now=now)

    async def delete_many(self, hashes: Sequence[ArtifactHash], now: datetime) -> None:
        """Those of them that are recordings."""
        values = {"tenant_id": self._tenant_id, "hashes": list(hashes), "now": now}
        await self._connection.execute(DELETE_MANY, values)

    async def undelete(self, artifact_hash: ArtifactHash, until: datetime | None) -> bool:
        return await self._execute(UNDELETE, artifact_hash, until=until) == 1

    async def _execute(self, query: LiteralString, artifact_hash: ArtifactHash, **values: Any) -> int:
        named = {"tenant_id": self._tenant_id, "hash": artifact_hash, **values}
        return (await self._connection.execute(query, named)).rowcount


def _record(*, placed: bool, failed: bool, deleted: bool, retention: timedelta, **columns: Any) -> Record:
    return Record(Recording(**columns), placed, failed, deleted, retention)
