"""Work that rests: it stops where it is, its clock too, goes on as if nothing had been, and ends with its caller."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.support.pictures import as_picture, broadcast_picture
from tests.support.sandboxes import LIMITS, Deed
from tests.support.wait import eventually
from touchline.media.engines.service import Engine
from touchline.media.sandbox import IsolationLevel, Pause, Sandbox

ROOT = Path(__file__).parents[3]
PICTURE = as_picture(broadcast_picture())
HOUR_S = 3600
CALLER = """
import asyncio, sys
from tests.support.sandboxes import Deed, misbehaving
from touchline.media.engines.model import Picture
from touchline.media.engines.service import Engine
from touchline.media.sandbox import IsolationLevel, Pause

async def main(mark, enclosure):
    pause = Pause()
    async with misbehaving(IsolationLevel(enclosure)) as sandbox, Engine(sandbox.in_background(pause)) as engine:
        await engine.judge(Picture(16, 16, bytes(768)))

        def rest(percent):
            pause.begin()
            print(engine.process_id, flush=True)

        await Deed("hang", mark=mark).done(sandbox.in_background(pause), rest)

asyncio.run(main(*sys.argv[1:]))
"""


def are_stopped(processes: Iterable[psutil.Process]) -> bool:
    states: list[str] = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            states.append(process.status())
    return bool(states) and set(states) == {psutil.STATUS_STOPPED}


def family(engine: Engine) -> list[psutil.Process]:
    first = psutil.Process(engine.process_id)
    return [first, *first.children(recursive=True)]


@contextmanager
def an_hour_later(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """By the clock of the loop, which counts for all time-outs."""
    loop = asyncio.get_running_loop()
    clock = loop.time
    with monkeypatch.context() as later:
        later.setattr(loop, "time", lambda: clock() + HOUR_S)
        yield


async def test_a_child_rests_and_then_ends_as_if_nothing_had_been(
    enclosure: IsolationLevel, enclosed: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = replace(LIMITS, wall_s=600)  # in the background, which on a busy machine gets little of it
    deed, pause = Deed("toil", {"turns": 40}, limits=patient), Pause()

    def rest_once(percent: int) -> None:
        if percent == 0:
            pause.begin()

    work = asyncio.create_task(deed.done(enclosed.in_background(pause), rest_once))
    await asyncio.to_thread(eventually, lambda: are_stopped(deed.processes()))
    with an_hour_later(monkeypatch):
        await asyncio.sleep(0.01)  # what is due by that clock happens now
        assert not work.done()
        assert are_stopped(deed.processes())
        pause.end()
        pause.begin()
        pause.end()
        assert await work == {"turns": 40}
    assert deed.processes() == []


async def test_what_is_started_during_a_pause_begins_after_it(enclosed: Sandbox) -> None:
    deed, pause = Deed("toil", {"turns": 1}), Pause()
    told: list[int] = []
    pause.begin()
    work = asyncio.create_task(deed.done(enclosed.pausing(pause), told.append))
    assert await Deed("toil", {"turns": 1}).done(enclosed) == {"turns": 1}, "asked for later, and not paused"
    assert (told, deed.processes(), work.done()) == ([], [], False)
    pause.end()
    assert await work == {"turns": 1}


async def test_what_waits_for_the_end_of_a_pause_can_be_cancelled(enclosed: Sandbox) -> None:
    deed, pause = Deed("toil", {"turns": 1}), Pause()
    pause.begin()
    work = asyncio.create_task(deed.done(enclosed.pausing(pause)))
    await Deed("toil", {"turns": 1}).done(enclosed)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    pause.end()
    assert deed.processes() == []


async def test_a_child_that_rests_is_ended_like_any_other(enclosed: Sandbox) -> None:
    deed, pause = Deed("hang"), Pause()
    work = asyncio.create_task(deed.done(enclosed.in_background(pause), lambda percent: pause.begin()))
    await asyncio.to_thread(eventually, lambda: are_stopped(deed.processes()))
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert deed.processes() == []


async def test_others_do_not_rest(enclosed: Sandbox) -> None:
    pause = Pause()
    enclosed.in_background(pause)
    pause.begin()
    assert await Deed("toil", {"turns": 3}).done(enclosed) == {"turns": 3}


async def test_an_engine_rests_in_the_middle_of_a_picture(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    pause = Pause()
    async with Engine(sandbox.in_background(pause)) as engine:
        before = await engine.judge(PICTURE)
        pause.begin()
        resting = family(engine)
        await asyncio.to_thread(eventually, lambda: are_stopped(resting))
        asked = asyncio.create_task(engine.judge(PICTURE))
        with an_hour_later(monkeypatch):
            await asyncio.sleep(0.01)
            assert not asked.done()
            pause.end()
            assert await asked == before
        assert family(engine) == resting, "the same process answered"


async def test_an_engine_that_is_started_during_a_pause_rests(sandbox: Sandbox) -> None:
    pause = Pause()
    pause.begin()
    async with Engine(sandbox.in_background(pause)) as engine:
        asked = asyncio.create_task(engine.judge(PICTURE))

        def rests() -> bool:
            return engine.process_id is not None and are_stopped(family(engine))

        while not rests():
            await asyncio.sleep(0.01)
        pause.end()
        await asked


def test_a_killed_caller_leaves_nothing_that_rests(enclosure: IsolationLevel) -> None:
    deed = Deed("hang")
    command = [sys.executable, "-c", CALLER, deed.mark, enclosure]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as caller:
        assert caller.stdout
        first = psutil.Process(int(caller.stdout.readline()))
        engine = [first, *first.children(recursive=True)]
        eventually(lambda: are_stopped([*deed.processes(), *engine]))
        caller.kill()
    eventually(lambda: not deed.processes())
    assert psutil.wait_procs(engine, timeout=30)[1] == []
