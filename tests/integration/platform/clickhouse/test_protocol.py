"""ClickHouse's HTTP interface as the owner speaks it, byte by byte."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

import clickhouse_connect
import httpx
import lz4.frame
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backports import zstd
from clickhouse_connect.driver.exceptions import DatabaseError

from tests.support.clickhouse_owner import RunningOwner

CODE = "X-ClickHouse-Exception-Code"
TABLE = "CREATE TABLE points (id UInt64, name String) ENGINE = MergeTree ORDER BY id"
LINES = b"".join(b'{"id": %d, "name": "p%d"}\n' % (number, number) for number in range(1000))


def refused(answer: httpx.Response, code: int) -> str:
    """The message of an answer that says no, in ClickHouse's shape."""
    assert answer.headers.get(CODE) == str(code), answer.text
    assert answer.text.startswith(f"Code: {code}. DB::Exception: ")
    assert answer.status_code >= 400
    return answer.text


async def table(http: httpx.AsyncClient, database: str) -> None:
    (await http.post("/", params={"database": database}, content=TABLE)).raise_for_status()


async def counted(http: httpx.AsyncClient, database: str) -> int:
    answer = await http.get("/", params={"database": database, "query": "SELECT count() FROM points"})
    return int(answer.raise_for_status().text)


async def test_anybody_may_ping(owner: RunningOwner) -> None:
    async with httpx.AsyncClient(base_url=owner.endpoint.url, trust_env=False) as anonymous:
        for path in ("/ping", "/ping?query=SELECT+1"):
            answer = await anonymous.get(path)
            assert (answer.status_code, answer.text) == (200, "Ok.\n")


@pytest.mark.parametrize(
    ("case", "login", "headers", "status"),
    [
        ("nothing", None, {}, 403),
        ("a wrong password", ("touchline", "wrong"), {}, 403),
        ("a wrong user", ("default", "{password}"), {}, 403),
        ("an empty password", ("touchline", ""), {}, 403),
        ("not base64", None, {"Authorization": "Basic ???"}, 403),
        ("another way", None, {"Authorization": "Bearer {password}"}, 403),
        ("wrong headers", None, {"X-ClickHouse-User": "touchline", "X-ClickHouse-Key": "wrong"}, 403),
        ("a login", ("touchline", "{password}"), {}, 200),
        ("headers", None, {"X-ClickHouse-User": "touchline", "X-ClickHouse-Key": "{password}"}, 200),
    ],
)
async def test_who_may_ask(
    owner: RunningOwner, case: str, login: tuple[str, str] | None, headers: dict[str, str], status: int
) -> None:
    filled = {name: value.format(password=owner.password) for name, value in headers.items()}
    auth = (login[0], login[1].format(password=owner.password)) if login else None
    async with httpx.AsyncClient(base_url=owner.endpoint.url, auth=auth, trust_env=False) as client:
        answer = await client.post("/", content="SELECT 1", headers=filled)
    assert answer.status_code == status, case
    if status != 200:
        refused(answer, 516)


async def test_a_large_body_of_a_stranger_is_refused_too(owner: RunningOwner) -> None:
    async with httpx.AsyncClient(base_url=owner.endpoint.url, trust_env=False) as anonymous:
        refused(await anonymous.post("/", content=b"x" * 5_000_000), 516)


async def test_an_answer_has_its_headers(http: httpx.AsyncClient) -> None:
    answer = await http.post("/", params={"query_id": "mine"}, content="SELECT number FROM numbers(3)")
    assert answer.text == "0\n1\n2\n"
    assert answer.headers["X-ClickHouse-Query-Id"] == "mine"
    assert answer.headers["X-ClickHouse-Format"] == "TabSeparated"
    assert answer.headers["X-ClickHouse-Timezone"] == "UTC"
    assert json.loads(answer.headers["X-ClickHouse-Summary"])["result_rows"] == "3"


@pytest.mark.parametrize(
    ("params", "headers", "sql", "expected", "named"),
    [
        ({"default_format": "JSONEachRow"}, {}, "SELECT 1 AS a", '{"a":1}\n', "JSONEachRow"),
        ({}, {"X-ClickHouse-Format": "CSV"}, "SELECT 'a'", '"a"\n', "CSV"),
        ({"default_format": "CSV"}, {}, "SELECT 1 AS a FORMAT JSONEachRow", '{"a":1}\n', "JSONEachRow"),
        ({}, {}, "SELECT 1 FORMAT CSV SETTINGS max_threads = 1", "1\n", "CSV"),
        ({"query": "SELECT"}, {}, "1 + 1", "2\n", "TabSeparated"),
        ({"param_a": "it\\'s"}, {}, "SELECT {a:String}", "it\\'s\n", "TabSeparated"),
        ({"param_a": "number"}, {}, "SELECT {a:Identifier} FROM numbers(1)", "0\n", "TabSeparated"),
        ({"max_block_size": "7"}, {}, "SELECT getSetting('max_block_size')", "7\n", "TabSeparated"),
        ({"database": "system"}, {}, "SELECT currentDatabase()", "system\n", "TabSeparated"),
        ({}, {"X-ClickHouse-Database": "system"}, "SELECT currentDatabase()", "system\n", "TabSeparated"),
        ({}, {}, "SELECT currentDatabase()", "touchline\n", "TabSeparated"),
        ({"database": "default"}, {}, "SELECT currentDatabase()", "default\n", "TabSeparated"),
        ({}, {}, "SELECT timezone()", "UTC\n", "TabSeparated"),
        ({}, {}, "EXISTS TABLE system.one;", "1\n", "TabSeparated"),
    ],
)
async def test_what_a_request_may_say(
    http: httpx.AsyncClient, params: dict[str, str], headers: dict[str, str], sql: str, expected: str, named: str
) -> None:
    answer = await http.post("/", params=params, headers=headers, content=sql)
    assert answer.text == expected
    assert answer.headers["X-ClickHouse-Format"] == named


async def test_a_statement_without_rows_names_no_format(http: httpx.AsyncClient, database: str) -> None:
    answer = await http.post("/", params={"database": database}, content=TABLE)
    assert (answer.status_code, answer.text) == (200, "")
    assert "X-ClickHouse-Format" not in answer.headers


async def test_nothing_stays_for_the_next_request(http: httpx.AsyncClient) -> None:
    await http.post("/", params={"max_block_size": "7", "database": "system", "param_a": "x"}, content="SELECT 1")
    answer = await http.post("/", content="SELECT currentDatabase(), getSetting('max_block_size') != 7")
    assert answer.text == "touchline\t1\n"
    refused(await http.post("/", content="SELECT {a:String}"), 456)


@pytest.mark.parametrize(
    ("case", "params", "sql", "code"),
    [
        ("no such table", {}, "SELECT * FROM nothing", 60),
        ("no such database", {"database": "nobody"}, "SELECT 1", 81),
        ("no such setting", {"no_such_setting": "1"}, "SELECT 1", 115),
        ("no name of a setting", {"a = 1, b": "1"}, "SELECT 1", 115),
        ("a setting that is none", {"max_threads": "1, max_memory_usage = 0"}, "SELECT 1", 27),
        ("no such format", {"default_format": "Nothing"}, "SELECT 1", 73),
        ("a syntax error", {}, "SELECT FROM WHERE", 62),
        ("nothing at all", {}, "", 62),
        ("a comment", {}, "-- nothing", 62),
        ("two statements", {}, "SELECT 1; SELECT 2", 62),
        ("a second statement behind values", {}, "INSERT INTO a VALUES (1); SELECT 2", 62),
        ("not text", {}, b"SELECT '\xff'", 62),
        ("an injection in a setting", {"log_comment": "x'; DROP TABLE a; --", "max_threads": "x"}, "SELECT 1", 27),
        ("a session", {"session_id": "1"}, "SELECT 1", 48),
        ("a session", {"session_timeout": "60"}, "SELECT 1", 48),
        ("a role", {"role": "admin"}, "SELECT 1", 48),
        ("a quota", {"quota_key": "1"}, "SELECT 1", 48),
        ("native compression", {"compress": "1"}, "SELECT 1", 48),
        ("native decompression", {"decompress": "1"}, "SELECT 1", 48),
        ("credentials in the URL", {"user": "touchline", "password": "x"}, "SELECT 1", 48),
        ("parameters of a raw insert", {"param_a": "1"}, "INSERT INTO points FORMAT CSV\n1,2", 48),
        ("a format without reader", {}, "INSERT INTO points FORMAT LineAsString\nx", 73),
    ],
)
async def test_what_is_refused(
    http: httpx.AsyncClient, case: str, params: dict[str, str], sql: str | bytes, code: int
) -> None:
    refused(await http.post("/", params=params, content=sql), code)


async def test_external_tables_are_refused(http: httpx.AsyncClient) -> None:
    files = {"more": ("more.tsv", b"1\n")}
    refused(await http.post("/", params={"query": "SELECT * FROM more"}, files=files), 48)


async def test_a_form_holds_what_is_too_long_for_a_url(http: httpx.AsyncClient) -> None:
    long = "ü" * 200_000
    form = {
        "query": (None, "SELECT length({a:String}), {b:String}\r\n"),
        "param_a": (None, long),
        "param_b": (None, "x"),
    }
    assert (await http.post("/", files=form)).text == "400000\tx\n"
    refused(await http.post("/", headers={"Content-Type": "multipart/form-data"}, content="x"), 36)


async def test_reading_methods_only_read(http: httpx.AsyncClient, database: str) -> None:
    await table(http, database)
    for sql in ("DROP TABLE points", "INSERT INTO points VALUES (1, 'a')", "INSERT INTO points FORMAT CSV\n1,a"):
        for readonly in ({}, {"readonly": "0"}):
            refused(await http.get("/", params={"database": database, "query": sql, **readonly}), 164)
        refused(await http.post("/", params={"database": database, "query": sql, "readonly": "1"}), 164)
    refused(await http.get("/", params={"query": "SELECT 1 SETTINGS readonly = 0"}), 164)
    assert await counted(http, database) == 0
    assert (await http.get("/")).text == "Ok.\n"
    assert (await http.get("/nothing")).status_code == 404
    assert (await http.put("/", content="SELECT 1")).status_code == 405


def arrow(rows: pa.Table, stream: bool) -> bytes:
    sink = pa.BufferOutputStream()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue().to_pybytes()


def parquet(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    return sink.getvalue().to_pybytes()


POINTS = pa.table({"id": pa.array(range(1000), pa.uint64()), "name": [f"p{number}" for number in range(1000)]})
DATA = [
    ("Arrow", arrow(POINTS, stream=False)),
    ("ArrowStream", arrow(POINTS, stream=True)),
    ("Parquet", parquet(POINTS)),
    ("JSONEachRow", LINES),
    ("CSV", b"".join(b"%d,p%d\n" % (number, number) for number in range(1000))),
    ("TSV", b"".join(b"%d\tp%d\n" % (number, number) for number in range(1000))),
]


@pytest.mark.parametrize(("data_format", "data"), DATA, ids=[name for name, _ in DATA])
async def test_raw_inserts(http: httpx.AsyncClient, database: str, data_format: str, data: bytes) -> None:
    await table(http, database)
    statement = f"INSERT INTO points (`id`, name) FORMAT {data_format}"
    in_url = await http.post("/", params={"database": database, "query": statement}, content=data)
    in_body = await http.post("/", params={"database": database}, content=statement.encode() + b"\n" + data)
    for answer in (in_url, in_body):
        assert answer.raise_for_status().text == ""
        assert json.loads(answer.headers["X-ClickHouse-Summary"])["written_rows"] == "1000"
    assert await counted(http, database) == 2000


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO points VALUES (1, 'a'), (1 + 1, upper('b'))",
        "INSERT INTO points SELECT number, toString(number) AS format FROM numbers(2)",
        'INSERT INTO points FORMAT JSONEachRow {"id": 1} {"id": 2}',
        "insert into table points(id)format csv\n1\n2",
    ],
)
async def test_inserts_in_the_text(http: httpx.AsyncClient, database: str, sql: str) -> None:
    await table(http, database)
    (await http.post("/", params={"database": database}, content=sql)).raise_for_status()
    assert await counted(http, database) == 2


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstd.compress,
    "lz4": lz4.frame.compress,
}


@pytest.mark.parametrize("method", COMPRESSORS)
async def test_compressed_bodies(http: httpx.AsyncClient, database: str, method: str) -> None:
    await table(http, database)
    compress = COMPRESSORS[method]
    params = {"database": database, "query": "INSERT INTO points FORMAT JSONEachRow"}
    headers = {"Content-Encoding": method}
    for packed in (compress(LINES), compress(LINES[:100]) + compress(LINES[100:])):
        (await http.post("/", params=params, content=packed, headers=headers)).raise_for_status()
    refused(await http.post("/", params=params, content=compress(LINES)[:-10], headers=headers), 271)
    refused(await http.post("/", params=params, content=LINES, headers=headers), 271)
    assert await counted(http, database) == 2000


async def test_compression_that_nobody_knows(http: httpx.AsyncClient) -> None:
    refused(await http.post("/", content=b"x", headers={"Content-Encoding": "br"}), 89)


def ready_made(owner: RunningOwner, database: str, **options: Any) -> Any:
    """clickhouse-connect as anybody would use it."""
    where = {"host": "127.0.0.1", "port": owner.options.port, "username": "touchline", "password": owner.password}
    return clickhouse_connect.get_client(**where, database=database, dedicated_pool=True, **options)


@pytest.mark.parametrize("compress", [False, True, "gzip", "zstd"])
def test_clickhouse_connect_works_as_it_comes(owner: RunningOwner, database: str, compress: bool | str) -> None:
    client = ready_made(owner, database, autogenerate_session_id=False, compress=compress)
    try:
        client.command(TABLE)
        client.insert("points", [[number, "x"] for number in range(10)], column_names=["id", "name"])
        client.insert_arrow("points", POINTS)
        assert client.query("SELECT count(), max(id) FROM points").result_rows == [(1010, 999)]
        assert client.query("SELECT id, name FROM points LIMIT 0").column_names == ("id", "name")
        assert client.command("SELECT max(id) FROM points WHERE id < {most:UInt64}", {"most": 5}) == 4
        assert client.query_arrow("SELECT id FROM points WHERE name = 'x' ORDER BY id").num_rows == 10
    finally:
        client.close()


def test_a_client_with_sessions_is_told_what_to_do(owner: RunningOwner, database: str) -> None:
    client = ready_made(owner, database, session_id="mine")
    try:
        with pytest.raises(DatabaseError, match="autogenerate_session_id=False"):
            client.command("SELECT 1")
    finally:
        client.close()
