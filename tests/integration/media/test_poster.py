from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import av
import pytest
from av.video.frame import VideoFrame

from tests.support import videos
from tests.support.footage import luma
from tests.support.videos import Recipe, Studio
from touchline.media.model import Poster
from touchline.media.sandbox import Sandbox
from touchline.media.tasks import make_poster

BLACK = ("drawbox", "color=black:t=fill:enable=not(between(t\\,{}\\,{}))")
WHITE = ("drawbox", "color=white:t=fill:enable=not(between(t\\,{}\\,{}))")
FADES = (("fade", "t=in:st=0:d=2.5"), ("fade", "t=out:st=3.5:d=2.5"))
BLURRED = ("gblur", "sigma=20:enable=not(between(t\\,{}\\,{}))")
SHORT = replace(videos.MP4, audio=None, encoder={"preset": "ultrafast", "g": "12"})
ONE_KEYFRAME = {"preset": "ultrafast", "g": "9999"}


def but_between(filter_: tuple[str, str], start: float, end: float) -> tuple[tuple[str, str], ...]:
    return ((filter_[0], filter_[1].format(start, end)),)


def picture(folder: Path, poster: Poster) -> VideoFrame:
    with av.open(str(folder / poster.path), format="jpeg_pipe") as container:
        return next(container.decode(video=0))


@pytest.mark.parametrize(
    "recipe",
    [
        replace(SHORT, name="black.mp4", filters=but_between(BLACK, 2.5, 3.5)),
        replace(SHORT, name="white.mp4", filters=but_between(WHITE, 2.5, 3.5)),
        replace(SHORT, name="faded.mp4", filters=FADES),
        replace(SHORT, name="faded-white.mp4", filters=tuple((name, f"{how}:c=white") for name, how in FADES)),
        replace(SHORT, name="blurred.mp4", filters=but_between(BLURRED, 2.5, 3.5)),
        replace(SHORT, name="black-1.mp4", filters=but_between(BLACK, 2.5, 3.5), encoder=ONE_KEYFRAME),
        replace(SHORT, name="blurred-1.mp4", filters=but_between(BLURRED, 2.5, 3.5), encoder=ONE_KEYFRAME),
    ],
    ids=lambda recipe: recipe.name,
)
async def test_there_is_something_to_see(recipe: Recipe, studio: Studio, sandbox: Sandbox, output: Path) -> None:
    poster = await make_poster(sandbox, studio.make(recipe), output)
    assert 2400 <= poster.position_ms <= 3600
    assert luma(picture(output, poster)).std() > 30


@pytest.mark.parametrize(
    ("size", "widths"),
    [((1920, 1080), [320, 640, 1280]), ((480, 270), [320, 480]), ((320, 180), [320]), ((360, 640), [320, 360])],
)
async def test_smaller_ones_lie_beside_it_and_none_is_enlarged(
    size: tuple[int, int], widths: list[int], studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    recipe = replace(SHORT, name=f"{size[0]}x{size[1]}.mp4", size=size, seconds=1, rate=5)
    poster = await make_poster(sandbox, studio.make(recipe), output)
    made = [picture(output, replace(poster, path=file.path)) for file in poster.smaller]
    shapes = sorted((frame.width, frame.height) for frame in [*made, picture(output, poster)])
    assert [width for width, _ in shapes] == widths
    assert all(abs(height / width - size[1] / size[0]) < 0.01 for width, height in shapes)
    assert sorted(file.path for file in poster.smaller) == [f"poster-{width}.jpg" for width in widths[:-1]]


async def test_a_black_video_has_a_poster_too(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    dark = replace(SHORT, name="dark.mp4", filters=but_between(BLACK, 100, 101))
    poster = await make_poster(sandbox, studio.make(dark), output)
    assert luma(picture(output, poster)).mean() < 20


@pytest.mark.parametrize(
    ("recipe", "size"),
    [
        (videos.MP4, (320, 180)),
        (videos.ROTATED, (180, 320)),
        (videos.ANAMORPHIC, (320, 180)),
        (videos.LARGE_ROTATED, (720, 1280)),
        (replace(SHORT, name="large.mp4", size=(1920, 1080), seconds=0.4), (1280, 720)),
    ],
    ids=lambda value: value.name if isinstance(value, Recipe) else "",
)
async def test_it_is_seen_as_the_video_is(
    recipe: Recipe, size: tuple[int, int], studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    poster = await make_poster(sandbox, studio.make(recipe), output)
    frame = picture(output, poster)
    assert (frame.width, frame.height) == (poster.width, poster.height) == size
    assert poster.size_bytes == (output / poster.path).stat().st_size


async def test_it_is_turned_the_right_way(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    """The stripes of the test picture run down; turned by 90 degrees they run across, red on top."""
    poster = await make_poster(sandbox, studio.make(videos.ROTATED), output)
    colours = picture(output, poster).to_ndarray(format="rgb24").astype(int)
    top, bottom = colours[10, 20:].mean(axis=0), colours[-10, 20:].mean(axis=0)
    assert top[0] > 150 > top[2], "red"
    assert bottom[2] > 150 > bottom[0], "cyan"


@pytest.mark.parametrize(
    "recipe", [videos.WEBM, videos.AVI, videos.TRANSPORT_STREAM, videos.MATROSKA, videos.SMALL], ids=lambda r: r.name
)
async def test_from_any_container(recipe: Recipe, studio: Studio, sandbox: Sandbox, output: Path) -> None:
    poster = await make_poster(sandbox, studio.make(recipe), output)
    assert (poster.width, poster.height) == recipe.size
    assert luma(picture(output, poster)).std() > 30
