"""All SQL of the words for teams. Under row-level security of the watch tenant."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection

from touchline.platform.postgres.database import fetch_one

from .rules import CachedAliases, Made

CACHED: LiteralString = """
SELECT true AS found, words, source, national, country, city
  FROM watch.aliases
 WHERE tenant_id = (SELECT platform.current_tenant()) AND team_id = %(team_id)s
   AND (expires_at IS NULL OR expires_at > %(now)s)
"""

KEEP: LiteralString = """
-- Words that last are never replaced by ones that do not: two may have been at it, and only one was answered.
INSERT INTO watch.aliases AS kept
       (tenant_id, team_id, team_name, national, country, city, words, source, item, made_at, expires_at)
VALUES ((SELECT platform.current_tenant()), %(team_id)s, %(team_name)s, %(national)s, %(country)s, %(city)s,
        %(words)s, %(source)s, %(item)s, %(made_at)s, %(expires_at)s)
ON CONFLICT (tenant_id, team_id) DO UPDATE
   SET team_name = excluded.team_name, national = excluded.national, country = excluded.country, city = excluded.city,
       words = excluded.words, source = excluded.source, item = excluded.item, made_at = excluded.made_at,
       expires_at = excluded.expires_at
 WHERE kept.expires_at IS NOT NULL OR excluded.expires_at IS NULL
"""


class AliasStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def cached(self, team_id: int, now: datetime) -> CachedAliases:
        found = await fetch_one(self._connection, CachedAliases, CACHED, team_id=team_id, now=now)
        return found or CachedAliases(found=False)

    async def keep(self, made: Made) -> None:
        values = {
            **asdict(made.team.facts),
            "team_id": made.team.id,
            "team_name": made.team.name,
            "words": list(made.words),
            "source": made.source,
            "item": made.item,
            "made_at": made.made_at,
            "expires_at": made.expires_at,
        }
        await self._connection.execute(KEEP, values)
