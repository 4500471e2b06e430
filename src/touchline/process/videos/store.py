"""All SQL of `process.videos`. Runs inside the tenant, except for the search for fixed keys that nobody has written.

Invariant: every change raises `revision`, which the video's events carry.
"""

# ruff: noqa: S608  only constants are put into the statements

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import class_row

from touchline.kernel import TenantId


@dataclass(frozen=True, slots=True)
class NewVideo:
    video_id: UUID
    owner_id: UUID | None
    s3_original_path: str
    size_bytes: int
    content_type: str


@dataclass(frozen=True, slots=True)
class VideoRendition:
    """What the winning attempt has made: the keys of it, and what it measured."""

    s3_proxy_path: str
    s3_thumb_path: str
    duration_ms: int
    width: int
    height: int
    s3_storyboard_path: str | None = None  # comes last
    original_digest: str | None = None  # of the file that it was made from; comes last, too


@dataclass(frozen=True, slots=True)
class Pointers:
    """The objects that the fixed keys of a video must show."""

    tenant_id: TenantId
    video_id: UUID
    s3_proxy_path: str
    s3_thumb_path: str


ADD: LiteralString = """
INSERT INTO process.videos (tenant_id, video_id, owner_id, s3_original_path, size_bytes, content_type)
VALUES (platform.current_tenant(), %(video_id)s, %(owner_id)s, %(s3_original_path)s, %(size_bytes)s, %(content_type)s)
ON CONFLICT (tenant_id, video_id) DO NOTHING
"""
RAISE_REVISION: LiteralString = """
-- For events about a video whose state is stored elsewhere: the progress of its jobs.
UPDATE process.videos SET revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
RETURNING revision
"""
TRANSCODED: LiteralString = """
-- A video that was searchable already stays so.
UPDATE process.videos
   SET status = CASE status WHEN 'ready' THEN 'ready' ELSE 'playable' END,
       s3_proxy_path = %(s3_proxy_path)s, s3_thumb_path = %(s3_thumb_path)s,
       duration_ms = %(duration_ms)s, width = %(width)s, height = %(height)s,
       s3_storyboard_path = %(s3_storyboard_path)s,
       original_digest = coalesce(%(original_digest)s, original_digest),
       pointers_written = false, updated_at = now(), revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
RETURNING revision
"""
INDEXED: LiteralString = """
UPDATE process.videos SET status = 'ready', updated_at = now(), revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
RETURNING revision
"""
FAILED: LiteralString = """
UPDATE process.videos
   SET status = CASE status WHEN 'ready' THEN 'ready' ELSE 'failed' END, updated_at = now(), revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
RETURNING revision
"""
RETRIED: LiteralString = """
-- Back to what it was before it failed.
UPDATE process.videos
   SET status = CASE WHEN status <> 'failed' THEN status WHEN s3_proxy_path IS NULL THEN 'uploaded' ELSE 'playable' END,
       updated_at = now(), revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
RETURNING revision
"""
IS_DELETED: LiteralString = """
SELECT deleted_at IS NOT NULL FROM process.videos
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
"""
ORIGINAL_DIGEST: LiteralString = """
SELECT original_digest FROM process.videos
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
"""
ORIGINAL_MISSING: LiteralString = """
UPDATE process.videos SET original_missing_since = %(since)s, updated_at = now(), revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
   AND original_missing_since IS DISTINCT FROM %(since)s
"""

_POINTERS: LiteralString = "tenant_id, video_id, s3_proxy_path, s3_thumb_path"

POINTERS: LiteralString = f"""
SELECT {_POINTERS} FROM process.videos
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s AND NOT pointers_written
"""
POINTERS_WRITTEN: LiteralString = """
-- Only if they are still current: a newer attempt may have won meanwhile.
UPDATE process.videos SET pointers_written = true, revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s AND s3_proxy_path = %(s3_proxy_path)s
"""
UNWRITTEN: LiteralString = f"""
-- Of all tenants: the worker that should have written them has died, or is about to write them.
SELECT {_POINTERS} FROM process.videos
 WHERE NOT pointers_written AND updated_at < now() - %(age)s
 ORDER BY updated_at
 LIMIT %(limit)s
"""


class VideoStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def add(self, video: NewVideo) -> bool:
        """False if it exists already."""
        return (await self._connection.execute(ADD, asdict(video))).rowcount == 1

    async def raise_revision(self, video_id: UUID) -> int:
        return await self._revision(RAISE_REVISION, video_id=video_id)

    async def transcoded(self, video_id: UUID, rendition: VideoRendition) -> int:
        return await self._revision(TRANSCODED, video_id=video_id, **asdict(rendition))

    async def indexed(self, video_id: UUID) -> int:
        return await self._revision(INDEXED, video_id=video_id)

    async def failed(self, video_id: UUID) -> int:
        return await self._revision(FAILED, video_id=video_id)

    async def retried(self, video_id: UUID) -> int:
        return await self._revision(RETRIED, video_id=video_id)

    async def is_deleted(self, video_id: UUID) -> bool:
        row = await (await self._connection.execute(IS_DELETED, {"video_id": video_id})).fetchone()
        return bool(row and row[0])

    async def original_digest(self, video_id: UUID) -> str | None:
        """None if it is unknown what the video was made from."""
        row = await (await self._connection.execute(ORIGINAL_DIGEST, {"video_id": video_id})).fetchone()
        return row[0] if row else None

    async def original_missing(self, video_id: UUID, since: datetime | None) -> None:
        """None: the original is not missing."""
        await self._connection.execute(ORIGINAL_MISSING, {"video_id": video_id, "since": since})

    async def pointers(self, video_id: UUID) -> Pointers | None:
        """None if the fixed keys are up to date."""
        async with self._connection.cursor(row_factory=class_row(Pointers)) as cursor:
            return await (await cursor.execute(POINTERS, {"video_id": video_id})).fetchone()

    async def pointers_written(self, pointers: Pointers) -> None:
        values = {"video_id": pointers.video_id, "s3_proxy_path": pointers.s3_proxy_path}
        await self._connection.execute(POINTERS_WRITTEN, values)

    async def unwritten_pointers(self, age: timedelta, limit: int) -> Sequence[Pointers]:
        async with self._connection.cursor(row_factory=class_row(Pointers)) as cursor:
            return await (await cursor.execute(UNWRITTEN, {"age": age, "limit": limit})).fetchall()

    async def _revision(self, statement: LiteralString, **values: Any) -> int:
        """The video of a job always exists: a foreign key ensures it."""
        [(revision,)] = await (await self._connection.execute(statement, values)).fetchall()
        return revision
