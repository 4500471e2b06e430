from __future__ import annotations

import asyncio
from datetime import timedelta

import psycopg
import pytest
from psycopg import AsyncConnection

from tests.support.events import Noted, announce, new_tenant
from touchline.kernel import DeadlineExceeded, Defect, Principal, Role, SystemClock, Unavailable, UserId, tracing, uuid7
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database, Wakeups
from touchline.platform.settings import PostgresSettings

KILL_ALL = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename = current_user
"""


async def inbox(database: Database) -> list[str]:
    async with database.system("test: look into the inbox") as transaction:
        cursor = await transaction.connection.execute("SELECT key FROM platform.event_inbox ORDER BY sequence")
        return [key for (key,) in await cursor.fetchall()]


async def test_what_is_announced_commits_with_the_change_in_order(database: Database) -> None:
    names = [f"n{number}" for number in range(2500)]
    await announce(database, new_tenant(), *(Noted(name=name) for name in names))
    assert await inbox(database) == names


async def test_what_is_announced_rolls_back_with_the_change(database: Database) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        async with database.transaction(new_tenant()) as transaction:
            transaction.announce(Noted(name="never"))
            await transaction.connection.execute("SELECT 1 / 0")
    assert await inbox(database) == []


async def test_a_system_transaction_announces_for_a_named_tenant_only(database: Database) -> None:
    async with database.system("test: announce") as transaction:
        with pytest.raises(Defect, match="no tenant"):
            transaction.announce(Noted(name="whose?"))
        transaction.announce(Noted(name="a"), tenant_id=new_tenant())
        transaction.announce(Noted(name="b"), tenant_id=new_tenant())
        await transaction.enter_tenant(new_tenant())
    assert await inbox(database) == ["a", "b"]


async def test_an_event_carries_the_trace_of_what_made_it(database: Database) -> None:
    with tracing("request-7"):
        await announce(database, new_tenant(), Noted(name="a"))
    await announce(database, new_tenant(), Noted(name="b"))
    async with database.system("test: look into the inbox") as transaction:
        cursor = await transaction.connection.execute("SELECT trace FROM platform.event_inbox ORDER BY sequence")
        assert await cursor.fetchall() == [("request-7",), (None,)]


async def test_the_claims_say_who_asks(database: Database) -> None:
    principal = Principal(new_tenant(), UserId(uuid7(SystemClock().now())), Role.EDITOR)
    async with database.transaction(principal) as transaction:
        cursor = await transaction.connection.execute(
            "SELECT current_setting('request.jwt.claims')::jsonb, current_user"
        )
        [(claims, user)] = await cursor.fetchall()
    assert claims == {"tenant_id": str(principal.tenant_id), "sub": str(principal.user_id), "role": "editor"}
    assert user == "touchline_app"


async def test_a_system_transaction_needs_a_reason(database: Database) -> None:
    with pytest.raises(Defect):
        async with database.system(""):
            pass


async def test_a_slow_statement_is_ended_with_a_typed_error(postgres: PostgresEndpoint) -> None:
    settings = PostgresSettings(statement_timeout=timedelta(milliseconds=50))
    async with Database(postgres.app_url, settings) as database:
        with pytest.raises(DeadlineExceeded):
            async with database.transaction(new_tenant()) as transaction:
                await transaction.connection.execute("SELECT pg_sleep(30)")


async def test_a_killed_connection_is_unavailable_and_the_next_one_works(
    database: Database, postgres: PostgresEndpoint
) -> None:
    with pytest.raises(Unavailable):
        async with database.transaction(new_tenant()) as transaction:
            await kill_all(postgres)
            await transaction.connection.execute("SELECT 1")
    await kill_all(postgres)  # the idle ones too: the pool notices before it gives one away
    async with database.transaction(new_tenant()) as transaction:
        await transaction.connection.execute("SELECT 1")


async def test_an_exhausted_pool_is_unavailable_not_a_hang(postgres: PostgresEndpoint) -> None:
    settings = PostgresSettings(pool_size=1, acquire_timeout=timedelta(milliseconds=50))
    async with Database(postgres.app_url, settings) as database, database.transaction(new_tenant()):
        with pytest.raises(Unavailable):
            async with database.transaction(new_tenant()):
                pass


async def test_a_wake_up_ends_a_wait_also_after_the_listener_was_killed(
    database: Database, postgres: PostgresEndpoint
) -> None:
    wakeups = Wakeups(postgres.app_url, ["touchline_inbox"])
    long = timedelta(seconds=60)
    async with wakeups.listening():
        wakeup = wakeups.subscribe("touchline_inbox")
        assert await wakeup.wait(long)  # the first wake-up says that somebody listens now
        await announce(database, new_tenant(), Noted(name="a"))
        assert await wakeup.wait(long)
        await kill_all(postgres)
        assert await wakeup.wait(long)  # listening again
        await announce(database, new_tenant(), Noted(name="b"))
        assert await wakeup.wait(long)


async def test_a_wake_up_between_two_waits_is_kept(database: Database, postgres: PostgresEndpoint) -> None:
    wakeups = Wakeups(postgres.app_url, ["touchline_inbox"])
    async with wakeups.listening():
        mine, witness = wakeups.subscribe("touchline_inbox"), wakeups.subscribe("touchline_inbox")
        long = timedelta(seconds=60)
        assert all(await asyncio.gather(mine.wait(long), witness.wait(long)))
        await announce(database, new_tenant(), Noted(name="a"))
        assert await witness.wait(long)
        assert await mine.wait(timedelta(0))


async def kill_all(postgres: PostgresEndpoint) -> None:
    async with await AsyncConnection.connect(postgres.app_url) as connection:
        await connection.execute(KILL_ALL)


async def test_a_cancellation_is_not_lost_while_a_connection_becomes_free(postgres: PostgresEndpoint) -> None:
    """The pool may hand a connection over in the very step in which the waiting one is cancelled."""
    tenant, cancelled = new_tenant(), list[int]()

    async def wait_for_a_connection(database: Database) -> None:
        async with database.transaction(tenant):
            task = asyncio.current_task()
            cancelled.append(task.cancelling() if task else 0)

    async with Database(postgres.app_url, PostgresSettings(pool_size=1)) as database:
        for steps in range(40):
            async with database.transaction(tenant):
                waiting = asyncio.create_task(wait_for_a_connection(database))
                await asyncio.sleep(0.001)
            for _ in range(steps):
                await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
    assert set(cancelled) <= {0}, "it went on although it was cancelled"
