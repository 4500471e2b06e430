"""All SQL of retention, purges and the clean-up of the registry.

Invariant: what looks across tenants changes nothing. What changes something names the tenant and the state that it
leaves; a row goes only when everything that it is the record of has gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection

from touchline.kernel import ArtifactHash
from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one
from touchline.serve.registry.store import Place

from .rules import Candidate, Purge

# --- across tenants: the longest overdue first

EXPIRED: LiteralString = """
-- Finished and over its time, from the partial index artifacts_expiry.
SELECT tenant_id, artifact_hash, artifact_type, coalesce(size_bytes, 0) AS size_bytes, retention_until AS due_at
  FROM serve.artifacts
 WHERE status IN ('ready', 'failed', 'completed', 'completed_partial') AND NOT pinned AND retention_until <= %(now)s
 ORDER BY retention_until, artifact_hash
 LIMIT %(limit)s
"""
EXPIRED_RECORDS: LiteralString = """
-- Registered, failed before there was an artifact, and over its time; from the partial indexes uploads_failed,
-- clips_failed and dvr_recordings_failed.
SELECT tenant_id, artifact_hash, artifact_type, 0 AS size_bytes, due_at
  FROM ((SELECT tenant_id, artifact_hash, 'upload' AS artifact_type, retention_until AS due_at FROM serve.uploads
          WHERE placed_at IS NULL AND error_code IS NOT NULL AND deleted_at IS NULL AND retention_until <= %(now)s
          ORDER BY retention_until LIMIT %(limit)s)
        UNION ALL
        (SELECT tenant_id, artifact_hash, 'clip', retention_until FROM serve.clips
          WHERE placed_at IS NULL AND error_code IS NOT NULL AND deleted_at IS NULL AND retention_until <= %(now)s
          ORDER BY retention_until LIMIT %(limit)s)
        UNION ALL
        (SELECT tenant_id, artifact_hash, 'dvr', retention_until FROM serve.dvr_recordings
          WHERE placed_at IS NULL AND error_code IS NOT NULL AND deleted_at IS NULL AND retention_until <= %(now)s
          ORDER BY retention_until LIMIT %(limit)s)) AS due
 ORDER BY due_at
 LIMIT %(limit)s
"""
SILENT: LiteralString = """
-- Nobody has reported of its processing for long; from the partial index artifacts_reported.
SELECT tenant_id, artifact_hash, artifact_type, coalesce(size_bytes, 0) AS size_bytes, reported_at AS due_at
  FROM serve.artifacts
 WHERE (status = 'processing' OR (status = 'requested' AND artifact_type <> 'upload'))
   AND reported_at <= %(before)s
 ORDER BY reported_at
 LIMIT %(limit)s
"""
TO_PURGE: LiteralString = """
-- Over the time to undelete, from the partial index artifacts_to_purge.
SELECT tenant_id, artifact_hash, artifact_type, coalesce(size_bytes, 0) AS size_bytes, deleted_at AS due_at
  FROM serve.artifacts
 WHERE status = 'deleted' AND purge_due_at IS NULL AND deleted_at <= %(before)s
 ORDER BY deleted_at
 LIMIT %(limit)s
"""
PURGING: LiteralString = """
-- Whose next step is due, from the partial index artifacts_purging. As long as a node may have a copy, or the store a
-- part of an upload, it waits for their owners.
SELECT a.tenant_id, a.artifact_hash, a.artifact_type, coalesce(a.size_bytes, 0) AS size_bytes,
       a.purge_next_at AS due_at, a.original_key, w.object_key AS watched_key, a.awaiting
  FROM serve.artifacts AS a
  LEFT JOIN serve.watched AS w ON w.tenant_id = a.tenant_id AND w.artifact_hash = a.artifact_hash
 WHERE a.purge_next_at <= %(now)s
   AND NOT EXISTS (SELECT FROM serve.multiparts AS m
                    WHERE m.tenant_id = a.tenant_id AND m.artifact_hash = a.artifact_hash)
   AND NOT EXISTS (SELECT FROM serve.artifact_nodes AS n
                    WHERE n.tenant_id = a.tenant_id AND n.artifact_hash = a.artifact_hash AND n.state <> 'gone')
 ORDER BY a.purge_next_at
 LIMIT %(limit)s
"""
TO_FORGET: LiteralString = """
-- Purged, or deleted before there was an artifact, for as long as the audit period; from the partial indexes
-- artifacts_purged, uploads_never_placed, clips_never_placed and dvr_recordings_never_placed.
SELECT due.tenant_id, due.artifact_hash, i.kind AS artifact_type, 0 AS size_bytes, due.due_at
  FROM ((SELECT tenant_id, artifact_hash, purged_at AS due_at, true AS had_artifact FROM serve.artifacts
          WHERE purged_at <= %(before)s ORDER BY purged_at LIMIT %(limit)s)
        UNION ALL
        (SELECT tenant_id, artifact_hash, deleted_at, false FROM serve.uploads
          WHERE placed_at IS NULL AND deleted_at <= %(before)s ORDER BY deleted_at LIMIT %(limit)s)
        UNION ALL
        (SELECT tenant_id, artifact_hash, deleted_at, false FROM serve.clips
          WHERE placed_at IS NULL AND deleted_at <= %(before)s ORDER BY deleted_at LIMIT %(limit)s)
        UNION ALL
        (SELECT tenant_id, artifact_hash, deleted_at, false FROM serve.dvr_recordings
          WHERE placed_at IS NULL AND deleted_at <= %(before)s ORDER BY deleted_at LIMIT %(limit)s)) AS due
  JOIN serve.identities AS i ON i.tenant_id = due.tenant_id AND i.artifact_hash = due.artifact_hash
 WHERE i.forget_due_at IS NULL
   AND (due.had_artifact OR NOT EXISTS (SELECT FROM serve.artifacts AS a
                                         WHERE a.tenant_id = due.tenant_id AND a.artifact_hash = due.artifact_hash))
 ORDER BY due.due_at
 LIMIT %(limit)s
"""
UNANSWERED: LiteralString = """
-- Asked long ago to be forgotten, from the partial index identities_forgetting.
SELECT tenant_id, artifact_hash FROM serve.identities
 WHERE forget_due_at IS NOT NULL AND forgotten_at IS NULL AND forget_asked_at <= %(before)s
 ORDER BY forget_asked_at
 LIMIT %(limit)s
"""
FORGOTTEN: LiteralString = """
-- Nobody keeps anything of it any more, from the partial index identities_forgotten.
SELECT tenant_id, artifact_hash, kind AS artifact_type, 0 AS size_bytes, forgotten_at AS due_at FROM serve.identities
 WHERE forgotten_at IS NOT NULL
 ORDER BY forgotten_at
 LIMIT %(limit)s
"""
COUNT_STUCK: LiteralString = (
    "SELECT count(*) FROM serve.artifacts WHERE purge_next_at IS NOT NULL AND purge_error IS NOT NULL"
)

# --- inside one tenant

THIS: LiteralString = "tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s"
LOCK_SILENT: LiteralString = f"""
SELECT reported_at <= %(before)s
       AND (status = 'processing' OR (status = 'requested' AND artifact_type <> 'upload'))
  FROM serve.artifacts WHERE {THIS} FOR UPDATE
"""  # noqa: S608
ASK_AGAIN: LiteralString = f"""
UPDATE serve.artifacts SET purge_next_at = %(next_at)s, revision = revision + 1
 WHERE {THIS} AND purge_next_at <= %(now)s AND awaiting <> '{{}}'
RETURNING revision
"""  # noqa: S608
RELEASED: LiteralString = f"""
-- With the last answer the bytes may go.
UPDATE serve.artifacts
   SET awaiting = array_remove(awaiting, %(holder)s),
       purge_next_at = CASE WHEN awaiting = ARRAY[%(holder)s] THEN %(now)s ELSE purge_next_at END
 WHERE {THIS} AND purge_next_at IS NOT NULL AND %(holder)s = ANY (awaiting)
"""  # noqa: S608
PURGED: LiteralString = f"""
UPDATE serve.artifacts
   SET purged_at = %(now)s, purge_next_at = NULL, purge_error = NULL, synced = false, revision = revision + 1
 WHERE {THIS} AND purge_next_at IS NOT NULL AND awaiting = '{{}}'
RETURNING revision
"""  # noqa: S608
NOT_PURGED: LiteralString = f"""
UPDATE serve.artifacts SET purge_error = %(why)s, purge_next_at = %(next_at)s
 WHERE {THIS} AND purge_next_at IS NOT NULL AND awaiting = '{{}}'
"""  # noqa: S608
ASK_TO_FORGET: LiteralString = f"""
UPDATE serve.identities SET forget_due_at = coalesce(forget_due_at, %(now)s), forget_asked_at = %(now)s
 WHERE {THIS} AND forgotten_at IS NULL AND (forget_asked_at IS NULL OR forget_asked_at <= %(before)s)
"""  # noqa: S608
HISTORY_GONE: LiteralString = f"""
UPDATE serve.identities SET forgotten_at = %(now)s
 WHERE {THIS} AND forget_due_at IS NOT NULL AND forgotten_at IS NULL
"""  # noqa: S608
DELETE_WATCHED: LiteralString = f"DELETE FROM serve.watched WHERE {THIS}"  # noqa: S608
DELETE_ROWS: LiteralString = f"""
-- Every other row of the artifact goes with it.
DELETE FROM serve.identities WHERE {THIS} AND forgotten_at IS NOT NULL
"""  # noqa: S608


class RetentionReader:
    """What is due, of all tenants."""

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def expired(self, now: datetime, limit: int) -> Sequence[Candidate]:
        return await fetch_all(self._connection, Candidate, EXPIRED, now=now, limit=limit)

    async def expired_records(self, now: datetime, limit: int) -> Sequence[Candidate]:
        return await fetch_all(self._connection, Candidate, EXPIRED_RECORDS, now=now, limit=limit)

    async def silent(self, before: datetime, limit: int) -> Sequence[Candidate]:
        return await fetch_all(self._connection, Candidate, SILENT, before=before, limit=limit)

    async def to_purge(self, before: datetime, limit: int) -> Sequence[Candidate]:
        return await fetch_all(self._connection, Candidate, TO_PURGE, before=before, limit=limit)

    async def purging(self, now: datetime, limit: int) -> Sequence[Purge]:
        return await fetch_all(self._connection, Purge, PURGING, now=now, limit=limit)

    async def to_forget(self, before: datetime, limit: int) -> Sequence[Candidate]:
        return await fetch_all(self._connection, Candidate, TO_FORGET, before=before, limit=limit)

    async def unanswered(self, before: datetime, limit: int) -> Sequence[Place]:
        return await fetch_all(self._connection, Place, UNANSWERED, before=before, limit=limit)

    async def forgotten(self, limit: int) -> Sequence[Candidate]:
        return await fetch_all(self._connection, Candidate, FORGOTTEN, limit=limit)

    async def count_stuck(self) -> int:
        """Purges that an error holds up."""
        [(count,)] = await (await self._connection.execute(COUNT_STUCK)).fetchall()
        return count


class RetentionStore:
    """The steps of one artifact."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def lock_silent(self, artifact_hash: ArtifactHash, before: datetime) -> bool:
        """Whether nobody has reported since; until the transaction ends nobody does."""
        values = self._values(artifact_hash) | {"before": before}
        row = await (await self._transaction.connection.execute(LOCK_SILENT, values)).fetchone()
        return bool(row and row[0])

    async def ask_again(self, artifact_hash: ArtifactHash, next_at: datetime) -> int | None:
        """The revision; None when all have answered."""
        return await self._revision(ASK_AGAIN, artifact_hash, next_at=next_at)

    async def released(self, artifact_hash: ArtifactHash, holder: str) -> None:
        await self._execute(RELEASED, artifact_hash, holder=holder)

    async def purged(self, artifact_hash: ArtifactHash) -> int | None:
        """The revision; None when somebody was quicker."""
        return await self._revision(PURGED, artifact_hash)

    async def not_purged(self, artifact_hash: ArtifactHash, why: str, next_at: datetime) -> None:
        await self._execute(NOT_PURGED, artifact_hash, why=why, next_at=next_at)

    async def ask_to_forget(self, artifact_hash: ArtifactHash, before: datetime) -> bool:
        """False when somebody asked after that moment, or nothing is left to ask for."""
        return await self._execute(ASK_TO_FORGET, artifact_hash, before=before) == 1

    async def history_gone(self, artifact_hash: ArtifactHash) -> None:
        await self._execute(HISTORY_GONE, artifact_hash)

    async def delete_rows(self, artifact_hash: ArtifactHash) -> bool:
        if not await self._execute(DELETE_ROWS, artifact_hash):
            return False
        await self._execute(DELETE_WATCHED, artifact_hash)
        return True

    async def _execute(self, query: LiteralString, artifact_hash: ArtifactHash, **values: Any) -> int:
        named = self._values(artifact_hash) | values
        return (await self._transaction.connection.execute(query, named)).rowcount

    async def _revision(self, query: LiteralString, artifact_hash: ArtifactHash, **values: Any) -> int | None:
        named = self._values(artifact_hash) | values
        return await fetch_one(self._transaction.connection, _revision, query, **named)

    def _values(self, artifact_hash: ArtifactHash) -> dict[str, Any]:
        now = self._transaction.now()
        return {"tenant_id": self._transaction.tenant_id, "hash": artifact_hash, "now": now}


def _revision(*, revision: int) -> int:
    return revision
