"""Reads about storage for the gateway: sums by tier, and one page of artifacts of any kind with their times.

Invariant: a page of any size is two statements, inside the tenant; only operators see all tenants, as sums. Sizes are
those of originals and of the files of clips; what is made of them is not counted.
"""

# ruff: noqa: S608  what is put into the statements are constant conditions

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import LiteralString

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import StorageLocation, StorageTransfer, storage_location
from touchline.kernel import ArtifactHash, Forbidden, Principal, Role, TenantId
from touchline.platform.postgres.database import Database, fetch_all

LOCATION: LiteralString = """
  CASE WHEN a.status = 'deleted' THEN 'deleted' WHEN a.transfer = 'freeze' THEN 'freezing'
       WHEN a.transfer = 'defrost' THEN 'defrosting' WHEN a.local_copies > 0 THEN 'local'
       WHEN a.synced THEN 's3' ELSE 'pending' END"""
HOLDS_BYTES: LiteralString = "a.purged_at IS NULL AND (a.synced OR a.local_copies > 0 OR a.status <> 'failed')"
TIERS: LiteralString = f"""
SELECT a.artifact_type, {LOCATION} AS location, count(*) AS artifacts,
       coalesce(sum(a.size_bytes), 0)::bigint AS size_bytes
  FROM serve.artifacts AS a
 WHERE a.tenant_id = %(tenant_id)s AND {HOLDS_BYTES}
 GROUP BY 1, 2
 ORDER BY 2, 1
"""
TENANTS: LiteralString = f"""
SELECT a.tenant_id, count(*) AS artifacts, coalesce(sum(a.size_bytes), 0)::bigint AS size_bytes,
       coalesce(sum(a.size_bytes) FILTER (WHERE a.local_copies > 0 AND a.status <> 'deleted'), 0)::bigint
         AS local_bytes,
       coalesce(sum(a.size_bytes) FILTER (WHERE a.status = 'deleted'), 0)::bigint AS deleted_bytes
  FROM serve.artifacts AS a
 WHERE {HOLDS_BYTES}
 GROUP BY 1
 ORDER BY 3 DESC, 1
 LIMIT %(limit)s
"""
CHOSEN: LiteralString = f"""
  FROM serve.artifacts AS a
  JOIN serve.identities AS i ON i.tenant_id = a.tenant_id AND i.artifact_hash = a.artifact_hash
  LEFT JOIN serve.uploads AS u ON u.tenant_id = a.tenant_id AND u.artifact_hash = a.artifact_hash
  LEFT JOIN serve.clips AS c ON c.tenant_id = a.tenant_id AND c.artifact_hash = a.artifact_hash
  LEFT JOIN serve.dvr_recordings AS r ON r.tenant_id = a.tenant_id AND r.artifact_hash = a.artifact_hash
 WHERE a.tenant_id = %(tenant_id)s AND {HOLDS_BYTES}
   AND (%(locations)s::text[] IS NULL OR {LOCATION} = ANY (%(locations)s::text[]))
   AND (%(pinned)s::boolean IS NULL OR a.pinned = %(pinned)s::boolean)
   AND (%(hash)s::text IS NULL OR a.artifact_hash = %(hash)s::text)"""
COLUMNS: LiteralString = """
SELECT a.artifact_hash, a.artifact_type, i.playback_id, coalesce(u.title, c.title, r.title, '') AS title, a.status,
       a.size_bytes, a.synced, a.local_copies, a.transfer, a.pinned, a.created_at, a.retention_until, a.deleted_at,
       a.purge_due_at, a.original_missing_since, a.revision"""
COUNT: LiteralString = f"SELECT count(*) AS total {CHOSEN}"


def require_operator(caller: Principal) -> None:
    if not caller.role.includes(Role.OPERATOR):
        raise Forbidden("only an operator may do this", why="it shows the whole installation")


class StorageOrder(StrEnum):
    ENDING = "ending"  # what goes first, first
    LARGEST = "largest"


# Each with the rows in one order, without a tie. What never goes comes last; a pin holds nothing that was deleted.
ENDS: LiteralString = """
  CASE WHEN a.pinned AND a.deleted_at IS NULL THEN 'infinity'::timestamptz
       ELSE coalesce(a.deleted_at + %(purge_after)s, a.retention_until, 'infinity'::timestamptz) END"""
PAGES: dict[StorageOrder, LiteralString] = {
    StorageOrder.ENDING: f"""{COLUMNS} {CHOSEN}
   AND (%(after)s::text IS NULL OR ({ENDS}, a.artifact_hash) > (
         SELECT {ENDS}, a.artifact_hash FROM serve.artifacts AS a
          WHERE a.tenant_id = %(tenant_id)s AND a.artifact_hash = %(after)s::text))
 ORDER BY {ENDS}, a.artifact_hash
 LIMIT %(limit)s""",
    StorageOrder.LARGEST: f"""{COLUMNS} {CHOSEN}
   AND (%(after)s::text IS NULL OR (-coalesce(a.size_bytes, 0), a.artifact_hash) > (
         SELECT -coalesce(a.size_bytes, 0), a.artifact_hash FROM serve.artifacts AS a
          WHERE a.tenant_id = %(tenant_id)s AND a.artifact_hash = %(after)s::text))
 ORDER BY -coalesce(a.size_bytes, 0), a.artifact_hash
 LIMIT %(limit)s""",
}
MOST_TENANTS = 500


@dataclass(frozen=True, slots=True)
class Tier:
    artifact_type: str
    location: str
    artifacts: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class TenantBytes:
    tenant_id: TenantId
    artifacts: int
    size_bytes: int
    local_bytes: int
    deleted_bytes: int


@dataclass(frozen=True, slots=True)
class Stored:
    """One artifact that holds bytes."""

    artifact_hash: ArtifactHash
    artifact_type: str
    playback_id: str
    title: str
    status: str
    size_bytes: int | None
    synced: bool
    local_copies: int
    transfer: str | None
    pinned: bool
    created_at: datetime
    retention_until: datetime | None
    deleted_at: datetime | None
    purge_due_at: datetime | None
    original_missing_since: datetime | None
    revision: int

    @property
    def location(self) -> StorageLocation | None:
        transfer = StorageTransfer(self.transfer) if self.transfer else None
        return storage_location(self.synced, self.local_copies, transfer)

    @property
    def can_come_back(self) -> bool:
        """The undelete itself decides; this is what shows."""
        return self.status == ArtifactStatus.DELETED and self.purge_due_at is None and self.synced


@dataclass(frozen=True, slots=True)
class StorageFilter:
    locations: Sequence[str] | None = None
    pinned: bool | None = None
    artifact_hash: str | None = None


@dataclass(frozen=True, slots=True)
class StoredPage:
    stored: Sequence[Stored]
    more: bool


@dataclass(frozen=True, slots=True)
class StorageReads:
    database: Database
    purge_after: timedelta

    async def tiers(self, caller: Principal) -> Sequence[Tier]:
        async with self.database.transaction(caller) as transaction:
            return await fetch_all(transaction.connection, Tier, TIERS, tenant_id=caller.tenant_id)

    async def page(
        self, caller: Principal, wanted: StorageFilter, order: StorageOrder, size: int, after: str | None
    ) -> StoredPage:
        """Behind the row of an artifact that is there; of one that is gone meanwhile there is no more."""
        values = self._values(caller, wanted) | {"after": after, "limit": size + 1}
        async with self.database.transaction(caller) as transaction:
            found = await fetch_all(transaction.connection, Stored, PAGES[order], **values)
        return StoredPage(found[:size], len(found) > size)

    async def count(self, caller: Principal, wanted: StorageFilter) -> int:
        async with self.database.transaction(caller) as transaction:
            cursor = await transaction.connection.execute(COUNT, self._values(caller, wanted))
            [(total,)] = await cursor.fetchall()
            return total

    async def tenants(self, caller: Principal) -> Sequence[TenantBytes]:
        """For operators: of all tenants, the largest first."""
        require_operator(caller)
        async with self.database.system("show the storage of all tenants") as transaction:
            return await fetch_all(transaction.connection, TenantBytes, TENANTS, limit=MOST_TENANTS)

    def _values(self, caller: Principal, wanted: StorageFilter) -> dict[str, object]:
        return {
            "tenant_id": caller.tenant_id,
            "locations": None if wanted.locations is None else list(wanted.locations),
            "pinned": wanted.pinned,
            "hash": wanted.artifact_hash,
            "purge_after": self.purge_after,
        }
