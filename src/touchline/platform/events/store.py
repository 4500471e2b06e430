"""All SQL of the event log but the writer's (`append_events` in postgres/database.py). Runs on system transactions.

The state of the event log, for the command line, the page and the metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from prometheus_client import Gauge
from psycopg import AsyncConnection
from psycopg.rows import class_row

from touchline.contracts.events import Event
from touchline.platform.postgres.database import Database

SEQUENCE = "SELECT platform.sequence_events(%s)"
BOUNDS = "SELECT position AS head, oldest FROM platform.event_head"

READ = """
-- A window of positions, so that a consumer of rare types still moves on in bounded steps.
SELECT position, id, tenant_id, type, version, key, revision, occurred_at, trace, data
  FROM platform.events
 WHERE position > %(after)s AND position <= %(upto)s
   AND (%(types)s::text[] IS NULL OR type = ANY (%(types)s::text[]))
 ORDER BY position
"""

REGISTER = "INSERT INTO platform.consumers (name) VALUES (%s) ON CONFLICT (name) DO NOTHING"
CURSOR = "SELECT position FROM platform.consumers WHERE name = %s"
LEASE = """
-- The row lock is the lease: who does not get it, or comes from an old position, applies nothing.
SELECT 1 FROM platform.consumers WHERE name = %s AND position = %s FOR UPDATE SKIP LOCKED
"""
ADVANCE = "UPDATE platform.consumers SET position = %s, updated_at = now() WHERE name = %s"

SET_ASIDE = """
INSERT INTO platform.poison_events (consumer, position, tenant_id, event_type, error)
VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (consumer, position) DO UPDATE SET error = excluded.error, state = 'set_aside', set_aside_at = now()
"""
NEXT_RETRY = """
SELECT position FROM platform.poison_events
 WHERE consumer = %s AND state = 'retry'
 ORDER BY position
 LIMIT 1
   FOR UPDATE SKIP LOCKED
"""
RESOLVE = "UPDATE platform.poison_events SET state = 'resolved' WHERE consumer = %s AND position = %s"
DECIDE = """
UPDATE platform.poison_events SET state = %s
 WHERE consumer = %s AND position = %s AND state IN ('set_aside', 'retry')
"""

CHUNK_DUE = """
-- Whether a range may leave the table: it is complete and old. A consumer that is still behind reads the archive.
SELECT count(*) = %(last)s - %(first)s + 1 AND max(occurred_at) < %(before)s
  FROM platform.events
 WHERE position BETWEEN %(first)s AND %(last)s
"""
RECORD_ARCHIVE = """
INSERT INTO platform.event_archives (first_position, last_position, object_key, sha256)
VALUES (%(first)s, %(last)s, %(key)s, %(sha256)s)
"""
DROP_CHUNK = "DELETE FROM platform.events WHERE position BETWEEN %(first)s AND %(last)s"
MOVE_OLDEST = "UPDATE platform.event_head SET oldest = %(last)s + 1 WHERE oldest = %(first)s"
ARCHIVE_OF = """
SELECT first_position, last_position, object_key, sha256
  FROM platform.event_archives
 WHERE last_position > %s
 ORDER BY first_position
 LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class LogBounds:
    head: int
    oldest: int


@dataclass(frozen=True, slots=True)
class ArchiveChunk:
    first_position: int
    last_position: int
    object_key: str
    sha256: str


class LogStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def sequence(self, batch: int) -> int:
        """How many events got a position; negative when another sequencer is running."""
        return await self._value(SEQUENCE, (batch,))

    async def bounds(self) -> LogBounds:
        async with self._connection.cursor(row_factory=class_row(LogBounds)) as cursor:
            await cursor.execute(BOUNDS)
            return (await cursor.fetchall())[0]  # the migration inserts the row

    async def read(self, after: int, upto: int, types: frozenset[str] | None) -> list[Event]:
        wanted = None if types is None else sorted(types)
        async with self._connection.cursor(row_factory=class_row(Event)) as cursor:
            await cursor.execute(READ, {"after": after, "upto": upto, "types": wanted})
            return await cursor.fetchall()

    async def chunk_is_due(self, first: int, last: int, before: datetime) -> bool:
        return await self._value(CHUNK_DUE, {"first": first, "last": last, "before": before}) is True

    async def record_archive(self, chunk: ArchiveChunk) -> bool:
        """Deletes the rows that are in the archive now; false when another pass was faster."""
        names = {
            "first": chunk.first_position,
            "last": chunk.last_position,
            "key": chunk.object_key,
            "sha256": chunk.sha256,
        }
        moved = await self._connection.execute(MOVE_OLDEST, names)
        if moved.rowcount == 0:
            return False
        await self._connection.execute(RECORD_ARCHIVE, names)
        await self._connection.execute(DROP_CHUNK, names)
        return True

    async def archive_after(self, position: int) -> ArchiveChunk | None:
        async with self._connection.cursor(row_factory=class_row(ArchiveChunk)) as cursor:
            await cursor.execute(ARCHIVE_OF, (position,))
            return await cursor.fetchone()

    async def _value(self, statement: str, parameters: Any) -> Any:
        cursor = await self._connection.execute(statement.encode(), parameters)
        row = await cursor.fetchone()
        return row and row[0]


class ConsumerStore:
    def __init__(self, connection: AsyncConnection[Any], consumer: str) -> None:
        self._connection = connection
        self._consumer = consumer

    async def register(self) -> None:
        await self._connection.execute(REGISTER, (self._consumer,))

    async def position(self) -> int:
        cursor = await self._connection.execute(CURSOR, (self._consumer,))
        row = await cursor.fetchone()
        return row[0] if row else 0

    async def lease(self, position: int) -> bool:
        cursor = await self._connection.execute(LEASE, (self._consumer, position))
        return await cursor.fetchone() is not None

    async def advance(self, position: int) -> None:
        await self._connection.execute(ADVANCE, (position, self._consumer))

    async def set_aside(self, event: Event, error: str) -> None:
        values: Sequence[Any] = (self._consumer, event.position, event.tenant_id, event.type, error)
        await self._connection.execute(SET_ASIDE, values)

    async def wanted_again(self) -> int | None:
        cursor = await self._connection.execute(NEXT_RETRY, (self._consumer,))
        row = await cursor.fetchone()
        return row[0] if row else None

    async def resolve(self, position: int) -> None:
        await self._connection.execute(RESOLVE, (self._consumer, position))

    async def decide(self, position: int, state: str) -> bool:
        """False when nothing is set aside there."""
        return (await self._connection.execute(DECIDE, (state, self._consumer, position))).rowcount == 1


HEAD = Gauge("touchline_events_head", "The last position of the event log.")
INBOX = Gauge("touchline_events_inbox", "Committed events that wait for their position.")
LAG = Gauge("touchline_events_lag", "How many positions a consumer is behind the head.", ["consumer"])
POISON_EVENTS = Gauge("touchline_events_poison", "Events that are set aside now.", ["consumer"])

LOG = """
SELECT head.position AS head, head.oldest,
       (SELECT coalesce(sum(events), 0) FROM platform.event_inbox)::bigint AS inbox,
       (SELECT count(*) FROM platform.event_archives) AS archives
  FROM platform.event_head AS head
"""
CONSUMERS = """
SELECT c.name, c.position, head.position - c.position AS lag, c.updated_at,
       (SELECT count(*) FROM platform.poison_events AS p
         WHERE p.consumer = c.name AND p.state IN ('set_aside', 'retry')) AS poison
  FROM platform.consumers AS c, platform.event_head AS head
 ORDER BY c.name
"""
POISON = """
SELECT consumer, position, tenant_id, event_type, error, state, set_aside_at
  FROM platform.poison_events
 WHERE state IN ('set_aside', 'retry')
 ORDER BY consumer, position
 LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class ConsumerStatus:
    name: str
    position: int
    lag: int
    updated_at: datetime
    poison: int


@dataclass(frozen=True, slots=True)
class LogStatus:
    head: int
    oldest: int
    inbox: int
    archives: int


@dataclass(frozen=True, slots=True)
class PoisonEvent:
    consumer: str
    position: int
    tenant_id: UUID
    event_type: str
    error: str
    state: str
    set_aside_at: datetime


async def log_status(database: Database) -> tuple[LogStatus, Sequence[ConsumerStatus]]:
    async with database.system("show the event log's state") as transaction:
        async with transaction.connection.cursor(row_factory=class_row(LogStatus)) as cursor:
            [log] = await (await cursor.execute(LOG)).fetchall()
        async with transaction.connection.cursor(row_factory=class_row(ConsumerStatus)) as cursor:
            consumers = await (await cursor.execute(CONSUMERS)).fetchall()
    return log, consumers


async def poison_events(database: Database, limit: int = 100) -> Sequence[PoisonEvent]:
    async with database.system("show events that were set aside") as transaction:
        cursor = transaction.connection.cursor(row_factory=class_row(PoisonEvent))
        return await (await cursor.execute(POISON, (limit,))).fetchall()


async def update_gauges(database: Database) -> None:
    """Sets the gauges to the current state."""
    log, consumers = await log_status(database)
    HEAD.set(log.head)
    INBOX.set(log.inbox)
    for consumer in consumers:
        LAG.labels(consumer.name).set(consumer.lag)
        POISON_EVENTS.labels(consumer.name).set(consumer.poison)
