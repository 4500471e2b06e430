"""What the client promises, whoever answers: these tests know nothing of the embedded engine."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pyarrow as pa
import pytest

from tests.support.clickhouse_owner import free_port
from touchline.kernel import (
    DeadlineExceeded,
    Defect,
    LimitExceeded,
    Misconfigured,
    TenantId,
    TouchlineError,
    Unavailable,
)
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.endpoints import ClickHouseEndpoint
from touchline.platform.settings import ClickHouseSettings

from .conftest import SETTINGS

FACTS = """
CREATE TABLE facts (
    tenant_id UUID, id UInt64, name String, seen_at DateTime64(3, 'UTC'), tags Array(String), score Nullable(Float64)
) ENGINE = MergeTree ORDER BY (tenant_id, id)
"""
STATES = """
CREATE TABLE states (id UInt64, status LowCardinality(String), revision UInt64)
ENGINE = ReplacingMergeTree(revision) ORDER BY id
"""
SEEN_AT = datetime(2026, 3, 31, 12, 0, 0, 123_000, tzinfo=UTC)
TENANT = TenantId(UUID("11111111-1111-1111-1111-111111111111"))


def facts(first: int, count: int, tenant: UUID = TENANT) -> pa.Table:
    return pa.table(
        {
            "tenant_id": pa.array([str(tenant)] * count),
            "id": pa.array(range(first, first + count), pa.uint64()),
            "name": pa.array([f"goal {number}" for number in range(first, first + count)]),
            "seen_at": pa.array([SEEN_AT] * count, pa.timestamp("ms", "UTC")),
            "tags": pa.array([["a", "b"]] * count, pa.list_(pa.string())),
            "score": pa.array([None if number % 2 else number / 2 for number in range(first, first + count)]),
        }
    )


async def rows(analytics: Analytics, sql: str, **parameters: object) -> list[dict[str, Any]]:
    return (await analytics.query_arrow(sql, parameters)).to_pylist()


async def value(analytics: Analytics, sql: str, **parameters: object) -> Any:
    [row] = await rows(analytics, sql, **parameters)
    [only] = row.values()
    return only


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "",
        "it's",
        "'; DROP TABLE facts; --",
        "\\'; DROP TABLE facts; --",
        '"quoted" `names`',
        "tab\tline\nreturn\rback\\slash\\n",
        "null \0 byte",
        "\\N",
        "{tenant_id:String} %(name)s %s",
        "Müller ⚽ 梅西",
        "x" * 10_000,
    ],
)
async def test_text_arrives_as_it_was_given(analytics: Analytics, text: str) -> None:
    assert await value(analytics, "SELECT {text:String} AS it", text=text) == text


@pytest.mark.parametrize(
    ("declared", "given", "expected"),
    [
        ("UInt64", 2**64 - 1, 2**64 - 1),
        ("Int32", -5, -5),
        ("Bool", True, True),
        ("Float64", 0.1, 0.1),
        ("Nullable(String)", None, None),
        ("Array(String)", ["it's", "b"], ["it's", "b"]),
        ("Array(UInt8)", [], []),
        ("DateTime64(6, 'UTC')", SEEN_AT.replace(microsecond=123_456), SEEN_AT.replace(microsecond=123_456)),
        ("DateTime64(3, 'UTC')", SEEN_AT, SEEN_AT),
        ("DateTime('UTC')", SEEN_AT.replace(microsecond=0), int(SEEN_AT.timestamp())),  # Arrow has no such type
    ],
)
async def test_values_arrive_as_they_were_given(
    analytics: Analytics, declared: str, given: object, expected: object
) -> None:
    assert await value(analytics, f"SELECT {{it:{declared}}} AS it", it=given) == expected


async def test_a_uuid_finds_its_rows(analytics: Analytics) -> None:
    await analytics.command(FACTS)
    await analytics.insert_arrow("facts", facts(0, 3))
    counted = "SELECT count() AS it FROM facts WHERE tenant_id = {id:UUID}"
    assert await value(analytics, counted, id=TENANT) == 3
    assert await value(analytics, counted, id=uuid4()) == 0


async def test_an_injection_is_a_value(analytics: Analytics) -> None:
    await analytics.command(FACTS)
    await analytics.insert_arrow("facts", facts(0, 3))
    for attempt in ("' OR 1 = 1 --", "\\' OR 1 = 1 --", "'); DROP TABLE facts; --"):
        assert await rows(analytics, "SELECT id FROM facts WHERE name = {name:String}", name=attempt) == []
    assert await value(analytics, "SELECT count() AS it FROM facts") == 3


async def test_what_is_inserted_is_read_back(analytics: Analytics) -> None:
    await analytics.command(FACTS)
    await analytics.insert_arrow("facts", facts(0, 2))
    assert await rows(analytics, "SELECT * REPLACE (toString(tenant_id) AS tenant_id) FROM facts ORDER BY id") == [
        {"tenant_id": str(TENANT), "id": 0, "name": "goal 0", "seen_at": SEEN_AT, "tags": ["a", "b"], "score": 0.0},
        {"tenant_id": str(TENANT), "id": 1, "name": "goal 1", "seen_at": SEEN_AT, "tags": ["a", "b"], "score": None},
    ]


async def test_a_hundred_thousand_rows(analytics: Analytics) -> None:
    await analytics.command(FACTS)
    assert await analytics.insert_arrow("facts", facts(0, 100_000)) == 100_000
    table = await analytics.query_arrow("SELECT id, name FROM facts ORDER BY id")
    assert table.num_rows == 100_000
    assert table.column("id").to_pylist() == list(range(100_000))


async def test_nothing_to_insert_is_no_request(analytics: Analytics) -> None:
    assert await analytics.insert_arrow("there_is_no_such_table", facts(0, 0)) == 0


async def test_an_answer_without_rows_has_its_columns(analytics: Analytics) -> None:
    await analytics.command(FACTS)
    table = await analytics.query_arrow("SELECT id, name FROM facts")
    assert (table.num_rows, table.column_names) == (0, ["id", "name"])


async def test_final_keeps_the_highest_revision(analytics: Analytics) -> None:
    await analytics.command(STATES)
    for revision, status in ((2, "ready"), (3, "deleted"), (1, "recording")):
        await analytics.insert_arrow("states", pa.table({"id": [7], "status": [status], "revision": [revision]}))
    assert await rows(analytics, "SELECT id, status FROM states FINAL") == [{"id": 7, "status": "deleted"}]


@pytest.mark.parametrize(
    ("case", "broken"),
    [
        ("no such column", facts(0, 10).append_column("more", pa.array(range(10)))),
        ("not a number in the last row", facts(0, 3).set_column(1, "id", pa.array(["1", "2", "three"]))),
        ("no such type", facts(0, 1).set_column(4, "tags", pa.array([5]))),
    ],
)
async def test_a_failing_insert_leaves_nothing(analytics: Analytics, case: str, broken: pa.Table) -> None:
    await analytics.command(FACTS)
    with pytest.raises(Defect):
        await analytics.insert_arrow("facts", broken)
    assert await value(analytics, "SELECT count() AS it FROM facts") == 0, case


@pytest.mark.parametrize(
    ("sql", "error", "why"),
    [
        ("SELECT * FROM there_is_no_such_table", Defect, "UNKNOWN_TABLE"),
        ("SELECT * FROM nobody.facts", Defect, "UNKNOWN_DATABASE"),
        ("SELEC 1", Defect, "SYNTAX_ERROR"),
        ("SELECT 1; SELECT 2", Defect, "SYNTAX_ERROR"),
        ("SELECT {never:String}", Defect, "UNKNOWN_QUERY_PARAMETER"),
        ("SELECT groupArray(number) FROM numbers(9e6) SETTINGS max_memory_usage = 20000000", LimitExceeded, "MEMORY"),
        ("SELECT count() FROM numbers_mt(1e12) WHERE NOT ignore(number) SETTINGS max_execution_time = 1",
            DeadlineExceeded, "TIMEOUT_EXCEEDED"),
        ("SELECT number FROM numbers(9e6) SETTINGS max_result_bytes = 1000", LimitExceeded, "TOO_MANY_ROWS_OR_BYTES"),
    ],
)  # fmt: skip
async def test_errors_say_what_is_wrong(analytics: Analytics, sql: str, error: type[TouchlineError], why: str) -> None:
    with pytest.raises(error) as caught:
        await analytics.query_arrow(sql)
    assert why in caught.value.why
    assert await value(analytics, "SELECT 1 AS it") == 1


async def test_a_statement_has_the_time_of_the_settings(endpoint: ClickHouseEndpoint) -> None:
    async with Analytics(endpoint, ClickHouseSettings(statement_timeout=timedelta(seconds=1))) as analytics:
        with pytest.raises(DeadlineExceeded):
            await analytics.query_arrow("SELECT count() FROM numbers_mt(1e12) WHERE NOT ignore(number)")


async def test_a_wrong_password_is_a_setting_to_mend(endpoint: ClickHouseEndpoint) -> None:
    async with Analytics(replace(endpoint, password="not-the-password"), SETTINGS) as analytics:
        with pytest.raises(Misconfigured) as caught:
            await analytics.ping()
    assert "not-the-password" not in repr(caught.value) + str(caught.value) + str(caught.value.__cause__)


async def test_nobody_there_says_nothing_about_the_data(endpoint: ClickHouseEndpoint) -> None:
    nowhere = replace(endpoint, url=f"http://127.0.0.1:{free_port()}")
    async with Analytics(nowhere, SETTINGS) as analytics:
        with pytest.raises(Unavailable):
            await analytics.ping()
        with pytest.raises(Unavailable):
            await analytics.query_arrow("SELECT 1")


async def test_a_ping_is_answered(analytics: Analytics) -> None:
    await analytics.ping()


async def test_many_at_once_wait_for_each_other(analytics: Analytics) -> None:
    asked = [value(analytics, "SELECT {n:UInt32} + sleep(0.01) AS it", n=number) for number in range(40)]
    assert await asyncio.gather(*asked) == list(range(40))


async def test_the_door_shows_one_tenant(analytics: Analytics) -> None:
    other = TenantId(uuid4())
    await analytics.command(FACTS)
    await analytics.insert_arrow("facts", facts(0, 3))
    await analytics.insert_arrow("facts", facts(0, 5, tenant=other))
    counted = "SELECT count() AS it FROM facts WHERE tenant_id = {tenant_id:UUID} AND id < {most:UInt8}"
    for tenant, count in ((TENANT, 3), (other, 4), (TenantId(uuid4()), 0)):
        table = await analytics.within(tenant).query_arrow(counted, {"most": 4})
        assert table.to_pylist() == [{"it": count}]


async def test_the_door_stays_shut_without_a_tenant(analytics: Analytics) -> None:
    door = analytics.within(TENANT)
    with pytest.raises(Defect):
        await door.query_arrow("SELECT 1")
    with pytest.raises(Defect):
        await door.command("SELECT {tenant_id:UUID}", {"tenant_id": uuid4()})


@pytest.mark.parametrize("unbound", ["SELECT %(name)s", "SELECT 'name'", "SELECT {other:String}"])
async def test_parameters_are_bound_by_the_server_or_not_at_all(analytics: Analytics, unbound: str) -> None:
    with pytest.raises(Defect):
        await analytics.query_arrow(unbound, {"name": "x"})


async def test_a_time_without_a_zone_is_refused(analytics: Analytics) -> None:
    with pytest.raises(Defect):
        await analytics.query_arrow("SELECT {at:DateTime}", {"at": SEEN_AT.replace(tzinfo=None)})
