"""All SQL of purges. Runs across tenants, so every statement names the tenant; only requesting a purge runs inside it.

Invariant: a batch is small; what is deleted stays deleted, and a pass that died is continued by the next one.

All SQL of holdings. It reads across tenants, in the order of the index videos_id; what changes is inside one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from touchline.kernel import TenantId
from touchline.platform.postgres.database import fetch_all, fetch_one
from touchline.process.queue.store import COLUMNS, job_from_columns

# ruff: noqa: S608  only constants are put into the statements


@dataclass(frozen=True, slots=True)
class Purge:
    tenant_id: TenantId
    video_id: UUID
    rows_gone_at: datetime | None
    job_ids: Sequence[UUID]
    objects: int


REQUEST: LiteralString = """
INSERT INTO process.purges (tenant_id, video_id) VALUES (platform.current_tenant(), %(video_id)s) ON CONFLICT DO NOTHING
"""
ACTIVE: LiteralString = f"""
SELECT {COLUMNS} FROM process.jobs
 WHERE tenant_id = (SELECT platform.current_tenant()) AND status IN ('queued', 'processing')
   AND id = ANY (ARRAY(SELECT job_id FROM process.video_jobs
                        WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s))
 ORDER BY id
"""

# --- across tenants

_PURGE: LiteralString = "p.tenant_id, p.video_id, p.rows_gone_at, p.job_ids, p.objects"
CLAIM: LiteralString = f"""
-- Unless it is postponed or finished, it is retried once this attempt must have ended.
UPDATE process.purges AS p SET next_at = now() + %(retry_after)s
  FROM (SELECT tenant_id, video_id FROM process.purges WHERE next_at <= now()
         ORDER BY next_at LIMIT 1 FOR UPDATE SKIP LOCKED) AS due
 WHERE p.tenant_id = due.tenant_id AND p.video_id = due.video_id
RETURNING {_PURGE}
"""
THIS: LiteralString = "tenant_id = %(tenant_id)s AND video_id = %(video_id)s"
NOTE_JOBS: LiteralString = f"""
-- Before their rows are deleted: the keys of their logs are made from these ids.
UPDATE process.purges AS p
   SET job_ids = ARRAY(SELECT unnest(p.job_ids) UNION SELECT v.job_id FROM process.video_jobs AS v
                        WHERE v.tenant_id = p.tenant_id AND v.video_id = p.video_id)
 WHERE p.{THIS}
RETURNING {_PURGE}
"""
# Children before parents. Their own children and search entries are deleted with them.
TABLES: tuple[LiteralString, ...] = (
    "entities",
    "segments",
    "detections",
    "readings",
    "frames",
    "samplings",
    "video_labels",
    "video_texts",
    "video_subjects",
)
_JOBS: LiteralString = f"ANY (ARRAY(SELECT job_id FROM process.video_jobs WHERE {THIS}))"
FORGET_EVENTS: LiteralString = f"DELETE FROM process.job_events WHERE tenant_id = %(tenant_id)s AND job_id = {_JOBS}"
DELETE_CLIPS: LiteralString = """
-- Its own row if it is a clip itself, and the clips of it that nobody registered: the others have purges of their own.
DELETE FROM process.clips
 WHERE tenant_id = %(tenant_id)s AND (clip_id = %(video_id)s OR (video_id = %(video_id)s AND NOT registered))
"""
CLIPS_OF: LiteralString = f"SELECT clip_id FROM process.clips WHERE {THIS}"
DELETE_JOBS: LiteralString = f"DELETE FROM process.jobs WHERE tenant_id = %(tenant_id)s AND id = {_JOBS}"
FORGET_JOBS: LiteralString = f"DELETE FROM process.video_jobs WHERE {THIS}"
DELETE_VIDEO: LiteralString = f"DELETE FROM process.videos WHERE {THIS}"
LOCK_VIDEO: LiteralString = f"SELECT revision FROM process.videos WHERE {THIS} FOR UPDATE"
PUT_OFF: LiteralString = f"""
UPDATE process.purges
   SET rows_gone_at = coalesce(rows_gone_at, now()), objects = objects + %(objects)s, next_at = now() + %(delay)s
 WHERE {THIS}
"""
FINISH: LiteralString = f"DELETE FROM process.purges WHERE {THIS} RETURNING objects"
FORGET_HISTORY: LiteralString = """
-- A batch of the jobs that ended longest ago, after the last one that was visited.
WITH finished AS MATERIALIZED (
  SELECT j.tenant_id, j.id, j.finished_at FROM process.jobs AS j, process.forgotten_history AS f
   WHERE j.finished_at >= f.until_time AND j.finished_at < now() - %(kept)s
     AND (j.finished_at, j.id) > (f.until_time, f.until_job)
   ORDER BY j.finished_at, j.id
   LIMIT %(most)s
), forgotten AS (
  DELETE FROM process.job_events AS e USING finished AS d WHERE e.tenant_id = d.tenant_id AND e.job_id = d.id
), moved AS (
  UPDATE process.forgotten_history SET until_time = d.finished_at, until_job = d.id
    FROM (SELECT finished_at, id FROM finished ORDER BY finished_at DESC, id DESC LIMIT 1) AS d
)
SELECT count(*) FROM finished
"""


def delete_some(table: LiteralString) -> LiteralString:
    return f"""
DELETE FROM process.{table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM process.{table} WHERE {THIS} LIMIT %(most)s))
"""


class PurgeStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def request(self, video_id: UUID) -> None:
        await self._connection.execute(REQUEST, {"video_id": video_id})

    async def active_jobs(self, video_id: UUID) -> list[UUID]:
        found = await fetch_all(self._connection, job_from_columns, ACTIVE, video_id=video_id)
        return [each.id for each in found]

    async def claim(self, retry_after: timedelta) -> Purge | None:
        return await fetch_one(self._connection, Purge, CLAIM, retry_after=retry_after)

    async def note_jobs(self, purge: Purge) -> Purge:
        noted = await fetch_one(self._connection, Purge, NOTE_JOBS, **_key_of(purge))
        return noted or purge

    async def delete_some(self, purge: Purge, table: LiteralString, most: int) -> int:
        """Returns how many were deleted, at most `most`."""
        cursor = await self._connection.execute(delete_some(table), {**_key_of(purge), "most": most})
        return cursor.rowcount

    async def delete_rest(self, purge: Purge) -> None:
        """The video is locked: whoever wants to add a job waits, and then finds no video."""
        for statement in (LOCK_VIDEO, DELETE_CLIPS, FORGET_EVENTS, DELETE_JOBS, FORGET_JOBS, DELETE_VIDEO):
            await self._connection.execute(statement, _key_of(purge))

    async def clips_of(self, purge: Purge) -> list[UUID]:
        """The clips of it that live on."""
        cursor = await self._connection.execute(CLIPS_OF, _key_of(purge))
        return [clip_id for (clip_id,) in await cursor.fetchall()]

    async def postpone(self, purge: Purge, objects: int, delay: timedelta) -> None:
        await self._connection.execute(PUT_OFF, {**_key_of(purge), "objects": objects, "delay": delay})

    async def finish(self, purge: Purge) -> int | None:
        """Returns how many objects there were; None if another process finished it."""
        row = await (await self._connection.execute(FINISH, _key_of(purge))).fetchone()
        return row[0] if row else None

    async def delete_history(self, kept: timedelta, most: int) -> int:
        """Returns how many jobs were visited."""
        cursor = await self._connection.execute(FORGET_HISTORY, {"kept": kept, "most": most})
        [(count,)] = await cursor.fetchall()
        return count


def _key_of(purge: Purge) -> dict[str, Any]:
    return {"tenant_id": purge.tenant_id, "video_id": purge.video_id}


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
