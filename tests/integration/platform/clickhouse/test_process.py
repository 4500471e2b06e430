"""The owner as a process: how it starts, stops, dies and comes back."""

from __future__ import annotations

import asyncio
import socket
import stat
from dataclasses import replace
from pathlib import Path

import httpx
import psutil
import pyarrow as pa
import pytest

from tests.support.clickhouse_owner import RunningOwner, launch_owner, owner_options, running_owner, start_owner, until
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.options import MIB, OwnerLimits

from .conftest import SETTINGS

TABLE = "CREATE TABLE kept (id UInt64) ENGINE = ReplacingMergeTree ORDER BY id"
COUNT = "SELECT count() AS it FROM kept"
ENDLESS = "SELECT count() FROM numbers_mt(1e12) WHERE NOT ignore(number)"
RUNNING = "SELECT count() FROM system.processes WHERE Settings['log_comment'] = {query_id:String}"
IDLE_BYTES = 200 * MIB  # of its own: how much of the library's file lies in memory is the system's affair


async def insert(owner: RunningOwner, first: int, count: int) -> None:
    async with Analytics(owner.endpoint, SETTINGS) as analytics:
        await analytics.insert_arrow("kept", pa.table({"id": pa.array(range(first, first + count), pa.uint64())}))


async def kept(owner: RunningOwner) -> int:
    async with Analytics(owner.endpoint, SETTINGS) as analytics:
        return (await analytics.query_arrow(COUNT)).to_pylist()[0]["it"]


async def test_data_outlives_a_kill(tmp_path: Path) -> None:
    options = owner_options(tmp_path)
    owner = await start_owner(options)
    async with Analytics(owner.endpoint, SETTINGS) as analytics:
        await analytics.command(TABLE)
    for batch in range(3):
        await insert(owner, batch * 1000, 1000)
        await owner.kill()
        owner = await start_owner(options)
    assert await kept(owner) == 3000
    assert await owner.stop() == 0


async def test_a_kill_in_the_middle_of_inserts_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    options = owner_options(tmp_path)
    owner = await start_owner(options)
    async with Analytics(owner.endpoint, SETTINGS) as analytics:
        await analytics.command(TABLE)
    acknowledged = 0

    async def write() -> None:
        nonlocal acknowledged
        while True:
            await insert(owner, acknowledged * 100, 100)
            acknowledged += 1

    async def enough() -> bool:
        return acknowledged >= 10

    writing = asyncio.create_task(write())
    await until(enough)
    await owner.kill()
    with pytest.raises(Exception, match="ClickHouse"):
        await writing
    owner = await start_owner(options)
    assert await kept(owner) in {acknowledged * 100, (acknowledged + 1) * 100}
    assert await owner.stop() == 0


async def test_one_process_owns_a_folder(tmp_path: Path) -> None:
    async with running_owner(tmp_path) as owner:
        second = await launch_owner(replace(owner_options(tmp_path), data=owner.options.data))
        assert await second.process.wait() == 5
        assert f"another process owns {owner.options.data}" in second.log.read_text()
        async with Analytics(owner.endpoint, SETTINGS) as analytics:
            await analytics.ping()


async def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        options = replace(owner_options(tmp_path), port=taken.getsockname()[1])
        owner = await launch_owner(options)
        assert await owner.process.wait() == 5
        assert f"port {options.port} of 127.0.0.1 cannot be used" in owner.log.read_text()


@pytest.mark.parametrize(
    ("case", "secret", "folder", "said"),
    [
        ("no secret", None, "clickhouse", "the password cannot be read"),
        ("an empty secret", "\n", "clickhouse", "holds no password"),
        ("a folder that the engine would misread", "x", "what?ever", "cannot work in"),
    ],
)
async def test_a_bad_start_says_why(tmp_path: Path, case: str, secret: str | None, folder: str, said: str) -> None:
    options = replace(owner_options(tmp_path), data=tmp_path / folder)
    options.secret_file.write_text(secret or "")
    owner = await launch_owner(options)
    if secret is None:
        options.secret_file.unlink()
    assert await owner.process.wait() == 8, case
    assert said in owner.log.read_text()


async def test_a_running_statement_is_answered_before_the_end(tmp_path: Path) -> None:
    async with running_owner(tmp_path, OwnerLimits(stop_grace_s=60)) as owner, signed_in(owner) as http:
        asked = asyncio.create_task(http.post("/", params={"query_id": "last"}, content="SELECT sleep(3)"))
        await until(lambda: _begun(http, "last"))
        assert await owner.stop() == 0
        assert (await asked).text == "0\n"


async def test_an_endless_statement_does_not_hold_up_the_end(tmp_path: Path) -> None:
    async with running_owner(tmp_path, OwnerLimits(stop_grace_s=1)) as owner, signed_in(owner) as http:
        asked = asyncio.create_task(http.post("/", params={"query_id": "endless"}, content=ENDLESS))
        await until(lambda: _begun(http, "endless"))
        assert await owner.stop() == 0
        assert "QUERY_WAS_CANCELLED" in (await asked).text


async def test_it_is_small_and_private(tmp_path: Path) -> None:
    async with running_owner(tmp_path) as owner:
        async with Analytics(owner.endpoint, SETTINGS) as analytics:
            await analytics.command(TABLE)
            await analytics.ping()
        process = psutil.Process(owner.process.pid)
        memory = process.memory_info()
        assert memory.rss - memory.shared < IDLE_BYTES
        assert owner.password not in " ".join(process.cmdline())
        assert {connection.laddr.ip for connection in process.net_connections() if connection.status == "LISTEN"} == {
            "127.0.0.1"
        }
        open_to_others = [
            path for path in [owner.options.data, *owner.options.data.rglob("*")]
            if not path.is_symlink() and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        ]  # fmt: skip
        assert open_to_others == []
    assert owner.password not in owner.log.read_text()


def signed_in(owner: RunningOwner) -> httpx.AsyncClient:
    login = (owner.endpoint.user, owner.endpoint.password)
    return httpx.AsyncClient(base_url=owner.endpoint.url, auth=login, trust_env=False, timeout=90)


async def _begun(http: httpx.AsyncClient, query_id: str) -> bool:
    return (await http.post("/", params={"param_query_id": query_id}, content=RUNNING)).text == "1\n"
