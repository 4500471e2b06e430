"""All SQL of the archive, inside one tenant."""

from __future__ import annotations

from typing import Any, LiteralString

from psycopg import AsyncConnection

from touchline.watch.model import GoalRef

DROP: LiteralString = """
UPDATE watch.videos SET state = 'dropped', rank = NULL, replaced_by = NULL, revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND state <> 'dropped'
RETURNING artifact_hash, revision
"""
DELETE_BATCHES: LiteralString = """
DELETE FROM watch.upload_batches
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND archived_at IS NULL
"""
TWICE: LiteralString = """
DELETE FROM watch.found AS f USING watch.found AS n
 WHERE f.tenant_id = (SELECT platform.current_tenant()) AND f.event_id = %(event_id)s AND f.generation = %(generation)s
   AND n.tenant_id = f.tenant_id AND n.event_id = %(new_event_id)s AND n.generation = %(new_generation)s
   AND n.post_id = f.post_id AND n.video_index = f.video_index
"""
MOVE_FOUND: LiteralString = """
UPDATE watch.found SET event_id = %(new_event_id)s, generation = %(new_generation)s
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
"""
MOVE_BATCHES: LiteralString = """
UPDATE watch.upload_batches SET event_id = %(new_event_id)s, generation = %(new_generation)s
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND archived_at IS NULL
"""
MOVE_VIDEOS: LiteralString = """
UPDATE watch.videos
   SET event_id = %(new_event_id)s, generation = %(new_generation)s, rank = -1000000 - rank, revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
"""
CLEAR_RANKS: LiteralString = """
UPDATE watch.videos SET rank = -rank
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(new_event_id)s
   AND generation = %(new_generation)s AND rank > 0
"""
RANK: LiteralString = """
UPDATE watch.videos AS v SET rank = r.place
  FROM (SELECT artifact_hash, row_number() OVER (ORDER BY verified DESC, popularity DESC, size_bytes DESC) AS place
          FROM watch.videos
         WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(new_event_id)s
           AND generation = %(new_generation)s AND state = 'kept') AS r
 WHERE v.tenant_id = (SELECT platform.current_tenant()) AND v.artifact_hash = r.artifact_hash
"""


class ArchiveStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def drop(self, goal: GoalRef) -> list[tuple[str, int]]:
        values = {"event_id": goal.event_id, "generation": goal.generation}
        dropped = await (await self._connection.execute(DROP, values)).fetchall()
        await self._connection.execute(DELETE_BATCHES, values)
        return dropped

    async def move(self, old: GoalRef, new: GoalRef) -> None:
        values = {
            "event_id": old.event_id,
            "generation": old.generation,
            "new_event_id": new.event_id,
            "new_generation": new.generation,
        }
        for statement in (TWICE, MOVE_FOUND, MOVE_BATCHES, MOVE_VIDEOS, CLEAR_RANKS, RANK):
            await self._connection.execute(statement, values)
