from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.events import Noted, announce, new_tenant
from touchline.kernel import ManualClock, SystemClock
from touchline.kernel.errors import Defect, Unavailable
from touchline.platform.events.archive import Archive
from touchline.platform.events.log import PostgresLog
from touchline.platform.events.sequencer import Sequencer
from touchline.platform.events.settings import EventSettings
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.postgres.wakeups import Wakeups

SETTINGS = EventSettings(archive_chunk=10, archive_most_chunks=2, keep_for=timedelta(days=30))
COUNT = "SELECT count(*), coalesce(min(position), 0) FROM platform.events"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(SystemClock().now())


@pytest.fixture
def archive(database: Database, objects: ObjectStore, clock: ManualClock) -> Archive:
    return Archive(database, objects, SETTINGS, clock)


async def fill(database: Database, count: int) -> None:
    await announce(database, new_tenant(), *(Noted(name=f"n{n}", number=n) for n in range(count)))
    await Sequencer(database, Wakeups(database.url, []), SETTINGS).step()


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
        await Archive(database, Dying(), SETTINGS, clock).run_pass()
    assert await left(database) == (10, 1)
    assert (await Archive(database, objects, SETTINGS, clock).run_pass()).chunks == 1
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
