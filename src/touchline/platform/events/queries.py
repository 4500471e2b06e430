"""The state of the event log, for the command line, the page and the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from prometheus_client import Gauge
from psycopg.rows import class_row

from touchline.platform.postgres.database import Database

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
