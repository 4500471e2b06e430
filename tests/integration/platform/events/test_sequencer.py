from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from psycopg.errors import InsufficientPrivilege

from tests.support.events import Noted, announce, new_tenant
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.events import queries
from touchline.platform.events.sequencer import Sequencer
from touchline.platform.events.settings import EventSettings
from touchline.platform.postgres.database import Database
from touchline.platform.postgres.wakeups import Wakeups

SETTINGS = EventSettings(sequence_batch=100)
MANY = """
INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, data, events, many)
VALUES (gen_random_uuid(), %s, 'test.noted', 1, '', 0, now(), '{}', 3, %s)
"""


def one(key: str, number: int) -> str:
    event = {"id": str(uuid4()), "key": key, "revision": number, "trace": "story", "data": {"number": number}}
    return json.dumps(event)


def sequencer(database: Database, settings: EventSettings = SETTINGS) -> Sequencer:
    return Sequencer(database, Wakeups(database.url, []), settings)


async def log(database: Database) -> list[tuple[Any, ...]]:
    async with database.system("test: read the log") as transaction:
        cursor = await transaction.connection.execute(
            "SELECT position, key, (data ->> 'number')::int FROM platform.events ORDER BY position"
        )
        return await cursor.fetchall()


async def test_positions_follow_commits_not_inserts(database: Database) -> None:
    """The early writer commits last. Its event comes last, and nobody who read up to 1 can miss it."""
    tenant = new_tenant()
    async with database.transaction(tenant) as early:
        early.announce(Noted(name="early"))
        await early.flush()
        await announce(database, tenant, Noted(name="late"))
        assert await sequencer(database).step() == 1
    assert await sequencer(database).step() == 1
    assert await log(database) == [(1, "late", 0), (2, "early", 0)]


async def test_events_that_were_written_together_get_a_position_each(database: Database) -> None:
    tenant = new_tenant()
    await announce(database, tenant, Noted(name="before"))
    async with database.system("test: write many at once") as transaction:
        await transaction.connection.execute(MANY, [tenant, f"{one('x', 1)},{one('y', 2)},{one('x', 3)}"])
    await announce(database, tenant, Noted(name="after"))
    log_status, _ = await queries.status(database)
    assert log_status.inbox == 5
    few = EventSettings(sequence_batch=2)
    assert [await sequencer(database, few).step() for _ in range(3)] == [4, 1, 0]
    assert await log(database) == [(1, "before", 0), (2, "x", 1), (3, "y", 2), (4, "x", 3), (5, "after", 0)]
    async with database.transaction(tenant) as transaction:
        found = await transaction.connection.execute("SELECT count(DISTINCT id), count(trace) FROM platform.events")
        assert await found.fetchone() == (5, 3)


async def test_only_the_databases_own_functions_write_many_at_once(database: Database) -> None:
    tenant = new_tenant()
    with pytest.raises(InsufficientPrivilege):
        async with database.transaction(tenant) as transaction:
            await transaction.connection.execute(MANY, [tenant, "not what a sequencer can read"])


async def test_a_transaction_that_rolls_back_leaves_no_gap(database: Database) -> None:
    tenant = new_tenant()
    await announce(database, tenant, Noted(name="a"))
    try:
        async with database.transaction(tenant) as transaction:
            transaction.announce(Noted(name="never"))
            await transaction.flush()
            raise KeyError
    except KeyError:
        await announce(database, tenant, Noted(name="b"))
    assert await sequencer(database).step() == 2
    assert await log(database) == [(1, "a", 0), (2, "b", 0)]


async def test_many_writers_and_several_sequencers_leave_no_gap_and_keep_each_keys_order(
    database: Database, postgres: PostgresEndpoint
) -> None:
    writers, each = 8, 60

    async def write(name: str) -> None:
        tenant = new_tenant()
        for number in range(each):
            await announce(database, tenant, Noted(name=name, number=number))

    wakeups = Wakeups(postgres.app_url, ["touchline_inbox"])
    async with wakeups.listening(), Database(postgres.app_url) as elsewhere:
        settings = EventSettings(sequence_batch=7, poll_interval=timedelta(milliseconds=50))
        running = [asyncio.create_task(Sequencer(elsewhere, wakeups, settings).run()) for _ in range(3)]
        await asyncio.gather(*(write(f"writer-{n}") for n in range(writers)))
        async with asyncio.timeout(60):
            while len(rows := await log(database)) < writers * each:
                await asyncio.sleep(0.02)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    assert [position for position, _, _ in rows] == list(range(1, writers * each + 1))
    for writer in range(writers):
        assert [number for _, key, number in rows if key == f"writer-{writer}"] == list(range(each))


async def test_a_second_sequencer_does_not_wait_for_the_first(database: Database) -> None:
    await announce(database, new_tenant(), Noted(name="a"))
    async with database.system("test: hold the sequencer's lock") as transaction:
        await transaction.connection.execute("SELECT platform.sequence_events(1)")
        assert await sequencer(database).step() == -1
    assert await log(database) == [(1, "a", 0)]
