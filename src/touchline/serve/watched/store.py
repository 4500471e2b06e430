"""All SQL of what watch says about its videos, inside one tenant."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from touchline.platform.postgres.database import Transaction, fetch_one

NOTE: LiteralString = """
INSERT INTO serve.watched AS w (tenant_id, artifact_hash, object_key, pinned, dropped_at)
VALUES (%(tenant_id)s, %(hash)s, %(object_key)s, coalesce(%(pinned)s, false), %(dropped_at)s)
ON CONFLICT (tenant_id, artifact_hash) DO UPDATE
   SET object_key = coalesce(w.object_key, excluded.object_key), pinned = coalesce(%(pinned)s, w.pinned),
       dropped_at = coalesce(w.dropped_at, excluded.dropped_at)
RETURNING object_key, pinned, dropped_at
"""
NOTE_TITLE: LiteralString = """
INSERT INTO serve.watched AS w (tenant_id, artifact_hash, title, title_revision)
VALUES (%(tenant_id)s, %(hash)s, %(title)s, %(revision)s)
ON CONFLICT (tenant_id, artifact_hash) DO UPDATE
   SET title = CASE WHEN excluded.title_revision > w.title_revision THEN excluded.title ELSE w.title END,
       title_revision = greatest(w.title_revision, excluded.title_revision)
RETURNING title
"""
TITLE: LiteralString = "SELECT title FROM serve.watched WHERE tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s"


@dataclass(frozen=True, slots=True)
class WatchedRecord:
    """All that was said of a video so far."""

    object_key: str | None
    pinned: bool
    dropped_at: datetime | None


class WatchedStore:
    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id

    async def note(
        self,
        artifact_hash: str,
        *,
        object_key: str | None = None,
        pinned: bool | None = None,
        dropped_at: datetime | None = None,
    ) -> WatchedRecord:
        values = {**self._this(artifact_hash), "object_key": object_key, "pinned": pinned, "dropped_at": dropped_at}
        noted = await fetch_one(self._connection, WatchedRecord, NOTE, **values)
        return noted or WatchedRecord(object_key, bool(pinned), dropped_at)

    async def note_title(self, artifact_hash: str, title: str, revision: int) -> str | None:
        """The newest one that was told."""
        values = {**self._this(artifact_hash), "title": title or None, "revision": revision}
        [(newest,)] = await (await self._connection.execute(NOTE_TITLE, values)).fetchall()
        return newest

    async def title(self, artifact_hash: str) -> str | None:
        row = await (await self._connection.execute(TITLE, self._this(artifact_hash))).fetchone()
        return row[0] if row else None

    def _this(self, artifact_hash: str) -> dict[str, Any]:
        return {"tenant_id": self._tenant_id, "hash": artifact_hash}
