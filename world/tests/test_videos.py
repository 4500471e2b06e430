"""Drawn videos: what they show, how they are kept, and that a recipe makes the same bytes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import psutil
import pytest
from hypothesis import given, settings, strategies as st

from tests.support.world_videos import GOAL, LOOK, PLAIN, another_goal, small
from touchline.media.engines.model import Picture, ReaderName
from touchline.media.engines.service import Engine
from touchline.media.fingerprint.comparison import compare
from touchline.media.fingerprint.model import Fingerprint
from touchline.media.fingerprint.service import take_fingerprint
from touchline.media.sandbox import Sandbox
from touchline_world.child_process import ChildFailed, ChildGone
from touchline_world.videos.drawing.football import Broadcast, cuts_of
from touchline_world.videos.drawing.graphics import SCORE_AFTER_MS, clock_text, score_text
from touchline_world.videos.drawing.pitch import HALF, HIGH, LENGTH, MIDDLE
from touchline_world.videos.drawing.play import RATE, run_play
from touchline_world.videos.library import VideoFolder, VideoLibrary, renderer_version
from touchline_world.videos.model import BugStyle, Recipe, Take, TakeKind

SIZE = (480, 270)


@pytest.mark.parametrize(
    ("clock_ms", "added_ms", "at_ms", "told"),
    [
        (0, 0, 0, ("00:00", "")),
        (3_778_000, 0, 1_999, ("62:59", "")),
        (3_778_000, 0, 2_000, ("63:00", "")),
        (2_700_000, 133_000, 0, ("45:00", "+2:13")),
        (5_400_000, 59_500, 500, ("90:00", "+1:00")),
        (6_000_000, 0, 0, ("100:00", "")),
    ],
)
def test_the_clock_runs_and_stands_still_in_stoppage_time(
    clock_ms: int, added_ms: int, at_ms: int, told: tuple[str, str]
) -> None:
    assert clock_text(replace(GOAL, clock_ms=clock_ms, added_ms=added_ms), at_ms) == told


def test_the_score_changes_after_the_goal() -> None:
    assert GOAL.goal_ms is not None
    changes = GOAL.goal_ms + SCORE_AFTER_MS
    assert [score_text(GOAL, at_ms) for at_ms in (0, changes - 1, changes)] == ["0-1", "0-1", "1-1"]


@pytest.mark.parametrize(
    ("style", "told"),
    [
        (BugStyle.BAR, {"NOR 0-1 VAZ", "45:00", "+2:13"}),
        (BugStyle.STACKED, {"NOR", "VAZ", "0", "1", "45:00", "+2:13"}),
        (BugStyle.PILL, {"NOR 0-1 VAZ", "45:00+2:13"}),
    ],
)
def test_every_style_tells_what_it_shows_and_where(style: BugStyle, told: set[str]) -> None:
    take = replace(GOAL, look=replace(LOOK, style=style), clock_ms=2_700_000, added_ms=133_000, hashtag=None)
    picture, texts = Broadcast(take, SIZE).picture(0)
    assert told < {each.text for each in texts}
    for each in texts:
        x, y, width, height = each.box
        part = picture[y : y + height, x : x + width]
        assert part.shape[:2] == (height, width), "it is inside of the picture"
        assert np.ptp(part.max(axis=2)) > 60, "and there is something to read"


def test_without_a_bug_nothing_is_laid_over_it_and_nothing_is_cut() -> None:
    take = replace(GOAL, look=replace(LOOK, style=BugStyle.NONE), length_ms=9_000, has_replay=True)
    assert not Broadcast(take, SIZE).picture(4_500)[1]
    assert cuts_of(take).cheer_s == cuts_of(take).replay_s == 9


def test_a_replay_has_no_clock() -> None:
    take = replace(GOAL, length_ms=10_000, has_replay=True)
    texts = {each.text for each in Broadcast(take, SIZE).picture(9_000)[1]}
    assert "REPLAY" in texts
    assert not any(":" in text for text in texts)


def test_the_same_take_is_the_same_picture_and_another_is_another() -> None:
    first, again, other = (Broadcast(take, SIZE).picture(1_000)[0] for take in (GOAL, GOAL, replace(GOAL, seed=12)))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_football_needs_a_look() -> None:
    with pytest.raises(ValueError, match="look"):
        Broadcast(Take(TakeKind.PLAY, 1, 1_000), SIZE)


FASTEST = 15.0  # metres a second, of most people; the drawn ones may be a little quicker than real ones
JUMP = 2.0  # metres from one picture to the next
SEEDS = st.integers(0, (1 << 31) - 1)


@settings(max_examples=25)
@given(SEEDS, st.sampled_from([2.0, 4.3, 6.0]))
def test_the_ball_crosses_the_line_between_the_posts(seed: int, goal_s: float) -> None:
    play = run_play(seed, goal_s + 4, goal_s)
    _, ball, _, _ = play.state(goal_s)
    line = 0 if play.is_left else LENGTH
    assert abs(ball[0] - line) < 1.2
    assert abs(ball[1] - MIDDLE) < HALF
    assert ball[2] < HIGH
    _, later, _, _ = play.state(goal_s + 1)
    assert later[0] < 0 if play.is_left else later[0] > LENGTH


@settings(max_examples=25)
@given(SEEDS)
def test_nobody_jumps(seed: int) -> None:
    play = run_play(seed, 9.0, 4.0)
    steps = np.linalg.norm(np.diff(play.people, axis=0), axis=2) * RATE
    assert float(np.median(steps.max(axis=0))) < FASTEST
    assert float(steps.max()) / RATE < JUMP
    assert np.isfinite(play.people).all()


@settings(max_examples=25)
@given(SEEDS)
def test_without_a_goal_the_ball_never_goes_in(seed: int) -> None:
    play = run_play(seed, 9.0, None)
    x, y, z = play.ball.T
    behind = (x < 0) | (x > LENGTH)
    assert not (behind & (np.abs(y - MIDDLE) < HALF) & (z < HIGH)).any()


KEYS = ("a", "b", "c", "d")


@pytest.fixture
def shelf(tmp_path: Path) -> VideoFolder:
    """Four files of ten bytes, the first used first, where there is room for two."""
    shelf = VideoFolder(tmp_path, limit_bytes=20)
    shelf.folder.mkdir()
    for number, key in enumerate(KEYS):
        shelf.path(key).write_bytes(bytes(10))
        os.utime(shelf.path(key), (number, number))
    return shelf


def left(shelf: VideoFolder) -> set[str]:
    return {path.stem for path in shelf.folder.glob("*.mp4")}


def test_the_least_recently_used_go(shelf: VideoFolder) -> None:
    assert shelf.take("a")
    shelf.tidy(frozenset())
    assert left(shelf) == {"a", "d"}


def test_what_is_needed_stays_even_if_it_is_too_much(shelf: VideoFolder) -> None:
    shelf.tidy(frozenset("abc"))
    assert left(shelf) == {"a", "b", "c"}


def test_files_of_another_program_are_not_served_and_go_like_the_rest(shelf: VideoFolder) -> None:
    old = shelf.root / "by-000000000000"
    old.mkdir()
    (old / "e.mp4").write_bytes(bytes(10))
    os.utime(old / "e.mp4", (0, 0))
    assert not shelf.take("e")
    shelf.tidy(frozenset("abcde"))
    assert not (old / "e.mp4").exists()
    assert renderer_version() in shelf.folder.name


def test_drafts_of_dead_makers_go_and_others_stay(shelf: VideoFolder) -> None:
    dead, alive = shelf.folder / ".x.4194305.part", shelf.folder / f".y.{os.getpid()}.part"  # more than a process id
    for draft in (dead, alive):
        draft.write_bytes(b"half")
    shelf.tidy(frozenset(KEYS))
    assert (dead.exists(), alive.exists()) == (False, True)


COPIES = {
    "plain": PLAIN,
    "cut, with a logo": replace(PLAIN, starts_ms=1_000, logo="GOALZONE"),
    "letterboxed": replace(PLAIN, height=270, bars_percent=9),
    "rough": replace(PLAIN, quality=36, brightness=20),
}
OTHERS = (21, 22)


@pytest.fixture(scope="module")
async def library(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[VideoLibrary]:
    async with VideoLibrary(tmp_path_factory.mktemp("videos")) as library:
        recipes = [Recipe(GOAL, copy) for copy in COPIES.values()]
        await library.prepare([*recipes, *(Recipe(another_goal(seed), PLAIN) for seed in OTHERS)])
        yield library


def drafts_in(root: Path) -> list[Path]:
    return list(root.glob("by-*/.*.part"))


async def fingerprint(sandbox: Sandbox, library: VideoLibrary, recipe: Recipe) -> Fingerprint:
    return await take_fingerprint(sandbox, await library.file(recipe))


async def test_the_same_recipe_makes_the_same_bytes_also_alone(library: VideoLibrary, tmp_path: Path) -> None:
    recipe = Recipe(another_goal(OTHERS[0]), PLAIN)
    async with VideoLibrary(tmp_path) as other:
        made = await other.file(recipe)
        assert made.read_bytes() == (await library.file(recipe)).read_bytes()


async def test_a_file_begins_with_its_index_and_has_picture_and_sound(library: VideoLibrary) -> None:
    path = await library.file(Recipe(GOAL, PLAIN))
    head = path.read_bytes()[:4096]
    assert b"moov" in head
    with av.open(str(path)) as video:
        picture, sound = video.streams.video[0], video.streams.audio[0]
        assert (picture.codec_context.name, sound.codec_context.name) == ("h264", "aac")
        assert (picture.height, picture.frames) == (240, GOAL.length_ms // 40)
        assert "creation_time" not in video.metadata


@pytest.mark.parametrize("kind", [kind for kind in COPIES if kind != "plain"])
async def test_copies_of_a_take_are_found(library: VideoLibrary, sandbox: Sandbox, kind: str) -> None:
    plain = await fingerprint(sandbox, library, Recipe(GOAL, PLAIN))
    assert compare(plain, await fingerprint(sandbox, library, Recipe(GOAL, COPIES[kind]))).match


async def test_other_goals_of_the_match_are_not(library: VideoLibrary, sandbox: Sandbox) -> None:
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
    async with VideoLibrary(tmp_path) as library:
        asked = asyncio.gather(*(library.file(each) for each in recipes))
        await library.prepare(recipes, lambda done, of: heard.append((done, of)))
        assert len(set(await asked)) == 2
        assert heard[-1] == (2, 2)
        assert {path.suffix for path in library.folder.iterdir()} == {".mp4"}


async def test_a_maker_that_is_killed_leaves_nothing_and_the_next_one_makes_it(tmp_path: Path) -> None:
    recipe = Recipe(Take(TakeKind.ADVERT, 1, 8_000), PLAIN)
    async with VideoLibrary(tmp_path) as library:
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
    async with VideoLibrary(tmp_path) as library:
        with pytest.raises(ChildFailed):
            await library.file(Recipe(Take(TakeKind.GOAL, 1, 2_000), PLAIN))  # of no match
        assert drafts_in(tmp_path) == []
    assert not [each for each in psutil.Process().children() if "world.videos" in " ".join(each.cmdline())]


async def test_who_closes_a_library_leaves_no_maker_behind(tmp_path: Path) -> None:
    async with VideoLibrary(tmp_path) as library:
        asked = asyncio.create_task(library.file(Recipe(Take(TakeKind.ADVERT, 1, 8_000), PLAIN)))
        while not (
            makers := [each for each in psutil.Process().children() if "world.videos" in " ".join(each.cmdline())]
        ):
            await asyncio.sleep(0.02)
    assert not any(each.is_running() for each in makers)
    with pytest.raises(asyncio.CancelledError):
        await asked
