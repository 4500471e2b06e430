"""All SQL of live events: one tenant's events of the log, read under row-level security."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row

from touchline.kernel import TenantId
from touchline.platform.postgres.database import Database

BOUNDS = "SELECT position AS head, oldest FROM platform.event_head"
READ = """
-- One statement, so that events and bounds are of one moment: rows that are being archived are either all there or
-- `oldest` says so. Row-level security adds the tenant, and the index events_tenant keeps it cheap.
SELECT head.position AS head, head.oldest, event.position, event.type, event.revision, event.occurred_at, event.data
  FROM platform.event_head AS head
  LEFT JOIN LATERAL (
    SELECT position, type, revision, occurred_at, data
      FROM platform.events
     WHERE position > %(after)s AND position <= %(upto)s AND type = ANY (%(types)s::text[])
     ORDER BY position
     LIMIT %(limit)s
  ) AS event ON true
 ORDER BY event.position
"""
SPAN = 50_000  # how many positions, of all tenants, one statement passes over at most


@dataclass(frozen=True, slots=True)
class Bounds:
    head: int
    oldest: int


@dataclass(frozen=True, slots=True)
class LiveEvent:
    position: int
    type: str
    revision: int
    occurred_at: datetime
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EventPage:
    events: Sequence[LiveEvent]
    bounds: Bounds
    reached: int  # everything up to here was looked at


class LiveStore:
    """The live events of one tenant."""

    def __init__(self, database: Database, tenant_id: TenantId, types: frozenset[str]) -> None:
        self._database = database
        self._tenant_id = tenant_id
        self._types = sorted(types)

    async def bounds(self) -> Bounds:
        async with (
            self._database.transaction(self._tenant_id) as transaction,
            transaction.connection.cursor(row_factory=class_row(Bounds)) as cursor,
        ):
            [bounds] = await (await cursor.execute(BOUNDS)).fetchall()
            return bounds

    async def read(self, after: int, limit: int) -> EventPage:
        values = {"after": after, "upto": after + SPAN, "types": self._types, "limit": limit}
        async with self._database.transaction(self._tenant_id) as transaction:
            rows = await (await transaction.connection.execute(READ, values)).fetchall()
        bounds = Bounds(rows[0][0], rows[0][1])
        events = [LiveEvent(*row[2:]) for row in rows if row[2] is not None]
        full = len(events) == limit
        return EventPage(events, bounds, events[-1].position if full else max(after, min(after + SPAN, bounds.head)))
