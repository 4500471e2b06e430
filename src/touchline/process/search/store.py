"""All SQL of search and of video labels, inside the tenant. Searching calls the functions in `migrations/process`;
triggers of `process.video_texts` keep the search index up to date.

Invariants: the segments of a page are fetched one by one by their key, whatever statistics say. A video's labels
are locked from the moment they are read until what follows from them is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from touchline.platform.postgres.database import fetch_one
from touchline.process.text import normalize

from .model import GoalShown, Label, SearchCursor, Sort, TextPlace, VideoSubject, text_id
from .rules import IndexRequest, WordVariants

FIRST_PAGE = SearchCursor(2**63 - 1, UUID(int=2**128 - 1))

# How the words are read.
READ: LiteralString = """
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
"""
# One statement, one journey: how the words are read, and the page that has them. Without hits, one row with the former.
PAGE: LiteralString = (
    READ  # noqa: S608  (constants)
    + """
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
)
# How many texts of each place match, up to a limit: as many index entries are read as a page of that size reads.
COUNTS: LiteralString = (
    READ  # noqa: S608  (constants)
    + """
SELECT p.place, (SELECT count(*) FROM process.search(
                   p.request || jsonb_build_object('spelling', r.spelling, 'splits', r.splits), 'relevance',
                   %(most)s, %(rank)s, %(segment_id)s))
  FROM read AS r CROSS JOIN jsonb_each(%(requests)s) AS p (place, request)
"""
)
LABELED: LiteralString = """
-- Videos with a label of this kind that has all the words.
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

    async def page(
        self, wanted: IndexRequest, sort: Sort, most: int, below: SearchCursor
    ) -> tuple[WordVariants, list[FoundSegment]]:
        place = {"rank": below.rank, "segment_id": below.segment_id}
        values = {"request": Jsonb(wanted.request), "sort": sort, "most": most, **place}
        rows = await (await self._connection.execute(PAGE, values | _read(wanted))).fetchall()
        splits = {word: [(one, other) for one, other in pairs] for word, pairs in json.loads(rows[0][1]).items()}
        reading = WordVariants(json.loads(rows[0][0]), splits)
        return reading, [FoundSegment(*found) for _, _, *found in rows if found[0]]

    async def counts(self, wanted: IndexRequest, requests: Mapping[TextPlace, Any], most: int) -> dict[TextPlace, int]:
        """How many texts each request finds, at most so many; the words are the same in all."""
        values = {
            "requests": Jsonb(requests),
            "most": most,
            "rank": FIRST_PAGE.rank,
            "segment_id": FIRST_PAGE.segment_id,
        }
        rows = await (await self._connection.execute(COUNTS, values | _read(wanted))).fetchall()
        return {TextPlace(place): count for place, count in rows}

    async def labeled(self, kind: str, words: Sequence[str], most: int) -> set[UUID]:
        """Videos with a label that has all the words."""
        cursor = await self._connection.execute(LABELED, {"kind": kind, "words": list(words), "most": most})
        return {video_id for (video_id,) in await cursor.fetchall()}

    async def suggestions(self, prefix: str, most: int) -> list[tuple[str, int]]:
        return await (await self._connection.execute(SUGGEST, {"prefix": prefix, "most": most})).fetchall()

    async def shown(self, words: Sequence[str]) -> dict[str, str]:
        """Words as people write them. A word that is the prefix of many others may be missing."""
        if not words:
            return {}
        return dict(await (await self._connection.execute(SHOWN, {"words": list(words)})).fetchall())

    async def forget(self, video_id: UUID) -> None:
        await self._connection.execute(FORGET, {"video_id": video_id})

    async def remember(self, video_id: UUID) -> None:
        await self._connection.execute(REMEMBER, {"video_id": video_id})

    async def refresh(self) -> None:
        await self._connection.execute(REFRESH)


def _read(wanted: IndexRequest) -> dict[str, Any]:
    words = {"known": wanted.known, "loose": wanted.loose, "corrected": wanted.corrected}
    return {**words, "pairs": Jsonb(wanted.pairs), "whole": wanted.whole}


ADD: LiteralString = """
INSERT INTO process.video_subjects (tenant_id, video_id) VALUES (platform.current_tenant(), %(video_id)s)
ON CONFLICT DO NOTHING
"""
LOCK: LiteralString = """
SELECT title, title_revision, goal, goal_revision, is_dropped FROM process.video_subjects
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
   FOR UPDATE
"""
SAVE: LiteralString = """
UPDATE process.video_subjects
   SET title = %(title)s, title_revision = %(title_revision)s, goal = %(goal)s, goal_revision = %(goal_revision)s,
       is_dropped = %(is_dropped)s
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
"""
DELETE_TEXTS: LiteralString = """
DELETE FROM process.video_texts
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s AND place <> ALL (%(places)s)
"""
SAVE_TEXTS: LiteralString = """
INSERT INTO process.video_texts AS t (tenant_id, id, video_id, place, text, normalized_text)
SELECT platform.current_tenant(), n.id, %(video_id)s, n.place, n.text, n.normalized
  FROM jsonb_to_recordset(%(texts)s) AS n (id uuid, place text, text text, normalized text)
    ON CONFLICT (tenant_id, id) DO UPDATE
   SET text = excluded.text, normalized_text = excluded.normalized_text WHERE t.text <> excluded.text
"""
DELETE_LABELS: LiteralString = """
DELETE FROM process.video_labels
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
"""
SAVE_LABELS: LiteralString = """
INSERT INTO process.video_labels (tenant_id, video_id, kind, value, word)
SELECT DISTINCT platform.current_tenant(), %(video_id)s::uuid, n.kind, n.value, w.word
  FROM jsonb_to_recordset(%(labels)s) AS n (kind text, value text), regexp_split_to_table(n.value, ' ') AS w (word)
"""


class VideoSubjectStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def lock(self, video_id: UUID) -> VideoSubject:
        await self._connection.execute(ADD, {"video_id": video_id})
        return await fetch_one(self._connection, _subject, LOCK, video_id=video_id) or VideoSubject()

    async def save(self, video_id: UUID, subject: VideoSubject) -> None:
        goal = Jsonb(asdict(subject.goal)) if subject.goal else None
        await self._connection.execute(SAVE, {"video_id": video_id, **asdict(subject), "goal": goal})

    async def save_texts(self, video_id: UUID, texts: Mapping[TextPlace, str]) -> None:
        rows = [
            {"id": str(text_id(video_id, where)), "place": where, "text": text, "normalized": normalize(text)}
            for where, text in texts.items()
        ]
        await self._connection.execute(DELETE_TEXTS, {"video_id": video_id, "places": list(texts)})
        await self._connection.execute(SAVE_TEXTS, {"video_id": video_id, "texts": Jsonb(rows)})

    async def save_labels(self, video_id: UUID, labels: AbstractSet[Label]) -> None:
        rows = [asdict(label) for label in labels]
        await self._connection.execute(DELETE_LABELS, {"video_id": video_id})
        await self._connection.execute(SAVE_LABELS, {"video_id": video_id, "labels": Jsonb(rows)})


def _subject(*, goal: dict[str, Any] | None, **columns: Any) -> VideoSubject:
    return VideoSubject(goal=GoalShown(**goal) if goal else None, **columns)
