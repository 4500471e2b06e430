"""A tenant with videos in which something was read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg.types.json import Jsonb

from tests.support.events import new_tenant
from touchline.kernel import TenantId
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database
from touchline.process.search.model import HitPage, SearchCursor, Sort
from touchline.process.search.service import SearchRequest, VideoSearch
from touchline.process.segments.rules import find_entities
from touchline.process.text import normalize, text_hash

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
VIDEO = """
INSERT INTO process.videos (tenant_id, video_id, s3_original_path, size_bytes, content_type, created_at)
VALUES (platform.current_tenant(), %(video)s, 'videos/original/x', 1, 'video/mp4', %(at)s)
"""
SEGMENTS = """
INSERT INTO process.segments (tenant_id, id, video_id, text, normalized_text, text_hash, t_start, t_end, confidence,
                              bounding_box, language)
SELECT platform.current_tenant(), s.id, %(video)s, s.text, s.normalized, s.hash, s.start, s.start + 900, s.confidence,
       '{"x": 1, "y": 2, "width": 30, "height": 4}', s.language
  FROM jsonb_to_recordset(%(segments)s)
       AS s (id uuid, text text, normalized text, hash text, start bigint, confidence real, language text)
"""
ENTITIES = """
INSERT INTO process.entities (tenant_id, id, segment_id, video_id, entity_type, value, normalized_value, number_kind,
                              position, t_start)
SELECT platform.current_tenant(), gen_random_uuid(), e.segment, %(video)s, e.type, e.value, e.normalized, e.kind, 0, 0
  FROM jsonb_to_recordset(%(entities)s) AS e (segment uuid, type text, value text, normalized text, kind text)
"""


@dataclass(frozen=True, slots=True)
class Read:
    """What was read, and how."""

    text: str
    confidence: float = 0.9
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Library:
    database: Database
    tenant_id: TenantId

    def of(self, tenant_id: TenantId) -> Library:
        return replace(self, tenant_id=tenant_id)

    async def video(self, *read: str | Read, day: int = 0, video_id: UUID | None = None) -> UUID:
        """One video of one day, its texts a second apart; entities come in a statement of their own."""
        video = video_id or uuid4()
        rows = [one if isinstance(one, Read) else Read(one) for one in read]
        async with self.database.transaction(self.tenant_id) as transaction:
            await transaction.connection.execute(VIDEO, {"video": video, "at": EPOCH + timedelta(days=day)})
            segments = [_segment(one, number) for number, one in enumerate(rows)]
            await transaction.connection.execute(SEGMENTS, {"video": video, "segments": Jsonb(segments)})
            entities = [entity for segment in segments for entity in _entities(segment)]
            await transaction.connection.execute(ENTITIES, {"video": video, "entities": Jsonb(entities)})
        return video

    async def found(self, text: str, **options: Any) -> list[str]:
        return [hit.text for hit in (await self.page(text, **options)).hits]

    async def page(self, text: str, **options: Any) -> HitPage:
        return await VideoSearch(self.database).page(self.tenant_id, SearchRequest(text, **options))

    async def places(self, text: str, **options: Any) -> dict[str, int]:
        """How many texts of each place match; negative where counting stopped."""
        counted = await VideoSearch(self.database).places(self.tenant_id, SearchRequest(text, **options))
        return {str(one.where): -one.count if one.has_more else one.count for one in counted}

    async def walk(self, text: str, first: int, sort: Sort = Sort.RELEVANCE) -> list[str]:
        """All pages, one after the other."""
        texts: list[str] = []
        place: SearchCursor | None = None
        while True:
            page = await self.page(text, first=first, sort=sort, after=place)
            texts += [hit.text for hit in page.hits]
            if page.next is None:
                return texts
            assert len(page.hits) == first
            place = page.next

    async def execute(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        async with self.database.transaction(self.tenant_id) as transaction:
            cursor = await transaction.connection.execute(statement.encode(), values)
            return await cursor.fetchall() if cursor.description else []

    async def everything(self, connection: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        """The index as it is, without its numbers: for whoever may see it."""
        words = await connection.execute(
            "SELECT word, segments, shown, bands FROM process.search_words WHERE tenant_id = %s ORDER BY word",
            (self.tenant_id,),
        )
        entries = await connection.execute(
            "SELECT e.segment_id, e.relevance, e.recency, e.confidence,"
            "       (SELECT array_agg(w.word ORDER BY x.place) FROM unnest(e.words) WITH ORDINALITY AS x (id, place)"
            "          JOIN process.search_words AS w ON w.word_id = x.id)"
            "  FROM process.search_entries AS e WHERE e.tenant_id = %s ORDER BY e.segment_id",
            (self.tenant_id,),
        )
        return await words.fetchall(), await entries.fetchall()


def _segment(read: Read, number: int) -> dict[str, Any]:
    return {
        "id": str(uuid4()),
        "text": read.text,
        "normalized": normalize(read.text),
        "hash": text_hash(read.text),
        "start": number * 1000,
        "confidence": read.confidence,
        "language": read.language,
    }


def _entities(segment: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "segment": segment["id"],
            "type": entity.type,
            "value": entity.value,
            "normalized": entity.normalized_value,
            "kind": entity.kind,
        }
        for entity in find_entities(segment["text"])
    ]


@pytest.fixture
async def library(postgres: PostgresEndpoint) -> AsyncGenerator[Library]:
    async with Database(postgres.app_url) as database:
        yield Library(database, new_tenant())
