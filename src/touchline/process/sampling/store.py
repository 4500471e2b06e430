"""All SQL of `process.samplings` and `process.frames`. Runs inside the tenant.

Invariant: a video has the frames of one sampling, all of them or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import class_row

from .rules import Sampling

FORGET: LiteralString = """
DELETE FROM process.samplings WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
"""
ADD: LiteralString = """
INSERT INTO process.samplings (tenant_id, video_id, attempt, every_ms, width, height, duration_ms, frames)
VALUES (platform.current_tenant(), %(video_id)s, %(attempt)s, %(every_ms)s, %(width)s, %(height)s, %(duration_ms)s,
        %(frames)s)
"""
ADD_FRAMES: LiteralString = """
INSERT INTO process.frames (tenant_id, video_id, timestamp_ms, attempt)
SELECT platform.current_tenant(), %(video_id)s, timestamp_ms, %(attempt)s
  FROM unnest(%(times)s::bigint[]) AS taken (timestamp_ms)
"""
FIND: LiteralString = """
SELECT attempt, every_ms, width, height, duration_ms, frames FROM process.samplings
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
"""
TIMES: LiteralString = """
SELECT timestamp_ms FROM process.frames
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
   AND (%(paths)s::text[] IS NULL OR s3_path = ANY (%(paths)s::text[]))
 ORDER BY timestamp_ms
"""


class FrameStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def replace(self, video_id: UUID, sampling: Sampling, times: Sequence[int]) -> None:
        await self._connection.execute(FORGET, {"video_id": video_id})
        await self._connection.execute(ADD, {"video_id": video_id, **asdict(sampling)})
        values = {"video_id": video_id, "attempt": sampling.attempt, "times": list(times)}
        await self._connection.execute(ADD_FRAMES, values)

    async def find(self, video_id: UUID) -> Sampling | None:
        async with self._connection.cursor(row_factory=class_row(Sampling)) as cursor:
            return await (await cursor.execute(FIND, {"video_id": video_id})).fetchone()

    async def times(self, video_id: UUID, paths: Sequence[str] | None = None) -> list[int]:
        """Of all frames, or of those with these paths, in order."""
        values = {"video_id": video_id, "paths": paths and list(paths)}
        return [time for (time,) in await (await self._connection.execute(TIMES, values)).fetchall()]
