"""All SQL of retention."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection

from touchline.kernel.ids import ArtifactHash
from touchline.platform.postgres.database import Transaction
from touchline.platform.postgres.rows import fetch_all
from touchline.serve.registry.store import Place

TO_PURGE: LiteralString = """
-- Of all tenants: deleted longest ago first, from the partial index artifacts_to_purge.
SELECT tenant_id, artifact_hash FROM serve.artifacts
 WHERE status = 'deleted' AND purge_due_at IS NULL AND deleted_at <= %(before)s
 ORDER BY deleted_at
 LIMIT %(limit)s
"""
PURGE_DUE: LiteralString = """
UPDATE serve.artifacts SET purge_due_at = %(now)s, revision = revision + 1
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND status = 'deleted' AND purge_due_at IS NULL
   AND deleted_at <= %(before)s
RETURNING revision
"""


async def to_purge(connection: AsyncConnection[Any], before: datetime, limit: int) -> Sequence[Place]:
    return await fetch_all(connection, Place, TO_PURGE, before=before, limit=limit)


async def purge_due(
    transaction: Transaction, artifact_hash: ArtifactHash, before: datetime, now: datetime
) -> int | None:
    """The revision; None when it is not to be purged any more, or somebody was quicker."""
    values = {"tenant_id": transaction.tenant_id, "hash": artifact_hash, "before": before, "now": now}
    row = await (await transaction.connection.execute(PURGE_DUE, values)).fetchone()
    return row[0] if row else None
