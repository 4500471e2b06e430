"""One decoding for all: pictures of some moments, beside the pictures that PyAV decodes, and fingerprints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from tests.support import videos
from tests.support.videos import Recipe, Studio
from touchline.media.errors import NotAVideo
from touchline.media.fingerprint.model import INTERVAL_MS, Style
from touchline.media.fingerprint.service import take_fingerprints
from touchline.media.model import SurveyOptions
from touchline.media.sandbox import Sandbox
from touchline.media.survey import surveyed

FILM = replace(videos.MP4, name="film.mp4", audio=None, seconds=4)
QUARTERS = (1000, 2000, 3000)


def shown(path: Path) -> dict[int, Image.Image]:
    """Every picture by its time in milliseconds, from the first one on."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        frames = [(frame.pts or 0, frame.to_image()) for frame in container.decode(stream)]
        assert stream.time_base is not None
        [(start, _), *_] = frames
        return {int((at - start) * stream.time_base * 1000): picture for at, picture in frames}


def apart(one: Image.Image, other: Image.Image) -> float:
    """Levels between them, on average."""
    return float(np.abs(np.asarray(one, np.int16) - np.asarray(other, np.int16)).mean())


@pytest.mark.parametrize(
    "recipe",
    [FILM, replace(FILM, name="late.ts", filters=(("setpts", "PTS+7/TB"),)), replace(videos.WEBM, seconds=4)],
    ids=lambda recipe: recipe.name,
)
async def test_pictures_are_those_of_their_moments(recipe: Recipe, studio: Studio, sandbox: Sandbox) -> None:
    path = studio.make(recipe)
    pictures = shown(path)
    for styles in ((), (Style.CAREFUL, Style.DENSE)):
        async with surveyed(sandbox, path, SurveyOptions(styles, (3000, 1000, 2000))) as survey:
            assert all(0 <= still.at_ms - at <= INTERVAL_MS for still, at in zip(survey.stills, QUARTERS, strict=True))
            for still in survey.stills:
                taken = Image.open(still.path)
                assert min(pictures, key=lambda at: apart(pictures[at], taken)) == still.at_ms
        assert not survey.stills[0].path.exists()


async def test_fingerprints_are_those_that_are_taken_alone(studio: Studio, sandbox: Sandbox) -> None:
    for recipe in (FILM, replace(videos.AVI, audio=None, seconds=2)):
        path, told = studio.make(recipe), list[int]()
        styles = (Style.DENSE, Style.CAREFUL)
        async with surveyed(sandbox, path, SurveyOptions(styles, (500,)), told.append) as survey:
            assert survey.fingerprints == await take_fingerprints(sandbox, path, styles)
        assert told[-1] == 100


async def test_a_moment_that_no_picture_follows_has_the_last_one(studio: Studio, sandbox: Sandbox) -> None:
    path = studio.make(replace(FILM, name="brief.mp4", seconds=0.4))
    async with surveyed(sandbox, path, SurveyOptions((Style.DENSE,), (100, 5_000, 9_000))) as survey:
        assert [len(survey.fingerprints[0]), len(survey.stills)] == [0, 2]
        assert survey.stills[1].at_ms == max(shown(path))


async def test_one_picture_may_stand_for_several_moments(studio: Studio, sandbox: Sandbox) -> None:
    path = studio.make(replace(FILM, name="slow.mp4", filters=(("fps", "1"),)))
    async with surveyed(sandbox, path, SurveyOptions((), (1100, 1200, 1900))) as survey:
        assert [still.at_ms for still in survey.stills] == [2000]


async def test_turned_pictures_are_upright(studio: Studio, sandbox: Sandbox) -> None:
    path = studio.make(replace(FILM, name="turned.mp4", rotation=-90))
    async with surveyed(sandbox, path, SurveyOptions((), (1000,))) as survey:
        with Image.open(survey.stills[0].path) as picture:
            assert picture.size == tuple(reversed(FILM.size))


async def test_what_is_no_video(studio: Studio, sandbox: Sandbox) -> None:
    with pytest.raises(NotAVideo):
        async with surveyed(sandbox, studio.write("page.mp4", "<html>"), SurveyOptions((), (0,))):
            pass
