"""All SQL of `process.readings` and `process.detections`. Runs inside the tenant.

Invariant: the detections of a video are those of one reading, whole chunks up to `read_until_ms`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import class_row

from touchline.media.engines.model import Box
from touchline.process.segments.rules import Detection

from .rules import OcrChunk, OcrReading, OcrRequest, TextRun

FORGET_OTHERS: LiteralString = """
DELETE FROM process.readings
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
   AND (request, sampling) <> (%(digest)s, %(sampling)s)
"""
BEGIN: LiteralString = """
INSERT INTO process.readings AS known (tenant_id, video_id, request, sampling, paths)
VALUES (platform.current_tenant(), %(video_id)s, %(digest)s, %(sampling)s, %(paths)s::text[])
ON CONFLICT (tenant_id, video_id) DO UPDATE SET is_complete = false, revision = known.revision + 1
RETURNING sampling, read_until_ms, is_complete, revision, paths
"""
FIND: LiteralString = """
SELECT sampling, read_until_ms, is_complete, revision, paths FROM process.readings
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
"""
FIND_LOCKED: LiteralString = f"{FIND} FOR UPDATE"
READ_UNTIL: LiteralString = """
-- Only while these are the frames of the video: it may have been sampled again.
UPDATE process.readings AS r
   SET read_until_ms = greatest(read_until_ms, %(until_ms)s), is_complete = %(is_complete)s, revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s AND sampling = %(sampling)s
   AND EXISTS (SELECT 1 FROM process.samplings AS s
                WHERE s.tenant_id = r.tenant_id AND s.video_id = r.video_id AND s.attempt = r.sampling)
"""
FORGET_CHUNK: LiteralString = """
DELETE FROM process.detections
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s AND chunk_ms = %(chunk_ms)s
"""
ADD_CHUNK: LiteralString = """
INSERT INTO process.detections (tenant_id, video_id, chunk_ms, number, timestamp_ms, until_ms, text, confidence,
                                language, x, y, width, height)
SELECT platform.current_tenant(), %(video_id)s, %(chunk_ms)s, number, first_ms, last_ms, text, confidence, language,
       x, y, width, height
  FROM unnest(%(first_ms)s::bigint[], %(last_ms)s::bigint[], %(text)s::text[], %(confidence)s::real[],
              %(language)s::text[], %(x)s::int[], %(y)s::int[], %(width)s::int[], %(height)s::int[])
       WITH ORDINALITY AS seen (first_ms, last_ms, text, confidence, language, x, y, width, height, number)
"""
RUNS: LiteralString = """
SELECT timestamp_ms, until_ms, text, confidence, language, x, y, width, height FROM process.detections
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
 ORDER BY chunk_ms, number
"""


@dataclass(frozen=True, slots=True)
class ReadingStore:
    connection: AsyncConnection[Any]

    async def begin(self, video_id: UUID, request: OcrRequest) -> OcrReading:
        """Continues where an earlier attempt of the same request was; otherwise nothing is read yet."""
        values = {"video_id": video_id, **asdict(request)}
        await self.connection.execute(FORGET_OTHERS, values)
        [reading] = await self._readings(BEGIN, **values)
        return reading

    async def find(self, video_id: UUID) -> OcrReading | None:
        return next(iter(await self._readings(FIND, video_id=video_id)), None)

    async def find_locked(self, video_id: UUID) -> OcrReading | None:
        """Locks the reading: nobody continues it until the transaction ends."""
        return next(iter(await self._readings(FIND_LOCKED, video_id=video_id)), None)

    async def add(self, video_id: UUID, sampling: int, chunk: OcrChunk) -> bool:
        """False if the video was sampled again meanwhile."""
        if not await self._read_until(video_id, sampling, chunk.until_ms, is_complete=False):
            return False
        place = {"video_id": video_id, "chunk_ms": chunk.start_ms}
        await self.connection.execute(FORGET_CHUNK, place)
        await self.connection.execute(ADD_CHUNK, place | _columns(chunk.runs))
        return True

    async def complete(self, video_id: UUID, sampling: int) -> bool:
        return await self._read_until(video_id, sampling, -1, is_complete=True)

    async def runs(self, video_id: UUID) -> list[TextRun]:
        rows = await (await self.connection.execute(RUNS, {"video_id": video_id})).fetchall()
        return [
            TextRun(first_ms, last_ms, Detection(text, Box(*box), confidence, language))
            for first_ms, last_ms, text, confidence, language, *box in rows
        ]

    async def _read_until(self, video_id: UUID, sampling: int, until_ms: int, *, is_complete: bool) -> bool:
        values = {"video_id": video_id, "sampling": sampling, "until_ms": until_ms, "is_complete": is_complete}
        return (await self.connection.execute(READ_UNTIL, values)).rowcount == 1

    async def _readings(self, query: LiteralString, **values: Any) -> Sequence[OcrReading]:
        async with self.connection.cursor(row_factory=class_row(OcrReading)) as cursor:
            return await (await cursor.execute(query, values)).fetchall()


def _columns(runs: Sequence[TextRun]) -> dict[str, list[Any]]:
    seen = [run.detection for run in runs]
    return {
        "first_ms": [run.first_ms for run in runs],
        "last_ms": [run.last_ms for run in runs],
        "text": [each.text for each in seen],
        "confidence": [each.confidence for each in seen],
        "language": [each.language for each in seen],
        "x": [each.box.x for each in seen],
        "y": [each.box.y for each in seen],
        "width": [each.box.width for each in seen],
        "height": [each.box.height for each in seen],
    }
