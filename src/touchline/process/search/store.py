"""All SQL of search: calls of the functions that hold the index (migrations/process), inside the tenant.

Invariant: the segments of a page are fetched one by one by their key, whatever statistics say.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from .model import Place, Sort
from .rules import Spelling, Wanted

TOP = Place(2**63 - 1, UUID(int=2**128 - 1))

# One statement, one journey: how the words are read, and the page that has them. Without hits, one row with the former.
PAGE: LiteralString = """
WITH read AS MATERIALIZED (
  SELECT coalesce(jsonb_object_agg(w.wanted, w.words), '{}') AS spelling
    FROM (SELECT s.wanted, jsonb_agg(s.word ORDER BY s.place) AS words
            FROM ROWS FROM (process.search_spelling(%(known)s, %(loose)s)) WITH ORDINALITY AS s (wanted, word, place)
           WHERE s.word <> s.wanted OR s.wanted <> ALL (%(corrected)s)
           GROUP BY s.wanted) AS w
)
SELECT r.spelling::text, h.*
  FROM read AS r
  LEFT JOIN LATERAL (
    SELECT h.segment_id, h.rank, s.video_id, s.text, s.bounding_box, s.t_start, s.t_end, s.confidence, s.language,
           v.created_at, p.width AS picture_width, p.height AS picture_height
      FROM process.search(%(request)s || jsonb_build_object('spelling', r.spelling), %(sort)s, %(most)s, %(rank)s,
                          %(segment_id)s) AS h
     CROSS JOIN LATERAL (
       SELECT * FROM process.segments AS s
        WHERE s.tenant_id = (SELECT platform.current_tenant()) AND s.id = h.segment_id LIMIT 1) AS s
     CROSS JOIN LATERAL (
       SELECT v.created_at FROM process.videos AS v
        WHERE v.tenant_id = (SELECT platform.current_tenant()) AND v.video_id = s.video_id LIMIT 1) AS v
      LEFT JOIN LATERAL (
       SELECT p.width, p.height FROM process.samplings AS p
        WHERE p.tenant_id = (SELECT platform.current_tenant()) AND p.video_id = s.video_id LIMIT 1) AS p ON true
  ) AS h ON true
 ORDER BY h.rank DESC, h.segment_id DESC
"""
LABELED: LiteralString = """
SELECT l.video_id FROM process.video_labels AS l
 WHERE l.tenant_id = (SELECT platform.current_tenant()) AND l.kind = %(kind)s AND l.value = %(value)s
 LIMIT %(most)s
"""
SUGGEST: LiteralString = "SELECT shown, segments FROM process.search_suggestions(%(prefix)s, %(most)s)"
SHOWN: LiteralString = """
SELECT w.word, s.shown
  FROM unnest(%(words)s::text[]) AS w (word)
 CROSS JOIN LATERAL process.search_suggestions(w.word, 50) AS s
 WHERE process.search_fold(s.shown) = w.word
"""
FORGET: LiteralString = "SELECT process.forget_video(%(video_id)s)"
REMEMBER: LiteralString = "SELECT process.remember_video(%(video_id)s)"
REFRESH: LiteralString = "SELECT process.refresh_search_materialized()"


@dataclass(frozen=True, slots=True)
class FoundSegment:
    segment_id: UUID
    rank: int
    video_id: UUID
    text: str
    bounding_box: dict[str, int]
    t_start: int
    t_end: int
    confidence: float
    language: str | None
    created_at: datetime
    picture_width: int | None
    picture_height: int | None


class SearchStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def page(self, wanted: Wanted, sort: Sort, most: int, below: Place) -> tuple[Spelling, list[FoundSegment]]:
        place = {"rank": below.rank, "segment_id": below.segment_id}
        values = {"request": Jsonb(wanted.request), "sort": sort, "most": most, **place}
        words = {"known": wanted.known, "loose": wanted.loose, "corrected": wanted.corrected}
        rows = await (await self._connection.execute(PAGE, values | words)).fetchall()
        return json.loads(rows[0][0]), [FoundSegment(*found) for _, *found in rows if found[0]]

    async def labeled(self, kind: str, value: str, most: int) -> set[UUID]:
        cursor = await self._connection.execute(LABELED, {"kind": kind, "value": value, "most": most})
        return {video_id for (video_id,) in await cursor.fetchall()}

    async def suggestions(self, prefix: str, most: int) -> list[tuple[str, int]]:
        return await (await self._connection.execute(SUGGEST, {"prefix": prefix, "most": most})).fetchall()

    async def shown(self, words: Sequence[str]) -> dict[str, str]:
        """Words as people write them. One that is the beginning of many others may be missing."""
        if not words:
            return {}
        return dict(await (await self._connection.execute(SHOWN, {"words": list(words)})).fetchall())

    async def forget(self, video_id: UUID) -> None:
        await self._connection.execute(FORGET, {"video_id": video_id})

    async def remember(self, video_id: UUID) -> None:
        await self._connection.execute(REMEMBER, {"video_id": video_id})

    async def refresh(self) -> None:
        await self._connection.execute(REFRESH)
