"""All SQL of what is known of videos, inside one tenant. Triggers of `process.video_texts` keep the index of search.

Invariant: a video's row is locked from the moment it is read until what follows from it is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from touchline.platform.postgres.rows import fetch_one
from touchline.process.search.model import Where
from touchline.process.segments.folding import normalize

from .rules import GoalShown, Label, Subject, text_id

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


class SubjectStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def lock(self, video_id: UUID) -> Subject:
        await self._connection.execute(ADD, {"video_id": video_id})
        return await fetch_one(self._connection, _subject, LOCK, video_id=video_id) or Subject()

    async def save(self, video_id: UUID, subject: Subject) -> None:
        goal = Jsonb(asdict(subject.goal)) if subject.goal else None
        await self._connection.execute(SAVE, {"video_id": video_id, **asdict(subject), "goal": goal})

    async def save_texts(self, video_id: UUID, texts: Mapping[Where, str]) -> None:
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


def _subject(*, goal: dict[str, Any] | None, **columns: Any) -> Subject:
    return Subject(goal=GoalShown(**goal) if goal else None, **columns)
