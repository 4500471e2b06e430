"""All SQL of downloads: found videos on their way, batches that are handed over, attempts that have ended.

Invariant: a row is changed only while its goal lives and nobody has archived it; who writes twice writes the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from touchline.watch.model import FeedMinute, FoundRef, GoalMinutes, GoalRef

from .rules import Ending, FileFacts, FoundFile
from .workflow import WantedVideo

LIVING: LiteralString = "SELECT event_id, generation FROM watch.living_goal(%(event_id)s, %(generation)s)"
FIND: LiteralString = """
SELECT url, state, why, tries, last_try, incoming_key, md5, size_bytes, duration_ms, width, height, bit_rate, verified,
       fingerprint
  FROM watch.found
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND post_id = %(post_id)s AND video_index = %(video_index)s
"""
MINUTES: LiteralString = """
-- The goal first, then the others of its match.
SELECT g.minute, g.extra
  FROM watch.goals AS g
 WHERE g.tenant_id = (SELECT platform.current_tenant()) AND g.fixture_id = %(fixture_id)s
   AND ((g.event_id, g.generation) = (%(event_id)s, %(generation)s) OR g.removed_at IS NULL)
 ORDER BY (g.event_id, g.generation) = (%(event_id)s, %(generation)s) DESC, g.event_id
"""
DOWNLOADED: LiteralString = """
UPDATE watch.found
   SET state = 'downloaded', why = NULL, retry_at = NULL, last_try = %(run_id)s, incoming_key = %(incoming_key)s,
       md5 = %(md5)s, size_bytes = %(size_bytes)s, duration_ms = %(duration_ms)s, width = %(width)s,
       height = %(height)s, bit_rate = %(bit_rate)s, verified = NULL, validated_at = NULL, validation = NULL,
       fingerprint = NULL
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND post_id = %(post_id)s AND video_index = %(video_index)s AND artifact_hash IS NULL
"""
ENDED: LiteralString = """
UPDATE watch.found
   SET state = %(state)s, why = %(why)s, retry_at = %(retry_at)s, last_try = %(run_id)s
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND post_id = %(post_id)s AND video_index = %(video_index)s AND artifact_hash IS NULL
"""
SHARED: LiteralString = """
UPDATE watch.found
   SET incoming_key = %(incoming_key)s
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND post_id = %(post_id)s AND video_index = %(video_index)s AND state = 'downloaded' AND artifact_hash IS NULL
"""
JUDGED: LiteralString = """
UPDATE watch.found
   SET validated_at = %(now)s, validation = %(validation)s, verified = %(verified)s,
       state = CASE WHEN %(rejected)s::text IS NULL THEN state ELSE 'rejected' END,
       why = coalesce(%(rejected)s::text, why)
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND post_id = %(post_id)s AND video_index = %(video_index)s AND state = 'downloaded' AND artifact_hash IS NULL
"""
FINGERPRINTED: LiteralString = """
UPDATE watch.found
   SET fingerprint = %(fingerprint)s
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND post_id = %(post_id)s AND video_index = %(video_index)s AND state = 'downloaded'
"""
GIVEN_UP: LiteralString = """
UPDATE watch.found
   SET state = %(state)s, why = %(why)s, retry_at = %(retry_at)s
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND post_id = %(post_id)s AND video_index = %(video_index)s AND state IN ('selected', 'downloaded')
   AND artifact_hash IS NULL
"""
LEFT_OVER: LiteralString = """
-- Files of videos that are not going to be archived.
SELECT incoming_key FROM watch.found
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND incoming_key IS NOT NULL AND state IN ('rejected', 'failed')
"""
NEEDED: LiteralString = """
SELECT incoming_key FROM watch.found
 WHERE tenant_id = (SELECT platform.current_tenant()) AND incoming_key = ANY(%(keys)s)
   AND state NOT IN ('rejected', 'failed')
"""
FORGET: LiteralString = """
UPDATE watch.found SET incoming_key = NULL
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND incoming_key = ANY(%(keys)s) AND state IN ('rejected', 'failed')
"""
ADD_BATCH: LiteralString = """
INSERT INTO watch.upload_batches (tenant_id, event_id, generation, batch_id, videos, queued_at)
VALUES (platform.current_tenant(), %(event_id)s, %(generation)s, %(batch_id)s, %(videos)s, %(now)s)
ON CONFLICT (tenant_id, event_id, generation, batch_id) DO NOTHING
"""
IS_ARCHIVED: LiteralString = """
SELECT archived_at IS NOT NULL FROM watch.upload_batches
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND batch_id = %(batch_id)s
"""
REGISTER: LiteralString = """
UPDATE watch.goals
   SET download_workflows = download_workflows || CASE WHEN %(run_id)s = ANY (download_workflows) THEN '{}'::text[]
                                                       ELSE ARRAY[%(run_id)s::text] END,
       revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND removed_at IS NULL
"""
COMPLETE: LiteralString = "SELECT watch.complete_goal(%(event_id)s, %(generation)s, %(attempts)s, %(now)s)"
STANDING: LiteralString = """
SELECT revision, twitter_attempt, outcome FROM watch.goals
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
"""
EVENTS: LiteralString = """
SELECT DISTINCT event_id FROM watch.goals
 WHERE tenant_id = (SELECT platform.current_tenant()) AND fixture_id = %(fixture_id)s
"""
SWEPT: LiteralString = """
UPDATE watch.found AS f SET incoming_key = NULL
  FROM watch.goals AS g
 WHERE f.tenant_id = (SELECT platform.current_tenant()) AND f.incoming_key IS NOT NULL
   AND g.tenant_id = f.tenant_id AND g.event_id = f.event_id AND g.generation = f.generation
   AND g.fixture_id = %(fixture_id)s
"""


class DownloadStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def living(self, goal: GoalRef) -> GoalRef | None:
        """Who it is now; None when it was annulled."""
        found = await self._rows(LIVING, goal)
        return GoalRef(goal.fixture_id, *found[0]) if found else None

    async def find(self, goal: GoalRef, video: FoundRef) -> FoundFile | None:
        rows = await self._rows(FIND, goal, video)
        if not rows:
            return None
        url, state, why, tries, last_try, key, *facts, verified, fingerprint = rows[0]
        known = FileFacts(*facts) if None not in facts else None
        return FoundFile(goal, video, url, state, why, tries, last_try, key, known, verified, fingerprint)

    async def minutes(self, goal: GoalRef) -> GoalMinutes:
        own, *others = await self._rows(MINUTES, goal, fixture_id=goal.fixture_id)
        return GoalMinutes(FeedMinute(*own), tuple(FeedMinute(*each) for each in others))

    async def downloaded(self, goal: GoalRef, wanted: WantedVideo, key: str, facts: FileFacts) -> None:
        values = {name: getattr(facts, name) for name in FileFacts.__slots__}
        await self._execute(DOWNLOADED, goal, wanted.video, run_id=wanted.run_id, incoming_key=key, **values)

    async def ended(self, goal: GoalRef, wanted: WantedVideo, ending: Ending) -> None:
        values = {name: getattr(ending, name) for name in Ending.__slots__}
        await self._execute(ENDED, goal, wanted.video, run_id=wanted.run_id, **values)

    async def shared(self, goal: GoalRef, video: FoundRef, key: str) -> None:
        await self._execute(SHARED, goal, video, incoming_key=key)

    async def judged(self, goal: GoalRef, videos: Sequence[FoundRef], now: datetime, **verdict: Any) -> None:
        """`verdict`: validation, verified and rejected."""
        verdict["validation"] = Jsonb(verdict["validation"])
        for video in videos:
            await self._execute(JUDGED, goal, video, now=now, **verdict)

    async def fingerprinted(self, goal: GoalRef, videos: Sequence[FoundRef], fingerprint: str) -> None:
        for video in videos:
            await self._execute(FINGERPRINTED, goal, video, fingerprint=fingerprint)

    async def given_up(self, goal: GoalRef, videos: Sequence[FoundRef], ending: Ending) -> None:
        """Those that nobody else has said anything of."""
        for video in videos:
            await self._execute(GIVEN_UP, goal, video, state=ending.state, why=ending.why, retry_at=ending.retry_at)

    async def left_over(self, goal: GoalRef) -> list[str]:
        return [key for (key,) in await self._rows(LEFT_OVER, goal)]

    async def needed(self, keys: Sequence[str]) -> list[str]:
        return [key for (key,) in await self._rows(NEEDED, keys=list(keys))]

    async def forget(self, goal: GoalRef, keys: Sequence[str]) -> None:
        await self._execute(FORGET, goal, keys=list(keys))

    async def add_batch(self, goal: GoalRef, batch_id: str, videos: Sequence[FoundRef], now: datetime) -> bool:
        """Whether it waits; one that was archived already does not."""
        document = [{"post_id": each.post_id, "video_index": each.video_index} for each in videos]
        await self._execute(ADD_BATCH, goal, batch_id=batch_id, videos=Jsonb(document), now=now)
        [(archived,)] = await self._rows(IS_ARCHIVED, goal, batch_id=batch_id)
        return not archived

    async def register(self, goal: GoalRef, run_id: str, attempts: int, now: datetime) -> bool:
        """An attempt has ended. Whether the goal's search ended with it."""
        await self._execute(REGISTER, goal, run_id=run_id)
        [(complete,)] = await self._rows(COMPLETE, goal, attempts=attempts, now=now)
        return complete

    async def standing(self, goal: GoalRef) -> tuple[int, int, str | None]:
        """Revision, attempt and outcome."""
        [row] = await self._rows(STANDING, goal)
        return row

    async def events_of(self, fixture_id: int) -> list[str]:
        return [event_id for (event_id,) in await self._rows(EVENTS, fixture_id=fixture_id)]

    async def swept(self, fixture_id: int) -> None:
        await self._rows_affected(SWEPT, {"fixture_id": fixture_id})

    async def _rows(
        self, statement: LiteralString, goal: GoalRef | None = None, video: FoundRef | None = None, **values: Any
    ) -> list[tuple[Any, ...]]:
        cursor = await self._connection.execute(statement, _named(goal, video) | values)
        return await cursor.fetchall()

    async def _execute(
        self, statement: LiteralString, goal: GoalRef, video: FoundRef | None = None, **values: Any
    ) -> None:
        await self._rows_affected(statement, _named(goal, video) | values)

    async def _rows_affected(self, statement: LiteralString, values: dict[str, Any]) -> int:
        return (await self._connection.execute(statement, values)).rowcount


def _named(goal: GoalRef | None, video: FoundRef | None) -> dict[str, Any]:
    named: dict[str, Any] = {}
    if goal:
        named |= {"event_id": goal.event_id, "generation": goal.generation}
    if video:
        named |= {"post_id": video.post_id, "video_index": video.video_index}
    return named
