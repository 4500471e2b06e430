"""All SQL of fsck. It reads across tenants, in the order of artifacts' hashes, and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection

from touchline.platform.postgres.database import fetch_all

from .rules import ArtifactRow

ROWS: LiteralString = """
-- A range of the index identities_hash, with all that belongs to each.
SELECT i.tenant_id, i.artifact_hash, a.artifact_hash IS NOT NULL AS is_placed, a.artifact_type, a.status,
       a.original_key, a.size_bytes, a.synced, a.manifest_key, a.poster_key, a.original_missing_since,
       a.purge_due_at, a.purged_at, i.created_at, m.due_at, m.upload_id, m.object_key, w.object_key AS watched_key,
       a.local_copies, coalesce(c.copies, 0) AS copies
  FROM serve.identities AS i
  LEFT JOIN serve.artifacts AS a ON a.tenant_id = i.tenant_id AND a.artifact_hash = i.artifact_hash
  LEFT JOIN serve.multiparts AS m ON m.tenant_id = i.tenant_id AND m.artifact_hash = i.artifact_hash
  LEFT JOIN serve.watched AS w
         ON w.tenant_id = i.tenant_id AND w.artifact_hash = i.artifact_hash AND w.dropped_at IS NULL
  LEFT JOIN LATERAL (
    SELECT count(*) AS copies FROM serve.artifact_nodes AS k
     WHERE k.tenant_id = i.tenant_id AND k.artifact_hash = i.artifact_hash AND k.state <> 'gone') AS c ON true
 WHERE i.artifact_hash > %(after)s
 ORDER BY i.artifact_hash
 LIMIT %(limit)s
"""
COUNT: LiteralString = "SELECT count(*) FROM serve.identities"
KEYS: LiteralString = """
SELECT a.artifact_hash, a.original_key, a.purged_at
  FROM unnest(%(hashes)s::text[]) AS wanted (artifact_hash)
 CROSS JOIN LATERAL (
   SELECT i.tenant_id FROM serve.identities AS i WHERE i.artifact_hash = wanted.artifact_hash LIMIT 1) AS i
  JOIN serve.artifacts AS a ON a.tenant_id = i.tenant_id AND a.artifact_hash = wanted.artifact_hash
"""
NODES: LiteralString = """
-- A node that is silent is not asked: it may be back in a moment, and its copies are on no viewer's list.
SELECT node_id, base_url, trouble, inventory_refusal FROM serve.nodes
 WHERE status = 'present' OR trouble IS NOT NULL OR inventory_refusal IS NOT NULL
 ORDER BY node_id LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class KnownFile:
    artifact_hash: str
    original_key: str
    purged_at: datetime | None


@dataclass(frozen=True, slots=True)
class KnownNode:
    node_id: str
    base_url: str
    trouble: str | None
    inventory_refusal: str | None


class FsckStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def rows(self, after: str, limit: int) -> Sequence[ArtifactRow]:
        return await fetch_all(self._connection, ArtifactRow, ROWS, after=after, limit=limit)

    async def count(self) -> int:
        [(count,)] = await (await self._connection.execute(COUNT)).fetchall()
        return count

    async def files(self, hashes: Sequence[str]) -> dict[str, KnownFile]:
        found = await fetch_all(self._connection, KnownFile, KEYS, hashes=list(hashes))
        return {each.artifact_hash: each for each in found}

    async def nodes(self, limit: int) -> Sequence[KnownNode]:
        return await fetch_all(self._connection, KnownNode, NODES, limit=limit)
