"""All SQL of the scanner. It looks across tenants and changes nothing: that is done by the stores of each table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString

from psycopg import AsyncConnection

from touchline.platform.postgres.database import fetch_all

from .rules import ArtifactFiles, KnownOriginal

KNOWN: LiteralString = """
SELECT a.tenant_id, a.artifact_hash, a.original_key, a.original_missing_since
  FROM unnest(%(hashes)s::text[]) AS wanted (artifact_hash)
 CROSS JOIN LATERAL (
   SELECT i.tenant_id FROM serve.identities AS i WHERE i.artifact_hash = wanted.artifact_hash LIMIT 1) AS i
  JOIN serve.artifacts AS a ON a.tenant_id = i.tenant_id AND a.artifact_hash = wanted.artifact_hash
"""
EXPECTED: LiteralString = """
-- Whose original should lie in the bucket, and is not known to be missing; a range of the index identities_hash.
SELECT a.tenant_id, a.artifact_hash, a.original_key, a.original_missing_since
  FROM serve.identities AS i
  JOIN serve.artifacts AS a ON a.tenant_id = i.tenant_id AND a.artifact_hash = i.artifact_hash
 WHERE i.artifact_hash > %(after)s AND i.artifact_hash <= %(until)s
   AND a.synced AND a.status IN ('processing', 'ready', 'failed') AND a.original_missing_since IS NULL
   AND starts_with(a.original_key, %(prefix)s)
 ORDER BY i.artifact_hash
 LIMIT %(limit)s
"""
MISSING: LiteralString = """
-- Until it is back, or its artifact is deleted: whoever deletes it has done with it.
SELECT artifact_hash FROM serve.artifacts
 WHERE original_missing_since IS NOT NULL AND status <> 'deleted'
 ORDER BY artifact_hash LIMIT %(limit)s
"""
COUNT_MISSING: LiteralString = """
SELECT count(*) FROM serve.artifacts WHERE original_missing_since IS NOT NULL AND status <> 'deleted'
"""
FILES: LiteralString = """
-- What should lie in the bucket of a few artifacts: a range of the index identities_hash.
SELECT a.artifact_hash, a.original_key, a.manifest_key
  FROM serve.identities AS i
  JOIN serve.artifacts AS a ON a.tenant_id = i.tenant_id AND a.artifact_hash = i.artifact_hash
 WHERE i.artifact_hash > %(after)s AND a.synced AND a.status IN ('processing', 'ready', 'failed')
   AND a.original_missing_since IS NULL
 ORDER BY i.artifact_hash
 LIMIT %(limit)s
"""


class ScannerStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def known(self, hashes: Sequence[str]) -> dict[str, KnownOriginal]:
        found = await fetch_all(self._connection, KnownOriginal, KNOWN, hashes=list(hashes))
        return {each.artifact_hash: each for each in found}

    async def expected(self, after: str, until: str, prefix: str, limit: int) -> Sequence[KnownOriginal]:
        """In the order of their hashes."""
        values = {"after": after, "until": until, "prefix": prefix, "limit": limit}
        return await fetch_all(self._connection, KnownOriginal, EXPECTED, **values)

    async def missing(self, limit: int) -> tuple[list[str], int]:
        """The first, and how many there are."""
        first = await (await self._connection.execute(MISSING, {"limit": limit})).fetchall()
        [(count,)] = await (await self._connection.execute(COUNT_MISSING)).fetchall()
        return [artifact_hash for (artifact_hash,) in first], count

    async def files(self, after: str, limit: int) -> Sequence[ArtifactFiles]:
        """Behind this hash, and from the beginning when there are not enough."""
        found = list(await fetch_all(self._connection, ArtifactFiles, FILES, after=after, limit=limit))
        if len(found) == limit:
            return found
        known = {each.artifact_hash for each in found}
        more = await fetch_all(self._connection, ArtifactFiles, FILES, after="", limit=limit)
        return [*found, *(each for each in more if each.artifact_hash not in known)][:limit]
