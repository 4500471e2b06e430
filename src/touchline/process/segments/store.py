"""All SQL of `process.segments` and `process.entities`. Runs inside the tenant.

Invariants: replacing leaves exactly the rows of one index, and does not touch those that are there already. A segment
and its entities are written with one statement, so that they enter the search index together, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from struct import pack, unpack
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from touchline.process.text import normalize, text_hash

from .rules import IndexedEntity, IndexedSegment, SegmentIndex

STORED_SEGMENTS: LiteralString = """
SELECT s.id, s.text, s.normalized_text, s.text_hash, s.t_start, s.t_end, s.confidence::float8 AS confidence,
       s.bounding_box, s.language, s.owner_id IS NOT DISTINCT FROM v.owner_id AS has_owner
  FROM process.segments AS s
  JOIN process.videos AS v ON v.tenant_id = s.tenant_id AND v.video_id = s.video_id
 WHERE s.tenant_id = (SELECT platform.current_tenant()) AND s.video_id = %(video_id)s
"""
STORED_ENTITIES: LiteralString = """
SELECT id, segment_id, entity_type AS type, value, normalized_value, number_kind, position, t_start
  FROM process.entities
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
"""
FORGET: LiteralString = """
DELETE FROM process.segments
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s AND id = ANY (%(gone)s::uuid[])
"""
ADD: LiteralString = """
WITH added AS (
  INSERT INTO process.segments (tenant_id, id, video_id, owner_id, text, normalized_text, text_hash, t_start, t_end,
                                confidence, bounding_box, language)
  SELECT v.tenant_id, made.id, v.video_id, v.owner_id, made.text, made.normalized_text, made.text_hash, made.t_start,
         made.t_end, made.confidence, made.bounding_box, made.language
    FROM process.videos AS v
   CROSS JOIN unnest(%(id)s::uuid[], %(text)s::text[], %(normalized_text)s::text[], %(text_hash)s::text[],
                     %(t_start)s::bigint[], %(t_end)s::bigint[], %(confidence)s::real[], %(bounding_box)s::jsonb[],
                     %(language)s::text[])
              AS made (id, text, normalized_text, text_hash, t_start, t_end, confidence, bounding_box, language)
   WHERE v.tenant_id = (SELECT platform.current_tenant()) AND v.video_id = %(video_id)s
)
INSERT INTO process.entities (tenant_id, id, segment_id, video_id, entity_type, value, normalized_value, number_kind,
                              position, t_start)
SELECT platform.current_tenant(), id, segment_id, %(video_id)s, type, value, normalized_value, number_kind,
       position, t_start
  FROM unnest(%(entity_id)s::uuid[], %(entity_segment_id)s::uuid[], %(entity_type)s::text[], %(entity_value)s::text[],
              %(entity_normalized_value)s::text[], %(entity_number_kind)s::text[], %(entity_position)s::int[],
              %(entity_t_start)s::bigint[])
       AS found (id, segment_id, type, value, normalized_value, number_kind, position, t_start)
"""
SEGMENT = ("id", "text", "normalized_text", "text_hash", "t_start", "t_end", "confidence", "bounding_box", "language")
ENTITY = ("id", "segment_id", "type", "value", "normalized_value", "number_kind", "position", "t_start")
MOST_ROWS = 5000  # segments in one statement

Row = dict[str, Any]


@dataclass(slots=True)
class _Rows:
    """A segment and its entities, as they are stored."""

    segment: Row
    entities: dict[UUID, Row]


@dataclass(frozen=True, slots=True)
class SegmentStore:
    connection: AsyncConnection[Any]

    async def replace(self, video_id: UUID, index: SegmentIndex) -> None:
        there = await self._there(video_id)
        made = _by_segment(map(_segment, index.segments), map(_entity, index.entities))
        gone = [each for each, rows in there.items() if made.get(each) != rows]
        if gone:
            await self.connection.execute(FORGET, {"video_id": video_id, "gone": gone})
        new = [rows for each, rows in made.items() if there.get(each) != rows]
        for start in range(0, len(new), MOST_ROWS):
            part = new[start : start + MOST_ROWS]
            await self.connection.execute(ADD, {"video_id": video_id, **_columns(part)})

    async def _there(self, video_id: UUID) -> dict[UUID, _Rows]:
        async with self.connection.cursor(row_factory=dict_row) as cursor:
            segments = await (await cursor.execute(STORED_SEGMENTS, {"video_id": video_id})).fetchall()
            entities = await (await cursor.execute(STORED_ENTITIES, {"video_id": video_id})).fetchall()
        return _by_segment(segments, entities)


def _by_segment(segments: Iterable[Row], entities: Iterable[Row]) -> dict[UUID, _Rows]:
    found = {segment["id"]: _Rows(segment, {}) for segment in segments}
    for entity in entities:
        found[entity["segment_id"]].entities[entity["id"]] = entity
    return found


def _columns(part: Sequence[_Rows]) -> dict[str, list[Any]]:
    """As lists that `unnest` puts side by side."""
    segments = [{**rows.segment, "bounding_box": Jsonb(rows.segment["bounding_box"])} for rows in part]
    entities = [entity for rows in part for entity in rows.entities.values()]
    return {name: [row[name] for row in segments] for name in SEGMENT} | {
        f"entity_{name}": [row[name] for row in entities] for name in ENTITY
    }


def _segment(indexed: IndexedSegment) -> Row:
    segment = indexed.segment
    return {
        "id": indexed.id,
        "text": segment.text,
        "normalized_text": normalize(segment.text),
        "text_hash": text_hash(segment.text),
        "t_start": segment.start_ms,
        "t_end": segment.end_ms,
        "confidence": _as_stored(segment.confidence),
        "bounding_box": asdict(segment.box),
        "language": segment.language,
        "has_owner": True,
    }


def _entity(indexed: IndexedEntity) -> Row:
    entity = indexed.entity
    return {
        "id": indexed.id,
        "segment_id": indexed.segment_id,
        "type": entity.type,
        "value": entity.value,
        "normalized_value": entity.normalized_value,
        "number_kind": entity.kind,
        "position": entity.start,
        "t_start": indexed.t_start,
    }


def _as_stored(confidence: float) -> float:
    """Rounded to the precision of `real`."""
    return unpack("f", pack("f", confidence))[0]
