"""Row-level security between tenants, on every PostgreSQL that this machine has."""

from __future__ import annotations

import asyncio
import random
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import AsyncConnection

from tests.support.events import Noted, announce, new_tenant
from touchline.kernel import Defect, TenantId
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database
from touchline.platform.postgres.migrations import LOGIN_ROLES, NOLOGIN_ROLES, migrate
from touchline.platform.settings import PostgresSettings

PROBE_TABLE = """
CREATE SCHEMA test;
GRANT USAGE ON SCHEMA test TO touchline_app, touchline_worker, touchline_readonly, touchline_system;
CREATE TABLE test.probes (tenant_id uuid NOT NULL, value text NOT NULL);
SELECT platform.enable_row_level_security('test.probes');
GRANT SELECT, INSERT, UPDATE, DELETE ON test.probes TO touchline_app, touchline_worker, touchline_system;
GRANT SELECT ON test.probes TO touchline_readonly;
"""


async def execute(url: str, statement: str, parameters: Any = None) -> list[tuple[Any, ...]]:
    async with await AsyncConnection.connect(url) as connection:
        cursor = await connection.execute(statement.encode(), parameters)
        return await cursor.fetchall() if cursor.description else []


async def test_a_table_with_a_tenant_and_no_wall_stops_the_migrator(any_postgres: PostgresEndpoint) -> None:
    await execute(any_postgres.owner_url, "CREATE TABLE platform.forgotten (tenant_id uuid NOT NULL)")
    with pytest.raises(Defect, match=r"platform\.forgotten"):
        await migrate(any_postgres.owner_url)


async def test_a_wall_that_is_not_forced_counts_as_none(any_postgres: PostgresEndpoint) -> None:
    await execute(any_postgres.owner_url, PROBE_TABLE + "ALTER TABLE test.probes NO FORCE ROW LEVEL SECURITY")
    with pytest.raises(Defect, match=r"test\.probes"):
        await migrate(any_postgres.owner_url)


async def test_no_role_may_step_over_walls_by_itself(any_postgres: PostgresEndpoint) -> None:
    rows = await execute(
        any_postgres.app_url,
        "SELECT rolname, rolsuper OR rolbypassrls OR rolinherit OR rolcreaterole, rolcanlogin"
        "  FROM pg_roles WHERE rolname LIKE 'touchline\\_%'",
    )
    assert {name: login for name, _, login in rows} == {
        **dict.fromkeys(LOGIN_ROLES, True),
        **dict.fromkeys(NOLOGIN_ROLES, False),
    }
    assert not any(dangerous for _, dangerous, _ in rows)


@pytest.mark.parametrize("role", ["app_url", "worker_url", "readonly_url", "owner_url"])
async def test_without_a_tenant_nothing_is_there(any_postgres: PostgresEndpoint, role: str) -> None:
    await execute(any_postgres.owner_url, PROBE_TABLE)
    async with Database(any_postgres.app_url) as database, database.transaction(new_tenant()) as transaction:
        await transaction.connection.execute("INSERT INTO test.probes VALUES (platform.current_tenant(), 'something')")
    url = getattr(any_postgres, role)
    assert await execute(url, "SELECT * FROM test.probes") == []
    # A setting that was set and reset is empty, not null.
    reset = "SELECT set_config('request.jwt.claims', '{}', true), set_config('request.jwt.claims', '', true)"
    async with await AsyncConnection.connect(url) as connection:
        await connection.execute(reset)
        assert await (await connection.execute("SELECT * FROM test.probes")).fetchall() == []


async def test_a_row_of_another_tenant_can_be_neither_written_nor_changed(any_postgres: PostgresEndpoint) -> None:
    await execute(any_postgres.owner_url, PROBE_TABLE)
    ours, theirs = new_tenant(), new_tenant()
    async with Database(any_postgres.app_url) as database:
        await write(database, theirs, "theirs")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with database.transaction(ours) as transaction:
                await transaction.connection.execute("INSERT INTO test.probes VALUES (%s, 'x')", (theirs,))
        await write(database, ours, "ours")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with database.transaction(ours) as transaction:
                await transaction.connection.execute("UPDATE test.probes SET tenant_id = %s", (theirs,))
        async with database.transaction(ours) as transaction:
            deleted = await transaction.connection.execute("DELETE FROM test.probes")
            assert deleted.rowcount == 1
        assert await values_of(database, theirs) == {"theirs"}


async def test_readers_do_not_write_and_the_log_is_append_only(any_postgres: PostgresEndpoint) -> None:
    await execute(any_postgres.owner_url, PROBE_TABLE)
    tenant = new_tenant()
    async with Database(any_postgres.readonly_url) as database:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await write(database, tenant, "x")
    async with Database(any_postgres.app_url) as database:
        for statement in (b"UPDATE platform.events SET key = ''", b"DELETE FROM platform.events"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                async with database.transaction(tenant) as transaction:
                    await transaction.connection.execute(statement)


async def test_thousands_of_interleavings_through_few_connections_leak_nothing(any_postgres: PostgresEndpoint) -> None:
    """Tenants share three connections; some transactions fail on purpose, some go through the system door."""
    await execute(any_postgres.owner_url, PROBE_TABLE)
    chance = random.Random(20260331)
    tenants = [new_tenant() for _ in range(2)]
    async with Database(any_postgres.app_url, PostgresSettings(pool_size=3)) as database:
        for tenant in tenants:
            await write(database, tenant, str(tenant))

        async def visit(tenant: TenantId, act: int) -> None:
            if act == 0:
                with pytest.raises(psycopg.errors.DivisionByZero):
                    async with database.transaction(tenant) as transaction:
                        await transaction.connection.execute("SELECT 1 / 0")
            elif act == 1:
                async with database.system("test: count all") as transaction:
                    await transaction.connection.execute("SELECT count(*) FROM test.probes")
            else:
                assert await values_of(database, tenant) == {str(tenant)}

        plan = [(chance.choice(tenants), chance.randrange(6)) for _ in range(4000)]
        async with asyncio.TaskGroup() as group:
            for first in range(12):
                group.create_task(in_turn([visit(*step) for step in plan[first::12]]))


async def test_another_tenants_events_do_not_exist(any_postgres: PostgresEndpoint) -> None:
    ours, theirs = new_tenant(), new_tenant()
    async with Database(any_postgres.app_url) as database:
        await announce(database, ours, Noted(name="ours"))
        await announce(database, theirs, Noted(name="theirs"))
        async with database.system("test: sequence") as transaction:
            await transaction.connection.execute("SELECT platform.sequence_events(10)")
        async with database.transaction(ours) as transaction:
            rows = await (await transaction.connection.execute("SELECT key FROM platform.events")).fetchall()
    assert rows == [("ours",)]


async def test_a_tenants_events_are_read_by_their_index(any_postgres: PostgresEndpoint) -> None:
    """As the application role, with the policy in the plan, among the events of many others."""
    tenant = uuid4()
    async with Database(any_postgres.app_url) as database:
        async with database.system("test: load") as transaction:
            await transaction.connection.execute(
                "INSERT INTO platform.events SELECT n, gen_random_uuid(),"
                " CASE WHEN n %% 500 = 0 THEN %s ELSE gen_random_uuid() END, 't', 1, 'k', 1, now(), NULL, '{}'"
                " FROM generate_series(1, 20000) AS n",
                (tenant,),
            )
        await execute(any_postgres.owner_url, "ANALYZE platform.events")
        async with database.transaction(TenantId(tenant)) as transaction:
            plan = await (
                await transaction.connection.execute(
                    "EXPLAIN SELECT * FROM platform.events WHERE position > 10000 ORDER BY position LIMIT 50"
                )
            ).fetchall()
    assert any("Index Scan using events_tenant" in line for (line,) in plan), plan


async def test_the_oldest_supported_server_is_not_older_than_we_say(any_postgres: PostgresEndpoint) -> None:
    [(version,)] = await execute(any_postgres.app_url, "SHOW server_version_num")
    assert int(version) >= 150000


async def write(database: Database, tenant: TenantId, value: str) -> None:
    async with database.transaction(tenant) as transaction:
        await transaction.connection.execute("INSERT INTO test.probes VALUES (%s, %s)", (tenant, value))


async def values_of(database: Database, tenant: TenantId) -> set[str]:
    async with database.transaction(tenant) as transaction:
        rows = await (await transaction.connection.execute("SELECT value FROM test.probes")).fetchall()
    return {value for (value,) in rows}


async def in_turn(steps: list[Any]) -> None:
    for step in steps:
        await step
