"""HLS as a player sees it: the playlists are parsed, every segment is decoded, frames and durations are counted."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.support import videos
from tests.support.hls_player import count, play
from tests.support.packets import packets_of, packets_of_rendition
from tests.support.videos import Recipe, Studio
from touchline.media.sandbox import IsolationLevel, Sandbox
from touchline.media.settings import MediaSettings
from touchline.media.tasks import make_hls

FRAME_S = 1 / 25
COPIED = [
    videos.MP4, videos.SILENT, videos.FAST_START, videos.FRAGMENTED, videos.QUICKTIME, videos.MATROSKA, videos.LIVE,
    videos.TRANSPORT_STREAM, videos.FLASH, videos.ROTATED, videos.ANAMORPHIC, videos.UNEVEN, videos.SMALL,
]  # fmt: skip
STRAIGHT = [videos.MP4, videos.SILENT, videos.FAST_START, videos.QUICKTIME, videos.UNEVEN, videos.MANY_SEGMENTS]
ENCODED = [videos.WEBM, videos.AVI, videos.AVI_H264, videos.TEN_BIT, videos.ONE_KEYFRAME]


def name(recipe: Recipe) -> str:
    return recipe.name


@pytest.mark.parametrize("recipe", COPIED, ids=name)
async def test_what_browsers_play_is_copied(recipe: Recipe, studio: Studio, sandbox: Sandbox, output: Path) -> None:
    path = studio.make(recipe)
    package = await make_hls(sandbox, path, output)
    played = play(output, package)
    assert package.renditions[0].copied
    assert (played.frames, played.sound_packets) == count(path)
    assert sum(played.durations) == pytest.approx(recipe.seconds, abs=FRAME_S)
    assert all(segment[0].key_frame for segment in played.pictures)


@pytest.mark.parametrize("recipe", [*STRAIGHT, videos.FRAGMENTED], ids=name)
async def test_every_packet_is_the_same_at_the_same_time(
    recipe: Recipe, studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    path = studio.make(recipe)
    package = await make_hls(sandbox, path, output)
    copied, original = packets_of_rendition(output / package.renditions[0].playlist), packets_of(path.read_bytes())
    assert [each.content for each in copied] == [each.content for each in original]
    for ours, theirs in zip(copied, original, strict=True):  # a muxer writes in milliseconds when a stream begins
        assert ours.times_s == pytest.approx(theirs.times_s, abs=0.001)


@pytest.mark.parametrize(
    ("recipe", "lead_s", "first_s"),
    [
        (videos.MP4, 0.08, 0.0),
        (videos.MATROSKA, 0.08, 0.0),
        (videos.TRANSPORT_STREAM, 0.0587, 0.0213),  # its sound begins before its pictures
        (videos.AVI, 0.0213, 0.0),
    ],
    ids=lambda value: value.name if isinstance(value, Recipe) else "",
)
async def test_players_are_told_where_the_first_moment_is(
    recipe: Recipe, lead_s: float, first_s: float, studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    package = await make_hls(sandbox, studio.make(recipe), output)
    pictures = packets_of_rendition(output / package.renditions[0].playlist)[0]
    [told] = re.findall(r"#EXT-X-START:TIME-OFFSET=([0-9.]+),PRECISE=YES", (output / package.master).read_text())
    assert (float(told), float(pictures.times_s[0][0])) == pytest.approx((lead_s, lead_s + first_s), abs=0.001)


async def test_what_was_cut_off_stays_cut_off(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    path = studio.trimmed(videos.MP4, 1.6)
    package = await make_hls(sandbox, path, output)
    played = play(output, package)
    assert package.renditions[0].copied is False
    assert played.frames == count(path)[0] == videos.MP4.frames - 1.6 * videos.MP4.rate


@pytest.mark.parametrize("recipe", ENCODED, ids=name)
async def test_the_rest_is_encoded(recipe: Recipe, studio: Studio, sandbox: Sandbox, output: Path) -> None:
    path = studio.make(recipe)
    package = await make_hls(sandbox, path, output)
    played = play(output, package)
    [rendition] = package.renditions
    assert not rendition.copied
    assert re.fullmatch(r"avc1\.6400[0-9A-F]{2},mp4a\.40\.2", rendition.codecs)
    assert played.frames == count(path)[0]
    assert {(frame.width, frame.height, frame.format.name) for segment in played.pictures for frame in segment} == {
        (*recipe.size, "yuv420p")
    }
    # Two frames: pictures of an AVI begin with the second tick, and the last is counted as long as its neighbours.
    assert sum(played.durations) == pytest.approx(recipe.seconds, abs=2.01 * FRAME_S)
    assert played.durations[:-1] == pytest.approx([4.0] * (len(played.durations) - 1), abs=1.01 * FRAME_S)
    assert all(segment[0].key_frame for segment in played.pictures)
    assert played.sound_packets == pytest.approx(recipe.seconds * 48_000 / 1024, abs=6)


async def test_only_the_sound_is_encoded_where_only_the_sound_is_strange(
    studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    package = await make_hls(sandbox, studio.make(videos.MP3_SOUND), output)
    played = play(output, package)
    assert package.renditions[0].copied
    assert package.renditions[0].codecs.endswith(",mp4a.40.2")
    assert played.frames == videos.MP3_SOUND.frames
    assert played.sound_packets == pytest.approx(6 * 48_000 / 1024, abs=6)


async def test_the_master_playlist(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    package = await make_hls(sandbox, studio.make(videos.MP4), output)
    [rendition] = package.renditions
    sizes = {file.path: file.size_bytes for file in package.files}
    segments = [size for path, size in sizes.items() if path.endswith(".m4s")]
    assert (output / package.master).read_text() == (
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-START:TIME-OFFSET=0.080000,PRECISE=YES\n"
        f"#EXT-X-STREAM-INF:BANDWIDTH={round(max(segments[0] * 8 / 4, segments[1] * 8 / 2))},"
        f'AVERAGE-BANDWIDTH={round(sum(segments) * 8 / 6)},CODECS="avc1.64000C,mp4a.40.2",'
        "RESOLUTION=320x180,FRAME-RATE=25.000\n180p/index.m3u8\n"
    )
    assert list(sizes) == [
        "180p/index.m3u8", "180p/init.mp4", "180p/segment_00000.m4s", "180p/segment_00001.m4s", "index.m3u8",
    ]  # fmt: skip
    assert (rendition.duration_ms, rendition.segments, package.source.duration_ms) == (6000, 2, 6000)
    assert all((output / path).stat().st_size == size for path, size in sizes.items())


async def test_copied_pictures_stay_turned(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    package = await make_hls(sandbox, studio.make(videos.ROTATED), output)
    assert play(output, package).pictures[0][0].rotation == -90
    assert (package.renditions[0].width, package.renditions[0].height) == (180, 320)


@pytest.mark.parametrize("recipe", [videos.MATROSKA, videos.WEBM], ids=name)
async def test_progress_is_by_media_time(recipe: Recipe, studio: Studio, sandbox: Sandbox, output: Path) -> None:
    seen: list[int] = []
    await make_hls(sandbox, studio.make(recipe), output, seen.append)
    assert seen == sorted(set(seen))
    assert len(seen) > 50
    assert seen[-1] == 100


async def test_in_every_enclosure_it_is_the_same(enclosure: IsolationLevel, studio: Studio, output: Path) -> None:
    async with Sandbox(MediaSettings(), enclosures=[enclosure]) as sandbox:
        package = await make_hls(sandbox, studio.make(videos.SMALL), output)
    assert play(output, package).frames == videos.SMALL.frames


async def test_two_at_once(studio: Studio, sandbox: Sandbox, tmp_path: Path) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    packages = await asyncio.gather(*(make_hls(sandbox, studio.make(videos.SMALL), folder) for folder in folders))
    assert packages[0] == packages[1]
