"""Drawn videos before the engines: the embedded one, and the world's model over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image
from pydantic import SecretStr

from tests.support.clickhouse_owner import until
from tests.support.pictures import BUG, broadcast_picture
from tests.support.world import MINUTE, STARTS, day_of, post, served
from tests.support.world_videos import LOOK, small
from touchline.kernel import ManualClock, Misconfigured, Unavailable
from touchline.media.engines.model import ReaderName
from touchline.media.engines.service import Engine
from touchline.media.model import SurveyOptions
from touchline.media.sandbox import Sandbox
from touchline.media.survey import surveyed
from touchline.watch.aliases.language_model import ModelClient
from touchline.watch.model import FeedMinute, GoalMinutes
from touchline.watch.settings import Choice, ModelSettings, ValidationSettings
from touchline.watch.validation import rules
from touchline.watch.validation.rules import ClockStanding, Frame, Verdict
from touchline.watch.validation.service import LocalEngine, Validator
from touchline_world.application import Credentials, build_app
from touchline_world.days.model import Clip, Delivery, Fault, Relation, Service, Trouble
from touchline_world.scenes.canvas import write
from touchline_world.videos.library import VideoLibrary
from touchline_world.videos.model import Copy, Recipe, Take, TakeKind
from touchline_world.world import DayClock, World

GOAL = Recipe(
    Take(TakeKind.GOAL, 21, 2_500, LOOK, clock_ms=(62 * 60 + 58) * 1000, goal_ms=1_500), Copy(height=270, quality=26)
)
ADVERT = small(3)
EXPECTED = 62
WELL, AWAY, EMPTY = 60, 61, 62  # minutes of the day


@dataclass(frozen=True)
class Studio:
    goal: Path
    advert: Path
    model: ModelClient
    wall: ManualClock

    def at(self, minute: int) -> None:
        self.wall.advance(STARTS + timedelta(minutes=minute) - self.wall.now())


@pytest.fixture(scope="module")
async def studio(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Studio]:
    troubles = {AWAY: Trouble.OUTAGE, EMPTY: Trouble.EMPTY}
    faults = [Fault(Service.MODEL, each, at * MINUTE, (at + 1) * MINUTE) for at, each in troubles.items()]
    clips = [Clip(each, Relation.COPY, "9000001/1", Delivery.WHOLE) for each in (GOAL, ADVERT)]
    wall = ManualClock(STARTS + timedelta(minutes=WELL))
    async with AsyncExitStack() as stack:
        library = await stack.enter_async_context(VideoLibrary(tmp_path_factory.mktemp("drawn")))
        world = World(day_of([post(1, 50, "Goal", *clips)], faults), DayClock(wall, STARTS), library)
        url = await stack.enter_async_context(served(build_app(world)))
        http = await stack.enter_async_context(httpx.AsyncClient())
        settings = ModelSettings(url=f"{url}/model/v1", key=SecretStr(Credentials().model_key), name="eyes")
        files = await asyncio.gather(library.file(GOAL), library.file(ADVERT))
        yield Studio(*files, ModelClient(settings, http), wall)


def by_model(sandbox: Sandbox, studio: Studio, engine: Choice = Choice.MODEL) -> Validator:
    return Validator(sandbox, ValidationSettings(engine=engine), studio.model)


async def judged(validator: Validator, path: Path, expected: int = EXPECTED) -> tuple[Verdict, list[str]]:
    beats = list[str]()
    length_ms = (ADVERT if ADVERT.key in path.name else GOAL).take.length_ms
    async with surveyed(validator._sandbox, path, SurveyOptions(moments_ms=validator.moments(length_ms))) as survey:
        return await validator.judge(
            survey.stills, length_ms, GoalMinutes(FeedMinute(expected + 1)), beats.append
        ), beats


async def test_a_model(sandbox: Sandbox, studio: Studio) -> None:
    studio.at(WELL)
    async with by_model(sandbox, studio) as validator:
        verdict, _ = await judged(validator, studio.goal)
        assert (verdict.verified, verdict.rejected, verdict.clock) == (True, None, "62:58")
        assert (await judged(validator, studio.advert))[0].rejected == "not_football"
        another, _ = await judged(validator, studio.goal, expected=17)
        assert (another.football, another.rejected) == (True, "another_minute: 62:58, not 17")


@pytest.mark.parametrize("minute", [AWAY, EMPTY])
async def test_a_model_that_is_away_says_nothing(sandbox: Sandbox, studio: Studio, minute: int) -> None:
    studio.at(minute)
    async with by_model(sandbox, studio) as validator:
        with pytest.raises(Unavailable):
            await judged(validator, studio.advert)


async def test_a_model_that_goes_away_is_not_asked_again_for_what_it_has_said(sandbox: Sandbox, studio: Studio) -> None:
    """Of two pictures it judges one; when it is back, only the other one is shown to it."""
    studio.at(WELL)
    asked = list[int]()

    class Tired:
        """The real client of the world's model, which is out after its first answer."""

        async def ask(self, prompt: str, **more: Any) -> Any:
            asked.append(len(more["pictures"]))
            said = await studio.model.ask(prompt, **more)
            if len(asked) == 1:
                studio.at(AWAY)
            return said

    async with Validator(sandbox, ValidationSettings(engine=Choice.MODEL), Tired()) as validator:
        with pytest.raises(Unavailable):
            await judged(validator, studio.goal)
        studio.at(WELL)
        verdict, _ = await judged(validator, studio.goal)
    assert (verdict.verified, verdict.clock) == (True, "62:58")
    assert asked == [1, 1, 1], "the first picture, the second one in vain, the second one"


async def test_of_two_engines_one_may_be_away(sandbox: Sandbox, studio: Studio) -> None:
    """What the embedded one sees alone, then beside the model."""
    studio.at(AWAY)
    async with by_model(sandbox, studio, Choice.BOTH) as validator:
        verdict, beats = await judged(validator, studio.goal)
        assert (verdict.football, verdict.screen, verdict.verified, verdict.rejected) == (True, False, True, None)
        assert (verdict.clock, {*verdict.engines}) == ("62:58", {"local"})
        assert [beat for beat in beats if beat.startswith("validating")] == [
            "validating frame 1 of 2 (25%)",
            "validating frame 2 of 2 (75%)",
        ]
        studio.at(WELL)
        advert, _ = await judged(validator, studio.advert)
        assert ({*advert.engines}, advert.rejected) == ({"local", "model"}, "not_football")


@pytest.mark.parametrize(("down", "clock"), [(0, "67:42"), (270, "67:42"), (None, None)])
async def test_the_clock_is_read_wherever_it_stands(
    down: int | None, clock: str | None, sandbox: Sandbox, tmp_path: Path
) -> None:
    """At the top, where it is looked for first, at the bottom, or nowhere."""
    bug = None if down is None else replace(BUG, where=(BUG.where[0], BUG.where[1] + down))
    Image.fromarray(broadcast_picture(bug, None)[:, :, ::-1]).save(tmp_path / "1.jpg", quality=95)
    async with Engine(sandbox, ReaderName.RAPIDOCR) as engine:
        sight = await LocalEngine(sandbox, engine).look(Frame(tmp_path / "1.jpg", 2_000, "video"))
    assert sight.clock == clock


@pytest.mark.parametrize(
    ("clock", "parts"),
    [
        ("90:00", [("+4", (262, 24)), ("02:17", (312, 24))]),
        ("90:00", [("+4", (262, 24)), ("02:17", (182, 66))]),
        ("90:00", [("+02:17", (262, 24))]),
        ("02:17", [("+4", (262, 24))]),
    ],
    ids=["in a row", "below", "with a plus", "stoppage time alone"],
)
async def test_stoppage_time_is_read_from_its_parts(
    clock: str, parts: list[tuple[str, tuple[int, int]]], sandbox: Sandbox, tmp_path: Path
) -> None:
    """Each on a plate of its own, as a broadcast shows it for a goal of 90+3."""
    pixels = broadcast_picture(replace(BUG, clock=clock), None)
    for text, (x, y) in parts:
        pixels[y : y + 37, x : x + 14 * len(text) + 14] = (30, 30, 160)
        write(pixels, text, (x + 8, y + 9), 22, (245, 245, 245))
    Image.fromarray(pixels[:, :, ::-1]).save(tmp_path / "1.jpg", quality=95)
    async with Engine(sandbox, ReaderName.RAPIDOCR) as engine:
        sight = await LocalEngine(sandbox, engine).look(Frame(tmp_path / "1.jpg", 2_000, "video"))
    right, wrong = (GoalMinutes(FeedMinute(*each)) for each in ((90, 3), (90, 9)))
    assert rules.standing(sight.clock, right, 1) is ClockStanding.VERIFIED, sight.clock
    assert rules.standing(sight.clock, wrong, 1) is ClockStanding.REJECTED, sight.clock


async def test_an_engine_that_was_prepared_is_there_before_it_is_asked(sandbox: Sandbox) -> None:
    async with Validator(sandbox, ValidationSettings()) as local:
        local.prepare()
        local.prepare()
        engine = local._local
        await until(lambda: asyncio.sleep(0, engine.process_id is not None))
    assert engine.process_id is None


async def test_a_model_needs_no_engine_here(sandbox: Sandbox, studio: Studio) -> None:
    async with by_model(sandbox, studio) as validator:
        validator.prepare()
        assert validator._preparing is None


def test_a_model_must_be_there_where_one_is_wanted(sandbox: Sandbox) -> None:
    with pytest.raises(Misconfigured, match="no model"):
        Validator(sandbox, ValidationSettings(engine=Choice.BOTH))
