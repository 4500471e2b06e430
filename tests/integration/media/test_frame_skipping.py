"""Samples of videos of which not all pictures are decoded, beside those of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import pytest
from av.video.frame import VideoFrame

from tests.support import videos
from tests.support.videos import Recipe, Studio
from touchline.media.child.source import VideoSource, decode
from touchline.media.child.survey import Grid, needed_pictures
from touchline.media.model import ContainerFormat

NOISE = (("noise", "alls=12:allf=t"),)
SHORT = replace(videos.MP4, name="spared.mp4", seconds=2.5, audio=None, filters=NOISE)
Pictures = Callable[[VideoSource, Grid], Iterator[VideoFrame]]


def encoded(name: str, x264: str, **changes: object) -> Recipe:
    return replace(SHORT, name=name, encoder={"preset": "veryfast", "x264-params": x264}, **changes)


def all_pictures(source: VideoSource, grid: Grid) -> Iterator[VideoFrame]:
    return (
        picture
        for packet in source.container.demux(source.video)
        for picture in decode(source.video.codec_context, packet)
    )


def samples(path: Path, pictures: Pictures, threads: int) -> tuple[dict[int, bytes], int]:
    """The first picture for each number of the grid, and how many were decoded."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.thread_count, stream.thread_type = threads, "AUTO"
        source = VideoSource(ContainerFormat.MP4, container, stream, None)
        grid = Grid.for_pictures(source, Fraction(1, 4))
        found: dict[int, bytes] = {}
        count = 0
        for picture in pictures(source, grid):
            count += 1
            assert picture.pts is not None
            if (number := grid.number(picture.pts)) and number not in found:
                found[number] = picture.to_ndarray().tobytes()
        return found, count


@pytest.mark.parametrize(
    "recipe",
    [
        encoded("pyramid.mp4", "bframes=3"),
        encoded("many.mp4", "bframes=8:b-adapt=0:b-pyramid=none:ref=4"),
        encoded("open.mkv", "open-gop=1:keyint=12:bframes=4"),
        encoded("fields.ts", "tff=1:bframes=3"),
        encoded("uneven.mp4", "bframes=3", filters=(*NOISE, *videos.UNEVEN.filters)),
    ],
    ids=lambda recipe: recipe.name,
)
@pytest.mark.parametrize("threads", [1, 3])
def test_samples_are_bit_for_bit_the_same(recipe: Recipe, threads: int, studio: Studio) -> None:
    path = studio.make(recipe)
    (usual, every), (spared, some) = samples(path, all_pictures, 1), samples(path, needed_pictures, threads)
    assert spared == usual
    assert some < every


def test_where_pictures_do_not_say_who_needs_them_all_are_decoded(studio: Studio) -> None:
    path = studio.make(replace(videos.WEBM, audio=None, seconds=2))
    assert samples(path, needed_pictures, 1)[1] == samples(path, all_pictures, 1)[1]
