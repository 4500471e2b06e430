"""The engine process, with its real readers: what it reads, and what happens to it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from tests.support.pictures import BUG, CAPTION, as_picture, blank, broadcast_picture
from touchline.media import settings
from touchline.media.engines.model import Picture, ReaderName
from touchline.media.engines.service import (
    BadPicture,
    Engine,
    EngineCrashed,
    EngineTimedOut,
    LanguageMissing,
    PictureTooLarge,
    PictureTooSlow,
)
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings
from touchline_world.scenes.canvas import plain, write

PICTURE = as_picture(broadcast_picture())
WORDS = {"ARS 2-1 CHE", "67:42", "Marta Silva", "Head coach"}
ENDING_S = 20
LIVES_ON = """
import asyncio, sys
from touchline.media import settings
from touchline.media.engines.model import Picture
from touchline.media.engines.service import Engine
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings

async def main():
    async with Sandbox(MediaSettings()) as sandbox, Engine(sandbox) as engine:
        await engine.judge(Picture(16, 16, bytes(768)))
        print(engine.process_id, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
async def rapid(sandbox: Sandbox) -> AsyncGenerator[Engine]:
    async with Engine(sandbox, ReaderName.RAPIDOCR) as engine:
        yield engine


@pytest.fixture(scope="module")
async def tesseract(sandbox: Sandbox) -> AsyncGenerator[Engine]:
    async with Engine(sandbox, ReaderName.TESSERACT) as engine:
        yield engine


@pytest.fixture(scope="module")
async def judge(sandbox: Sandbox) -> AsyncGenerator[Engine]:
    """Quick to start: it has no reader."""
    async with Engine(sandbox) as engine:
        yield engine


def family(engine: Engine) -> list[psutil.Process]:
    """The engine process and the walls around it, which are processes too."""
    first = psutil.Process(engine.process_id)
    return [first, *first.children(recursive=True)]


async def gone(processes: list[psutil.Process]) -> bool:
    """Killed they are at once; the system needs a moment to bury them."""
    return not (await asyncio.to_thread(psutil.wait_procs, processes, ENDING_S))[1]


async def stopped(engine: Engine) -> list[psutil.Process]:
    """In the middle of a picture for ever."""
    await engine.judge(PICTURE)
    assert engine.process_id
    os.killpg(engine.process_id, signal.SIGSTOP)
    return family(engine)


async def test_drawn_text_is_read_by_rapidocr(rapid: Engine) -> None:
    regions = await rapid.read(PICTURE)
    assert {region.text for region in regions} == WORDS
    clock = next(region for region in regions if region.text == "67:42")
    assert (150 < clock.box.x < 230, 10 < clock.box.y < 40, clock.confidence > 0.9) == (True, True, True)


@pytest.mark.parametrize("height", [40, 90, 420])
async def test_text_of_any_size_on_a_4k_picture_is_read_by_tesseract(height: int, tesseract: Engine) -> None:
    pixels = plain((3840, 2160), (30, 20, 20))
    write(pixels, "Marta Silva", (120, 300), height, (255, 255, 255))
    assert [region.text for region in await tesseract.read(as_picture(pixels))] == ["Marta Silva"]


async def test_a_running_clock_never_shows_an_old_digit(rapid: Engine) -> None:
    """Pictures of one stream: only what changed is read again, and that is always."""
    clocks = ["09:58", "09:59", "10:00", "10:00", "10:01", "10:11", "11:11", "17:11"]
    for number, clock in enumerate(clocks):
        pixels = broadcast_picture(replace(BUG, clock=clock))
        regions = await rapid.read(as_picture(pixels, number * 1000), "clock")
        assert {region.text for region in regions} == (WORDS - {"67:42"}) | {clock}
        assert {region.since_ms for region in regions if region.text in WORDS} == {0}


async def test_the_upper_part_alone_is_read_in_a_stream(rapid: Engine) -> None:
    for at_ms, clock in ((2_000, "67:42"), (9_000, "67:49")):
        picture = as_picture(broadcast_picture(replace(BUG, clock=clock)), at_ms)
        assert {region.text for region in await rapid.read(picture, "upper", 0.2)} == {"ARS 2-1 CHE", clock}


async def test_captions_come_change_and_go(rapid: Engine) -> None:
    shown = [None, CAPTION, replace(CAPTION, title="Youssef Amrani", line="Yellow card"), None]
    titles = [
        {
            region.text
            for region in await rapid.read(as_picture(broadcast_picture(BUG, each), number * 1000), "captions")
        }
        for number, each in enumerate(shown)
    ]
    score = {"ARS 2-1 CHE", "67:42"}
    assert titles == [score, WORDS, score | {"Youssef Amrani", "Yellow card"}, score]


async def test_pictures_of_any_shape_without_text_have_none(rapid: Engine) -> None:
    assert await rapid.read(as_picture(blank())) == ()
    for width, height in ((8, 8), (2000, 8), (8, 2000), (333, 77)):
        assert await rapid.read(Picture(width, height, bytes(width * height * 3))) == ()


async def test_it_stands_behind_the_walls_of_the_sandbox(rapid: Engine, sandbox: Sandbox) -> None:
    """RapidOCR reads with its own models, so nothing is fetched; and nothing could be."""
    await rapid.read(PICTURE)
    isolation, settings, engine = await sandbox.isolation(), sandbox.settings, family(rapid)[-1]
    assert engine.num_threads() == settings.engine_threads  # and none that reports home
    assert re.search(r"CapEff:\t0+\n", told(engine, "status"))
    assert re.search(r"Max file size +0 +0 ", told(engine, "limits"))
    assert re.search(rf"Max address space +{settings.engine_memory:d} ", told(engine, "limits"))
    if isolation.user:
        assert engine.uids().real == settings.sandbox_user_id
    if isolation.network:
        assert network(engine.pid) != network(os.getpid())


def told(process: psutil.Process, about: str) -> str:
    return Path(f"/proc/{process.pid}/{about}").read_text("utf-8")


def network(process_id: int) -> Path:
    return Path(f"/proc/{process_id}/ns/net").readlink()


async def test_killed_in_the_middle_it_is_replaced_and_the_picture_tried_again(judge: Engine) -> None:
    first, before = await judge.judge(PICTURE), await stopped(judge)
    asked = asyncio.create_task(judge.judge(PICTURE))
    await asyncio.sleep(0)
    os.killpg(before[0].pid, signal.SIGKILL)
    assert await asked == first
    assert judge.process_id not in {None, before[0].pid}
    assert await gone(before)


async def test_killed_again_and_again_it_is_a_typed_error(judge: Engine) -> None:
    asked = asyncio.create_task(judge.judge(PICTURE))
    killed: set[int] = set()
    while not asked.done():
        if judge.process_id and judge.process_id not in killed:
            killed.add(judge.process_id)
            os.killpg(judge.process_id, signal.SIGKILL)
        await asyncio.wait([asked], timeout=0.01)
    with pytest.raises(EngineCrashed, match="ended with -9"):
        await asked
    assert len(killed) == 2
    assert [pid for pid in killed if psutil.pid_exists(pid)] == []


async def test_a_picture_that_hangs_ends_by_the_clock_and_is_tried_again(
    judge: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = await stopped(judge)
    monkeypatch.setattr(settings, "SHORTEST_WALL", timedelta(0))
    monkeypatch.setattr(judge, "_settings", MediaSettings(picture_time=timedelta(milliseconds=100)))
    with pytest.raises(EngineTimedOut) as raised:
        await judge.judge(PICTURE)
    assert raised.value.retryable
    assert await gone(stuck)


async def test_a_machine_that_is_too_busy_for_a_picture_is_no_verdict_on_it(
    judge: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets no processor for longer than the picture may take of it."""
    first, slow = await judge.judge(PICTURE), timedelta(milliseconds=100)
    monkeypatch.setattr(judge, "_settings", MediaSettings(picture_time=slow))
    busy = await stopped(judge)
    asked = asyncio.create_task(judge.judge(PICTURE))
    assert not (await asyncio.wait([asked], timeout=2 * slow.total_seconds()))[0]
    os.killpg(busy[0].pid, signal.SIGCONT)
    assert await asked == first


async def test_a_picture_that_needs_too_much_of_the_processor_ends_for_good(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On whatever machine. Nothing of it is tried again."""
    page = plain((2560, 1440), (255, 255, 255))
    for line in range(20, 1400, 40):
        write(page, f"{line} " + "Marta Silva " * 8, (20, line), 24, (0, 0, 0))
    monkeypatch.setattr(sandbox, "settings", MediaSettings(picture_time=timedelta(seconds=1)))
    async with Engine(sandbox, ReaderName.RAPIDOCR) as engine:
        await engine.start()
        first = family(engine)
        with pytest.raises(PictureTooSlow, match="more than 1 s of CPU time") as raised:
            await engine.read(as_picture(page))
        assert not raised.value.retryable
        assert engine.process_id is None
        assert await gone(first)


async def test_given_up_in_the_middle_nothing_is_left(judge: Engine) -> None:
    stuck = await stopped(judge)
    asked = asyncio.create_task(judge.judge(PICTURE))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert judge.process_id is None
    assert await gone(stuck)


async def test_it_ends_when_nobody_asks_any_more(judge: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "_settings", MediaSettings(engine_idle=timedelta(milliseconds=100)))
    await judge.judge(PICTURE)
    assert await gone(family(judge))
    assert judge.process_id is None


async def test_it_ends_with_its_parent() -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", LIVES_ON, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    first = psutil.Process(int(await parent.stdout.readline()))
    engine = [first, *first.children(recursive=True)]
    parent.kill()
    await parent.wait()
    assert await gone(engine)


@pytest.mark.parametrize(
    ("picture", "error"),
    [
        (Picture(16_384, 16_384, b""), PictureTooLarge),
        (Picture(2**31, 2**31, b""), PictureTooLarge),
        (Picture(640, 360, b"\0" * 99), BadPicture),
        (Picture(0, 0, b""), BadPicture),
        (Picture(-5, 10, b""), BadPicture),
        (Picture(4, 400, b"\0" * 4800), BadPicture),
    ],
)
async def test_hostile_sizes_are_refused_before_anything_starts(
    picture: Picture, error: type[Exception], sandbox: Sandbox
) -> None:
    async with Engine(sandbox, ReaderName.RAPIDOCR) as engine:
        with pytest.raises(error):
            await engine.read(picture)
        assert engine.process_id is None


@pytest.mark.parametrize("reader", ReaderName)
async def test_a_language_that_is_not_installed_names_its_package(reader: ReaderName, sandbox: Sandbox) -> None:
    """Also where RapidOCR is chosen, whose model has no letters for it."""
    async with Engine(sandbox, reader, ["eng", "xyz_cyrl"]) as engine:
        with pytest.raises(LanguageMissing) as caught:
            await engine.start()
        assert engine.process_id is None
    assert "apt-get install tesseract-ocr-xyz-cyrl" in caught.value.hint
    assert caught.value.retryable is False
