from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import psycopg
import pytest
from psycopg import AsyncConnection

from tests.support.events import EFFECTS_TABLE, EffectHandler, Noted, OtherNoted, announce, effects, new_tenant
from touchline.contracts.events import Event
from touchline.kernel import LeaseLost, NotFound, SystemClock, Unavailable
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.events import consumer as service, store
from touchline.platform.events.consumer import Consumer
from touchline.platform.events.log import Archive, PostgresLog, Sequencer
from touchline.platform.events.store import ConsumerStore
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction, Wakeups
from touchline.platform.settings import EventSettings

SETTINGS = EventSettings(consume_batch=10, retry_delay=timedelta(milliseconds=1), poison_after=3)
QUICK = SETTINGS.model_copy(update={"poll_interval": timedelta(milliseconds=20)})


class Refusing(EffectHandler):
    """Fails on some events, after having written their effects: nothing of that may stay."""

    def __init__(self, refused: str, error: Exception) -> None:
        super().__init__("refusing")
        self.refused = refused
        self.error = error
        self.tries = 0

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        await super().handle(transaction, events)
        if any(event.key == self.refused for event in events):
            transaction.announce(Noted(name="must not stay"))
            self.tries += 1
            raise self.error


@pytest.fixture
async def log(database: Database, postgres: PostgresEndpoint, objects: ObjectStore) -> PostgresLog:
    async with await AsyncConnection.connect(postgres.owner_url) as connection:
        await connection.execute(EFFECTS_TABLE)
    return PostgresLog(database, Wakeups(database.url, []), Archive(database, objects, SETTINGS, SystemClock()))


async def filled(database: Database, *names: str) -> None:
    tenant = new_tenant()
    await announce(database, tenant, *(Noted(name=name, number=n) for n, name in enumerate(names)))
    await Sequencer(database, Wakeups(database.url, []), SETTINGS).step()


async def drain(consumer: Consumer) -> int:
    position = await consumer.position()
    while (reached := await consumer.step(position)) > position:
        position = reached
    return position


async def test_each_event_has_its_effect_once_in_order(database: Database, log: PostgresLog) -> None:
    names = [f"n{n}" for n in range(25)]
    await filled(database, *names)
    assert await drain(Consumer(database, log, EffectHandler(), SETTINGS)) == 25
    assert await drain(Consumer(database, log, EffectHandler(), SETTINGS)) == 25
    assert [key for _, key, _, _ in await effects(database)] == names


async def test_two_processes_of_one_consumer_do_not_double_anything(database: Database, log: PostgresLog) -> None:
    await filled(database, *(f"n{n}" for n in range(100)))
    consumers = [Consumer(database, log, EffectHandler(), SETTINGS) for _ in range(4)]

    async def until_done(consumer: Consumer) -> None:
        while await consumer.position() < 100:
            with suppress(LeaseLost):
                await drain(consumer)

    await asyncio.gather(*(until_done(consumer) for consumer in consumers))
    assert [position for *_, position in await effects(database)] == list(range(1, 101))


async def test_effects_happen_behind_the_wall_of_the_events_tenant(database: Database, log: PostgresLog) -> None:
    await filled(database, "a", "b")
    await filled(database, "c")
    await drain(Consumer(database, log, EffectHandler(), SETTINGS))
    tenants = [tenant for tenant, *_ in await effects(database)]
    assert tenants[0] == tenants[1] != tenants[2]
    async with database.transaction(tenants[2]) as transaction:
        cursor = await transaction.connection.execute("SELECT key FROM test.effects")
        assert await cursor.fetchall() == [("c",)]


async def test_an_effect_in_another_tenant_is_refused_and_set_aside(database: Database, log: PostgresLog) -> None:
    class Crossing(EffectHandler):
        async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
            row = (new_tenant(),)
            await transaction.connection.execute("INSERT INTO test.effects VALUES (DEFAULT, %s, 'x', 0, 0)", row)

    await filled(database, "a")
    await drain(Consumer(database, log, Crossing(), SETTINGS))
    assert await effects(database) == []
    [poison] = await store.poison_events(database)
    assert "row-level security" in poison.error


async def test_only_the_wanted_types_come_and_the_cursor_passes_the_rest(database: Database, log: PostgresLog) -> None:
    tenant = new_tenant()
    await announce(database, tenant, *(Noted(name=f"n{n}") for n in range(15)), OtherNoted(name="wanted"))
    await Sequencer(database, Wakeups(database.url, []), SETTINGS).step()
    handler = EffectHandler(types=frozenset({"test.other_noted"}))
    assert await drain(Consumer(database, log, handler, SETTINGS)) == 16
    assert [key for _, key, *_ in await effects(database)] == ["wanted"]


async def test_a_poison_event_is_set_aside_and_the_others_go_on(database: Database, log: PostgresLog) -> None:
    await filled(database, "a", "bad", "c")
    handler = Refusing("bad", ValueError("cannot read it"))
    assert await drain(Consumer(database, log, handler, SETTINGS)) == 3
    assert [key for _, key, *_ in await effects(database)] == ["a", "c"]
    assert handler.tries == 1 + SETTINGS.poison_after  # once in the batch, then alone
    [poison] = await store.poison_events(database)
    assert (poison.consumer, poison.position, poison.error) == ("refusing", 2, "ValueError: cannot read it")
    status, [consumer] = await store.log_status(database)
    assert (status.head, status.inbox, consumer.lag, consumer.poison) == (3, 0, 0, 1)


async def test_an_event_that_was_set_aside_can_be_retried_or_dismissed(database: Database, log: PostgresLog) -> None:
    await filled(database, "a", "bad", "c")
    handler = Refusing("bad", ValueError("cannot read it"))
    consumer = Consumer(database, log, handler, SETTINGS)
    await drain(consumer)
    assert await consumer.retry_set_aside() is False
    await service.retry_set_aside(database, "refusing", 2)
    assert await consumer.retry_set_aside() is True  # refused again: back where it was, without its effects
    assert [(p.position, p.state) for p in await store.poison_events(database)] == [(2, "set_aside")]
    handler.refused = "nothing"
    await service.retry_set_aside(database, "refusing", 2)
    assert await consumer.retry_set_aside() is True
    assert [key for _, key, *_ in await effects(database)] == ["a", "c", "bad"]
    assert await store.poison_events(database) == []
    with pytest.raises(NotFound):
        await service.dismiss_set_aside(database, "refusing", 2)
    async with database.system("test: look into the inbox") as transaction:
        cursor = await transaction.connection.execute("SELECT count(*) FROM platform.event_inbox")
        assert await cursor.fetchone() == (0,)


@pytest.mark.parametrize(
    "error",
    [
        Unavailable("the object store is away"),
        ConnectionResetError("by peer"),
        psycopg.errors.DeadlockDetected("deadlock"),
    ],
)
async def test_a_part_that_is_away_poisons_nothing(database: Database, log: PostgresLog, error: Exception) -> None:
    await filled(database, "a", "bad", "c")
    handler = Refusing("bad", error)
    consumer = Consumer(database, log, handler, SETTINGS)
    with pytest.raises(type(error)):
        await drain(consumer)
    assert await effects(database) == []
    handler.refused = "nothing"
    await drain(consumer)
    assert [key for _, key, *_ in await effects(database)] == ["a", "bad", "c"]
    assert await store.poison_events(database) == []


class Watched(PostgresLog):
    """Says whenever a wait is over."""

    def __init__(self, database: Database, wakeups: Wakeups, archive: Archive) -> None:
        super().__init__(database, wakeups, archive)
        self.waited: asyncio.Queue[int] = asyncio.Queue()

    async def wait(self, after: int, at_most: timedelta) -> None:
        await super().wait(after, at_most)
        self.waited.put_nowait(after)


@pytest.fixture
def watched(database: Database, objects: ObjectStore, log: PostgresLog) -> Watched:
    return Watched(database, Wakeups(database.url, []), Archive(database, objects, SETTINGS, SystemClock()))


@asynccontextmanager
async def running(*consumers: Consumer) -> AsyncGenerator[None]:
    tasks = [asyncio.create_task(consumer.run()) for consumer in consumers]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def waited_at(log: Watched, position: int) -> None:
    while await log.waited.get() < position:
        pass


async def test_one_that_runs_takes_what_is_there_and_what_comes(database: Database, watched: Watched) -> None:
    names = [f"n{n}" for n in range(40)]
    await filled(database, *names[:25])
    async with running(*(Consumer(database, watched, EffectHandler(), QUICK) for _ in range(2))):
        await waited_at(watched, 25)
        await filled(database, *names[25:28])
        await waited_at(watched, 28)
        await filled(database, *names[28:])
        await waited_at(watched, 40)
    assert [key for _, key, *_ in await effects(database)] == names


async def test_one_that_runs_sees_a_cursor_that_was_moved(database: Database, watched: Watched) -> None:
    await filled(database, "a", "b", "c")
    async with running(Consumer(database, watched, EffectHandler(), QUICK)):
        await waited_at(watched, 3)
        async with database.system("test: move a cursor back") as transaction:
            await ConsumerStore(transaction.connection, "effects").advance(1)
        while len(await effects(database)) < 5:
            await watched.waited.get()
    assert [key for _, key, *_ in await effects(database)] == ["a", "b", "c", "b", "c"]


async def test_one_that_gathers_holds_nothing_meanwhile_and_stops_at_once(database: Database, watched: Watched) -> None:
    await filled(database, "a")
    async with running(Consumer(database, watched, EffectHandler(), QUICK, gather=timedelta(hours=1))):
        await waited_at(watched, 1)
        await filled(database, "b")
        async with database.system("test: look for open transactions") as transaction:
            cursor = await transaction.connection.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()"
            )
            assert await cursor.fetchone() == (0,)
    assert [key for _, key, *_ in await effects(database)] == ["a"]
    await drain(Consumer(database, watched, EffectHandler(), SETTINGS))
    assert [key for _, key, *_ in await effects(database)] == ["a", "b"]
