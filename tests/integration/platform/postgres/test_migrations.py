from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from psycopg import AsyncConnection

from tests.support.postgres import PostgresServer
from touchline.kernel.errors import Defect, HistoryDiffers, SetupError
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres import migrations
from touchline.platform.postgres.migrations import Migration, MigrationFile, migrate, pending_migrations

FIRST = MigrationFile(Migration("test", 1, "first", "aa"), "CREATE TABLE test.one (id int)")
SECOND = MigrationFile(Migration("test", 2, "second", "bb"), "CREATE TABLE test.two (id int)")


def test_only_what_is_missing_is_pending_in_order() -> None:
    assert pending_migrations([FIRST, SECOND], []) == [FIRST, SECOND]
    assert pending_migrations([FIRST, SECOND], [FIRST.migration]) == [SECOND]
    assert pending_migrations([FIRST, SECOND], [FIRST.migration, SECOND.migration]) == []


def test_a_changed_file_and_an_unknown_entry_are_refused() -> None:
    with pytest.raises(HistoryDiffers, match="test/0001_first"):
        pending_migrations([FIRST], [Migration("test", 1, "first", "changed")])
    with pytest.raises(HistoryDiffers, match="test/0002_second"):
        pending_migrations([FIRST], [FIRST.migration, SECOND.migration])


def test_numbers_have_no_gap(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "0001_one.sql").write_text("SELECT 1")
    (tmp_path / "test" / "0003_three.sql").write_text("SELECT 3")
    with pytest.raises(Defect, match="0003_three"):
        migrations.read_migrations(tmp_path, ["test"])


async def test_every_schema_is_applied_once_even_from_many_machines(any_server: PostgresServer) -> None:
    async with any_server.empty_database() as endpoint:
        applied = await asyncio.gather(*(migrate(endpoint.owner_url) for _ in range(5)))
        everything = [file.migration for file in migrations.read_migrations(migrations.migrations_folder())]
        assert sorted(applied, key=len) == [[], [], [], [], everything]


async def test_a_failing_migration_leaves_nothing_and_can_be_mended(any_postgres: PostgresEndpoint) -> None:
    files = migrations.read_migrations(migrations.migrations_folder())
    broken = MigrationFile(Migration("test", 1, "broken", "aa"), "CREATE TABLE test.half (id int); SELECT 1 / 0")
    with pytest.raises(SetupError, match="division by zero"):
        await migrate(any_postgres.owner_url, [*files, broken])
    assert await table_exists(any_postgres, "test.half") is False
    assert await migrate(any_postgres.owner_url, [*files, FIRST]) == [FIRST.migration]
    assert await table_exists(any_postgres, "test.one") is True


async def test_a_database_of_another_version_is_refused_before_anything_runs(any_postgres: PostgresEndpoint) -> None:
    files = migrations.read_migrations(migrations.migrations_folder())
    await migrate(any_postgres.owner_url, [*files, FIRST])
    with pytest.raises(HistoryDiffers, match="does not know"):
        await migrate(any_postgres.owner_url, [*files])
    changed = MigrationFile(Migration("test", 1, "first", "other"), FIRST.text)
    with pytest.raises(HistoryDiffers, match="changed afterwards"):
        await migrate(any_postgres.owner_url, [*files, changed, SECOND])
    assert await table_exists(any_postgres, "test.two") is False


async def table_exists(endpoint: PostgresEndpoint, name: str) -> bool:
    async with await AsyncConnection.connect(endpoint.owner_url) as connection:
        row = await (await connection.execute("SELECT to_regclass(%s) IS NOT NULL", (name,))).fetchone()
        return row is not None and row[0]
