"""All SQL of share links, inside one tenant but for the lookup by a token's hash."""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from touchline.contracts.playback import ShareLink
from touchline.kernel import ArtifactHash, TenantId, UserId
from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one

COLUMNS: LiteralString = "id, artifact_hash, created_by, created_at, expires_at, revoked_at, revision"

ADD: LiteralString = f"""
INSERT INTO serve.share_links (tenant_id, id, artifact_hash, token_hash, created_by, created_at, expires_at)
VALUES (%(tenant_id)s, %(id)s, %(hash)s, %(token_hash)s, %(created_by)s, %(now)s, %(expires_at)s)
RETURNING {COLUMNS}
"""
GET: LiteralString = f"SELECT {COLUMNS} FROM serve.share_links WHERE tenant_id = %(tenant_id)s AND id = %(id)s"
OF_ARTIFACT: LiteralString = f"""
SELECT {COLUMNS} FROM serve.share_links
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s
 ORDER BY id DESC LIMIT %(limit)s
"""
COUNT_VALID: LiteralString = """
SELECT count(*) AS value FROM serve.share_links
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s AND revoked_at IS NULL AND expires_at > %(now)s
"""
REVOKE: LiteralString = f"""
UPDATE serve.share_links SET revoked_at = %(now)s, revision = revision + 1
 WHERE tenant_id = %(tenant_id)s AND id = %(id)s AND revoked_at IS NULL
RETURNING {COLUMNS}
"""

# --- across tenants

FIND: LiteralString = "SELECT tenant_id, id FROM serve.find_share_link(%(token_hash)s)"


@dataclass(frozen=True, slots=True)
class FoundLink:
    tenant_id: TenantId
    id: UUID


@dataclass(frozen=True, slots=True)
class NewShareLink:
    id: UUID
    artifact_hash: ArtifactHash
    token_hash: bytes
    created_by: UserId
    expires_at: datetime


class ShareLinkStore:
    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id

    async def add(self, new: NewShareLink, now: datetime) -> ShareLink:
        values = {"id": new.id, "hash": new.artifact_hash, "token_hash": new.token_hash}
        values |= {"created_by": new.created_by, "expires_at": new.expires_at, "now": now}
        [added] = await fetch_all(self._connection, ShareLink, ADD, tenant_id=self._tenant_id, **values)
        return added

    async def get(self, link_id: UUID) -> ShareLink | None:
        return await fetch_one(self._connection, ShareLink, GET, tenant_id=self._tenant_id, id=link_id)

    async def of_artifact(self, artifact_hash: ArtifactHash, limit: int) -> Sequence[ShareLink]:
        """Newest first."""
        values = {"tenant_id": self._tenant_id, "hash": artifact_hash, "limit": limit}
        return await fetch_all(self._connection, ShareLink, OF_ARTIFACT, **values)

    async def count_valid(self, artifact_hash: ArtifactHash, now: datetime) -> int:
        values = {"tenant_id": self._tenant_id, "hash": artifact_hash, "now": now}
        [count] = await fetch_all(self._connection, _value, COUNT_VALID, **values)
        return count

    async def revoke(self, link_id: UUID, now: datetime) -> ShareLink | None:
        """None when it was revoked before, or never was."""
        return await fetch_one(self._connection, ShareLink, REVOKE, tenant_id=self._tenant_id, id=link_id, now=now)


async def find_share_link(connection: AsyncConnection[Any], token_hash: bytes) -> FoundLink | None:
    return await fetch_one(connection, FoundLink, FIND, token_hash=token_hash)


def _value(*, value: int) -> int:
    return value
