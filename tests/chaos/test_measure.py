"""Importers, folders, ClickHouse and PostgreSQL die while events are imported. Then everything is counted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from random import Random

import psycopg
import pytest

from tests.support.measure import Measuring, as_lines, expected
from tests.support.sessions import made_up_log
from tests.support.stack import RunningStack, StackPlan, running_stack, temporary_root
from tests.support.wait import eventually
from touchline.measure.ingest.rules import count_records, read_records
from touchline.measure.tables import ensure_tables
from touchline.measure.validation.service import FactValidation
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.store import ensure_database
from touchline.platform.postgres.database import Database
from touchline.platform.postgres.migrations import migrate
from touchline.platform.settings import ClickHouseSettings

from .conftest import Chaos
from .measure_processes import CLICKHOUSE, POSTGRES, TENANT

ROOT = Path(__file__).parents[2]
VICTIMS = ["importer", "folder-1", "folder-2", "clickhouse", "postgres"]
TIMEOUT_S = 300.0
NOISE = [b"{", b"\xff", b"[]]", b'{"type":"somebody else\'s","timestamp":1}', b'{"type":"stream_trace"}', b"7"]


class Cast:
    """Whoever is killed is started again at once. An importer that has finished stays away."""

    def __init__(self, stack: RunningStack, file: Path) -> None:
        where = stack.endpoints
        self._environment = {
            **os.environ,
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
            POSTGRES: where.postgres.app_url,
            CLICKHOUSE: json.dumps(asdict(where.clickhouse)),
        }
        self._commands = {"importer": ["importer", str(file)], "folder-1": ["folder"], "folder-2": ["folder"]}
        self.running = {name: self._started(name) for name in self._commands}

    def kill(self, name: str) -> None:
        self.running[name].kill()
        self.running[name].wait()
        self.running[name] = self._started(name)

    def close(self) -> None:
        for process in self.running.values():
            process.kill()
            process.wait()

    def _started(self, name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.chaos.measure_processes", *self._commands[name]]
        return subprocess.Popen(command, cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL)


@contextmanager
def on_stage(stack: RunningStack, file: Path) -> Generator[Cast]:
    cast = Cast(stack, file)
    try:
        yield cast
    finally:
        cast.close()


@pytest.mark.chaos(seconds=25)
@pytest.mark.timeout(900)
async def test_an_import_is_exact_whoever_dies(chaos: Chaos, tmp_path: Path) -> None:
    chance = chaos.random("measure")
    events, deaths = (6000, 40) if chaos.full else (600, 1)
    records = made_up_log(events, chance.randrange(2**32))
    lines = as_lines(records) + chance.choices(NOISE, k=events // 20)
    chance.shuffle(lines)
    file = tmp_path / "events.jsonl"
    file.write_bytes(b"\n".join(lines))
    with temporary_root() as root, running_stack(StackPlan(root, only=["postgres", "clickhouse"])) as stack:
        await migrate(stack.endpoints.postgres.owner_url)
        await ensure_database(stack.endpoints.clickhouse, ClickHouseSettings())
        async with Analytics(stack.endpoints.clickhouse, ClickHouseSettings()) as analytics:
            await ensure_tables(analytics)
        batches = -(-len(lines) // 50)
        with on_stage(stack, file) as cast:
            for moment, victim in script(chance, batches, deaths):
                eventually(lambda due=moment: folded(stack) >= due, TIMEOUT_S)
                strike(victim, cast, stack)
            eventually(lambda: cast.running["importer"].poll() is not None, TIMEOUT_S)
            assert cast.running["importer"].returncode == 0
            eventually(lambda: folded(stack) == batches, TIMEOUT_S)
        await check(stack, lines)


def script(chance: Random, batches: int, deaths: int) -> list[tuple[int, str]]:
    """Who dies once how many deliveries are folded."""
    return sorted((chance.randrange(batches), chance.choice(VICTIMS)) for _ in range(deaths))


def strike(victim: str, cast: Cast, stack: RunningStack) -> None:
    if victim in cast.running:
        cast.kill(victim)
        return
    pid = stack.part(victim).pid
    if pid:  # else it is being started again already
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: stack.part(victim).pid not in {None, pid})


def folded(stack: RunningStack) -> int:
    """Nothing while PostgreSQL is down. The superuser alone is not behind the wall."""
    try:
        with psycopg.connect(stack.superuser_url, dbname="touchline", connect_timeout=5) as connection:
            found = connection.execute("SELECT count(*) FROM measure.batches WHERE state = 'folded'").fetchone()
    except psycopg.OperationalError:
        return -1
    return found[0] if found else -1


async def check(stack: RunningStack, lines: list[bytes]) -> None:
    async with (
        Database(stack.endpoints.postgres.app_url) as database,
        Analytics(stack.endpoints.clickhouse, ClickHouseSettings()) as analytics,
    ):
        measuring = Measuring(database, analytics, TENANT)
        records = read_records(lines)
        assert await measuring.count() == count_records(records), "the counters are exact"
        accepted = [json.loads(record.body) for record in records if record.verdict == "accepted"]
        assert await measuring.facts() == expected(accepted), "the rows are those of the core"
        findings = await FactValidation(database, analytics).run(TENANT)
        assert [finding for finding in findings if finding.wrong] == []
