"""Drawn videos as files: the same recipe gives the same bytes, copies are found as copies, and nothing else is."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import av
import psutil
import pytest

from tests.support.world_videos import GOAL, PLAIN, another_goal, small
from touchline.media.engines.model import Picture, ReaderName
from touchline.media.engines.service import Engine
from touchline.media.fingerprint.matching import compare
from touchline.media.fingerprint.model import Fingerprint
from touchline.media.fingerprint.service import take_fingerprint
from touchline.media.sandbox import Sandbox
from touchline.platform.children import ChildFailed, ChildGone
from touchline.world.videos.drawing.football import Broadcast
from touchline.world.videos.library import Library
from touchline.world.videos.model import Kind, Recipe, Take

COPIES = {
    "plain": PLAIN,
    "cut, with a logo": replace(PLAIN, starts_ms=1_000, logo="GOALZONE"),
    "letterboxed": replace(PLAIN, height=270, bars_percent=9),
    "rough": replace(PLAIN, quality=36, brightness=20),
}
OTHERS = (21, 22)


@pytest.fixture(scope="module")
async def library(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Library]:
    async with Library(tmp_path_factory.mktemp("videos")) as library:
        recipes = [Recipe(GOAL, copy) for copy in COPIES.values()]
        await library.prepare([*recipes, *(Recipe(another_goal(seed), PLAIN) for seed in OTHERS)])
        yield library


def drafts_in(root: Path) -> list[Path]:
    return list(root.glob("by-*/.*.part"))


async def fingerprint(sandbox: Sandbox, library: Library, recipe: Recipe) -> Fingerprint:
    return await take_fingerprint(sandbox, await library.file(recipe))


async def test_the_same_recipe_makes_the_same_bytes_also_alone(library: Library, tmp_path: Path) -> None:
    recipe = Recipe(another_goal(OTHERS[0]), PLAIN)
    async with Library(tmp_path) as other:
        made = await other.file(recipe)
        assert made.read_bytes() == (await library.file(recipe)).read_bytes()


async def test_a_file_begins_with_its_index_and_has_picture_and_sound(library: Library) -> None:
    path = await library.file(Recipe(GOAL, PLAIN))
    head = path.read_bytes()[:4096]
    assert b"moov" in head
    with av.open(str(path)) as video:
        picture, sound = video.streams.video[0], video.streams.audio[0]
        assert (picture.codec_context.name, sound.codec_context.name) == ("h264", "aac")
        assert (picture.height, picture.frames) == (240, GOAL.length_ms // 40)
        assert "creation_time" not in video.metadata


@pytest.mark.parametrize("kind", [kind for kind in COPIES if kind != "plain"])
async def test_copies_of_a_take_are_found(library: Library, sandbox: Sandbox, kind: str) -> None:
    plain = await fingerprint(sandbox, library, Recipe(GOAL, PLAIN))
    assert compare(plain, await fingerprint(sandbox, library, Recipe(GOAL, COPIES[kind]))).match


async def test_other_goals_of_the_match_are_not(library: Library, sandbox: Sandbox) -> None:
    takes = [GOAL, *(another_goal(seed) for seed in OTHERS)]
    taken = [await fingerprint(sandbox, library, Recipe(take, PLAIN)) for take in takes]
    assert not any(compare(one, other).match for one in taken for other in taken if one is not other)


async def test_a_reader_finds_what_is_said_to_stand_there(sandbox: Sandbox) -> None:
    picture, texts = Broadcast(GOAL, (960, 540)).picture(4_700)
    async with Engine(sandbox, ReaderName.RAPIDOCR) as reader:
        read = " ".join(each.text for each in await reader.read(Picture(960, 540, picture.tobytes())))
    assert {"NOR 1-1 VAZ", "63:02"} <= {each.text for each in texts}
    for text in ("63:02", "1-1", "NOR", "VAZ", "rensen"):
        assert text in read


async def test_all_who_ask_for_a_file_wait_for_one_maker(tmp_path: Path) -> None:
    recipes = [small(1), small(1), small(1, quality=31)]
    heard: list[tuple[int, int]] = []
    async with Library(tmp_path) as library:
        asked = asyncio.gather(*(library.file(each) for each in recipes))
        await library.prepare(recipes, lambda done, of: heard.append((done, of)))
        assert len(set(await asked)) == 2
        assert heard[-1] == (2, 2)
        assert {path.suffix for path in library.folder.iterdir()} == {".mp4"}


async def test_a_maker_that_is_killed_leaves_nothing_and_the_next_one_makes_it(tmp_path: Path) -> None:
    recipe = Recipe(Take(Kind.ADVERT, 1, 8_000), PLAIN)
    async with Library(tmp_path) as library:
        asked = asyncio.create_task(library.file(recipe))
        while not (drafts := drafts_in(tmp_path)):
            await asyncio.sleep(0.01)
        os.kill(int(drafts[0].name.split(".")[-2]), signal.SIGKILL)
        with pytest.raises(ChildGone):
            await asked
        assert not list(library.folder.glob("*.mp4"))
        assert (await library.file(recipe)).stat().st_size > 10_000
        assert {path.suffix for path in library.folder.iterdir()} == {".mp4"}


async def test_a_maker_that_cannot_make_one_goes_when_the_library_is_closed(tmp_path: Path) -> None:
    async with Library(tmp_path) as library:
        with pytest.raises(ChildFailed):
            await library.file(Recipe(Take(Kind.GOAL, 1, 2_000), PLAIN))  # of no match
        assert drafts_in(tmp_path) == []
    assert not [each for each in psutil.Process().children() if "world.videos" in " ".join(each.cmdline())]


async def test_who_closes_a_library_leaves_no_maker_behind(tmp_path: Path) -> None:
    async with Library(tmp_path) as library:
        asked = asyncio.create_task(library.file(Recipe(Take(Kind.ADVERT, 1, 8_000), PLAIN)))
        while not (
            makers := [each for each in psutil.Process().children() if "world.videos" in " ".join(each.cmdline())]
        ):
            await asyncio.sleep(0.02)
    assert not any(each.is_running() for each in makers)
    with pytest.raises(asyncio.CancelledError):
        await asked
