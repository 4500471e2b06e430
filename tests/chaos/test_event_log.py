"""Writers, sequencers, consumers and PostgreSQL die at random while events flow. Then everything is counted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import psycopg
import pytest

from tests.support.events import EFFECTS_TABLE
from tests.support.stack import RunningStack, StackPlan, running_stack, temporary_root
from tests.support.wait import eventually
from touchline.platform.postgres.migrations import migrate

from .conftest import Chaos
from .event_log_processes import ADDRESS, STATE_TABLE

ROOT = Path(__file__).parents[2]
WRITERS = [f"writer-{number}" for number in range(4)]
OTHERS = [("sequencer", "1"), ("sequencer", "2"), ("consumer", "1"), ("consumer", "2")]
TIMEOUT_S = 300.0


class Cast:
    """The processes on stage. Whoever is killed is replaced at once; a writer that has written all stays away."""

    def __init__(self, address: str, each: int) -> None:
        self._address, self._each = address, each
        self._running: dict[tuple[str, str], subprocess.Popen[bytes]] = {}
        for role in [*(("writer", name) for name in WRITERS), *OTHERS]:
            self._start(role)

    def kill(self, role: tuple[str, str]) -> None:
        process = self._running[role]
        process.kill()
        process.wait()
        self._start(role)

    def close(self) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()

    def _start(self, role: tuple[str, str]) -> None:
        command = [sys.executable, "-m", "tests.chaos.event_log_processes", *role, str(self._each)]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", ADDRESS: self._address}
        self._running[role] = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL)


@contextmanager
def on_stage(address: str, each: int) -> Generator[Cast]:
    cast = Cast(address, each)
    try:
        yield cast
    finally:
        cast.close()


@pytest.mark.chaos(seconds=16)
@pytest.mark.timeout(900)
async def test_each_effect_once_in_order_and_no_gap_whoever_dies(chaos: Chaos) -> None:
    total, deaths = (10_000, 60) if chaos.full else (2_000, 14)
    chance = chaos.random("event log")
    with temporary_root() as root, running_stack(StackPlan(root, only=["postgres"])) as stack:
        where = stack.endpoints.postgres
        await migrate(where.owner_url)
        with psycopg.connect(where.owner_url) as connection:
            connection.execute(EFFECTS_TABLE)
            connection.execute(STATE_TABLE)
        with on_stage(where.app_url, total // len(WRITERS)) as cast:
            for moment, victim in sorted(script(chance, total, deaths)):
                eventually(lambda due=moment: effects_so_far(stack) >= due, TIMEOUT_S)
                strike(victim, cast, stack)
            eventually(lambda: effects_so_far(stack) >= total, TIMEOUT_S)
        check(stack, total)


def script(chance: Random, total: int, deaths: int) -> list[tuple[int, tuple[str, str]]]:
    """Who dies once how many effects are there. PostgreSQL and its sessions die as well, only less often."""
    victims = [*(("writer", name) for name in WRITERS), *OTHERS] * 2
    victims += [("postgres", "server"), ("postgres", "sessions"), ("postgres", "sessions")]
    return [(chance.randrange(total), chance.choice(victims)) for _ in range(deaths)]


def strike(victim: tuple[str, str], cast: Cast, stack: RunningStack) -> None:
    if victim == ("postgres", "server"):
        pid = stack.part("postgres").pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: stack.part("postgres").pid not in {None, pid})
    elif victim == ("postgres", "sessions"):
        ask(stack, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'touchline_app'")
    else:
        cast.kill(victim)


def effects_so_far(stack: RunningStack) -> int:
    return (ask(stack, "SELECT count(*) FROM test.effects") or [(0,)])[0][0]


def ask(stack: RunningStack, question: str) -> list[tuple[int, ...]]:
    """Nothing while PostgreSQL is down. The superuser alone is not behind the wall."""
    try:
        with psycopg.connect(stack.superuser_url, dbname="touchline", connect_timeout=5) as connection:
            return connection.execute(question.encode()).fetchall()
    except psycopg.OperationalError:
        return []


def check(stack: RunningStack, total: int) -> None:
    each = total // len(WRITERS)
    rows = ask(stack, "SELECT key, number, position FROM test.effects ORDER BY effect_id")
    assert Counter((key, number) for key, number, _ in rows) == Counter(
        (writer, number) for writer in WRITERS for number in range(1, each + 1)
    ), "each effect once"
    for writer in WRITERS:
        assert [number for key, number, _ in rows if key == writer] == list(range(1, each + 1)), "in order"
    positions = ask(stack, "SELECT count(*), min(position), max(position) FROM platform.events")
    assert positions == [(total, 1, total)], "no gap"
    assert ask(stack, "SELECT count(*) FROM platform.event_inbox") == [(0,)]
    assert ask(stack, "SELECT count(*) FROM platform.poison_events") == [(0,)]
