"""All SQL of the registry: identities and the business records of uploads.

Invariant: ids are unique across tenants and kinds by the database's own indexes; a key is one upload of a tenant.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.registry import Identity, NewUpload, RowKey, RowWindow, Upload
from touchline.kernel import TenantId
from touchline.kernel.ids import ArtifactHash, PlaybackId
from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one
from touchline.serve.artifacts.rules import Reason
from touchline.serve.registry.rules import Record, Usage

COLUMNS: LiteralString = """u.id, u.artifact_hash, i.playback_id, i.internal_name, i.user_id, u.title, u.file_name,
       u.size_bytes, u.created_at, u.retention_until AS expires_at, u.revision,
       u.placed_at IS NOT NULL AS placed, u.error_code IS NOT NULL AS failed, u.deleted_at IS NOT NULL AS deleted"""
RECORDS: LiteralString = f"""
SELECT {COLUMNS}
  FROM serve.uploads AS u JOIN serve.identities AS i USING (tenant_id, artifact_hash)
 WHERE u.tenant_id = %(tenant_id)s"""
ROW: LiteralString = "(u.created_at, u.artifact_hash)"
AFTER: LiteralString = "(coalesce(%(after_time)s, 'infinity'::timestamptz), %(after_hash)s)"
BEFORE: LiteralString = "(coalesce(%(before_time)s, '-infinity'::timestamptz), %(before_hash)s)"
THIS: LiteralString = "tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND deleted_at IS NULL"

LOCK: LiteralString = "SELECT pg_advisory_xact_lock(hashtextextended('serve.uploads:' || %(tenant_id)s::text, 0))"
ADD_IDENTITY: LiteralString = """
INSERT INTO serve.identities (tenant_id, artifact_hash, playback_id, internal_name, artifact_type, user_id, created_at)
VALUES (%(tenant_id)s, %(hash)s, %(playback_id)s, %(internal_name)s, %(artifact_type)s, %(user_id)s, %(now)s)
"""
ADD: LiteralString = """
INSERT INTO serve.uploads (tenant_id, artifact_hash, id, title, file_name, size_bytes, idempotency_key, created_at)
VALUES (%(tenant_id)s, %(hash)s, %(id)s, %(title)s, %(file_name)s, %(size_bytes)s, %(key)s, %(now)s)
"""
BY_KEY: LiteralString = f"{RECORDS} AND u.idempotency_key = %(key)s"
BY_HASH: LiteralString = f"{RECORDS} AND u.artifact_hash = %(hash)s"
BY_HASHES: LiteralString = f"{RECORDS} AND u.artifact_hash = ANY (%(hashes)s) AND u.deleted_at IS NULL"
FIRST: LiteralString = f"""{RECORDS} AND u.deleted_at IS NULL AND {ROW} < {AFTER} AND {ROW} > {BEFORE}
 ORDER BY u.created_at DESC, u.artifact_hash DESC LIMIT %(size)s
"""
LAST: LiteralString = f"""{RECORDS} AND u.deleted_at IS NULL AND {ROW} < {AFTER} AND {ROW} > {BEFORE}
 ORDER BY u.created_at, u.artifact_hash LIMIT %(size)s
"""
COUNT: LiteralString = f"""
SELECT count(*) AS total, count(*) FILTER (WHERE {ROW} >= {AFTER}) AS ahead
  FROM serve.uploads AS u
 WHERE u.tenant_id = %(tenant_id)s AND u.deleted_at IS NULL
"""
PLACED: LiteralString = f"""
UPDATE serve.uploads
   SET placed_at = %(now)s, error_code = NULL, error_message = NULL, retention_until = NULL, revision = revision + 1
 WHERE {THIS} AND placed_at IS NULL
"""
REOPEN: LiteralString = f"""
UPDATE serve.uploads
   SET error_code = NULL, error_message = NULL, retention_until = NULL, revision = revision + 1
 WHERE {THIS} AND placed_at IS NULL AND error_code IS NOT NULL
"""
FAIL: LiteralString = f"""
UPDATE serve.uploads
   SET error_code = %(code)s, error_message = %(message)s, retention_until = %(until)s, revision = revision + 1
 WHERE {THIS} AND placed_at IS NULL AND error_code IS NULL
"""
KEEP_UNTIL: LiteralString = f"""
UPDATE serve.uploads SET retention_until = %(until)s, revision = revision + 1 WHERE {THIS}
"""
RENAME: LiteralString = f"""
UPDATE serve.uploads SET title = %(title)s, revision = revision + 1 WHERE {THIS} AND title <> %(title)s
RETURNING revision
"""
DELETE: LiteralString = f"UPDATE serve.uploads SET deleted_at = %(now)s, revision = revision + 1 WHERE {THIS}"
UNDELETE: LiteralString = """
UPDATE serve.uploads SET deleted_at = NULL, retention_until = %(until)s, revision = revision + 1
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND deleted_at IS NOT NULL
"""
USAGE: LiteralString = """
-- Artifacts that hold bytes, and records whose artifact is still to come. In one statement: between two of them an
-- artifact could slip through. What has no size yet is a clip that is not cut.
SELECT coalesce(sum(size_bytes), 0)::bigint AS stored_bytes, count(*) FILTER (WHERE open) AS open_uploads,
       count(*) FILTER (WHERE size_bytes IS NULL) AS open_clips
  FROM (SELECT size_bytes, size_bytes IS NOT NULL AND status IN ('requested', 'uploading', 'completing') AS open
          FROM serve.artifacts
         WHERE tenant_id = %(tenant_id)s AND status <> 'deleted' AND (status <> 'failed' OR synced)
           AND artifact_hash <> %(besides)s
         UNION ALL
        SELECT u.size_bytes, true
          FROM serve.uploads AS u
         WHERE u.tenant_id = %(tenant_id)s AND u.placed_at IS NULL AND u.error_code IS NULL AND u.deleted_at IS NULL
           AND u.artifact_hash <> %(besides)s
           AND NOT EXISTS (SELECT FROM serve.artifacts AS a
                            WHERE a.tenant_id = u.tenant_id AND a.artifact_hash = u.artifact_hash)) AS kept
"""
TITLE: LiteralString = """
-- Of any kind, as long as it is not deleted.
SELECT title FROM serve.uploads WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND deleted_at IS NULL
 UNION ALL
SELECT title FROM serve.clips WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND deleted_at IS NULL
"""
IDENTITY: LiteralString = """
SELECT tenant_id, artifact_hash, playback_id, internal_name, artifact_type, user_id
  FROM serve.identities
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s
"""
BY_PLAYBACK_ID: LiteralString = """
SELECT tenant_id, artifact_hash, playback_id, internal_name, artifact_type, user_id
  FROM serve.identities
 WHERE tenant_id = %(tenant_id)s AND playback_id = %(playback_id)s
"""

# --- across tenants

FIND_PLAYBACK_ID: LiteralString = "SELECT tenant_id, artifact_hash FROM serve.find_playback_id(%(wanted)s)"
FIND_INTERNAL_NAME: LiteralString = "SELECT tenant_id, artifact_hash FROM serve.find_internal_name(%(wanted)s)"
UNPLACED: LiteralString = """
-- Records that stayed without their artifact, oldest first, from the partial index uploads_unplaced.
SELECT tenant_id, artifact_hash
  FROM serve.uploads
 WHERE placed_at IS NULL AND error_code IS NULL AND deleted_at IS NULL AND created_at <= %(before)s
 ORDER BY created_at
 LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to go on: whose artifact it is."""

    tenant_id: TenantId
    artifact_hash: ArtifactHash


@dataclass(frozen=True, slots=True)
class Counted:
    total: int
    ahead: int  # at the place that was asked for, and before it


class RegistryStore:
    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id

    async def lock(self) -> None:
        """One registration of a tenant at a time: what was counted stays true."""
        await self._execute(LOCK)

    async def add(self, identity: Identity, upload_id: UUID, new: NewUpload, now: datetime) -> Upload:
        values = {"hash": identity.artifact_hash, "now": now}
        await self._execute(
            ADD_IDENTITY,
            **values,
            playback_id=identity.playback_id,
            internal_name=identity.internal_name,
            artifact_type=identity.artifact_type,
            user_id=identity.user_id,
        )
        await self._execute(
            ADD,
            **values,
            id=upload_id,
            title=new.title,
            file_name=new.file_name,
            size_bytes=new.size_bytes,
            key=new.idempotency_key,
        )
        values = {"tenant_id": self._tenant_id, "hash": identity.artifact_hash}
        [record] = await fetch_all(self._connection, _record, BY_HASH, **values)
        return record.upload

    async def by_key(self, key: str) -> Record | None:
        return await fetch_one(self._connection, _record, BY_KEY, tenant_id=self._tenant_id, key=key)

    async def by_hash(self, artifact_hash: ArtifactHash) -> Record | None:
        return await fetch_one(self._connection, _record, BY_HASH, tenant_id=self._tenant_id, hash=artifact_hash)

    async def by_hashes(self, hashes: Sequence[str]) -> Sequence[Record]:
        return await fetch_all(self._connection, _record, BY_HASHES, tenant_id=self._tenant_id, hashes=list(hashes))

    async def window(self, window: RowWindow) -> list[Record]:
        query = LAST if window.from_the_end else FIRST
        values = {"tenant_id": self._tenant_id, "size": window.size, **after(window.after), **before(window.before)}
        found = list(await fetch_all(self._connection, _record, query, **values))
        return found[::-1] if window.from_the_end else found

    async def count(self, place: RowKey | None) -> Counted:
        [counted] = await fetch_all(self._connection, Counted, COUNT, tenant_id=self._tenant_id, **after(place))
        return counted

    async def placed(self, artifact_hash: ArtifactHash, now: datetime) -> None:
        await self._execute(PLACED, hash=artifact_hash, now=now)

    async def reopen(self, artifact_hash: ArtifactHash) -> None:
        await self._execute(REOPEN, hash=artifact_hash)

    async def fail(self, artifact_hash: ArtifactHash, reason: Reason, until: datetime) -> bool:
        """False when it has its artifact by now, or had failed before."""
        values = {"code": reason.code, "message": reason.message, "until": until}
        return await self._execute(FAIL, hash=artifact_hash, **values) == 1

    async def keep_until(self, artifact_hash: ArtifactHash, until: datetime) -> None:
        await self._execute(KEEP_UNTIL, hash=artifact_hash, until=until)

    async def rename(self, artifact_hash: ArtifactHash, title: str) -> int | None:
        """The revision; None when it is not there, or was called so already."""
        values = {"tenant_id": self._tenant_id, "hash": artifact_hash, "title": title}
        row = await (await self._connection.execute(RENAME, values)).fetchone() if title else None
        return row[0] if row else None

    async def delete(self, artifact_hash: ArtifactHash, now: datetime) -> None:
        await self._execute(DELETE, hash=artifact_hash, now=now)

    async def undelete(self, artifact_hash: ArtifactHash, until: datetime | None) -> bool:
        return await self._execute(UNDELETE, hash=artifact_hash, until=until) == 1

    async def usage(self, besides: ArtifactHash | None = None) -> Usage:
        """Of the tenant, perhaps without one artifact."""
        values = {"tenant_id": self._tenant_id, "besides": besides or ""}
        [usage] = await fetch_all(self._connection, Usage, USAGE, **values)
        return usage

    async def title(self, artifact_hash: ArtifactHash) -> str | None:
        values = {"tenant_id": self._tenant_id, "hash": artifact_hash}
        rows = await (await self._connection.execute(TITLE, values)).fetchall()
        return rows[0][0] if rows else None

    async def identity(self, artifact_hash: ArtifactHash) -> Identity | None:
        return await fetch_one(self._connection, _identity, IDENTITY, tenant_id=self._tenant_id, hash=artifact_hash)

    async def by_playback_id(self, playback_id: PlaybackId) -> Identity | None:
        values = {"tenant_id": self._tenant_id, "playback_id": playback_id}
        return await fetch_one(self._connection, _identity, BY_PLAYBACK_ID, **values)

    async def _execute(self, query: LiteralString, **values: Any) -> int:
        cursor = await self._connection.execute(query, {"tenant_id": self._tenant_id, **values})
        return cursor.rowcount


async def find_playback_id(connection: AsyncConnection[Any], playback_id: str) -> Place | None:
    return await fetch_one(connection, Place, FIND_PLAYBACK_ID, wanted=playback_id)


async def find_internal_name(connection: AsyncConnection[Any], internal_name: str) -> Place | None:
    return await fetch_one(connection, Place, FIND_INTERNAL_NAME, wanted=internal_name)


async def unplaced(connection: AsyncConnection[Any], before: datetime, limit: int) -> Sequence[Place]:
    return await fetch_all(connection, Place, UNPLACED, before=before, limit=limit)


def _record(*, placed: bool, failed: bool, deleted: bool, **columns: Any) -> Record:
    return Record(Upload(**columns), placed, failed, deleted)


def _identity(*, artifact_type: str, **columns: Any) -> Identity:
    return Identity(artifact_type=ArtifactType(artifact_type), **columns)


def after(place: RowKey | None) -> dict[str, Any]:
    """The values of a border."""
    return {"after_time": place.created_at if place else None, "after_hash": place.artifact_hash if place else ""}


def before(place: RowKey | None) -> dict[str, Any]:
    return {"before_time": place.created_at if place else None, "before_hash": place.artifact_hash if place else ""}
