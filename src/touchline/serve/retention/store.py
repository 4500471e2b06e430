"""All SQL of retention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection

from touchline.kernel import TenantId
from touchline.kernel.ids import ArtifactHash
from touchline.platform.postgres.database import Transaction, fetch_all
from touchline.serve.registry.store import Place

TO_PURGE: LiteralString = """
-- Of all tenants: what does not come back, then what was deleted longest ago; from the partial indexes artifacts_final
-- and artifacts_to_purge.
SELECT tenant_id, artifact_hash FROM (
  (SELECT tenant_id, artifact_hash, deleted_at, 0 AS turn FROM serve.artifacts
    WHERE status = 'deleted' AND purge_due_at IS NULL AND is_final
    ORDER BY deleted_at LIMIT %(limit)s)
  UNION ALL
  (SELECT tenant_id, artifact_hash, deleted_at, 1 FROM serve.artifacts
    WHERE status = 'deleted' AND purge_due_at IS NULL AND deleted_at <= %(before)s AND NOT is_final
    ORDER BY deleted_at LIMIT %(limit)s)) AS due
 ORDER BY turn, deleted_at
 LIMIT %(limit)s
"""
PURGE_DUE: LiteralString = """
UPDATE serve.artifacts SET purge_due_at = %(now)s, revision = revision + 1
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND status = 'deleted' AND purge_due_at IS NULL
   AND (deleted_at <= %(before)s OR is_final)
RETURNING revision
"""
OTHERS_GONE: LiteralString = """
UPDATE serve.artifacts SET others_gone_at = %(now)s
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND status = 'deleted' AND purge_due_at IS NOT NULL
   AND others_gone_at IS NULL
"""
PURGED: LiteralString = """
UPDATE serve.artifacts SET purged_at = %(now)s, synced = false, revision = revision + 1
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND status = 'deleted' AND purged_at IS NULL
"""
ORIGINALS_TO_PURGE: LiteralString = """
-- Of all tenants: longest ago first, from the partial index artifacts_originals_to_purge.
SELECT a.tenant_id, a.artifact_hash, a.original_key, w.object_key AS watched_key
  FROM serve.artifacts AS a
  LEFT JOIN serve.watched AS w ON w.tenant_id = a.tenant_id AND w.artifact_hash = a.artifact_hash
 WHERE a.status = 'deleted' AND a.others_gone_at IS NOT NULL AND a.purged_at IS NULL
 ORDER BY a.others_gone_at
 LIMIT %(limit)s
"""
OVERDUE: LiteralString = """
-- Of all tenants: uploads that are over their time, longest first, from the partial index artifacts_upload_expiry.
SELECT tenant_id, artifact_hash FROM serve.artifacts
 WHERE artifact_type = 'upload' AND deleted_at IS NULL AND NOT pinned AND retention_until <= %(now)s
 ORDER BY retention_until
 LIMIT %(limit)s
"""
IS_OVERDUE: LiteralString = """
SELECT retention_until <= %(now)s AND NOT pinned FROM serve.artifacts
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND status <> 'deleted'
   FOR UPDATE
"""


@dataclass(frozen=True, slots=True)
class Original:
    tenant_id: TenantId
    artifact_hash: ArtifactHash
    original_key: str
    watched_key: str | None  # where watch has it, too


async def to_purge(connection: AsyncConnection[Any], before: datetime, limit: int) -> Sequence[Place]:
    return await fetch_all(connection, Place, TO_PURGE, before=before, limit=limit)


async def purge_due(
    transaction: Transaction, artifact_hash: ArtifactHash, before: datetime, now: datetime
) -> int | None:
    """The revision; None when it is not to be purged any more, or somebody was quicker."""
    values = {"tenant_id": transaction.tenant_id, "hash": artifact_hash, "before": before, "now": now}
    row = await (await transaction.connection.execute(PURGE_DUE, values)).fetchone()
    return row[0] if row else None


async def others_gone(transaction: Transaction, artifact_hash: ArtifactHash, now: datetime) -> None:
    values = {"tenant_id": transaction.tenant_id, "hash": artifact_hash, "now": now}
    await transaction.connection.execute(OTHERS_GONE, values)


async def purged(transaction: Transaction, artifact_hash: ArtifactHash, now: datetime) -> None:
    values = {"tenant_id": transaction.tenant_id, "hash": artifact_hash, "now": now}
    await transaction.connection.execute(PURGED, values)


async def originals_to_purge(connection: AsyncConnection[Any], limit: int) -> Sequence[Original]:
    return await fetch_all(connection, Original, ORIGINALS_TO_PURGE, limit=limit)


async def overdue_uploads(connection: AsyncConnection[Any], now: datetime, limit: int) -> Sequence[Place]:
    return await fetch_all(connection, Place, OVERDUE, now=now, limit=limit)


async def is_overdue(transaction: Transaction, artifact_hash: ArtifactHash, now: datetime) -> bool:
    """Until the transaction ends nobody changes it."""
    values = {"tenant_id": transaction.tenant_id, "hash": artifact_hash, "now": now}
    row = await (await transaction.connection.execute(IS_OVERDUE, values)).fetchone()
    return bool(row and row[0])
