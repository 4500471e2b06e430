"""All SQL of holdings. It reads across tenants, in the order of the index videos_id; what changes is inside one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from touchline.kernel import TenantId
from touchline.platform.postgres.database import fetch_all

BETWEEN: LiteralString = """
SELECT v.tenant_id, v.video_id, v.s3_proxy_path, v.s3_thumb_path, v.s3_storyboard_path, v.original_digest,
       v.pointers_written, v.deleted_at IS NOT NULL AS is_deleted, v.updated_at,
       EXISTS (SELECT FROM process.video_jobs AS o
                 JOIN process.jobs AS j ON j.tenant_id = o.tenant_id AND j.id = o.job_id
                WHERE o.tenant_id = v.tenant_id AND o.video_id = v.video_id AND j.status IN ('queued', 'processing'))
         AS is_worked_on
  FROM process.videos AS v
 WHERE v.video_id > %(after)s AND v.video_id <= %(until)s
 ORDER BY v.video_id
"""
FRAMES: LiteralString = """
SELECT f.video_id, f.s3_path
  FROM unnest(%(tenants)s::uuid[], %(videos)s::uuid[]) AS wanted (tenant_id, video_id)
  JOIN process.frames AS f ON f.tenant_id = wanted.tenant_id AND f.video_id = wanted.video_id
"""
FORGET_POINTERS: LiteralString = """
UPDATE process.videos SET pointers_written = false, updated_at = now(), revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s AND pointers_written
   AND s3_proxy_path IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class HeldVideo:
    tenant_id: TenantId
    video_id: UUID
    s3_proxy_path: str | None
    s3_thumb_path: str | None
    s3_storyboard_path: str | None
    original_digest: str | None
    pointers_written: bool
    is_deleted: bool
    updated_at: datetime
    is_worked_on: bool


class HoldingStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def between(self, after: UUID, until: UUID) -> Sequence[HeldVideo]:
        return await fetch_all(self._connection, HeldVideo, BETWEEN, after=after, until=until)

    async def frames(self, videos: Sequence[HeldVideo]) -> dict[UUID, list[str]]:
        wanted = {"tenants": [each.tenant_id for each in videos], "videos": [each.video_id for each in videos]}
        found: dict[UUID, list[str]] = {}
        for video_id, key in await (await self._connection.execute(FRAMES, wanted)).fetchall():
            found.setdefault(video_id, []).append(key)
        return found

    async def forget_pointers(self, video_id: UUID) -> None:
        await self._connection.execute(FORGET_POINTERS, {"video_id": video_id})
