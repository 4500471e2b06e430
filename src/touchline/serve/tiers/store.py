"""All SQL of copies: one artifact's inside its tenant, a node's across tenants.

Invariant: the number of local copies and the move under way that an artifact tells of are those of its rows here; the
artifact's row is locked first.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection

from touchline.contracts.events.artifacts import StorageTransfer
from touchline.kernel import ArtifactHash, TenantId
from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one
from touchline.serve.artifacts.rules import Artifact
from touchline.serve.artifacts.store import COLUMNS as ARTIFACT_COLUMNS, to_artifact
from touchline.serve.nodes.rules import CopyAccess, HeldCopy

from .rules import Copy, CopyState, Deleted, Known

THIS: LiteralString = "tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s"
COPY: LiteralString = """c.tenant_id, c.artifact_hash, c.node_id, c.state, c.manifest_key, c.size_bytes,
       c.segment_count, c.segment_bytes, c.last_accessed_at, c.cached_at, a.pinned, a.synced"""
JOINED: LiteralString = """serve.artifact_nodes AS c
  JOIN serve.artifacts AS a ON a.tenant_id = c.tenant_id AND a.artifact_hash = c.artifact_hash"""

COPIES: LiteralString = f"""
SELECT {COPY} FROM {JOINED} WHERE c.tenant_id = %(tenant_id)s AND c.artifact_hash = %(hash)s ORDER BY c.node_id
"""
BEGIN: LiteralString = """
-- What the node had of it before does not matter: it is made anew.
INSERT INTO serve.artifact_nodes AS c (tenant_id, artifact_hash, node_id, state, manifest_key, last_seen_at)
VALUES (%(tenant_id)s, %(hash)s, %(node_id)s, 'defrosting', %(manifest_key)s, %(now)s)
ON CONFLICT (tenant_id, artifact_hash, node_id) DO UPDATE
   SET state = 'defrosting', manifest_key = excluded.manifest_key, gone_at = NULL, revision = c.revision + 1
 WHERE c.state = 'gone'
"""
HOLD: LiteralString = """
INSERT INTO serve.artifact_nodes AS c (tenant_id, artifact_hash, node_id, state, manifest_key, size_bytes,
                                       segment_count, segment_bytes, last_seen_at, cached_at)
VALUES (%(tenant_id)s, %(hash)s, %(node_id)s, %(state)s, %(manifest_key)s, %(size_bytes)s, %(segment_count)s,
        %(segment_bytes)s, %(now)s, %(cached_at)s)
ON CONFLICT (tenant_id, artifact_hash, node_id) DO UPDATE
   SET state = excluded.state, manifest_key = excluded.manifest_key, size_bytes = excluded.size_bytes,
       segment_count = excluded.segment_count, segment_bytes = excluded.segment_bytes,
       last_seen_at = excluded.last_seen_at, cached_at = excluded.cached_at, gone_at = NULL, revision = c.revision + 1
"""
TURN: LiteralString = f"""
UPDATE serve.artifact_nodes
   SET state = %(to)s, gone_at = CASE WHEN %(to)s = 'gone' THEN %(now)s::timestamptz END, revision = revision + 1
 WHERE {THIS} AND node_id = %(node_id)s AND state = ANY (%(leaving)s)
"""
SETTLE: LiteralString = f"""
-- Refused when nothing changes: then there is nothing to tell.
UPDATE serve.artifacts AS a
   SET local_copies = c.held, transfer = %(transfer)s, revision = revision + 1
  FROM (SELECT count(*) AS held FROM serve.artifact_nodes
         WHERE {THIS} AND state IN ('present', 'evicting')) AS c
 WHERE a.tenant_id = %(tenant_id)s AND a.artifact_hash = %(hash)s
   AND (a.local_copies, a.transfer) IS DISTINCT FROM (c.held, %(transfer)s)
RETURNING {ARTIFACT_COLUMNS}
"""
FROZEN: LiteralString = f"""
-- The pointer turns to what was verified; of an artifact that is playable it stays one.
UPDATE serve.artifacts
   SET synced = true, manifest_key = %(manifest_key)s, poster_key = coalesce(%(poster_key)s, poster_key),
       revision = revision + 1
 WHERE {THIS} AND status <> 'deleted' AND transfer = 'freeze'
   AND (NOT synced OR manifest_key IS DISTINCT FROM %(manifest_key)s)
RETURNING {ARTIFACT_COLUMNS}
"""
DELETION: LiteralString = f"""
SELECT deleted_at, purge_due_at IS NOT NULL AS is_final, synced
  FROM serve.artifacts WHERE {THIS} AND status = 'deleted' FOR UPDATE
"""

OF_NODE: LiteralString = f"""
-- Of all tenants: what a node has on record.
SELECT {COPY} FROM {JOINED} WHERE c.node_id = %(node_id)s AND c.state <> 'gone' ORDER BY c.artifact_hash
"""
OF_ARTIFACTS: LiteralString = f"""
-- Of all tenants: where some artifacts are on record.
SELECT {COPY} FROM unnest(%(tenants)s::uuid[], %(hashes)s::text[]) AS h (tenant_id, artifact_hash)
  JOIN {JOINED} ON c.tenant_id = h.tenant_id AND c.artifact_hash = h.artifact_hash
 WHERE c.state <> 'gone'
 ORDER BY c.artifact_hash, c.node_id
"""
SEEN: LiteralString = """
UPDATE serve.artifact_nodes SET last_seen_at = %(now)s
 WHERE node_id = %(node_id)s AND artifact_hash = ANY (%(hashes)s) AND state <> 'gone'
"""
ACCESSED: LiteralString = """
UPDATE serve.artifact_nodes AS c
   SET access_count = c.access_count + r.count, last_accessed_at = greatest(c.last_accessed_at, r.last_accessed_at)
  FROM unnest(%(tenants)s::uuid[], %(hashes)s::text[], %(counts)s::bigint[], %(times)s::timestamptz[])
    AS r (tenant_id, artifact_hash, count, last_accessed_at)
 WHERE c.tenant_id = r.tenant_id AND c.artifact_hash = r.artifact_hash AND c.node_id = %(node_id)s
"""
KNOWN: LiteralString = """
-- Of all tenants: which of the copies that a node has belong to an artifact.
SELECT a.tenant_id, a.artifact_hash, a.manifest_key, a.synced, a.status
  FROM unnest(%(tenants)s::uuid[], %(hashes)s::text[]) AS h (tenant_id, artifact_hash)
  JOIN serve.artifacts AS a ON a.tenant_id = h.tenant_id AND a.artifact_hash = h.artifact_hash
"""
ORPHANS: LiteralString = f"""
-- Of all tenants, in turns: copies of deleted artifacts, and of renditions that were replaced.
SELECT {COPY} FROM {JOINED}
 WHERE c.state = 'present' AND (c.node_id, c.artifact_hash) > (%(after_node)s, %(after_hash)s)
   AND (a.status = 'deleted' OR (a.synced AND a.manifest_key <> c.manifest_key))
 ORDER BY c.node_id, c.artifact_hash
 LIMIT %(limit)s
"""


class CopyStore:
    """The copies of one tenant's artifacts."""

    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id

    async def of(self, artifact_hash: ArtifactHash) -> Sequence[Copy]:
        return await fetch_all(self._connection, _copy, COPIES, **self._this(artifact_hash))

    async def begin(self, artifact_hash: ArtifactHash, node_id: str, manifest_key: str, now: datetime) -> bool:
        """False when the node has it already."""
        values = {**self._this(artifact_hash), "node_id": node_id, "manifest_key": manifest_key, "now": now}
        return (await self._connection.execute(BEGIN, values)).rowcount == 1

    async def hold(
        self, copy: HeldCopy, node_id: str, now: datetime, state: CopyState = CopyState.PRESENT, manifest_key: str = ""
    ) -> None:
        """As the node says. `manifest_key`: by another name than the node knows."""
        values = {**self._this(copy.artifact_hash), "node_id": node_id, "state": state, "now": now}
        values |= {"manifest_key": manifest_key or copy.manifest_key, "size_bytes": copy.size_bytes}
        values |= {"segment_count": copy.segment_count, "segment_bytes": copy.segment_bytes}
        await self._connection.execute(HOLD, {**values, "cached_at": min(copy.cached_at, now)})

    async def turn(
        self, artifact_hash: ArtifactHash, node_id: str, to: CopyState, leaving: Sequence[CopyState], now: datetime
    ) -> bool:
        values = {**self._this(artifact_hash), "node_id": node_id, "to": to, "leaving": list(leaving), "now": now}
        return (await self._connection.execute(TURN, values)).rowcount == 1

    async def settle(self, artifact_hash: ArtifactHash, transfer: StorageTransfer | None) -> Artifact | None:
        """The artifact with what its copies are now; None when that was known."""
        values = {**self._this(artifact_hash), "transfer": transfer}
        return await fetch_one(self._connection, to_artifact, SETTLE, **values)

    async def frozen(self, artifact_hash: ArtifactHash, manifest_key: str, poster_key: str | None) -> Artifact | None:
        values = {**self._this(artifact_hash), "manifest_key": manifest_key, "poster_key": poster_key}
        return await fetch_one(self._connection, to_artifact, FROZEN, **values)

    def _this(self, artifact_hash: ArtifactHash) -> dict[str, Any]:
        return {"tenant_id": self._tenant_id, "hash": artifact_hash}


async def deletion(transaction: Transaction, artifact_hash: ArtifactHash) -> Deleted | None:
    """Since when it is deleted; None: it is not. Until the transaction ends nobody changes it."""
    values = {"tenant_id": transaction.tenant_id, "hash": artifact_hash}
    return await fetch_one(transaction.connection, Deleted, DELETION, **values)


# Across tenants, in a system transaction.


async def copies_of_node(connection: AsyncConnection[Any], node_id: str) -> Sequence[Copy]:
    return await fetch_all(connection, _copy, OF_NODE, node_id=node_id)


async def copies_of_artifacts(
    connection: AsyncConnection[Any], artifacts: Sequence[tuple[TenantId, ArtifactHash]]
) -> Sequence[Copy]:
    values = {"tenants": [tenant_id for tenant_id, _ in artifacts], "hashes": [one for _, one in artifacts]}
    return await fetch_all(connection, _copy, OF_ARTIFACTS, **values)


async def seen(connection: AsyncConnection[Any], node_id: str, hashes: Sequence[str], now: datetime) -> None:
    await connection.execute(SEEN, {"node_id": node_id, "hashes": list(hashes), "now": now})


async def accessed(connection: AsyncConnection[Any], node_id: str, accesses: Sequence[CopyAccess]) -> None:
    values = {"node_id": node_id, "tenants": [one.tenant_id for one in accesses]}
    values |= {"hashes": [one.artifact_hash for one in accesses], "counts": [one.count for one in accesses]}
    await connection.execute(ACCESSED, {**values, "times": [one.last_accessed_at for one in accesses]})


async def known(connection: AsyncConnection[Any], copies: Sequence[HeldCopy]) -> Sequence[Known]:
    values = {"tenants": [copy.tenant_id for copy in copies], "hashes": [copy.artifact_hash for copy in copies]}
    return await fetch_all(connection, Known, KNOWN, **values)


async def orphans(connection: AsyncConnection[Any], after: tuple[str, str], limit: int) -> Sequence[Copy]:
    values = {"after_node": after[0], "after_hash": after[1], "limit": limit}
    return await fetch_all(connection, _copy, ORPHANS, **values)


def _copy(*, state: str, **columns: Any) -> Copy:
    return Copy(state=CopyState(state), **columns)
