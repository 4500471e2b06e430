"""All SQL of the list of deliveries. Each runs inside a tenant but for what looks for work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from touchline.platform.postgres.database import fetch_all, fetch_one

from .rules import Delivery, ReceivedDelivery

CHANNEL: LiteralString = "touchline_measure"
MOST_TAKEN = 1000  # deliveries

RECEIVE: LiteralString = """
-- A delivery that is stored already stays as it is. One that was interrupted is read again, under a new number; so is
-- one that was forgotten. Its time stays that of the first try: what that may yet write lies in the same places.
INSERT INTO measure.batches AS b (tenant_id, batch_id, source, content, records, size_bytes, reading)
VALUES (platform.current_tenant(), %(batch_id)s, %(source)s, %(content)s, %(records)s, %(size_bytes)s,
        nextval('measure.passes'))
ON CONFLICT (tenant_id, batch_id) DO UPDATE
   SET reading = CASE WHEN b.state IN ('receiving', 'forgotten') THEN excluded.reading ELSE b.reading END,
       tried_at = CASE WHEN b.state IN ('receiving', 'forgotten') THEN now() ELSE b.tried_at END,
       state = CASE b.state WHEN 'forgotten' THEN 'receiving' ELSE b.state END
RETURNING batch_id, content, records, received_at, reading, state, xmax = 0 AS first
"""

STORED: LiteralString = """
UPDATE measure.batches SET state = 'stored'
 WHERE tenant_id = platform.current_tenant() AND batch_id = %(batch_id)s AND state = 'receiving'
"""

NOTIFY: LiteralString = "SELECT pg_notify('touchline_measure', '')"

FORGET: LiteralString = """
UPDATE measure.batches SET state = 'forgotten'
 WHERE tenant_id = platform.current_tenant() AND batch_id = %(batch_id)s AND state = 'receiving'
   AND reading = %(reading)s
"""

READ_AGAIN: LiteralString = """
-- Some of its events are read with other rules. Until they are written it is on its way once more, so that it is folded
-- whatever happens to whoever reads.
UPDATE measure.batches SET state = 'receiving', tried_at = now(), reading = nextval('measure.passes')
 WHERE tenant_id = platform.current_tenant() AND batch_id = %(batch_id)s AND state <> 'forgotten'
RETURNING batch_id, content, records, received_at, reading, state, false AS first
"""

KNOWN: LiteralString = """
SELECT batch_id, records FROM measure.batches
 WHERE tenant_id = platform.current_tenant() AND starts_with(batch_id, %(prefix)s)
   AND state IN ('stored', 'folded')
"""

LISTED: LiteralString = """
SELECT batch_id, source, records, received_at, state FROM measure.batches
 WHERE tenant_id = platform.current_tenant() AND batch_id > %(after)s ORDER BY batch_id LIMIT %(most)s
"""

OVERDUE: LiteralString = """
SELECT tenant_id, batch_id, records, reading FROM measure.batches
 WHERE state = 'receiving' AND tried_at < now() - %(deadline)s
 ORDER BY tried_at LIMIT %(most)s
"""

WAITING: LiteralString = "SELECT DISTINCT tenant_id AS id FROM measure.batches WHERE state = 'stored' LIMIT 1000"

TRY_LOCK: LiteralString = """
-- Ends with its transaction, and that with its connection: a process that dies holds up nobody.
SELECT pg_try_advisory_xact_lock(hashtextextended('measure.fold/' || platform.current_tenant()::text, 0)) AS got
"""

STILL: LiteralString = "SELECT 1"

NUMBER: LiteralString = "SELECT nextval('measure.passes') AS number"

TAKE: LiteralString = """
-- The oldest, up to so many records, at least one. What an earlier pass took and did not finish is said to be so.
WITH due AS (
  SELECT batch_id, pass FROM (
    SELECT w.batch_id, w.pass, sum(w.records) OVER (ORDER BY w.number) - w.records AS before
      FROM (SELECT batch_id, pass, number, records FROM measure.batches
             WHERE tenant_id = platform.current_tenant() AND state = 'stored' ORDER BY number LIMIT %(most_taken)s) AS w
  ) AS running
   WHERE before < %(most)s
)
UPDATE measure.batches AS b SET pass = %(number)s
  FROM due
 WHERE b.tenant_id = platform.current_tenant() AND b.batch_id = due.batch_id AND b.state = 'stored'
RETURNING b.batch_id, b.reading, b.records, due.pass IS NOT NULL AS taken_before
"""

FOLDED: LiteralString = """
-- Only what this pass took, as it was then: what was read again since has to be folded again.
UPDATE measure.batches AS b SET state = 'folded', pass = NULL, folded_at = now()
  FROM unnest(%(batch_ids)s::text[], %(readings)s::bigint[]) AS done (batch_id, reading)
 WHERE b.tenant_id = platform.current_tenant() AND b.pass = %(number)s AND b.state = 'stored'
   AND b.batch_id = done.batch_id AND b.reading = done.reading
"""


@dataclass(frozen=True, slots=True)
class OverdueDelivery:
    tenant_id: UUID
    batch_id: str
    records: int
    reading: int


@dataclass(frozen=True, slots=True)
class ListedDelivery:
    batch_id: str
    source: str
    records: int
    received_at: datetime
    state: str


@dataclass(frozen=True, slots=True)
class TakenDelivery:
    batch_id: str
    reading: int
    records: int
    taken_before: bool


@dataclass(frozen=True, slots=True)
class _Tenant:
    id: UUID


class DeliveryStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def receive(self, delivery: Delivery) -> ReceivedDelivery:
        received = await fetch_one(
            self._connection,
            ReceivedDelivery,
            RECEIVE,
            batch_id=delivery.batch_id,
            source=delivery.source,
            content=delivery.content,
            records=len(delivery.records),
            size_bytes=delivery.size_bytes,
        )
        assert received  # noqa: S101  an upsert answers its row
        return received

    async def stored(self, batch_id: str) -> None:
        await self._connection.execute(STORED, {"batch_id": batch_id})
        await self._connection.execute(NOTIFY)

    async def forget(self, batch_id: str, reading: int) -> None:
        await self._connection.execute(FORGET, {"batch_id": batch_id, "reading": reading})

    async def read_again(self, batch_id: str) -> ReceivedDelivery | None:
        return await fetch_one(self._connection, ReceivedDelivery, READ_AGAIN, batch_id=batch_id)

    async def known(self, prefix: str) -> dict[str, int]:
        """Those that are stored, of all whose names begin so, each with the number of its records."""
        cursor = await self._connection.execute(KNOWN, {"prefix": prefix})
        return dict(await cursor.fetchall())

    async def listed(self, after: str, most: int) -> Sequence[ListedDelivery]:
        return await fetch_all(self._connection, ListedDelivery, LISTED, after=after, most=most)

    async def overdue(self, deadline: timedelta, most: int) -> Sequence[OverdueDelivery]:
        return await fetch_all(self._connection, OverdueDelivery, OVERDUE, deadline=deadline, most=most)

    async def waiting(self) -> list[UUID]:
        return [tenant.id for tenant in await fetch_all(self._connection, _Tenant, WAITING)]

    async def try_lock(self) -> bool:
        """Whether this transaction is now the only one that folds for its tenant."""
        [got] = await (await self._connection.execute(TRY_LOCK)).fetchone() or (False,)
        return got

    async def still(self) -> None:
        """Raises when the connection, and with it the hold on the tenant, has gone."""
        await self._connection.execute(STILL)

    async def number(self) -> int:
        [number] = await (await self._connection.execute(NUMBER)).fetchone() or (0,)
        return number

    async def take(self, number: int, most: int) -> Sequence[TakenDelivery]:
        return await fetch_all(self._connection, TakenDelivery, TAKE, number=number, most=most, most_taken=MOST_TAKEN)

    async def folded(self, number: int, taken: Sequence[TakenDelivery]) -> None:
        ids, readings = [one.batch_id for one in taken], [one.reading for one in taken]
        await self._connection.execute(FOLDED, {"number": number, "batch_ids": ids, "readings": readings})
