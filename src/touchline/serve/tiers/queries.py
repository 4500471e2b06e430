"""Which nodes can play an artifact, for those who send viewers there.

Invariant: only a whole copy of the rendition that is played now, on a node that is present and has no trouble.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString

from touchline.kernel import ArtifactHash
from touchline.platform.postgres.database import Transaction, fetch_all

COPIES: LiteralString = """
SELECT n.node_id, n.base_url, n.locality, n.load
  FROM serve.artifact_nodes AS c
  JOIN serve.artifacts AS a ON a.tenant_id = c.tenant_id AND a.artifact_hash = c.artifact_hash
  JOIN serve.nodes AS n ON n.node_id = c.node_id
 WHERE c.tenant_id = %(tenant_id)s AND c.artifact_hash = %(hash)s AND c.state = 'present'
   AND c.manifest_key = a.manifest_key AND n.status = 'present' AND n.trouble IS NULL
 ORDER BY %(locality)s <> '' AND n.locality = %(locality)s DESC, n.load, n.node_id
 LIMIT %(limit)s
"""
MOST_COPIES = 10


@dataclass(frozen=True, slots=True)
class CopyPlace:
    """A node that has the artifact. Its media are at `{base_url}/media/{token}/{hash}/{name}`."""

    node_id: str
    base_url: str
    locality: str
    load: int


async def copies_of(
    transaction: Transaction, artifact_hash: ArtifactHash, locality: str = "", limit: int = MOST_COPIES
) -> Sequence[CopyPlace]:
    """Best first: near the viewer, then the least loaded."""
    values = {"tenant_id": transaction.tenant_id, "hash": artifact_hash, "locality": locality, "limit": limit}
    return await fetch_all(transaction.connection, CopyPlace, COPIES, **values)
