"""All SQL of `process.clips`, inside the tenant."""

from __future__ import annotations

from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from touchline.platform.postgres.database import Transaction
from touchline.process.queue.jobs import Job
from touchline.process.queue.store import JobStore

from .rules import CutClip

ADD: LiteralString = """
INSERT INTO process.clips (tenant_id, clip_id, video_id, job_id, registered)
VALUES (platform.current_tenant(), %(clip_id)s, %(video_id)s, %(job_id)s, true)
"""
KNOWN: LiteralString = """
SELECT job_id FROM process.clips
 WHERE tenant_id = (SELECT platform.current_tenant()) AND clip_id = %(clip_id)s
"""
MADE: LiteralString = """
-- A job that was enqueued by hand has no row yet.
INSERT INTO process.clips AS c (tenant_id, clip_id, video_id, job_id, s3_clip_path, size_bytes, cut_start_ms,
                                cut_end_ms, frames, method)
VALUES (platform.current_tenant(), %(clip_id)s, %(video_id)s, %(job_id)s, %(s3_clip_path)s, %(size_bytes)s,
        %(cut_start_ms)s, %(cut_end_ms)s, %(frames)s, %(method)s)
ON CONFLICT (tenant_id, clip_id) DO UPDATE
   SET job_id = excluded.job_id, s3_clip_path = excluded.s3_clip_path, size_bytes = excluded.size_bytes,
       cut_start_ms = excluded.cut_start_ms, cut_end_ms = excluded.cut_end_ms, frames = excluded.frames,
       method = excluded.method, revision = c.revision + 1
RETURNING revision
"""
LIVES: LiteralString = """
SELECT deleted_at IS NULL FROM process.videos
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
"""


class ClipStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def add(self, clip_id: UUID, video_id: UUID, job_id: UUID) -> None:
        await self._connection.execute(ADD, {"clip_id": clip_id, "video_id": video_id, "job_id": job_id})

    async def job_of(self, clip_id: UUID) -> UUID | None:
        """None if the clip was never requested."""
        return next(iter(await self._column(KNOWN, clip_id=clip_id)), None)

    async def made(self, clip_id: UUID, video_id: UUID, job_id: UUID, made: CutClip) -> int:
        """Returns the revision."""
        [revision] = await self._column(
            MADE,
            clip_id=clip_id,
            video_id=video_id,
            job_id=job_id,
            s3_clip_path=made.s3_clip_path,
            size_bytes=made.size_bytes,
            cut_start_ms=made.cut.start_ms,
            cut_end_ms=made.cut.end_ms,
            frames=made.cut.frames,
            method=made.cut.method,
        )
        return revision

    async def has_source(self, video_id: UUID) -> bool:
        """False if it was deleted or is unknown."""
        return any(await self._column(LIVES, video_id=video_id))

    async def _column(self, query: LiteralString, **values: Any) -> list[Any]:
        return [row[0] for row in await (await self._connection.execute(query, values)).fetchall()]


async def job_of_clip(transaction: Transaction, clip_id: UUID) -> Job | None:
    """The job that cuts it; None if this is no clip."""
    job_id = await ClipStore(transaction.connection).job_of(clip_id)
    return await JobStore(transaction.connection).find(job_id) if job_id else None
