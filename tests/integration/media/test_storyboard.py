"""Storyboards as a player uses them: for a time, the part of a sheet that the WebVTT names."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.frame import VideoFrame

from tests.support import videos
from tests.support.videos import Recipe, Studio
from touchline.media.errors import NotAVideo
from touchline.media.sandbox import Sandbox
from touchline.media.tasks import make_storyboard

CUE = re.compile(r"(\d\d):(\d\d):(\d\d)\.(\d{3}) --> .*\n(\S+)#xywh=(\d+),(\d+),(\d+),(\d+)")
DENSE = replace(videos.MP4, name="dense.mp4", audio=None, encoder={"preset": "ultrafast", "g": "25"})


def tiles(folder: Path) -> dict[int, np.ndarray]:
    """The thumbnail of each time."""
    found: dict[int, np.ndarray] = {}
    for hours, minutes, seconds, rest, name, *place in CUE.findall((folder / "storyboard.vtt").read_text()):
        with av.open(str(folder / name), format="jpeg_pipe") as container:
            sheet = next(container.decode(video=0)).to_ndarray(format="gray").astype(float)
        x, y, width, height = map(int, place)
        time_ms = ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(rest)
        found[time_ms] = sheet[y : y + height, x : x + width]
    return found


def left(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def pictures(path: Path, width: int, height: int) -> dict[int, np.ndarray]:
    with av.open(str(path)) as container:
        return {round((frame.time or 0) * 1000): small(frame, width, height) for frame in container.decode(video=0)}


def small(frame: VideoFrame, width: int, height: int) -> np.ndarray:
    return frame.reformat(width, height, "gray").to_ndarray().astype(float)


@pytest.mark.parametrize(
    "recipe",
    [DENSE, replace(DENSE, name="dense.mkv"), replace(DENSE, name="sparse.mp4", encoder={"g": "9999"}), videos.WEBM],
    ids=lambda recipe: recipe.name,
)
async def test_each_thumbnail_is_the_picture_of_its_time(
    recipe: Recipe, studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    path = studio.make(recipe)
    made = await make_storyboard(sandbox, path, output)
    assert [file.path for file in made.files] == ["storyboard.vtt", "storyboard_00.jpg"]
    found, whole = tiles(output), pictures(path, made.tiled.width, made.tiled.height)
    assert list(found)[:6] == [0, 1000, 2000, 3000, 4000, 5000]
    for time_ms, tile in found.items():
        nearest = min(whole, key=lambda each: np.abs(whole[each] - tile).mean())
        assert abs(nearest - min(time_ms, max(whole))) <= 80, time_ms


async def test_long_videos_have_several_sheets(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    long = replace(
        DENSE, name="long.mp4", seconds=108, rate=2, size=(64, 36), encoder={"preset": "ultrafast", "g": "2"}
    )
    seen: list[int] = []
    made = await make_storyboard(sandbox, studio.make(long), output, seen.append)
    assert [file.path for file in made.files] == ["storyboard.vtt", "storyboard_00.jpg", "storyboard_01.jpg"]
    found = tiles(output)
    assert len(found) == made.tiled.tiles == 108
    assert found[107_000].shape == (36, 64)
    assert found[107_000].std() > 20
    assert seen[-1] == 100


async def test_it_stands_upright(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    made = await make_storyboard(sandbox, studio.make(videos.ROTATED), output)
    assert (made.tiled.width, made.tiled.height) == (90, 160)


async def test_what_is_no_video_has_none(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    with pytest.raises(NotAVideo):
        await make_storyboard(sandbox, studio.write("words.mp4", "no video"), output)
    assert left(output) == []
