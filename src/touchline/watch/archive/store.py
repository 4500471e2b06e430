"""All SQL of the archive, inside one tenant.

Invariant: what changes a goal's archive holds the lock of the goal's row: of two writers one sees what the other did.
"""

# ruff: noqa: S608  what is put into the statements is a constant condition

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one
from touchline.watch.model import FoundRef, GoalRef

from .rules import ArchivedVideo, Copy, CopyState, GoalFactsForTitle, WaitingVideo

OURS: LiteralString = "tenant_id = %(tenant_id)s"
GOAL: LiteralString = "tenant_id = %(tenant_id)s AND event_id = %(event_id)s AND generation = %(generation)s"

LIVING: LiteralString = """
SELECT g.fixture_id, g.event_id, g.generation
  FROM watch.living_goal(%(event_id)s, %(generation)s) AS l
  JOIN watch.goals AS g
    ON g.tenant_id = %(tenant_id)s AND g.event_id = l.event_id AND g.generation = l.generation
"""
LOCK: LiteralString = f"SELECT removed_at IS NULL FROM watch.goals WHERE {GOAL} FOR UPDATE"
FACTS: LiteralString = """
SELECT g.fixture_id, g.event_id, g.generation, f.kick_off, f.home_name, f.away_name, g.home_score, g.away_score,
       g.player_name, g.minute, g.extra
  FROM watch.goals AS g JOIN watch.fixtures AS f ON f.tenant_id = g.tenant_id AND f.id = g.fixture_id
 WHERE g.tenant_id = %(tenant_id)s AND g.event_id = %(event_id)s AND g.generation = %(generation)s
"""
NEXT_BATCH: LiteralString = f"""
SELECT batch_id FROM watch.upload_batches
 WHERE {GOAL} AND archived_at IS NULL ORDER BY queued_at, batch_id LIMIT 1
"""
WAITING: LiteralString = """
-- Of a batch, those that are neither archived nor given up.
SELECT f.post_id, f.video_index, f.url, f.incoming_key, coalesce(f.md5, '') AS md5,
       coalesce(f.size_bytes, 0) AS size_bytes, coalesce(f.duration_ms, 0) AS duration_ms,
       coalesce(f.width, 0) AS width, coalesce(f.height, 0) AS height, f.bit_rate, f.verified,
       f.validation ->> 'clock' AS clock, coalesce(f.fingerprint, '') AS fingerprint
  FROM watch.upload_batches AS b
 CROSS JOIN LATERAL jsonb_to_recordset(b.videos) AS v (post_id text, video_index integer)
  JOIN watch.found AS f
    ON f.tenant_id = b.tenant_id AND f.event_id = b.event_id AND f.generation = b.generation
   AND f.post_id = v.post_id AND f.video_index = v.video_index
 WHERE b.tenant_id = %(tenant_id)s AND b.event_id = %(event_id)s AND b.generation = %(generation)s
   AND b.batch_id = %(batch_id)s AND f.state = 'downloaded' AND f.artifact_hash IS NULL AND f.incoming_key IS NOT NULL
 ORDER BY f.post_id, f.video_index
"""
ARCHIVED: LiteralString = """
-- All that was ever taken in: the videos themselves, and what was found of them.
SELECT artifact_hash AS name, state = 'kept' AS kept, md5, verified, size_bytes, duration_ms, fingerprint,
       coalesce(replaced_by, artifact_hash) AS kept_as, popularity
  FROM watch.videos
 WHERE tenant_id = %(tenant_id)s AND event_id = %(event_id)s AND generation = %(generation)s
 UNION ALL
SELECT post_id || '/' || video_index, false, md5, verified, size_bytes, duration_ms, fingerprint, artifact_hash, 0
  FROM watch.found
 WHERE tenant_id = %(tenant_id)s AND event_id = %(event_id)s AND generation = %(generation)s
   AND artifact_hash IS NOT NULL AND fingerprint IS NOT NULL
 ORDER BY name
"""
ADD: LiteralString = """
INSERT INTO watch.videos (tenant_id, artifact_hash, event_id, generation, object_key, md5, size_bytes, duration_ms,
                          width, height, bit_rate, fingerprint, verified, clock, source_url, popularity, rank,
                          archived_at)
VALUES (%(tenant_id)s, %(hash)s, %(event_id)s, %(generation)s, %(object_key)s, %(md5)s, %(size_bytes)s,
        %(duration_ms)s, %(width)s, %(height)s, %(bit_rate)s, %(fingerprint)s, %(verified)s, %(clock)s, %(url)s,
        %(popularity)s, (SELECT -1 - count(*) FROM watch.videos WHERE tenant_id = %(tenant_id)s
                            AND event_id = %(event_id)s AND generation = %(generation)s), %(now)s)
ON CONFLICT (tenant_id, artifact_hash) DO NOTHING
"""
COUNT: LiteralString = f"""
UPDATE watch.videos SET popularity = %(popularity)s, verified = %(verified)s, revision = revision + 1
 WHERE {OURS} AND artifact_hash = %(hash)s AND (popularity, verified) IS DISTINCT FROM (%(popularity)s, %(verified)s)
"""
REPLACE: LiteralString = """
-- Whoever gave way to one of these before now leads to the same video as they do.
UPDATE watch.videos
   SET state = 'replaced', rank = NULL, replaced_by = %(by)s, pinned = false, revision = revision + 1
 WHERE tenant_id = %(tenant_id)s AND (artifact_hash = ANY (%(hashes)s) OR replaced_by = ANY (%(hashes)s))
"""
KEEP_PIN: LiteralString = """
UPDATE watch.videos AS v SET pinned = true
 WHERE v.tenant_id = %(tenant_id)s AND v.artifact_hash = %(by)s AND NOT v.pinned
   AND EXISTS (SELECT FROM watch.videos AS o
                WHERE o.tenant_id = v.tenant_id AND o.artifact_hash = ANY (%(hashes)s) AND o.pinned)
"""
LEAD_FOUND: LiteralString = f"""
UPDATE watch.found SET artifact_hash = %(by)s
 WHERE {GOAL} AND artifact_hash = ANY (%(hashes)s)
"""
TAKE_FOUND: LiteralString = """
UPDATE watch.found AS f SET artifact_hash = %(by)s
  FROM jsonb_to_recordset(%(refs)s) AS v (post_id text, video_index integer)
 WHERE f.tenant_id = %(tenant_id)s AND f.event_id = %(event_id)s AND f.generation = %(generation)s
   AND f.post_id = v.post_id AND f.video_index = v.video_index AND f.artifact_hash IS NULL
"""
GIVE_UP: LiteralString = """
UPDATE watch.found AS f SET state = %(state)s, why = %(why)s
  FROM jsonb_to_recordset(%(refs)s) AS v (post_id text, video_index integer)
 WHERE f.tenant_id = %(tenant_id)s AND f.event_id = %(event_id)s AND f.generation = %(generation)s
   AND f.post_id = v.post_id AND f.video_index = v.video_index AND f.artifact_hash IS NULL
"""
CLEAR_RANKS: LiteralString = """
-- Out of the way first: a rank is nobody else's, at any moment.
UPDATE watch.videos SET rank = -1000000 - rank WHERE tenant_id = %(tenant_id)s AND event_id = %(event_id)s
   AND generation = %(generation)s AND state = 'kept' AND rank > 0
"""
SET_RANKS: LiteralString = """
UPDATE watch.videos AS v SET rank = r.rank
  FROM unnest(%(hashes)s::text[]) WITH ORDINALITY AS r (artifact_hash, rank)
 WHERE v.tenant_id = %(tenant_id)s AND v.artifact_hash = r.artifact_hash AND v.state = 'kept'
"""
VIDEOS: LiteralString = """
-- The event's id names the match: a video that is pinned outlives the row of its goal.
SELECT artifact_hash, split_part(event_id, '_', 1)::bigint AS fixture_id, event_id, generation, object_key, md5,
       size_bytes, pinned, revision
  FROM watch.videos
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = ANY (%(hashes)s)
 ORDER BY artifact_hash
"""
ARCHIVED_NOW: LiteralString = f"""
UPDATE watch.goals SET first_archived_at = coalesce(first_archived_at, %(now)s), revision = revision + 1
 WHERE {GOAL} RETURNING revision
"""
END_BATCH: LiteralString = f"""
UPDATE watch.upload_batches SET archived_at = %(now)s
 WHERE {GOAL} AND batch_id = %(batch_id)s AND archived_at IS NULL
"""
COMPLETE: LiteralString = "SELECT watch.complete_goal(%(event_id)s, %(generation)s, %(attempts)s, %(now)s)"
OUTCOME: LiteralString = f"SELECT revision, outcome FROM watch.goals WHERE {GOAL}"
DROP: LiteralString = f"""
UPDATE watch.videos SET state = 'dropped', rank = NULL, replaced_by = NULL, pinned = false, revision = revision + 1
 WHERE {GOAL} AND state <> 'dropped' RETURNING artifact_hash
"""
DROP_ONE: LiteralString = f"""
UPDATE watch.videos SET state = 'dropped', rank = NULL, pinned = false, revision = revision + 1
 WHERE {OURS} AND artifact_hash = %(hash)s AND state = 'kept'
"""
CHANGED: LiteralString = f"""
UPDATE watch.videos SET revision = revision + 1 WHERE {GOAL} AND state = 'kept' RETURNING artifact_hash
"""
DELETE_BATCHES: LiteralString = f"DELETE FROM watch.upload_batches WHERE {GOAL} AND archived_at IS NULL"
INCOMING: LiteralString = """
-- What lies there for nothing: of a goal that is over, or of found videos that are all archived or given up.
SELECT incoming_key FROM watch.found
 WHERE tenant_id = %(tenant_id)s AND event_id = %(event_id)s AND generation = %(generation)s
   AND incoming_key IS NOT NULL
 GROUP BY incoming_key
HAVING %(over)s OR bool_and(artifact_hash IS NOT NULL OR state IN ('rejected', 'failed'))
 ORDER BY incoming_key
"""
FORGET_INCOMING: LiteralString = f"""
UPDATE watch.found SET incoming_key = NULL
 WHERE {GOAL} AND incoming_key = ANY (%(keys)s)
"""
KNOWN_KEYS: LiteralString = f"SELECT object_key FROM watch.videos WHERE {OURS} AND object_key = ANY (%(keys)s)"

# --- from one goal to another

TWICE: LiteralString = """
-- Posts that were found for both: the row that got further stays, of two alike that of the new goal.
WITH pairs AS (
  SELECT o.post_id, o.video_index, o.artifact_hash IS NOT NULL AS old_archived, n.artifact_hash IS NOT NULL AS archived,
         o.state = 'downloaded' AND o.verified IS NOT NULL AS old_ready,
         n.state = 'downloaded' AND n.verified IS NOT NULL AS ready
    FROM watch.found AS o JOIN watch.found AS n USING (tenant_id, post_id, video_index)
   WHERE o.tenant_id = %(tenant_id)s AND o.event_id = %(event_id)s AND o.generation = %(generation)s
     AND n.event_id = %(new_event_id)s AND n.generation = %(new_generation)s
)
DELETE FROM watch.found AS f USING pairs AS p
 WHERE f.tenant_id = %(tenant_id)s AND f.post_id = p.post_id AND f.video_index = p.video_index
   AND CASE WHEN (p.old_archived, p.old_ready) > (p.archived, p.ready)
            THEN f.event_id = %(new_event_id)s AND f.generation = %(new_generation)s
            ELSE f.event_id = %(event_id)s AND f.generation = %(generation)s END
"""
MOVE_FOUND: LiteralString = f"""
UPDATE watch.found SET event_id = %(new_event_id)s, generation = %(new_generation)s
 WHERE {GOAL}
"""
MOVE_BATCHES: LiteralString = f"""
UPDATE watch.upload_batches SET event_id = %(new_event_id)s, generation = %(new_generation)s
 WHERE {GOAL} AND archived_at IS NULL
"""
MOVE_VIDEOS: LiteralString = f"""
UPDATE watch.videos
   SET event_id = %(new_event_id)s, generation = %(new_generation)s, rank = -2000000 - rank, revision = revision + 1
 WHERE {GOAL}
"""
MOVE_FIRST: LiteralString = """
UPDATE watch.goals AS n SET first_archived_at = least(n.first_archived_at, o.first_archived_at)
  FROM watch.goals AS o
 WHERE n.tenant_id = %(tenant_id)s AND n.event_id = %(new_event_id)s AND n.generation = %(new_generation)s
   AND o.tenant_id = n.tenant_id AND o.event_id = %(event_id)s AND o.generation = %(generation)s
   AND o.first_archived_at IS NOT NULL
"""

# --- for others

PIN: LiteralString = f"""
UPDATE watch.videos SET pinned = %(pinned)s, revision = revision + 1
 WHERE {OURS} AND artifact_hash = %(hash)s AND state = 'kept' AND pinned <> %(pinned)s
"""
FORGET_ORPHAN: LiteralString = f"""
-- Nobody wants it any longer, and its goal went before it.
DELETE FROM watch.videos AS v
 WHERE {OURS} AND artifact_hash = %(hash)s AND NOT pinned AND NOT EXISTS (
   SELECT FROM watch.goals AS g
    WHERE g.tenant_id = v.tenant_id AND g.event_id = v.event_id AND g.generation = v.generation)
"""
OPEN_BATCHES: LiteralString = """
SELECT DISTINCT ON (b.event_id, b.generation) g.fixture_id, b.event_id, b.generation, b.batch_id
  FROM watch.upload_batches AS b
  JOIN watch.goals AS g ON g.tenant_id = b.tenant_id AND g.event_id = b.event_id AND g.generation = b.generation
 WHERE b.tenant_id = %(tenant_id)s AND b.archived_at IS NULL AND b.queued_at <= %(before)s AND g.removed_at IS NULL
   AND (b.event_id, b.generation) > (%(after_event)s, %(after_generation)s)
 ORDER BY b.event_id, b.generation, b.queued_at, b.batch_id
 LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class OpenBatch:
    goal: GoalRef
    batch_id: str


class ArchiveStore:
    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id

    # --- the goal

    async def living(self, goal: GoalRef) -> GoalRef | None:
        """Who it is now; None: it was annulled."""
        return await fetch_one(self._connection, GoalRef, LIVING, **self._this(goal))

    async def locked(self, goal: GoalRef) -> GoalRef | None:
        """The same, and until the transaction ends it stays that."""
        living = await self.living(goal)
        while living is not None and not await self.lock(living):
            living = await self.living(living)
        return living

    async def lock(self, goal: GoalRef) -> bool:
        """Whether it lives."""
        row = await self._execute(LOCK, **self._this(goal))
        return bool(row and row[0][0])

    async def facts(self, goal: GoalRef) -> GoalFactsForTitle:
        found = await fetch_one(self._connection, _facts, FACTS, **self._this(goal))
        assert found  # noqa: S101  its row is locked
        return found

    async def archived(self, goal: GoalRef, now: datetime) -> int:
        """That something was; the revision."""
        [(revision,)] = await self._execute(ARCHIVED_NOW, **self._this(goal), now=now)
        return revision

    async def complete(self, goal: GoalRef, attempts: int, now: datetime) -> tuple[int, str] | None:
        """The revision and outcome, when this call ended the goal."""
        [(ended,)] = await self._execute(COMPLETE, **self._this(goal), attempts=attempts, now=now)
        return (await self._execute(OUTCOME, **self._this(goal)))[0] if ended else None

    # --- batches and what is in them

    async def next_batch(self, goal: GoalRef) -> str | None:
        rows = await self._execute(NEXT_BATCH, **self._this(goal))
        return rows[0][0] if rows else None

    async def waiting(self, goal: GoalRef, batch_id: str) -> Sequence[WaitingVideo]:
        return await fetch_all(self._connection, _found, WAITING, **self._this(goal), batch_id=batch_id)

    async def end_batch(self, goal: GoalRef, batch_id: str, now: datetime) -> None:
        await self._change(END_BATCH, **self._this(goal), batch_id=batch_id, now=now)

    async def delete_batches(self, goal: GoalRef) -> None:
        await self._change(DELETE_BATCHES, **self._this(goal))

    async def give_up(self, goal: GoalRef, refs: Sequence[FoundRef], state: str, why: str) -> None:
        await self._change(GIVE_UP, **self._this(goal), refs=_refs(refs), state=state, why=why)

    async def incoming(self, goal: GoalRef, *, over: bool) -> list[str]:
        return [key for (key,) in await self._execute(INCOMING, **self._this(goal), over=over)]

    async def forget_incoming(self, goal: GoalRef, keys: Sequence[str]) -> None:
        await self._change(FORGET_INCOMING, **self._this(goal), keys=list(keys))

    # --- videos

    async def copies(self, goal: GoalRef) -> Sequence[Copy]:
        return await fetch_all(self._connection, _copy, ARCHIVED, **self._this(goal))

    async def videos(self, hashes: Sequence[str]) -> Sequence[ArchivedVideo]:
        return await fetch_all(self._connection, _video, VIDEOS, tenant_id=self._tenant_id, hashes=list(hashes))

    async def add(self, goal: GoalRef, found: WaitingVideo, **values: Any) -> bool:
        """False when it was there before: whoever was dropped does not come back."""
        columns = {name: getattr(found, name) for name in _COPIED}
        return await self._change(ADD, **self._this(goal), **columns, **values) == 1

    async def count(self, artifact_hash: str, popularity: int, *, verified: bool) -> bool:
        values = {"hash": artifact_hash, "popularity": popularity, "verified": verified}
        return await self._change(COUNT, tenant_id=self._tenant_id, **values) == 1

    async def replace(self, goal: GoalRef, hashes: Sequence[str], by: str) -> bool:
        """What was found of them, and a person's wish to keep them, goes over to the better copy. Whether there was a
        wish that it had not."""
        values = {**self._this(goal), "hashes": list(hashes), "by": by}
        pinned = await self._change(KEEP_PIN, **values) == 1
        await self._change(REPLACE, **values)
        await self._change(LEAD_FOUND, **values)
        return pinned

    async def take(self, goal: GoalRef, refs: Sequence[FoundRef], as_hash: str) -> None:
        await self._change(TAKE_FOUND, **self._this(goal), refs=_refs(refs), by=as_hash)

    async def rank(self, goal: GoalRef, hashes: Sequence[str]) -> None:
        """All that are kept, the best first."""
        await self._change(CLEAR_RANKS, **self._this(goal))
        await self._change(SET_RANKS, tenant_id=self._tenant_id, hashes=list(hashes))

    async def drop(self, goal: GoalRef) -> list[str]:
        return [name for (name,) in await self._execute(DROP, **self._this(goal))]

    async def drop_one(self, artifact_hash: str) -> bool:
        """False when it is not kept."""
        return await self._change(DROP_ONE, tenant_id=self._tenant_id, hash=artifact_hash) == 1

    async def changed(self, goal: GoalRef) -> list[str]:
        """Those that are kept, each with a new revision."""
        return [name for (name,) in await self._execute(CHANGED, **self._this(goal))]

    async def known_keys(self, keys: Sequence[str]) -> set[str]:
        return {key for (key,) in await self._execute(KNOWN_KEYS, tenant_id=self._tenant_id, keys=list(keys))}

    async def move(self, old: GoalRef, new: GoalRef) -> None:
        values = {**self._this(old), "new_event_id": new.event_id, "new_generation": new.generation}
        for statement in (TWICE, MOVE_FOUND, MOVE_BATCHES, MOVE_VIDEOS, MOVE_FIRST):
            await self._change(statement, **values)

    async def pin(self, artifact_hash: str, *, pinned: bool) -> bool:
        """False when it is not kept, or was so already."""
        return await self._change(PIN, tenant_id=self._tenant_id, hash=artifact_hash, pinned=pinned) == 1

    async def forget_orphan(self, artifact_hash: str) -> None:
        await self._change(FORGET_ORPHAN, tenant_id=self._tenant_id, hash=artifact_hash)

    async def open_batches(self, before: datetime, after: GoalRef | None, limit: int) -> Sequence[OpenBatch]:
        """One of each goal that has any, in the order of their ids, behind one of them."""
        place = {"after_event": after.event_id if after else "", "after_generation": after.generation if after else 0}
        values = {"tenant_id": self._tenant_id, "before": before, "limit": limit, **place}
        return await fetch_all(self._connection, _open, OPEN_BATCHES, **values)

    def _this(self, goal: GoalRef) -> dict[str, Any]:
        return {"tenant_id": self._tenant_id, "event_id": goal.event_id, "generation": goal.generation}

    async def _execute(self, query: LiteralString, **values: Any) -> list[tuple[Any, ...]]:
        return await (await self._connection.execute(query, values)).fetchall()

    async def _change(self, query: LiteralString, **values: Any) -> int:
        return (await self._connection.execute(query, values)).rowcount


_COPIED = (
    "md5", "size_bytes", "duration_ms", "width", "height", "bit_rate", "fingerprint", "clock", "url",
)  # fmt: skip


def _refs(refs: Sequence[FoundRef]) -> Jsonb:
    return Jsonb([{"post_id": ref.post_id, "video_index": ref.video_index} for ref in refs])


def _found(*, post_id: str, video_index: int, **columns: Any) -> WaitingVideo:
    return WaitingVideo(FoundRef(post_id, video_index), **columns)


def _facts(*, fixture_id: int, event_id: str, generation: int, **columns: Any) -> GoalFactsForTitle:
    return GoalFactsForTitle(GoalRef(fixture_id, event_id, generation), **columns)


def _video(*, fixture_id: int, event_id: str, generation: int, **columns: Any) -> ArchivedVideo:
    return ArchivedVideo(goal=GoalRef(fixture_id, event_id, generation), **columns)


def _copy(*, kept: bool, **columns: Any) -> Copy:
    return Copy(standing=CopyState.KEPT if kept else CopyState.PAST, **columns)


def _open(*, fixture_id: int, event_id: str, generation: int, batch_id: str) -> OpenBatch:
    return OpenBatch(GoalRef(fixture_id, event_id, generation), batch_id)
