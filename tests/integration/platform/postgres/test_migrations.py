from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from psycopg import AsyncConnection

from tests.support.postgres import PostgresServer
from touchline.kernel import Defect, HistoryDiffers, SetupError
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres import migrations
from touchline.platform.postgres.migrations import Baseline, Migration, migrate, pending_baselines, read_baselines

FIRST = Baseline(Migration("first", "aa"), {"01_tables": "CREATE TABLE first.one (id int)"})
SECOND = Baseline(Migration("second", "bb"), {"01_tables": "CREATE TABLE second.two (id int)"})


def test_only_what_is_missing_is_pending_in_order() -> None:
    assert pending_baselines([FIRST, SECOND], []) == [FIRST, SECOND]
    assert pending_baselines([FIRST, SECOND], [FIRST.migration]) == [SECOND]
    assert pending_baselines([FIRST, SECOND], [FIRST.migration, SECOND.migration]) == []


def test_another_checksum_and_an_unknown_schema_are_refused() -> None:
    with pytest.raises(HistoryDiffers, match="first"):
        pending_baselines([FIRST], [Migration("first", "changed")])
    with pytest.raises(HistoryDiffers, match="second"):
        pending_baselines([FIRST], [FIRST.migration, SECOND.migration])


def test_numbers_have_no_gap(tmp_path: Path) -> None:
    write(tmp_path, "01_one.sql", "SELECT 1")
    write(tmp_path, "03_three.sql", "SELECT 3")
    with pytest.raises(Defect, match="03_three"):
        read_baselines(tmp_path, ["test"])


def test_a_checksum_is_of_all_files_with_their_names(tmp_path: Path) -> None:
    def checksum() -> str:
        [baseline] = read_baselines(tmp_path, ["test"])
        return baseline.migration.sha256

    write(tmp_path, "01_one.sql", "SELECT 1")
    seen = [checksum()]
    write(tmp_path, "02_two.sql", "SELECT 2")
    seen.append(checksum())
    write(tmp_path, "02_two.sql", "SELECT 3")
    seen.append(checksum())
    (tmp_path / "test" / "02_two.sql").rename(tmp_path / "test" / "02_three.sql")
    seen.append(checksum())
    assert len(set(seen)) == 4
    write(tmp_path, "02_three.sql", "SELECT 3")
    assert checksum() == seen[-1]


async def test_every_schema_is_created_once_even_from_many_machines(any_server: PostgresServer) -> None:
    async with any_server.empty_database() as endpoint:
        applied = await asyncio.gather(*(migrate(endpoint.owner_url) for _ in range(5)))
        everything = [baseline.migration for baseline in ours()]
        assert sorted(applied, key=len) == [[], [], [], [], everything]


async def test_a_failing_baseline_leaves_nothing_and_can_be_corrected(any_postgres: PostgresEndpoint) -> None:
    files = {"01_tables": "CREATE TABLE first.half (id int)", "02_functions": "SELECT 1 / 0"}
    broken = Baseline(Migration("first", "broken"), files)
    with pytest.raises(SetupError, match="first/02_functions failed: division by zero"):
        await migrate(any_postgres.owner_url, [*ours(), broken])
    assert await table_exists(any_postgres, "first.half") is False
    assert await migrate(any_postgres.owner_url, [*ours(), FIRST]) == [FIRST.migration]
    assert await table_exists(any_postgres, "first.one") is True


async def test_a_database_of_another_baseline_is_refused_before_anything_runs(any_postgres: PostgresEndpoint) -> None:
    await migrate(any_postgres.owner_url, [*ours(), FIRST])
    before = await everything(any_postgres)
    with pytest.raises(HistoryDiffers, match="differs from this version's in first"):
        await migrate(any_postgres.owner_url, ours())
    changed = Baseline(Migration("first", "other"), FIRST.files)
    with pytest.raises(HistoryDiffers, match="differs from this version's in first") as refused:
        await migrate(any_postgres.owner_url, [*ours(), changed, SECOND])
    assert "new data folder" in refused.value.hint
    assert "the version that created it" in refused.value.hint
    assert await table_exists(any_postgres, "second.two") is False
    assert await everything(any_postgres) == before
    assert await migrate(any_postgres.owner_url, [*ours(), FIRST]) == [], "the version that created it still runs"


async def test_a_database_of_numbered_migrations_is_refused(any_server: PostgresServer) -> None:
    """As development versions before the baselines left it: many entries a schema."""
    async with any_server.empty_database() as endpoint:
        async with await AsyncConnection.connect(endpoint.owner_url) as connection:
            await connection.execute(NUMBERED)
        before = await everything(endpoint)
        with pytest.raises(HistoryDiffers, match="in platform, process"):
            await migrate(endpoint.owner_url)
        assert await table_exists(endpoint, "platform.events") is False
        assert await everything(endpoint) == before


async def test_a_second_run_changes_nothing(any_postgres: PostgresEndpoint) -> None:
    before = await everything(any_postgres)
    assert await migrate(any_postgres.owner_url) == []
    assert await everything(any_postgres) == before


NUMBERED = """
CREATE SCHEMA platform;
CREATE TABLE platform.migrations (
  schema_name text NOT NULL, number integer NOT NULL, name text NOT NULL, sha256 text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (schema_name, number)
);
INSERT INTO platform.migrations (schema_name, number, name, sha256)
VALUES ('platform', 1, 'walls', 'aa'), ('process', 1, 'videos', 'bb'), ('process', 2, 'jobs', 'cc')
"""


# Every row of a catalog has in xmin the transaction that wrote it: a change and its undoing show as well.
CATALOGS = ("pg_namespace", "pg_proc", "pg_constraint", "pg_policy", "pg_trigger", "pg_type")


async def everything(endpoint: PostgresEndpoint) -> list[object]:
    """What a migration could change: schemas, tables, columns, functions, policies; and what it recorded."""
    catalogs = " UNION ALL ".join(
        f"SELECT '{name}', oid::text, xmin::text FROM {name}"  # noqa: S608
        for name in CATALOGS
    )
    # The statistics of pg_class are vacuum's, and change without us.
    tables = """
      SELECT 'pg_class', oid::text, concat_ws(' ', relname, relnamespace, relkind, relowner, relacl, reloptions,
             relrowsecurity, relforcerowsecurity) FROM pg_class
      UNION ALL SELECT 'pg_attribute', attrelid || '.' || attnum, xmin::text FROM pg_attribute
      UNION ALL SELECT 'migrations', schema_name, sha256 || ' ' || xmin FROM platform.migrations
    """
    async with await AsyncConnection.connect(endpoint.owner_url) as connection:
        cursor = await connection.execute(f"{catalogs} UNION ALL {tables} ORDER BY 1, 2, 3".encode())
        return [tuple(row) for row in await cursor.fetchall()]


def ours() -> list[Baseline]:
    return read_baselines(migrations.migrations_folder())


def write(root: Path, name: str, text: str) -> None:
    (root / "test").mkdir(exist_ok=True)
    (root / "test" / name).write_text(text)


async def table_exists(endpoint: PostgresEndpoint, name: str) -> bool:
    async with await AsyncConnection.connect(endpoint.owner_url) as connection:
        row = await (await connection.execute("SELECT to_regclass(%s) IS NOT NULL", (name,))).fetchone()
        return row is not None and row[0]
