"""Events per second through the log, and how long from commit to consumer, beside bare inserts into one table.

The floor is the same transactions by the same clients with one plain row instead of an event: what PostgreSQL on this
machine takes at all. The ratio is what the log costs.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import ClassVar
from uuid import uuid4

from psycopg import AsyncConnection
from support.report import percentile, report
from support.stack import product

from touchline.apps import wiring
from touchline.apps.settings import load
from touchline.contracts.events import Event, Payload
from touchline.kernel import SystemClock, TenantId
from touchline.platform.endpoints import Endpoints
from touchline.platform.events.consumer import Consumer
from touchline.platform.events.log import EVENTS_CHANNEL, Archive, PostgresLog
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction, Wakeups
from touchline.platform.settings import EventSettings, ObjectsSettings

WRITERS = 8
SINGLE = 4_000  # transactions of one event
BULK, BULK_SIZE = 50, 1_000  # transactions of many
TENANT = TenantId(uuid4())
FLOOR_TABLE = """
CREATE SCHEMA bench;
GRANT USAGE ON SCHEMA bench TO touchline_app;
CREATE TABLE bench.floor (tenant_id uuid NOT NULL, number bigint NOT NULL);
SELECT platform.enable_row_level_security('bench.floor');
GRANT INSERT ON bench.floor TO touchline_app;
"""


class Measured(Payload):
    event_type: ClassVar[str] = "bench.measured"
    number: int
    committed_ns: int

    @property
    def key(self) -> str:
        return f"key-{self.number % 100}"


@dataclass
class Stopwatch:
    """A consumer that only looks at the time."""

    name: str = "bench"
    types: frozenset[str] | None = frozenset({"bench.measured"})
    latencies_ms: list[float] = field(default_factory=list)

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        now = time.time_ns()
        self.latencies_ms += [(now - event.data["committed_ns"]) / 1e6 for event in events]


@asynccontextmanager
async def consuming(where: Endpoints) -> AsyncGenerator[tuple[Database, Stopwatch]]:
    """The sequencer is the control process of the running product; the consumer is ours."""
    stopwatch, settings = Stopwatch(), EventSettings()
    wakeups = Wakeups(where.postgres.app_url, [EVENTS_CHANNEL])
    async with (
        Database(where.postgres.app_url) as database,
        ObjectStore(where.objects, ObjectsSettings()) as objects,
        wakeups.listening(),
    ):
        log = PostgresLog(database, wakeups, Archive(database, objects, settings, SystemClock()))
        task = asyncio.create_task(Consumer(database, log, stopwatch, settings).run())
        yield database, stopwatch
        task.cancel()


async def write(database: Database, numbers: Sequence[int]) -> None:
    async with database.transaction(TENANT) as transaction:
        for number in numbers:
            transaction.announce(Measured(number=number, committed_ns=time.time_ns()))


async def write_floor(database: Database, numbers: Sequence[int]) -> None:
    async with database.transaction(TENANT) as transaction:
        rows = [(TENANT, number) for number in numbers]
        async with transaction.connection.cursor() as cursor:
            await cursor.executemany("INSERT INTO bench.floor VALUES (%s, %s)", rows)


async def rate(act: Callable[[Sequence[int]], Awaitable[None]], batches: Sequence[Sequence[int]]) -> float:
    """Events per second by several writers at once."""
    begun = time.monotonic()

    async def writer(mine: Sequence[Sequence[int]]) -> None:
        for numbers in mine:
            await act(numbers)

    await asyncio.gather(*(writer(batches[first::WRITERS]) for first in range(WRITERS)))
    return sum(map(len, batches)) / (time.monotonic() - begun)


async def through(database: Database, stopwatch: Stopwatch, batches: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Events per second written, and written and consumed."""
    stopwatch.latencies_ms.clear()
    begun, total = time.monotonic(), sum(map(len, batches))
    written = await rate(lambda numbers: write(database, numbers), batches)
    while len(stopwatch.latencies_ms) < total:
        await asyncio.sleep(0.002)
    return written, total / (time.monotonic() - begun)


async def measure(where: Endpoints) -> dict[str, float | str]:
    async with await AsyncConnection.connect(where.postgres.owner_url) as connection:
        await connection.execute(FLOOR_TABLE)
    singles = [[number] for number in range(SINGLE)]
    bulks = [range(start, start + BULK_SIZE) for start in range(0, BULK * BULK_SIZE, BULK_SIZE)]
    figures: dict[str, float | str] = {}
    async with consuming(where) as (database, stopwatch):
        calm = [[number] for number in range(200)]
        for numbers in calm:
            await write(database, numbers)
            await asyncio.sleep(0.01)
        figures["calm: commit to consumer p50, ms"] = percentile(stopwatch.latencies_ms, 0.5)
        figures["calm: commit to consumer p95, ms"] = percentile(stopwatch.latencies_ms, 0.95)
        for label, batches in (("one event a transaction", singles), (f"{BULK_SIZE} events a transaction", bulks)):
            floor = await rate(lambda numbers: write_floor(database, numbers), batches)
            written, consumed = await through(database, stopwatch, batches)
            figures[f"{label}: floor, rows/s"] = floor
            figures[f"{label}: written, events/s"] = written
            figures[f"{label}: through the log, events/s"] = consumed
            figures[f"{label}: ratio through : floor"] = consumed / floor
            figures[f"{label}: commit to consumer p95, ms"] = percentile(stopwatch.latencies_ms, 0.95)
    return figures


def main() -> None:
    with product() as made:
        made.touchline("up", "--detach")
        os.environ["TOUCHLINE_DATA"] = str(made.data)
        report("event_log", asyncio.run(measure(wiring.endpoints(load()))))


if __name__ == "__main__":
    main()
