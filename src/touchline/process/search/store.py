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
from .rules import Reading, Wanted

TOP = Place(2**63 - 1, UUID(int=2**128 - 1))

# One statement, one journey: how the words are read, and the page that has them. Without hits, one row with the former.
PAGE: LiteralString = """
WITH spacing AS MATERIALIZED (
  SELECT * FROM process.search_spacing(%(pairs)s, %(whole)s)
), read AS MATERIALIZED (
  SELECT coalesce(jsonb_object_agg(w.wanted, w.words), '{}') AS spelling,
         (SELECT coalesce(jsonb_object_agg(p.wanted, p.pairs), '{}')
            FROM (SELECT s.wanted, jsonb_agg(jsonb_build_array(s.one, s.other)) AS pairs FROM spacing AS s
                   WHERE s.other IS NOT NULL GROUP BY s.wanted) AS p) AS splits
    FROM (SELECT s.wanted, jsonb_agg(s.word ORDER BY s.place) AS words
            FROM (SELECT s.wanted, s.word, s.place
                    FROM ROWS FROM (process.search_spelling(%(known)s, %(loose)s)) WITH ORDINALITY
                         AS s (wanted, word, place)
                   WHERE s.word <> s.wanted OR s.wanted <> ALL (%(corrected)s)
                   UNION ALL
                  SELECT s.wanted, s.one, 1000 FROM spacing AS s WHERE s.other IS NULL) AS s
           GROUP BY s.wanted) AS w
)
SELECT r.spelling::text, r.splits::text, h.*
  FROM read AS r
  LEFT JOIN LATERAL (
    SELECT h.segment_id, h.rank, s.video_id, s.place, s.text, s.bounding_box, s.t_start, s.t_end, s.confidence,
           s.language, v.created_at, p.width AS picture_width, p.height AS picture_height
      FROM process.search(%(request)s || jsonb_build_object('spelling', r.spelling, 'splits', r.splits), %(sort)s,
                          %(most)s, %(rank)s, %(segment_id)s) AS h
     CROSS JOIN LATERAL (
       SELECT s.video_id, 'picture' AS place, s.text, s.bounding_box, s.t_start, s.t_end, s.confidence, s.language
         FROM process.segments AS s
        WHERE s.tenant_id = (SELECT platform.current_tenant()) AND s.id = h.segment_id
        UNION ALL
       SELECT t.video_id, t.place, t.text, NULL, 0, 0, 1, NULL FROM process.video_texts AS t
        WHERE t.tenant_id = (SELECT platform.current_tenant()) AND t.id = h.segment_id
        LIMIT 1) AS s
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
-- Those with a label of the kind that has all the words.
SELECT DISTINCT video_id
  FROM (SELECT l.video_id FROM process.video_labels AS l
         WHERE l.tenant_id = (SELECT platform.current_tenant()) AND l.kind = %(kind)s AND l.word = ANY (%(words)s)
         GROUP BY l.video_id, l.value
        HAVING count(*) = cardinality(%(words)s::text[])) AS labeled
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
    place: str
    text: str
    bounding_box: dict[str, int] | None
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

    async def page(self, wanted: Wanted, sort: Sort, most: int, below: Place) -> tuple[Reading, list[FoundSegment]]:
        place = {"rank": below.rank, "segment_id": below.segment_id}
        values = {"request": Jsonb(wanted.request), "sort": sort, "most": most, **place}
        words = {"known": wanted.known, "loose": wanted.loose, "corrected": wanted.corrected}
        spaces = {"pairs": Jsonb(wanted.pairs), "whole": wanted.whole}
        rows = await (await self._connection.execute(PAGE, values | words | spaces)).fetchall()
        splits = {word: [(one, other) for one, other in pairs] for word, pairs in json.loads(rows[0][1]).items()}
        reading = Reading(json.loads(rows[0][0]), splits)
        return reading, [FoundSegment(*found) for _, _, *found in rows if found[0]]

    async def labeled(self, kind: str, words: Sequence[str], most: int) -> set[UUID]:
        """Videos with a label that has all the words."""
        cursor = await self._connection.execute(LABELED, {"kind": kind, "words": list(words), "most": most})
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
