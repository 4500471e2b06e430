"""All SQL of uploads in parts.

Invariant: a row is there exactly as long as the object store may hold something that must be ended; `attempt` fences
whoever completes it.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection

from touchline.kernel import ArtifactHash
from touchline.platform.objects.rules import MultipartUpload, ObjectKey, PartPlan
from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one
from touchline.serve.uploads.rules import Due, Multipart, Owned

COLUMNS: LiteralString = """tenant_id, artifact_hash, object_key, upload_id, writer, size_bytes, part_bytes, attempt,
       due_at, checksums"""
THIS: LiteralString = "tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s"

ADD: LiteralString = """
INSERT INTO serve.multiparts (tenant_id, artifact_hash, object_key, size_bytes, part_bytes, due_at)
VALUES (%(tenant_id)s, %(hash)s, %(key)s, %(size_bytes)s, %(part_bytes)s, %(due_at)s)
"""
FIND: LiteralString = f"SELECT {COLUMNS} FROM serve.multiparts WHERE {THIS}"
BEGUN: LiteralString = f"""
UPDATE serve.multiparts SET upload_id = %(upload_id)s, writer = %(writer)s WHERE {THIS} AND upload_id IS NULL
"""
POSTPONE: LiteralString = f"UPDATE serve.multiparts SET due_at = %(due_at)s WHERE {THIS} AND due_at < %(due_at)s"
HURRY: LiteralString = f"UPDATE serve.multiparts SET due_at = %(due_at)s WHERE {THIS} AND due_at > %(due_at)s"
CLAIM: LiteralString = f"""
UPDATE serve.multiparts SET attempt = attempt + 1, due_at = %(due_at)s, checksums = %(checksums)s WHERE {THIS}
RETURNING {COLUMNS}
"""
CLAIM_OVERDUE: LiteralString = f"""
UPDATE serve.multiparts SET attempt = attempt + 1, due_at = %(due_at)s WHERE {THIS} AND due_at <= %(now)s
RETURNING {COLUMNS}
"""
HOLD: LiteralString = f"""
-- Whether this attempt is still the one that counts; nobody can take it over until the transaction ends.
SELECT {COLUMNS} FROM serve.multiparts WHERE {THIS} AND attempt = %(attempt)s FOR UPDATE
"""
REMOVE: LiteralString = f"DELETE FROM serve.multiparts WHERE {THIS}"

# --- across tenants

OVERDUE: LiteralString = """
SELECT tenant_id, artifact_hash FROM serve.multiparts WHERE due_at <= %(now)s ORDER BY due_at LIMIT %(limit)s
"""
OWNERS: LiteralString = """
SELECT upload_id, tenant_id, artifact_hash FROM serve.multiparts WHERE upload_id = ANY(%(ids)s)
"""


class MultipartStore:
    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id

    async def add(self, artifact_hash: ArtifactHash, key: ObjectKey, plan: PartPlan, due_at: datetime) -> None:
        values = {"key": key, "size_bytes": plan.size_bytes, "part_bytes": plan.part_bytes, "due_at": due_at}
        await self._execute(ADD, artifact_hash, **values)

    async def find(self, artifact_hash: ArtifactHash) -> Multipart | None:
        return await self._one(FIND, artifact_hash)

    async def begun(self, artifact_hash: ArtifactHash, upload: MultipartUpload) -> None:
        await self._execute(BEGUN, artifact_hash, upload_id=upload.id, writer=upload.writer)

    async def postpone(self, artifact_hash: ArtifactHash, due_at: datetime) -> None:
        await self._execute(POSTPONE, artifact_hash, due_at=due_at)

    async def hurry(self, artifact_hash: ArtifactHash, due_at: datetime) -> None:
        await self._execute(HURRY, artifact_hash, due_at=due_at)

    async def claim(self, artifact_hash: ArtifactHash, due_at: datetime, checksums: bytes | None) -> Multipart | None:
        """The checksums stay, for whoever continues after a death."""
        return await self._one(CLAIM, artifact_hash, due_at=due_at, checksums=checksums)

    async def claim_overdue(self, artifact_hash: ArtifactHash, now: datetime, due_at: datetime) -> Multipart | None:
        """None when somebody else was quicker, or its sender came back."""
        return await self._one(CLAIM_OVERDUE, artifact_hash, now=now, due_at=due_at)

    async def hold(self, claim: Multipart) -> bool:
        return await self._one(HOLD, claim.artifact_hash, attempt=claim.attempt) is not None

    async def remove(self, artifact_hash: ArtifactHash) -> None:
        await self._execute(REMOVE, artifact_hash)

    async def _one(self, query: LiteralString, artifact_hash: ArtifactHash, **values: Any) -> Multipart | None:
        named = {"tenant_id": self._tenant_id, "hash": artifact_hash, **values}
        return await fetch_one(self._connection, Multipart, query, **named)

    async def _execute(self, query: LiteralString, artifact_hash: ArtifactHash, **values: Any) -> None:
        await self._connection.execute(query, {"tenant_id": self._tenant_id, "hash": artifact_hash, **values})


async def overdue(connection: AsyncConnection[Any], now: datetime, limit: int) -> Sequence[Due]:
    """Longest overdue first."""
    return await fetch_all(connection, Due, OVERDUE, now=now, limit=limit)


async def owners(connection: AsyncConnection[Any], upload_ids: Sequence[str]) -> dict[str, Due]:
    """Whose the uploads are, by their ids; what is not there is nobody's."""
    found = await fetch_all(connection, Owned, OWNERS, ids=list(upload_ids))
    return {each.upload_id: Due(each.tenant_id, each.artifact_hash) for each in found}
