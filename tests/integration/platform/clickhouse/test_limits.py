"""The limits of the owner, and that it survives when a client tries to exceed them."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import AsyncGenerator

import httpx
import pytest

from tests.support.clickhouse_owner import RunningOwner, running_owner, until
from touchline.kernel import RateLimited
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.options import MIB, OwnerLimits

from .conftest import SETTINGS

CODE = "X-ClickHouse-Exception-Code"
LIMITS = OwnerLimits(
    memory_bytes=512 * MIB,
    statement_memory_bytes=96 * MIB,
    concurrent_statements=2,
    queue_wait_ms=100,
    longest_statement_s=60,
    statement_bytes=64 * 1024,
    insert_bytes=MIB,
    result_bytes=MIB,
)
ENDLESS = "SELECT count() FROM numbers_mt(1e12) WHERE NOT ignore(number)"
# As long, but it leaves the processors to the checks.
WAITING = "SELECT sleepEachRow(0.1) FROM numbers(10000) SETTINGS max_block_size = 1"
RUNNING = "SELECT count() FROM system.processes WHERE Settings['log_comment'] LIKE {query_id:String}"


@pytest.fixture(scope="module")
async def small_owner(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunningOwner]:
    async with running_owner(tmp_path_factory.mktemp("small"), LIMITS) as running:
        yield running


@pytest.fixture
async def small(small_owner: RunningOwner) -> AsyncGenerator[httpx.AsyncClient]:
    login = (small_owner.endpoint.user, small_owner.endpoint.password)
    async with httpx.AsyncClient(base_url=small_owner.endpoint.url, auth=login, trust_env=False, timeout=90) as client:
        yield client


async def endless(http: httpx.AsyncClient, number: int, sql: str = ENDLESS) -> asyncio.Task[httpx.Response]:
    """An endless statement that has begun."""
    query_id = f"endless-{number}"
    task = asyncio.create_task(http.post("/", params={"query_id": query_id}, content=sql))
    await until(lambda: _begun(http, query_id))
    return task


async def _begun(http: httpx.AsyncClient, query_id: str) -> bool:
    """Asking takes a slot itself: without one, both statements have begun."""
    answer = await http.post("/", params={"param_query_id": query_id}, content=RUNNING)
    return answer.text == "1\n" or answer.headers.get(CODE) == "202"


async def test_the_memory_of_a_statement(small: httpx.AsyncClient) -> None:
    for sql in (
        "SELECT groupArray(number) FROM numbers(50000000)",
        "SELECT number, count() FROM numbers(50000000) GROUP BY number FORMAT Null",
        "SELECT arrayMap(x -> toString(x), range(100000000))",
    ):
        answer = await small.post("/", content=sql)
        assert answer.headers.get(CODE) == "241", answer.text
    assert (await small.post("/", content="SELECT 1")).text == "1\n"


async def test_a_statement_uses_the_threads_that_it_may(small: httpx.AsyncClient) -> None:
    """Also with as little memory as this."""
    sql = "EXPLAIN PIPELINE SELECT sum(number) FROM numbers_mt(1000000000)"
    [drawn] = re.findall(r"AggregatingTransform \S (\d+)", (await small.post("/", content=sql)).text)
    assert int(drawn) == LIMITS.threads


async def test_the_size_of_an_answer(small: httpx.AsyncClient) -> None:
    for sql in ("SELECT number FROM numbers(1000000)", "SELECT repeat('\"', 900000) FORMAT JSONEachRow"):
        answer = await small.post("/", content=sql)
        assert answer.headers.get(CODE) == "396", answer.text[:200]


async def test_the_length_of_a_statement(small: httpx.AsyncClient) -> None:
    answer = await small.post("/", content=f"SELECT '{'x' * 65 * 1024}'")
    assert (answer.status_code, answer.headers.get(CODE)) == (413, "229")


async def test_the_size_of_an_insert(small: httpx.AsyncClient) -> None:
    insert = {"query": "INSERT INTO nothing FORMAT CSV"}
    bomb = gzip.compress(b"0" * 50 * MIB)
    plain = await small.post("/", params=insert, content=b"0" * 2 * MIB)
    packed = await small.post("/", params=insert, content=bomb, headers={"Content-Encoding": "gzip"})
    assert [answer.headers.get(CODE) for answer in (plain, packed)] == ["229", "229"]


async def test_the_number_of_statements(small: httpx.AsyncClient, small_owner: RunningOwner) -> None:
    first, second = await endless(small, 1, WAITING), await endless(small, 2, WAITING)
    answer = await small.post("/", content="SELECT 1")
    assert answer.headers.get(CODE) == "202"
    assert (await small.get("/ping")).text == "Ok.\n"
    async with Analytics(small_owner.endpoint, SETTINGS) as analytics:
        with pytest.raises(RateLimited):
            await analytics.ping()
    for task in (first, second):
        task.cancel()
    await until(lambda: _idle(small))


async def test_a_client_that_goes_away_takes_its_statement_along(small: httpx.AsyncClient) -> None:
    task = await endless(small, 3)
    task.cancel()
    await until(lambda: _idle(small))


async def test_one_id_is_one_statement(small: httpx.AsyncClient) -> None:
    task = await endless(small, 4)
    answer = await small.post("/", params={"query_id": "endless-4"}, content="SELECT 1")
    assert answer.headers.get(CODE) == "216"
    task.cancel()
    await until(lambda: _idle(small))


async def test_the_time_of_a_statement(small: httpx.AsyncClient) -> None:
    answer = await small.post("/", params={"max_execution_time": "1"}, content=ENDLESS)
    assert (answer.status_code, answer.headers.get(CODE)) == (408, "159")


async def test_a_body_that_ends_too_early_changes_nothing(small: httpx.AsyncClient, small_owner: RunningOwner) -> None:
    create = "CREATE TABLE IF NOT EXISTS halves (a String) ENGINE = MergeTree ORDER BY a"
    (await small.post("/", content=create)).raise_for_status()
    reader, writer = await asyncio.open_connection("127.0.0.1", small_owner.options.port)
    key = f"X-ClickHouse-User: touchline\r\nX-ClickHouse-Key: {small_owner.password}\r\n"
    head = "POST /?query=INSERT+INTO+halves+FORMAT+CSV HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"
    writer.write(f"{head}{key}\r\na\nb\n".encode())
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert await reader.read() == b""
    assert (await small.post("/", content="SELECT count() FROM halves")).text == "0\n"


def test_nothing_is_left_in_the_folder(small_owner: RunningOwner) -> None:
    """After the inserts above, whole, broken and too large."""
    names = sorted(path.name for path in small_owner.options.data.iterdir())
    assert names == ["config.xml", "engine", "owner.lock", "users.xml"]


async def _idle(http: httpx.AsyncClient) -> bool:
    return (await http.post("/", params={"param_query_id": "endless-%"}, content=RUNNING)).text == "0\n"
