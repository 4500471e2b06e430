"""A module's schema in ClickHouse: created once, and refused when another version created it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from secrets import token_hex

import pytest

from touchline.kernel import HistoryDiffers
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.store import ensure_database, ensure_once, ensure_schema
from touchline.platform.endpoints import Endpoints
from touchline.platform.settings import ClickHouseSettings

ONE = "CREATE TABLE IF NOT EXISTS one (id UInt32) ENGINE = MergeTree ORDER BY id"
TWO = "CREATE TABLE IF NOT EXISTS two (id UInt32) ENGINE = MergeTree ORDER BY id"
OTHER_ONE = "CREATE TABLE IF NOT EXISTS one (id UInt64) ENGINE = MergeTree ORDER BY id"
WITHOUT_CHECKSUMS = """
CREATE TABLE schema_versions (
    module LowCardinality(String), version UInt32, applied_at DateTime64(3, 'UTC') DEFAULT now64(3)
) ENGINE = MergeTree ORDER BY (module, version)
"""


@pytest.fixture
async def empty(endpoints: Endpoints) -> AsyncGenerator[Analytics]:
    endpoint = replace(endpoints.clickhouse, database=f"test_{token_hex(6)}")
    await ensure_database(endpoint, ClickHouseSettings())
    async with Analytics(endpoint, ClickHouseSettings()) as analytics:
        yield analytics
        await analytics.command("DROP DATABASE {name:Identifier}", {"name": endpoint.database})


async def test_statements_run_once_and_new_ones_are_added(empty: Analytics) -> None:
    await asyncio.gather(*(ensure_schema(empty, "test", [ONE]) for _ in range(3)))
    await ensure_schema(empty, "test", [ONE, TWO])
    before = await everything(empty)
    assert {name for name, *_ in before} >= {"one", "two"}
    await ensure_schema(empty, "test", [ONE, TWO])
    await ensure_schema(empty, "test", [ONE])  # a process that was not updated yet
    assert await everything(empty) == before


async def test_a_schema_of_another_version_is_refused_and_left_as_it_is(empty: Analytics) -> None:
    await ensure_schema(empty, "test", [ONE])
    before = await everything(empty)
    with pytest.raises(HistoryDiffers, match="differs from this version's in test") as refused:
        await ensure_schema(empty, "test", [OTHER_ONE, TWO])
    assert "Use this data with the version that created it" in refused.value.hint
    assert await everything(empty) == before
    await ensure_schema(empty, "test", [ONE])


async def test_a_schema_from_before_checksums_is_refused_and_left_as_it_is(empty: Analytics) -> None:
    await empty.command(WITHOUT_CHECKSUMS)
    await empty.command("INSERT INTO schema_versions (module, version) SELECT 'test', 1")
    before = await everything(empty)
    with pytest.raises(HistoryDiffers, match="created by another version"):
        await ensure_schema(empty, "test", [ONE])
    assert await everything(empty) == before


async def test_work_on_old_rows_runs_once(empty: Analytics) -> None:
    runs: list[int] = []

    async def work() -> None:
        runs.append(1)

    await ensure_once(empty, "test/work", work)
    await ensure_once(empty, "test/work", work)
    assert runs == [1]


async def everything(analytics: Analytics) -> list[tuple[str, str, int]]:
    tables = """
    SELECT name, create_table_query, total_rows FROM system.tables WHERE database = currentDatabase() ORDER BY name
    """
    return [tuple(row.values()) for row in (await analytics.query_arrow(tables)).to_pylist()]
