"""Clips are exact to the picture, also across the joins, as an independent decoder sees them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from tests.support import footage, videos
from tests.support.footage import combs, likeness, numbers, originals, pictures
from tests.support.videos import SAMPLE_RATE, Recipe, Studio
from touchline.kernel import InvalidInput
from touchline.media.errors import EmptyRange
from touchline.media.playlists import read_segments
from touchline.media.rules import CLIP, ClipFile, ClipRange, CutMethod
from touchline.media.sandbox import Sandbox
from touchline.media.segments import SegmentSource, SourceSegment, segments_of
from touchline.media.tasks import make_clip, make_hls

SIZE = (320, 180)
STEP_MS = 40
GOOD_DB = 35.0


def wanted_numbers(wanted: ClipRange) -> list[int]:
    """Of 6 s with 25 pictures a second."""
    return [n for n in range(150) if wanted.padded_start_ms <= n * STEP_MS < wanted.padded_end_ms]


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def times(path: Path) -> list[float]:
    with av.open(str(path)) as container:
        return [frame.time or 0.0 for frame in container.decode(video=0)]


def check_pictures(clip: ClipFile, folder: Path, source: Path, expected: list[int]) -> None:
    shown, original = pictures(folder / CLIP, SIZE), originals(source, SIZE)
    assert numbers(shown) == expected
    assert clip.cut.frames == len(expected)
    assert min(likeness(picture, original[n]) for picture, n in zip(shown, expected, strict=True)) > GOOD_DB
    steps = [round((later - earlier) * 1000) for earlier, later in pairwise(times(folder / CLIP))]
    assert steps == [(later - earlier) * STEP_MS for earlier, later in pairwise(expected)]
    assert (folder / CLIP).read_bytes().index(b"moov") < (folder / CLIP).read_bytes().index(b"mdat")


@pytest.mark.parametrize(
    ("wanted", "method"),
    [
        (ClipRange(2000, 4000), CutMethod.COPIED),
        (ClipRange(4000, 60_000), CutMethod.COPIED),
        (ClipRange(1500, 4700), CutMethod.EDGES),
        (ClipRange(2000, 5000), CutMethod.EDGES),
        (ClipRange(1960, 4000), CutMethod.EDGES),
        (ClipRange(1000, 2000, padding_ms=500), CutMethod.ENCODED),
        (ClipRange(100, 1900, padding_ms=30_000), CutMethod.COPIED),
        (ClipRange(120, 160), CutMethod.ENCODED),
        (ClipRange(121, 161), CutMethod.ENCODED),
    ],
    ids=str,
)
async def test_every_picture_of_the_range_and_no_other(
    wanted: ClipRange, method: CutMethod, studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    source, percents = studio.make(footage.NUMBERED), list[int]()
    clip = await make_clip(sandbox, source, output, wanted, percents.append)
    expected = wanted_numbers(wanted)
    check_pictures(clip, output, source, expected)
    assert (clip.cut.start_ms, clip.cut.end_ms) == (expected[0] * STEP_MS, (expected[-1] + 1) * STEP_MS)
    assert clip.cut.method is method
    assert percents[-1] == 100


async def test_what_is_copied_is_the_same_bit_by_bit(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    source = studio.make(footage.NUMBERED)
    await make_clip(sandbox, source, output, ClipRange(1500, 4700))
    shown, original = pictures(output / CLIP, SIZE), originals(source, SIZE)
    first = numbers(shown)[0]
    same = [bool(np.array_equal(shown[n - first], original[n])) for n in range(50, 100)]
    assert all(same)


@pytest.mark.parametrize(
    ("recipe", "method", "offset_ms"),
    [
        (footage.NUMBERED_STREAM, CutMethod.EDGES, 21),  # its sound begins a packet before its pictures
        (footage.NUMBERED_MATROSKA, CutMethod.EDGES, 0),
        (footage.NUMBERED_WEBM, CutMethod.ENCODED, 0),
        (footage.NUMBERED_AVI, CutMethod.ENCODED, STEP_MS),  # as written: a gap behind the first picture
        (footage.NUMBERED_ROTATED, CutMethod.EDGES, 0),
        (footage.NUMBERED_OPEN, CutMethod.ENCODED, 0),
        (footage.NUMBERED_MAIN, CutMethod.EDGES, 0),
    ],
    ids=lambda value: value.name if isinstance(value, Recipe) else "",
)
async def test_containers_and_codecs(
    recipe: Recipe, method: CutMethod, offset_ms: int, studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    source = studio.make(recipe)
    clip = await make_clip(sandbox, source, output, ClipRange(1520 + offset_ms, 4720 + offset_ms))
    assert clip.cut.method is method
    check_pictures(clip, output, source, list(range(38, 118)))


async def test_interlaced_pictures_become_whole(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    source = studio.make(videos.INTERLACED)
    clip = await make_clip(sandbox, source, output, ClipRange(1520, 4720))
    shown, woven = pictures(output / CLIP, SIZE).astype(float), originals(source, SIZE)[38:118].astype(float)
    assert (clip.cut.method, clip.cut.frames, len(shown)) == (CutMethod.ENCODED, 80, 80)
    assert combs(shown) < 0.8 * combs(woven)


async def test_a_turned_video_stays_turned(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    clip = await make_clip(sandbox, studio.make(footage.NUMBERED_ROTATED), output, ClipRange(1520, 4720))
    with av.open(str(output / CLIP)) as container:
        assert next(container.decode(video=0)).rotation == -90
    assert (clip.cut.width, clip.cut.height) == (180, 320)


async def test_a_variable_rate_keeps_its_times(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    source = studio.make(footage.NUMBERED_UNEVEN)
    await make_clip(sandbox, source, output, ClipRange(1000, 5000))
    inside = [time for time in times(source) if 1.0 <= time < 5.0]
    assert [round(time * 1000) for time in times(output / CLIP)] == [round((t - inside[0]) * 1000) for t in inside]


@pytest.mark.parametrize("recipe", [footage.NUMBERED, footage.NUMBERED_PCM], ids=lambda each: each.name)
async def test_the_sound_starts_at_the_sample(recipe: Recipe, studio: Studio, sandbox: Sandbox, output: Path) -> None:
    """Copied AAC, and sound that is encoded: one sample off, a tone of 440 Hz differs by 0.06 of its height."""
    source = studio.make(recipe)
    await make_clip(sandbox, source, output, ClipRange(1520, 4720))
    heard, original = footage.sound(output / CLIP), footage.sound(source)
    start, length = 1520 * SAMPLE_RATE // 1000, 3 * SAMPLE_RATE
    differences = np.abs(heard[2048:length] - original[start + 2048 : start + length])
    assert differences.max() < 0.045 * np.abs(original).max()
    assert abs(len(heard) - 3.2 * SAMPLE_RATE) <= 1024


@pytest.mark.parametrize("wanted", [ClipRange(6000, 7000), ClipRange(90_000, 91_000), ClipRange(1, 39)], ids=str)
async def test_nothing_there(wanted: ClipRange, studio: Studio, sandbox: Sandbox, output: Path) -> None:
    with pytest.raises(EmptyRange, match="no frame starts in this range"):
        await make_clip(sandbox, studio.make(footage.NUMBERED), output, wanted)


@pytest.mark.parametrize(
    "wanted", [ClipRange(2000, 2000), ClipRange(2000, 1000), ClipRange(-1, 1000), ClipRange(0, 9, -1)], ids=str
)
async def test_ranges_that_make_no_sense(wanted: ClipRange, sandbox: Sandbox, output: Path) -> None:
    with pytest.raises(InvalidInput):
        await make_clip(sandbox, output, output, wanted)


def known(segments: SegmentSource) -> Sequence[SourceSegment]:
    assert isinstance(segments.parts, Sequence)
    return segments.parts


def listed(folder: Path) -> list[SourceSegment]:
    parts, start = list[SourceSegment](), 0
    for segment in read_segments((folder / "index.m3u8").read_text()):
        duration = round(segment.duration_s * 1_000_000)
        parts.append(SourceSegment(folder / segment.name, start, duration))
        start += duration
    return parts


@pytest.fixture
async def fragments(studio: Studio, sandbox: Sandbox, tmp_path: Path) -> SegmentSource:
    folder = tmp_path / "fragments"
    folder.mkdir()
    await make_hls(sandbox, studio.make(footage.NUMBERED), folder)
    return SegmentSource(listed(folder / "180p"), folder / "180p" / "init.mp4")


@pytest.fixture
def stream_parts(studio: Studio, tmp_path: Path) -> SegmentSource:
    path = str(tmp_path / "index.m3u8")
    hls = ("-f", "hls", "-hls_time", "2", "-hls_list_size", "0")
    footage.run("-i", str(studio.make(footage.NUMBERED)), "-c", "copy", *hls, path)
    return SegmentSource(listed(tmp_path))


@pytest.mark.parametrize("form", ["fragments", "parts"])
async def test_from_segments(
    form: str, fragments: SegmentSource, stream_parts: SegmentSource, studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    segments = fragments if form == "fragments" else stream_parts
    clip = await make_clip(sandbox, segments, output, ClipRange(1720, 5720, padding_ms=200))
    check_pictures(clip, output, studio.make(footage.NUMBERED), list(range(38, 148)))
    assert (clip.cut.start_ms, clip.cut.end_ms) == (1520, 5920)
    assert clip.cut.method is CutMethod.EDGES
    assert names(output) == [CLIP]


async def test_while_it_is_recorded(
    stream_parts: SegmentSource, studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    """It waits for the segment that it needs, and for no other."""
    parts, asked = known(stream_parts), asyncio.Queue[int]()
    closed: list[asyncio.Event] = [asyncio.Event() for _ in parts]

    async def recorded() -> AsyncIterator[SourceSegment]:
        for number, part in enumerate(parts):
            asked.put_nowait(number)
            await closed[number].wait()
            yield part

    clip = asyncio.create_task(make_clip(sandbox, SegmentSource(recorded()), output, ClipRange(1000, 3000)))
    for number in (0, 1):
        assert await asked.get() == number
        assert not clip.done()
        closed[number].set()
    check_pictures(await clip, output, studio.make(footage.NUMBERED), list(range(25, 75)))
    assert asked.empty()


async def test_from_a_playlist_that_grows(
    stream_parts: SegmentSource, studio: Studio, sandbox: Sandbox, output: Path, tmp_path: Path
) -> None:
    """It is opened while it has one segment of three."""
    whole, growing = (tmp_path / "index.m3u8").read_text(), tmp_path / "growing.m3u8"
    growing.write_text(whole[: whole.index("#EXTINF", whole.index("#EXTINF") + 1)])
    segments = segments_of(growing)
    growing.write_text(whole)
    clip = await make_clip(sandbox, segments, output, ClipRange(1520, 4720))
    check_pictures(clip, output, studio.make(footage.NUMBERED), list(range(38, 118)))


async def test_segments_that_do_not_follow_each_other(
    stream_parts: SegmentSource, sandbox: Sandbox, output: Path
) -> None:
    parts = [part for number, part in enumerate(known(stream_parts)) if number != 1]
    with pytest.raises(InvalidInput, match="do not follow each other"):
        await make_clip(sandbox, SegmentSource(parts), output, ClipRange(1000, 5000))
    with pytest.raises(EmptyRange, match="no segment"):
        await make_clip(sandbox, SegmentSource(parts), output, ClipRange(60_000, 61_000))
    assert names(output) == []


async def test_a_video_without_sound(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    clip = await make_clip(sandbox, studio.make(videos.SILENT), output, ClipRange(1000, 3000))
    assert not clip.cut.has_sound
    assert len(times(output / CLIP)) == 50
