"""Background work rests while the foreground is busy, and not without end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from touchline.media.sandbox import Pause
from touchline.platform.foreground import Foreground, open_foreground
from touchline.process.queue.background import Allowance, yield_to_foreground

TIMEOUT_S = 60


@asynccontextmanager
async def yielding(pause: Pause, foreground: Foreground, longest: timedelta) -> AsyncGenerator[None]:
    running = asyncio.create_task(yield_to_foreground(pause, foreground, longest))
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


async def until(look: Callable[[], bool]) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not look():
            await asyncio.sleep(0.01)


async def test_it_rests_while_another_process_is_at_work_and_goes_on_afterwards(tmp_path: Path) -> None:
    pause = Pause()
    with open_foreground(tmp_path) as ours, open_foreground(tmp_path) as theirs:
        async with yielding(pause, ours, timedelta(minutes=5)):
            for _ in range(2):
                with theirs.working():
                    await until(lambda: pause.is_on)
                await until(lambda: not pause.is_on)


async def test_it_goes_on_although_there_is_always_something_to_do_first(tmp_path: Path) -> None:
    pause = Pause()
    with open_foreground(tmp_path) as foreground, foreground.working():
        async with yielding(pause, foreground, timedelta(milliseconds=200)):
            for _ in range(2):
                await until(lambda: pause.is_on)
                await until(lambda: not pause.is_on)


async def test_a_worker_that_stops_leaves_nothing_at_rest(tmp_path: Path) -> None:
    pause = Pause()
    with open_foreground(tmp_path) as foreground, foreground.working():
        async with yielding(pause, foreground, timedelta(minutes=5)):
            await until(lambda: pause.is_on)
        assert not pause.is_on


@pytest.mark.parametrize(
    ("case", "left_s", "used_up", "elapsed_s", "paused", "expected"),
    [
        ("a pause uses it", 30, False, 4, True, (26, False)),
        ("up to its end", 3, False, 4, True, (0, True)),
        ("work earns it", 20, False, 4, False, (24, False)),
        ("not more than all", 28, False, 4, False, (30, False)),
        ("used up, a part is not enough", 20, True, 4, False, (24, True)),
        ("used up, all of it is", 28, True, 4, False, (30, False)),
        ("none at all", 0, True, 4, False, (4, True)),
    ],
)
def test_what_is_left(
    case: str, left_s: float, used_up: bool, elapsed_s: float, paused: bool, expected: tuple[float, bool]
) -> None:
    after = Allowance(30, left_s, used_up).after(elapsed_s, paused=paused)
    assert (after.left_s, after.used_up) == expected, case


@given(st.lists(st.tuples(st.booleans(), st.floats(0.01, 1)), max_size=300))
def test_it_never_rests_longer_than_it_worked_and_once_its_allowance(turns: list[tuple[bool, float]]) -> None:
    allowance, rested_s, worked_s = Allowance(10, 10), 0.0, 0.0
    for wanted, elapsed_s in turns:
        paused = wanted and not allowance.used_up
        allowance = allowance.after(elapsed_s, paused=paused)
        rested_s, worked_s = rested_s + elapsed_s * paused, worked_s + elapsed_s * (not paused)
        assert rested_s <= worked_s + 10 + 1  # the last turn may go over it
