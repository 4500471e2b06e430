from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import av
import psutil
import pytest
from av.video.frame import VideoFrame

from tests.support import videos
from tests.support.videos import Recipe, Studio
from touchline.kernel import InvalidInput
from touchline.media.model import OutputFile
from touchline.media.rules import MANIFEST, SampledPicture, SampleOptions
from touchline.media.sandbox import Sandbox
from touchline.media.tasks import read_manifest, sample

MIB = 1024**2
EVERYTHING = 1.0  # nothing is more alike than that
GREY = ("drawbox", "color=gray:t=fill")
# A stroke of a digit, in a corner, that is there in every other second.
STROKE = ("drawbox", "x=600:y=20:w=6:h=20:color=white:t=fill:enable=lt(mod(t\\,2)\\,1)")
SCOREBOARD = Recipe(
    "scoreboard.mp4", size=(1280, 720), rate=10, audio=None, filters=(GREY, STROKE), encoder={"preset": "ultrafast"}
)
SHORT = Recipe("short-film.mp4", seconds=10, size=(64, 36), rate=2, audio=None, encoder={"preset": "ultrafast"})
LONG = replace(SHORT, name="long-film.mp4", seconds=600)


def picture(path: Path) -> VideoFrame:
    with av.open(str(path), format="jpeg_pipe") as container:
        return next(container.decode(video=0))


def presentation_times(path: Path) -> list[int]:
    """From the earliest of all streams, as media time counts."""
    with av.open(str(path)) as container:
        start = min(float((stream.start_time or 0) * (stream.time_base or 0)) for stream in container.streams)
        return [round(((frame.time or 0.0) - start) * 1000) for frame in container.decode(video=0)]


@pytest.mark.parametrize("recipe", [videos.MP4, videos.UNEVEN, videos.TRANSPORT_STREAM], ids=lambda each: each.name)
async def test_names_are_the_media_time_of_the_first_picture_behind_each_point(
    recipe: Recipe, studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    """Even, of variable rate, and not starting at zero."""
    path, heard = studio.make(recipe), list[OutputFile]()
    percents = list[int]()
    samples = await sample(sandbox, path, output, SampleOptions(500, EVERYTHING), percents.append, heard.append)
    times = presentation_times(path)
    wanted = [next(time for time in times if time >= point) for point in range(0, times[-1], 500)]
    found = list(read_manifest(output / samples.manifest))
    assert [each.time_ms for each in found] == wanted
    assert found == [SampledPicture(f"{time}.jpg", time, (output / f"{time}.jpg").stat().st_size) for time in wanted]
    assert (samples.examined, samples.kept) == (len(wanted), len(wanted))
    assert [file.path for file in heard] == [*(f"{time}.jpg" for time in wanted), MANIFEST]
    assert percents == sorted(set(percents))
    assert percents[-1] == 100


async def test_one_stroke_of_a_digit_is_enough_and_nothing_else_is_kept(
    studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    samples = await sample(sandbox, studio.make(SCOREBOARD), output)
    times = [each.time_ms for each in read_manifest(output / samples.manifest)]
    assert times == [0, 1000, 2000, 3000, 4000, 5000]
    assert samples.examined == 60


@pytest.mark.parametrize(
    ("recipe", "size"),
    [(videos.ROTATED, (180, 320)), (videos.ANAMORPHIC, (320, 180)), (videos.AVI, (320, 180))],
    ids=lambda value: value.name if isinstance(value, Recipe) else "",
)
async def test_upright_and_with_square_pixels(
    recipe: Recipe, size: tuple[int, int], studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    samples = await sample(sandbox, studio.make(recipe), output, SampleOptions(3000))
    assert (samples.width, samples.height) == size
    shown = picture(output / "0.jpg")
    assert (shown.width, shown.height) == size


async def test_a_long_video_needs_no_more_memory(studio: Studio, sandbox: Sandbox, tmp_path: Path) -> None:
    peaks: dict[str, int] = {}
    for recipe in (SHORT, LONG):
        folder, seen = tmp_path / recipe.name, list[int]()
        folder.mkdir()
        path = studio.make(recipe)
        samples = await sample(sandbox, path, folder, SampleOptions(500), Watch(seen))
        assert samples.kept > recipe.frames // 2
        peaks[recipe.name] = max(seen)
    assert 0 < peaks[LONG.name] < peaks[SHORT.name] + 8 * MIB


def _descendants() -> list[psutil.Process]:
    """Not all processes: other tests sample too, at the same time."""
    return psutil.Process().children(recursive=True)


class Watch:
    """Notes the memory of the child, which is named after its task, whenever it tells how far it is."""

    def __init__(self, seen: list[int]) -> None:
        self._seen = seen
        self._child: psutil.Process | None = None

    def __call__(self, percent: int) -> None:
        with suppress(psutil.NoSuchProcess):  # others of them end at any time
            self._child = self._child or next((each for each in _descendants() if each.name() == "media-sample"), None)
            self._seen.append(self._child.memory_info().rss if self._child else 0)


@pytest.mark.parametrize("wanted", [SampleOptions(9), SampleOptions(threshold=1.1)], ids=str)
async def test_options_that_make_no_sense(
    wanted: SampleOptions, studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    with pytest.raises(InvalidInput):
        await sample(sandbox, studio.make(videos.SMALL), output, wanted)
