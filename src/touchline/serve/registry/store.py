"""All SQL of the registry: identities, idempotency keys, the business records of uploads, and what tenants have set.

Invariant: ids are unique across tenants and kinds by the database's own indexes; a key is one request of a tenant.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.registry import ArtifactChange, Identity, NewUpload, RowKey, RowWindow, Upload
from touchline.kernel import ArtifactHash, PlaybackId, TenantId, uuid7
from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one
from touchline.serve.artifacts.rules import Reason

from . import rules

COLUMNS: LiteralString = """u.id, u.artifact_hash, i.playback_id, i.internal_name, i.user_id, u.title, u.description,
       u.file_name, u.size_bytes, u.created_at, u.retention_until AS expires_at, u.revision,
       coalesce(a.pinned, false) AS pinned, u.retention_ms * interval '1 ms' AS retention,
       u.placed_at IS NOT NULL AS placed, u.error_code IS NOT NULL AS failed, u.deleted_at IS NOT NULL AS deleted"""
RECORDS: LiteralString = f"""
SELECT {COLUMNS}
  FROM serve.uploads AS u
  JOIN serve.identities AS i USING (tenant_id, artifact_hash)
  LEFT JOIN serve.artifacts AS a USING (tenant_id, artifact_hash)
 WHERE u.tenant_id = %(tenant_id)s"""
ROW: LiteralString = "(u.created_at, u.artifact_hash)"
AFTER: LiteralString = "(coalesce(%(after_time)s, 'infinity'::timestamptz), %(after_hash)s)"
BEFORE: LiteralString = "(coalesce(%(before_time)s, '-infinity'::timestamptz), %(before_hash)s)"
THIS: LiteralString = "tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND deleted_at IS NULL"

LOCK: LiteralString = "SELECT pg_advisory_xact_lock(hashtextextended('serve.uploads:' || %(tenant_id)s::text, 0))"
ADD_IDENTITY: LiteralString = """
INSERT INTO serve.identities (tenant_id, artifact_hash, playback_id, internal_name, kind, user_id, created_at)
VALUES (%(tenant_id)s, %(hash)s, %(playback_id)s, %(internal_name)s, %(kind)s, %(user_id)s, %(now)s)
"""
ADD: LiteralString = """
INSERT INTO serve.uploads (tenant_id, artifact_hash, id, title, description, file_name, size_bytes, created_at,
                           retention_ms)
VALUES (%(tenant_id)s, %(hash)s, %(id)s, %(title)s, %(description)s, %(file_name)s, %(size_bytes)s, %(now)s,
        %(retention_ms)s)
"""
LOCK_KEY: LiteralString = """
SELECT pg_advisory_xact_lock(
         hashtextextended(concat_ws(':', 'serve.keys', %(tenant_id)s::text, %(kind)s::text, %(key)s::text), 0))
"""
KEYED: LiteralString = """
SELECT artifact_hash, request FROM serve.idempotency_keys
 WHERE tenant_id = %(tenant_id)s AND kind = %(kind)s AND key = %(key)s
"""
ADD_KEY: LiteralString = """
INSERT INTO serve.idempotency_keys (tenant_id, kind, key, artifact_hash, request)
VALUES (%(tenant_id)s, %(kind)s, %(key)s, %(hash)s, %(request)s)
"""
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
-- By watch: what a person has called it stays.
UPDATE serve.uploads SET title = %(title)s, revision = revision + 1
 WHERE {THIS} AND title <> %(title)s AND renamed_at IS NULL
RETURNING revision
"""
CHANGE: LiteralString = f"""
UPDATE serve.uploads
   SET title = coalesce(%(title)s, title), description = coalesce(%(description)s, description),
       renamed_at = CASE WHEN %(title)s::text IS NULL THEN renamed_at ELSE %(now)s END, revision = revision + 1
 WHERE {THIS}
   AND (title, description) <> (coalesce(%(title)s, title), coalesce(%(description)s, description))
"""
DELETE: LiteralString = f"UPDATE serve.uploads SET deleted_at = %(now)s, revision = revision + 1 WHERE {THIS}"
DELETE_MANY: LiteralString = """
UPDATE serve.uploads SET deleted_at = %(now)s, revision = revision + 1
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = ANY (%(hashes)s) AND deleted_at IS NULL
"""
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
NAMED: LiteralString = " WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND deleted_at IS NULL"
WORDS: LiteralString = f"""
SELECT title, description, revision FROM serve.uploads {NAMED}
 UNION ALL
SELECT title, description, revision FROM serve.clips {NAMED}
 UNION ALL
SELECT title, description, revision FROM serve.dvr_recordings {NAMED}
"""
# A stream is no artifact: it plays in another way.
IDENTITIES: LiteralString = """
SELECT i.tenant_id, i.artifact_hash, i.playback_id, i.internal_name, i.kind, i.user_id,
       coalesce(c.stream_id, d.stream_id) AS stream_id
  FROM serve.identities AS i
  LEFT JOIN serve.clips AS c USING (tenant_id, artifact_hash)
  LEFT JOIN serve.dvr_recordings AS d USING (tenant_id, artifact_hash)
 WHERE i.tenant_id = %(tenant_id)s"""
IDENTITY: LiteralString = f"{IDENTITIES} AND i.kind <> 'stream' AND i.artifact_hash = %(hash)s"
BY_PLAYBACK_ID: LiteralString = f"{IDENTITIES} AND i.playback_id = %(playback_id)s"
TENANT_RETENTION: LiteralString = """
SELECT retention_ms * interval '1 ms' FROM serve.tenant_settings WHERE tenant_id = %(tenant_id)s
"""
SET_TENANT_RETENTION: LiteralString = """
INSERT INTO serve.tenant_settings AS s (tenant_id, retention_ms) VALUES (%(tenant_id)s, %(retention_ms)s)
ON CONFLICT (tenant_id) DO UPDATE SET retention_ms = excluded.retention_ms, revision = s.revision + 1
   WHERE s.retention_ms IS DISTINCT FROM excluded.retention_ms
RETURNING revision
"""

# --- across tenants

FIND_PLAYBACK_ID: LiteralString = "SELECT tenant_id, artifact_hash FROM serve.find_playback_id(%(wanted)s)"
FIND_INTERNAL_NAME: LiteralString = "SELECT tenant_id, artifact_hash FROM serve.find_internal_name(%(wanted)s)"
FIND_ARTIFACT: LiteralString = "SELECT tenant_id, artifact_hash FROM serve.find_artifact(%(wanted)s)"
OLDEST_UNPLACED: LiteralString = """
 WHERE placed_at IS NULL AND error_code IS NULL AND deleted_at IS NULL AND created_at <= %(before)s
 ORDER BY created_at LIMIT %(limit)s"""
UNPLACED: LiteralString = f"""
-- Records that stayed without their artifact, oldest first, from the partial indexes of their tables.
SELECT tenant_id, artifact_hash, kind FROM (
  (SELECT tenant_id, artifact_hash, created_at, 'upload' AS kind FROM serve.uploads {OLDEST_UNPLACED})
  UNION ALL
  (SELECT tenant_id, artifact_hash, created_at, 'clip' FROM serve.clips {OLDEST_UNPLACED})
  UNION ALL
  (SELECT tenant_id, artifact_hash, created_at, 'dvr' FROM serve.dvr_recordings {OLDEST_UNPLACED})) AS half
 ORDER BY created_at LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to go on: whose artifact it is."""

    tenant_id: TenantId
    artifact_hash: ArtifactHash


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A record without its artifact."""

    tenant_id: TenantId
    artifact_hash: ArtifactHash
    kind: rules.Kind


@dataclass(frozen=True, slots=True)
class Words:
    """What people call an artifact, and the revision of its record."""

    title: str
    description: str
    revision: int


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

    async def add(self, identity: rules.NewIdentity, new: NewUpload, retention: timedelta, now: datetime) -> Upload:
        await self.add_identity(rules.Kind.UPLOAD, identity, now)
        await self._execute(
            ADD,
            hash=identity.artifact_hash,
            id=uuid7(now),
            title=new.title,
            description=new.description,
            file_name=new.file_name,
            size_bytes=new.size_bytes,
            retention_ms=rules.in_milliseconds(retention),
            now=now,
        )
        await self.add_key(rules.Kind.UPLOAD, new.idempotency_key, identity.artifact_hash, rules.upload_request(new))
        values = {"tenant_id": self._tenant_id, "hash": identity.artifact_hash}
        [record] = await fetch_all(self._connection, _record, BY_HASH, **values)
        return record.upload

    async def add_identity(self, kind: rules.Kind, identity: rules.NewIdentity, now: datetime) -> None:
        await self._execute(
            ADD_IDENTITY,
            hash=identity.artifact_hash,
            playback_id=identity.playback_id,
            internal_name=identity.internal_name,
            kind=kind,
            user_id=identity.user_id,
            now=now,
        )

    async def claim_key(self, kind: rules.Kind, key: str) -> rules.KeyedRequest | None:
        """What was asked for under it. Until the transaction ends nobody else uses it."""
        await self._execute(LOCK_KEY, kind=kind, key=key)
        values = {"tenant_id": self._tenant_id, "kind": kind, "key": key}
        return await fetch_one(self._connection, rules.KeyedRequest, KEYED, **values)

    async def add_key(self, kind: rules.Kind, key: str, artifact_hash: str, request: Mapping[str, Any]) -> None:
        await self._execute(ADD_KEY, kind=kind, key=key, hash=artifact_hash, request=Jsonb(dict(request)))

    async def by_hash(self, artifact_hash: ArtifactHash) -> rules.Record | None:
        return await fetch_one(self._connection, _record, BY_HASH, tenant_id=self._tenant_id, hash=artifact_hash)

    async def by_hashes(self, hashes: Sequence[str]) -> Sequence[rules.Record]:
        return await fetch_all(self._connection, _record, BY_HASHES, tenant_id=self._tenant_id, hashes=list(hashes))

    async def window(self, window: RowWindow) -> list[rules.Record]:
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

    async def change(self, artifact_hash: ArtifactHash, change: ArtifactChange, now: datetime) -> bool:
        """By a person. False when nothing changes."""
        values = {"title": change.title, "description": change.description, "now": now}
        return await self._execute(CHANGE, hash=artifact_hash, **values) == 1

    async def delete(self, artifact_hash: ArtifactHash, now: datetime) -> None:
        await self._execute(DELETE, hash=artifact_hash, now=now)

    async def delete_many(self, hashes: Sequence[ArtifactHash], now: datetime) -> None:
        """Those of them that are uploads."""
        await self._execute(DELETE_MANY, hashes=list(hashes), now=now)

    async def undelete(self, artifact_hash: ArtifactHash, until: datetime | None) -> bool:
        return await self._execute(UNDELETE, hash=artifact_hash, until=until) == 1

    async def usage(self, besides: ArtifactHash | None = None) -> rules.Usage:
        """Of the tenant, perhaps without one artifact."""
        values = {"tenant_id": self._tenant_id, "besides": besides or ""}
        [usage] = await fetch_all(self._connection, rules.Usage, USAGE, **values)
        return usage

    async def words(self, artifact_hash: ArtifactHash) -> Words | None:
        """Of any kind, as long as it is not deleted."""
        return await fetch_one(self._connection, Words, WORDS, tenant_id=self._tenant_id, hash=artifact_hash)

    async def identity(self, artifact_hash: ArtifactHash) -> Identity | None:
        return await fetch_one(self._connection, _identity, IDENTITY, tenant_id=self._tenant_id, hash=artifact_hash)

    async def by_playback_id(self, playback_id: PlaybackId) -> Identity | None:
        """Also of a stream."""
        values = {"tenant_id": self._tenant_id, "playback_id": playback_id}
        return await fetch_one(self._connection, _identity, BY_PLAYBACK_ID, **values)

    async def tenant_retention(self) -> timedelta | None:
        rows = await (await self._connection.execute(TENANT_RETENTION, {"tenant_id": self._tenant_id})).fetchall()
        return rows[0][0] if rows else None

    async def set_tenant_retention(self, retention: timedelta | None) -> int | None:
        """The revision; None when it is so already."""
        values = {"tenant_id": self._tenant_id, "retention_ms": rules.in_milliseconds(retention)}
        row = await (await self._connection.execute(SET_TENANT_RETENTION, values)).fetchone()
        return row[0] if row else None

    async def _execute(self, query: LiteralString, **values: Any) -> int:
        cursor = await self._connection.execute(query, {"tenant_id": self._tenant_id, **values})
        return cursor.rowcount


async def find_playback_id(connection: AsyncConnection[Any], playback_id: str) -> Place | None:
    return await fetch_one(connection, Place, FIND_PLAYBACK_ID, wanted=playback_id)


async def find_internal_name(connection: AsyncConnection[Any], internal_name: str) -> Place | None:
    return await fetch_one(connection, Place, FIND_INTERNAL_NAME, wanted=internal_name)


async def find_artifact(connection: AsyncConnection[Any], artifact_hash: ArtifactHash) -> Place | None:
    return await fetch_one(connection, Place, FIND_ARTIFACT, wanted=artifact_hash)


async def unplaced(connection: AsyncConnection[Any], before: datetime, limit: int) -> Sequence[Unplaced]:
    return await fetch_all(connection, _unplaced, UNPLACED, before=before, limit=limit)


def _unplaced(*, kind: str, **columns: Any) -> Unplaced:
    return Unplaced(kind=rules.Kind(kind), **columns)


def _record(*, placed: bool, failed: bool, deleted: bool, retention: timedelta, **columns: Any) -> rules.Record:
    return rules.Record(Upload(**columns), placed, failed, deleted, retention)


def _identity(*, kind: str, **columns: Any) -> Identity:
    return Identity(artifact_type=None if kind == rules.Kind.STREAM else ArtifactType(kind), **columns)


def borders(rows: Sequence[object], counted: Counted) -> tuple[bool, bool, int]:
    """Whether there are rows behind a page and before it, and how many there are. Counted at its first row, or where it
    would have begun."""
    ahead = counted.ahead - 1 if rows else counted.ahead
    return ahead + len(rows) < counted.total, ahead > 0, counted.total


def after(place: RowKey | None) -> dict[str, Any]:
    """The values of a border."""
    return {"after_time": place.created_at if place else None, "after_hash": place.artifact_hash if place else ""}


def before(place: RowKey | None) -> dict[str, Any]:
    return {"before_time": place.created_at if place else None, "before_hash": place.artifact_hash if place else ""}
