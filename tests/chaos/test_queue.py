"""Light jobs by the thousand while workers, sessions and PostgreSQL itself die. Then every effect is counted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from tests.integration.process.conftest import QueueHarness, until
from tests.integration.process.test_claims import flood
from tests.support.events import new_tenant
from tests.support.stack import RunningStack, StackPlan, running_stack, temporary_root
from touchline.kernel import Unavailable
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database, Transaction
from touchline.platform.postgres.migrations import migrate
from touchline.platform.stack import postgres
from touchline.platform.stack.folder import read_ports, read_secrets
from touchline.process.queue.jobs import JobStatus, JobType

from .conftest import Chaos
from .queue_worker import ADDRESS, EFFECTS_TABLE, LEAVE

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 900.0
DONE = "SELECT count(*) FROM process.jobs WHERE status = 'done'"


class LightWorkers:
    def __init__(self, url: str) -> None:
        self._environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", ADDRESS: url}
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.chaos.queue_worker"]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.running.append(process)

    def end(self, number: int, how: signal.Signals) -> int:
        """Who is to stop by itself must have begun; who is killed may be anywhere."""
        with self.running.pop(number) as process:
            if how is signal.SIGTERM and process.stdout:
                process.stdout.readline()
            process.send_signal(how)
            return process.wait()


@contextmanager
def light_workers(url: str, count: int) -> Generator[LightWorkers]:
    workers = LightWorkers(url)
    try:
        for _ in range(count):
            workers.start()
        yield workers
    finally:
        while workers.running:
            workers.end(0, signal.SIGKILL)


@pytest.fixture(scope="module")
def own_postgres() -> Generator[RunningStack]:
    """One that may be killed: its supervisor starts it again. Durable, as the product runs it."""
    with temporary_root() as root, running_stack(StackPlan(root, only=("postgres",))) as stack:
        yield stack


@pytest.fixture
async def harness(own_postgres: RunningStack) -> AsyncGenerator[QueueHarness]:
    folder = own_postgres.folder
    where = postgres.endpoint(read_ports(folder.ports), read_secrets(folder.secrets))
    await migrate(where.owner_url)
    async with await psycopg.AsyncConnection.connect(where.owner_url) as connection:
        await connection.execute("DROP SCHEMA IF EXISTS test CASCADE")
        await connection.execute(EFFECTS_TABLE.encode())
    async with Database(where.worker_url) as database:
        yield QueueHarness(where, database, new_tenant())


@pytest.mark.chaos(seconds=10)
@pytest.mark.timeout(1800)
async def test_each_effect_is_there_once_whoever_dies(
    harness: QueueHarness, own_postgres: RunningStack, chaos: Chaos
) -> None:
    count, deaths = (2000, 30) if chaos.full else (100, 4)
    await flood(harness, count)
    blows = ["worker", "sessions", "worker", "postgres"]
    with light_workers(harness.postgres.worker_url, 2) as workers:
        for death in range(deaths):
            await reached(harness, (death + 1) * count // (deaths + 2))
            await strike(blows[death % len(blows)], workers, own_postgres, chaos.random(f"queue {death}"))
        await reached(harness, count)
        for _ in workers.running[:]:
            assert workers.end(0, signal.SIGTERM) == 0, "whoever outlived it all stops cleanly"
    await check_effects(harness, count)


async def strike(blow: str, workers: LightWorkers, stack: RunningStack, chance: Random) -> None:
    if blow == "worker":
        workers.end(chance.randrange(len(workers.running)), signal.SIGKILL)
        workers.start()
    elif blow == "sessions":
        async with await psycopg.AsyncConnection.connect(stack.superuser_url, autocommit=True) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'touchline_worker'"
            )
    else:
        pid = stack.part("postgres").pid
        assert pid
        os.kill(pid, chance.choice([signal.SIGINT, signal.SIGQUIT]))


async def ask(harness: QueueHarness, question: str) -> list[tuple[Any, ...]]:
    try:
        return await harness.execute(question)
    except (Unavailable, psycopg.OperationalError):
        return []


async def reached(harness: QueueHarness, count: int) -> None:
    async def look() -> bool:
        return any(done >= count for (done,) in await ask(harness, DONE))

    await until(look, TIMEOUT_S)


async def check_effects(harness: QueueHarness, count: int) -> None:
    rows = await harness.execute("SELECT status::text, count(*) FROM process.jobs GROUP BY status")
    assert rows == [("done", count)], "none lost, none failed"
    rows = await harness.execute(
        "SELECT count(*), count(DISTINCT e.job_id) FROM test.effects AS e"
        " JOIN process.jobs AS j ON j.id = e.job_id AND j.attempt = e.attempt"
    )
    assert rows == [(count, count)], "each effect once, and by the attempt that is written down"
    assert await harness.execute("SELECT count(*) FROM test.effects") == [(count,)]


@pytest.mark.chaos(seconds=5)
async def test_a_crash_between_any_two_statements_of_a_completion_leaves_no_half_state(harness: QueueHarness) -> None:
    """The session dies after the first, the second, … statement; only the last try lives to its commit."""
    job = await harness.enqueue()
    [held] = await harness.queue().claim([JobType.TRANSCODE], 1)
    steps = 4

    def effects_that_die_after(last: int) -> Any:
        async def effects(transaction: Transaction) -> None:
            for step in range(steps):
                if step == last:
                    await transaction.connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                await transaction.connection.execute(LEAVE, (job.id, step))

        return effects

    for last in range(steps):
        with pytest.raises(Unavailable):
            await harness.queue().complete(held, {}, effects_that_die_after(last))
        assert (await harness.job(job.id)).status is JobStatus.PROCESSING
        assert await harness.execute("SELECT count(*) FROM test.effects") == [(0,)]
    await harness.queue().complete(held, {}, effects_that_die_after(steps))
    assert await harness.execute("SELECT count(*) FROM test.effects") == [(steps,)]
    statuses = [data["status"] for _, _, data in await harness.events("job.changed") if data["job_id"] == str(job.id)]
    assert statuses == ["queued", "processing", "done"]


@pytest.mark.chaos(seconds=2)
@pytest.mark.timeout(600)
async def test_one_tenant_with_a_hundred_thousand_waiting_does_not_hold_up_another(
    postgres: PostgresEndpoint, chaos: Chaos
) -> None:
    async with Database(postgres.worker_url) as database:
        harness = QueueHarness(postgres, database, new_tenant())
        for _ in range(50 if chaos.full else 1):
            await flood(harness, 2000)
        for _ in range(5):
            await harness.queue().claim([JobType.TRANSCODE], 100, thorough=False)
            job = await harness.of(new_tenant()).enqueue()
            # The band may be up to a batch ahead of what it says; then it is the newcomer's turn.
            claimed = await harness.queue().claim([JobType.TRANSCODE], 102, thorough=False)
            assert job.id in {each.id for each in claimed}
