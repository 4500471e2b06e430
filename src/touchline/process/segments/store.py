"""All SQL of `process.segments` and `process.entities`. Runs inside the tenant.

Invariant: replacing leaves exactly the rows of one index.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from .folding import normalize, text_hash
from .indexing import Index, IndexedEntity, IndexedSegment

FORGET: LiteralString = """
DELETE FROM process.segments WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
"""
ADD: LiteralString = """
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
"""
ADD_ENTITIES: LiteralString = """
INSERT INTO process.entities (tenant_id, id, segment_id, video_id, entity_type, value, normalized_value, number_kind,
                              position, t_start)
SELECT platform.current_tenant(), id, segment_id, %(video_id)s, entity_type, value, normalized_value, number_kind,
       position, t_start
  FROM unnest(%(id)s::uuid[], %(segment_id)s::uuid[], %(entity_type)s::text[], %(value)s::text[],
              %(normalized_value)s::text[], %(number_kind)s::text[], %(position)s::int[], %(t_start)s::bigint[])
       AS found (id, segment_id, entity_type, value, normalized_value, number_kind, position, t_start)
"""
MOST_ROWS = 5000  # in one statement


@dataclass(frozen=True, slots=True)
class SegmentStore:
    connection: AsyncConnection[Any]

    async def replace(self, video_id: UUID, index: Index) -> None:
        await self.connection.execute(FORGET, {"video_id": video_id})
        await self._add(ADD, video_id, [_segment(each) for each in index.segments])
        await self._add(ADD_ENTITIES, video_id, [_entity(each) for each in index.entities])

    async def _add(self, statement: LiteralString, video_id: UUID, rows: list[dict[str, Any]]) -> None:
        for start in range(0, len(rows), MOST_ROWS):
            part = rows[start : start + MOST_ROWS]
            columns = {name: [row[name] for row in part] for name in part[0]}
            await self.connection.execute(statement, {"video_id": video_id, **columns})


def _segment(indexed: IndexedSegment) -> dict[str, Any]:
    segment = indexed.segment
    return {
        "id": indexed.id,
        "text": segment.text,
        "normalized_text": normalize(segment.text),
        "text_hash": text_hash(segment.text),
        "t_start": segment.start_ms,
        "t_end": segment.end_ms,
        "confidence": segment.confidence,
        "bounding_box": Jsonb(asdict(segment.box)),
        "language": segment.language,
    }


def _entity(indexed: IndexedEntity) -> dict[str, Any]:
    entity = indexed.entity
    return {
        "id": indexed.id,
        "segment_id": indexed.segment_id,
        "entity_type": entity.type,
        "value": entity.value,
        "normalized_value": entity.normalized_value,
        "number_kind": entity.kind,
        "position": entity.start,
        "t_start": indexed.t_start,
    }
