"""Hostile SQL from somebody who has the password: no file, no network, no way around a limit."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

CODE = "X-ClickHouse-Exception-Code"
CANARY = "canary-in-a-file"

# {file} holds the canary, {target} does not exist, {url} is a server that must not be asked.
READS_A_FILE = [
    "SELECT file('{file}')",
    "SELECT file('{file}', 'default')",
    "SELECT `fi\\x6ce`('{file}')",
    "SELECT arrayMap(file, ['{file}'])",
    "SELECT * APPLY(file) FROM (SELECT '{file}')",
    "SELECT arrayMap({{name:Identifier}}, ['{file}'])",
    "WITH (SELECT file('{file}')) AS a SELECT a",
    "DESCRIBE (SELECT file('{file}'))",
    "SHOW TABLES WHERE file('{file}') != ''",
    "INSERT INTO lines VALUES (file('{file}'))",
    "INSERT INTO lines SELECT file('{file}')",
    "CREATE VIEW v AS SELECT file('{file}')",
    "CREATE TABLE t (a String DEFAULT file('{file}')) ENGINE = Memory",
    "ALTER TABLE lines UPDATE a = file('{file}') WHERE 1",
    "SELECT * FROM file('{file}', 'LineAsString')",
    "SELECT * FROM `{file}`",
    "SELECT * FROM default.`{file}`",
    "INSERT INTO lines FROM INFILE '{file}' FORMAT LineAsString",
    "insert into lines from/**/infile '{file}' format LineAsString",
    "INSERT INTO lines FROM INFILE '{file}' FORMAT Values (1)",
    "SELECT * FROM format(LineAsString, (SELECT file('{file}')))",
    "SELECT * FROM sqlite('{file}', 'x')",
    "SELECT * FROM icebergLocal('{file}')",
    "SELECT * FROM executable('{file}', 'TSV', 'a String')",
    "SELECT * FROM Python(path)",
    "SELECT * FROM python(path) SETTINGS allow_python_table_function = 1",
    "SELECT * FROM eval('SELECT file(''{file}'')') SETTINGS allow_experimental_eval_table_function = 1",
    "SELECT 1 AS a FORMAT Template SETTINGS format_template_row = '{file}'",
    "SELECT 1 AS a FORMAT Protobuf SETTINGS format_schema = '{file}:Message'",
    "CREATE DATABASE mine ENGINE = Filesystem('/')",
    "CREATE DATABASE mine ENGINE = SQLite('{file}')",
    "CREATE TABLE t (a String) ENGINE = File(LineAsString, '{file}')",
    "CREATE TABLE t (a String) ENGINE = Executable('{file}', TSV)",
    "CREATE TABLE t (a String) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = local, path = '{file}')",
    "CREATE DICTIONARY d (a UInt64) PRIMARY KEY a SOURCE(FILE(path '{file}' format TSV)) LAYOUT(FLAT()) LIFETIME(0)",
    "ATTACH TABLE t FROM '{file}' (a String) ENGINE = MergeTree ORDER BY a",
    "RESTORE TABLE t FROM File('{file}')",
]
WRITES_A_FILE = [
    "SELECT 1 INTO OUTFILE '{target}'",
    "SHOW TABLES INTO OUTFILE '{target}'",
    "EXPLAIN SELECT 1 INTO OUTFILE '{target}'",
    "INSERT INTO FUNCTION file('{target}', CSV, 'a UInt8') VALUES (1)",
    "BACKUP TABLE lines TO File('{target}')",
    "CREATE TABLE t (a String) ENGINE = EmbeddedRocksDB(0, '{target}') PRIMARY KEY a",
    "CREATE MATERIALIZED VIEW v ENGINE = EmbeddedRocksDB(0, '{target}') PRIMARY KEY a AS SELECT a FROM lines",
    "SELECT 1 SETTINGS input_format_record_errors_file_path = '{target}'",
]
ASKS_THE_NETWORK = [
    "SELECT * FROM url('{url}', 'LineAsString')",
    "SELECT * FROM s3('{url}/bucket/x', 'LineAsString')",
    "SELECT * FROM remote('{host}', 'system', 'one')",
    "SELECT * FROM postgresql('{host}', 'a', 'b', 'c', 'd')",
    "CREATE TABLE t (a String) ENGINE = URL('{url}', 'LineAsString')",
    "CREATE DATABASE mine ENGINE = PostgreSQL('{host}', 'a', 'b', 'c')",
    "CREATE DATABASE mine ENGINE = DataLakeCatalog('{url}') SETTINGS warehouse = 'x'",
    "SELECT * FROM redis('{host}', 'a', 'a String')",
    "SELECT * FROM hudi('{url}/bucket/x')",
    "CREATE TABLE t (a String) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = web, endpoint = '{url}/x/')",
    "CREATE TABLE t (a UInt8) ORDER BY a SETTINGS `d\\x69sk` = `di\\x73k`(type = web, endpoint = '{url}/x/')",
    "SELECT 1 SETTINGS format_avro_schema_registry_url = '{url}'",
]
RULES_THE_SERVER = [
    "SYSTEM SHUTDOWN",
    "SYSTEM RELOAD CONFIG",
    "KILL QUERY WHERE 1",
    "SET max_threads = 1",
    "USE system",
    "CREATE USER me",
    "GRANT ALL ON *.* TO default",
    "CREATE FUNCTION twice AS a -> a * 2",
    "CREATE NAMED COLLECTION c AS a = 1",
    "CREATE TEMPORARY TABLE t (a UInt8)",
    "DETACH TABLE lines",
    "DROP DATABASE default",
    "RENAME DATABASE default TO mine",
    "CREATE TABLE default.t (a UInt8) ENGINE = Memory",
    "SELECT 1 PARALLEL WITH DROP TABLE lines",
]
LIFTS_A_LIMIT = {
    "max_memory_usage": "0",
    "max_threads": "1000",
    "max_execution_time": "0",
    "max_result_bytes": "0",
    "max_query_size": "100000000",
    "allow_introspection_functions": "1",
    "allow_python_table_function": "1",
    "dialect": "kusto",
    "format_schema": "/etc/passwd",
}


@pytest.fixture
async def asked_addresses() -> AsyncGenerator[tuple[str, list[object]]]:
    """A server that notes whoever connects."""
    visitors: list[object] = []

    def note(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visitors.append(writer.get_extra_info("peername"))
        writer.close()

    listener = await asyncio.start_server(note, "127.0.0.1", 0)
    async with listener:
        yield f"127.0.0.1:{listener.sockets[0].getsockname()[1]}", visitors


@pytest.fixture
async def lines(http: httpx.AsyncClient, database: str) -> str:
    await http.post("/", params={"database": database}, content="CREATE TABLE lines (a String) ENGINE = Memory")
    return database


async def refuse(http: httpx.AsyncClient, sql: str, database: str) -> None:
    answer = await http.post("/", params={"database": database, "param_name": "file"}, content=sql)
    assert answer.headers.get(CODE), f"{sql} was answered: {answer.text[:200]}"
    assert CANARY not in answer.text
    left = await http.post("/", params={"database": database}, content="SELECT count(), any(name) FROM system.tables "
        "WHERE database = currentDatabase()")  # fmt: skip
    assert left.text == "1\tlines\n"
    assert (await http.post("/", params={"database": database}, content="SELECT count() FROM lines")).text == "0\n"


@pytest.mark.parametrize("sql", READS_A_FILE)
async def test_no_file_is_read(http: httpx.AsyncClient, lines: str, tmp_path: Path, sql: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{CANARY}\n")
    await refuse(http, sql.format(file=secret), lines)


@pytest.mark.parametrize("sql", WRITES_A_FILE)
async def test_no_file_is_written(http: httpx.AsyncClient, lines: str, tmp_path: Path, sql: str) -> None:
    await refuse(http, sql.format(target=tmp_path / "written"), lines)
    assert not await asyncio.to_thread(os.listdir, tmp_path)


@pytest.mark.parametrize("sql", ASKS_THE_NETWORK)
async def test_nobody_else_is_asked(
    http: httpx.AsyncClient, lines: str, asked_addresses: tuple[str, list[object]], sql: str
) -> None:
    host, visitors = asked_addresses
    await refuse(http, sql.format(host=host, url=f"http://{host}"), lines)
    assert visitors == []


@pytest.mark.parametrize("sql", RULES_THE_SERVER)
async def test_nobody_rules_the_server(http: httpx.AsyncClient, lines: str, sql: str) -> None:
    await refuse(http, sql, lines)


@pytest.mark.parametrize("setting", LIFTS_A_LIMIT)
async def test_nobody_lifts_a_limit(http: httpx.AsyncClient, setting: str) -> None:
    value = LIFTS_A_LIMIT[setting]
    in_url = await http.post("/", params={setting: value}, content="SELECT 1")
    in_text = await http.post("/", content=f"SELECT 1 SETTINGS {setting} = '{value}'")
    for answer in (in_url, in_text):
        assert answer.headers.get(CODE) in {"392", "452"}, answer.text


async def test_words_in_data_are_no_reason_to_refuse(http: httpx.AsyncClient, lines: str) -> None:
    params = {"database": lines, "param_a": "FROM INFILE 'x' INTO OUTFILE file('y')"}
    for sql in (
        "SELECT {a:String} AS file, 'INTO OUTFILE' AS outfile, 'infile' AS infile",
        "INSERT INTO lines SELECT {a:String} AS infile",
        "INSERT INTO lines VALUES ('INTO OUTFILE')",
    ):
        (await http.post("/", params=params, content=sql)).raise_for_status()
