"""All SQL of the search for videos. Under row-level security of the watch tenant.

Invariant: a found video's state is never set back by finding it again; what is chosen is marked in the transaction that
chose it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import scalar_row

from touchline.platform.postgres.database import fetch_all, fetch_one
from touchline.watch.model import FoundRef, GoalRef

from .rules import Candidate, FoundVideo, SearchedGoal

MOST_EXCLUDED = 200
MOST_CANDIDATES = 500

LIVING: LiteralString = """
-- Who the goal is now, held until the transaction ends: everything that is written about it comes one after the other.
SELECT g.event_id, g.generation, g.fixture_id, g.player_name, g.first_seen, g.workflow_id, g.search_started_at,
       g.searched_at, g.download_workflows, g.revision
  FROM watch.living_goal(%(event_id)s, %(generation)s) AS living
  JOIN watch.goals AS g
    ON g.tenant_id = (SELECT platform.current_tenant())
   AND g.event_id = living.event_id AND g.generation = living.generation
 WHERE g.removed_at IS NULL
   FOR UPDATE OF g
"""
BEGIN: LiteralString = """
UPDATE watch.goals
   SET monitor_complete = true, search_started_at = coalesce(search_started_at, %(now)s), revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND NOT (monitor_complete AND search_started_at IS NOT NULL)
RETURNING revision
"""
WORDS: LiteralString = """
UPDATE watch.goals
   SET twitter_aliases = %(words)s, revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND twitter_aliases <> %(words)s
RETURNING revision
"""
ATTEMPT: LiteralString = """
UPDATE watch.goals
   SET twitter_attempt = %(number)s, revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND twitter_attempt <> %(number)s
RETURNING revision
"""
KNOWN_URLS: LiteralString = """
-- Only what a search could still show.
SELECT url
  FROM watch.found
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND coalesce(posted_at, found_at) >= %(since)s
 GROUP BY url
 ORDER BY max(found_at) DESC, url
 LIMIT %(most)s
"""
FOUND: LiteralString = """
-- Found again, a video keeps its state; what the page did not say the first time is filled in.
INSERT INTO watch.found AS known
       (tenant_id, event_id, generation, post_id, video_index, url, author, post_text, posted_at, duration_s, found_at,
        found_by, attempt, state, why)
VALUES ((SELECT platform.current_tenant()), %(event_id)s, %(generation)s, %(post_id)s, %(video_index)s, %(url)s,
        %(author)s, %(text)s, %(posted_at)s, %(duration_s)s, %(now)s, %(query)s, %(number)s, %(state)s, %(why)s)
ON CONFLICT (tenant_id, event_id, generation, post_id, video_index) DO UPDATE
   SET duration_s = coalesce(known.duration_s, excluded.duration_s),
       posted_at = coalesce(known.posted_at, excluded.posted_at)
RETURNING (xmax = 0) AS is_new
"""
SEARCHED: LiteralString = """
-- A later beginning wins; a query that failed leaves the time behind, so that the next search looks further back.
UPDATE watch.goals
   SET searched_at = greatest(searched_at, %(searched_at)s), search_failure = %(failure)s, revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
RETURNING revision
"""
CHOSEN: LiteralString = """
-- What an earlier try of this very attempt chose.
SELECT post_id, video_index
  FROM watch.found
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND state = 'selected' AND starts_with(last_try, %(prefix)s)
 ORDER BY post_id, video_index
"""
CANDIDATES: LiteralString = """
SELECT post_id, video_index, state, tries, last_try, retry_at, found_at, posted_at, duration_s, post_text
  FROM watch.found
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND state IN ('seen', 'selected', 'failed')
 ORDER BY tries, found_at DESC, post_id, video_index
 LIMIT %(most)s
"""
SELECT_FOUND: LiteralString = """
UPDATE watch.found AS f
   SET state = 'selected', why = NULL, tries = f.tries + 1, last_try = %(run_id)s, retry_at = NULL
  FROM unnest(%(post_ids)s::text[], %(video_indexes)s::integer[]) AS chosen(post_id, video_index)
 WHERE f.tenant_id = (SELECT platform.current_tenant()) AND f.event_id = %(event_id)s AND f.generation = %(generation)s
   AND f.post_id = chosen.post_id AND f.video_index = chosen.video_index
"""
STARTED: LiteralString = """
UPDATE watch.goals
   SET download_started = download_started || %(run_id)s::text
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND NOT %(run_id)s = ANY (download_started)
"""
KEEP_CHECK: LiteralString = """
INSERT INTO watch.search_checks AS last
       (tenant_id, checked_at, works, found, took_ms, failure, worked_at, failures)
VALUES ((SELECT platform.current_tenant()), %(checked_at)s, %(works)s, %(found)s, %(took_ms)s, %(failure)s,
        CASE WHEN %(works)s THEN %(checked_at)s END, CASE WHEN %(works)s THEN 0 ELSE 1 END)
ON CONFLICT (tenant_id) DO UPDATE
   SET checked_at = excluded.checked_at, works = excluded.works, found = excluded.found, took_ms = excluded.took_ms,
       failure = excluded.failure, worked_at = coalesce(excluded.worked_at, last.worked_at),
       failures = CASE WHEN excluded.works THEN 0 ELSE last.failures + 1 END
"""


@dataclass(frozen=True, slots=True)
class Check:
    """One look at whether the search works."""

    checked_at: datetime
    found: int
    took_ms: int
    failure: str | None

    @property
    def works(self) -> bool:
        return self.failure is None


class CheckStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def keep(self, check: Check) -> None:
        await self._connection.execute(KEEP_CHECK, asdict(check) | {"works": check.works})


@dataclass(frozen=True, slots=True)
class Seen:
    """A found video as it is kept. `why` makes it a rejected one."""

    video: FoundVideo
    why: str | None = None


class DiscoveryStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def living(self, goal: GoalRef) -> SearchedGoal | None:
        """None: it was taken away."""
        return await fetch_one(self._connection, SearchedGoal, LIVING, **_of(goal))

    async def begin(self, goal: GoalRef, now: datetime) -> int | None:
        """The new revision; None when it had begun already."""
        return await self._revision(BEGIN, **_of(goal), now=now)

    async def set_words(self, goal: GoalRef, words: Sequence[str]) -> int | None:
        return await self._revision(WORDS, **_of(goal), words=list(words))

    async def set_attempt(self, goal: GoalRef, number: int) -> int | None:
        return await self._revision(ATTEMPT, **_of(goal), number=number)

    async def set_searched(self, goal: GoalRef, searched_at: datetime | None, failure: str | None) -> int | None:
        return await self._revision(SEARCHED, **_of(goal), searched_at=searched_at, failure=failure)

    async def known_urls(self, goal: GoalRef, since: datetime) -> list[str]:
        async with self._connection.cursor(row_factory=scalar_row) as cursor:
            await cursor.execute(KNOWN_URLS, {**_of(goal), "since": since, "most": MOST_EXCLUDED})
            return await cursor.fetchall()

    async def keep(self, goal: GoalRef, seen: Sequence[Seen], number: int, now: datetime) -> int:
        """How many were not known before."""
        new = 0
        for each in seen:
            values = _row(each) | {**_of(goal), "number": number, "now": now}
            async with self._connection.cursor(row_factory=scalar_row) as cursor:
                await cursor.execute(FOUND, values)
                new += bool(await cursor.fetchone())
        return new

    async def chosen(self, goal: GoalRef, prefix: str) -> Sequence[FoundRef]:
        return await fetch_all(self._connection, FoundRef, CHOSEN, **_of(goal), prefix=prefix)

    async def candidates(self, goal: GoalRef) -> Sequence[Candidate]:
        return await fetch_all(self._connection, Candidate, CANDIDATES, **_of(goal), most=MOST_CANDIDATES)

    async def select(self, goal: GoalRef, videos: Sequence[FoundRef], run_id: str) -> None:
        values = {
            **_of(goal),
            "run_id": run_id,
            "post_ids": [video.post_id for video in videos],
            "video_indexes": [video.video_index for video in videos],
        }
        await self._connection.execute(SELECT_FOUND, values)
        await self._connection.execute(STARTED, values)

    async def _revision(self, query: LiteralString, **values: Any) -> int | None:
        async with self._connection.cursor(row_factory=scalar_row) as cursor:
            await cursor.execute(query, values)
            return await cursor.fetchone()


def _of(goal: GoalRef) -> dict[str, Any]:
    return {"event_id": goal.event_id, "generation": goal.generation}


def _row(seen: Seen) -> dict[str, Any]:
    video = seen.video
    return {
        "post_id": video.post_id,
        "video_index": video.video_index,
        "url": video.url,
        "author": video.author,
        "text": video.text,
        "posted_at": datetime.fromisoformat(video.posted_at) if video.posted_at else None,
        "duration_s": video.duration_s,
        "query": video.query,
        "state": "rejected" if seen.why else "seen",
        "why": seen.why,
    }
