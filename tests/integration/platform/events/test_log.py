from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from psycopg.errors import InsufficientPrivilege

from tests.support.events import Noted, announce, new_tenant
from touchline.kernel import Defect, ManualClock, SystemClock, Unavailable
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.events import store
from touchline.platform.events.log import Archive, PostgresLog, Sequencer
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Wakeups
from touchline.platform.settings import EventSettings

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
    log_status, _ = await store.log_status(database)
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


ARCHIVE_SETTINGS = EventSettings(archive_chunk=10, archive_most_chunks=2, keep_for=timedelta(days=30))
COUNT = "SELECT count(*), coalesce(min(position), 0) FROM platform.events"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(SystemClock().now())


@pytest.fixture
def archive(database: Database, objects: ObjectStore, clock: ManualClock) -> Archive:
    return Archive(database, objects, ARCHIVE_SETTINGS, clock)


async def fill(database: Database, count: int) -> None:
    await announce(database, new_tenant(), *(Noted(name=f"n{n}", number=n) for n in range(count)))
    await Sequencer(database, Wakeups(database.url, []), ARCHIVE_SETTINGS).step()


async def left(database: Database) -> tuple[int, int]:
    async with database.system("test: count events") as transaction:
        [row] = await (await transaction.connection.execute(COUNT)).fetchall()
        return row


async def test_only_whole_old_ranges_go_and_never_too_many(
    database: Database, archive: Archive, clock: ManualClock
) -> None:
    await fill(database, 37)
    assert (await archive.run_pass()).chunks == 0
    assert await left(database) == (37, 1)
    clock.advance(timedelta(days=31))
    first = await archive.run_pass()
    assert (first.chunks, first.more) == (2, True)
    assert await left(database) == (17, 21)
    second = await archive.run_pass()
    assert (second.chunks, second.more) == (1, False)
    assert await left(database) == (7, 31)


async def test_a_reader_does_not_notice_where_an_event_lies(
    database: Database, archive: Archive, clock: ManualClock
) -> None:
    await fill(database, 25)
    log = PostgresLog(database, Wakeups(database.url, []), archive)
    before = list((await log.read(0, 100)).events)
    clock.advance(timedelta(days=31))
    await archive.run_pass()
    after, position = [], 0
    while (batch := await log.read(position, 7)).reached > position:
        after += batch.events
        position = batch.reached
    assert after == before


async def test_a_pass_that_died_after_the_upload_is_taken_up_again(
    database: Database, objects: ObjectStore, clock: ManualClock
) -> None:
    class Dying:
        async def put_once(self, key: str, data: bytes, /, *, content_type: str) -> object:
            await objects.put_once(key, data, content_type=content_type)
            raise Unavailable("the machine went down")

        async def get(self, key: str, /) -> bytes:
            return await objects.get(key)

    await fill(database, 10)
    clock.advance(timedelta(days=31))
    with pytest.raises(Unavailable):
        await Archive(database, Dying(), ARCHIVE_SETTINGS, clock).run_pass()
    assert await left(database) == (10, 1)
    assert (await Archive(database, objects, ARCHIVE_SETTINGS, clock).run_pass()).chunks == 1
    assert await left(database) == (0, 0)


async def test_an_archive_that_was_tampered_with_is_not_believed(
    database: Database, archive: Archive, objects: ObjectStore, clock: ManualClock
) -> None:
    await fill(database, 10)
    clock.advance(timedelta(days=31))
    await archive.run_pass()
    async with database.system("test: find the object") as transaction:
        cursor = await transaction.connection.execute("SELECT object_key FROM platform.event_archives")
        [(key,)] = await cursor.fetchall()
    await objects.replace(key, b"something else", content_type="application/gzip")
    with pytest.raises(Defect, match="checksum"):
        await PostgresLog(database, Wakeups(database.url, []), archive).read(0, 10)
