"""A ladder of renditions as a player sees it: aligned, honestly described, with sound and captions once for all."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.support import videos
from tests.support.footage import combs, luma, with_captions
from tests.support.hls_player import Played, count, play, play_rendition
from tests.support.videos import Studio
from touchline.media.model import HlsPackage, OutputFile
from touchline.media.sandbox import Sandbox
from touchline.media.tasks import make_hls


@dataclass(frozen=True)
class Made:
    folder: Path
    package: HlsPackage
    completed: list[str]

    def played(self, name: str) -> Played:
        return play_rendition(self.folder / name / "index.m3u8")

    def lines(self, name: str) -> list[str]:
        return (self.folder / name).read_text().splitlines()


@pytest.fixture(scope="module")
async def ladder(studio: Studio, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder, completed = tmp_path_factory.mktemp("ladder"), list[str]()
    source = with_captions(studio.make(videos.LADDER), studio.folder / "ladder-captions.mkv", "subrip")

    def note(file: OutputFile) -> None:
        completed.append(file.path)

    return Made(folder, await make_hls(sandbox, source, folder, completed=note), completed)


async def test_every_rung_has_every_picture_and_is_cut_at_the_same_times(ladder: Made) -> None:
    assert [(each.name, each.width, each.height) for each in ladder.package.renditions] == [
        ("480p", 852, 480),
        ("720p", 1280, 720),
        ("360p", 640, 360),
    ]
    rungs = [ladder.played(each.name) for each in ladder.package.renditions]
    for rung, rendition in zip(rungs, ladder.package.renditions, strict=True):
        assert rung.frames == videos.LADDER.frames
        assert {(frame.width, frame.height) for part in rung.pictures for frame in part} == {
            (rendition.width, rendition.height)
        }
        assert all(part[0].key_frame for part in rung.pictures)
        assert rung.durations == rungs[0].durations == pytest.approx([4.0, 4.0, 1.0], abs=0.001)
        assert times(rung) == times(rungs[0])
    # No delay of an encoder: the pictures begin at zero like the sound, which lies in another file.
    assert times(rungs[0])[0][0] == 0.0


def times(rung: Played) -> list[list[float | None]]:
    return [[frame.time for frame in part] for part in rung.pictures]


async def test_the_master_playlist_is_honest(ladder: Made) -> None:
    lines = ladder.lines("index.m3u8")
    sound = ladder.played("sound")
    assert sound.sound_packets == pytest.approx(9 * 48_000 / 1024, abs=6)
    assert lines[3] == (
        '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="Sound",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",'
        'URI="sound/index.m3u8"'
    )
    streams = dict(zip(lines[6::2], lines[5::2], strict=True))
    assert list(streams) == ["720p/index.m3u8", "480p/index.m3u8", "360p/index.m3u8"], "best first"
    for playlist, attributes in streams.items():
        rung = play_rendition(ladder.folder / playlist)
        assert rung.sound_packets == 0
        [told] = re.findall(r"[:,]BANDWIDTH=(\d+)", attributes)
        assert int(told) == rung.peak_bits_per_second + sound.peak_bits_per_second
        assert re.search(r'CODECS="avc1\.6400[0-9A-F]{2},mp4a\.40\.2"', attributes)
        assert attributes.endswith('FRAME-RATE=5.000,AUDIO="sound",SUBTITLES="captions"')


async def test_the_first_rendition_can_be_watched_before_the_others(ladder: Made) -> None:
    first = ladder.completed.index("first.m3u8")
    before, after = ladder.completed[:first], ladder.completed[first + 1 :]
    assert [line for line in ladder.lines("first.m3u8") if not line.startswith("#")] == ["480p/index.m3u8"]
    assert {path.partition("/")[0] for path in before} == {"480p", "sound", "captions_1"}
    assert {path.partition("/")[0] for path in after} == {"720p", "360p", "index.m3u8"}
    assert after[-1] == "index.m3u8"
    assert {file.path for file in ladder.package.files} == set(ladder.completed)


async def test_captions_are_kept_and_say_nothing_but_their_words(ladder: Made) -> None:
    [captions] = ladder.package.captions
    assert (captions.language, captions.cues) == ("deu", 2)
    assert ladder.lines("index.m3u8")[4] == (
        '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="captions",NAME="1 (deu)",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,'
        'LANGUAGE="deu",URI="captions_1/index.m3u8"'
    )
    assert "#EXTINF:9.000," in ladder.lines(captions.playlist)
    # The file begins with its sound at 23 ms, which is zero for a player.
    assert ladder.package.source.start_ms == 23
    assert ladder.lines("captions_1/captions.vtt") == [
        "WEBVTT", "X-TIMESTAMP-MAP=MPEGTS:0000000000,LOCAL:00:00:00.000", "",
        "00:00:00.477 --> 00:00:01.477", "alert(1) &amp; one", "two --&gt; three", "",
        "00:00:01.977 --> 00:00:03.227", "Tor! Müller ⚽", "",
    ]  # fmt: skip


@pytest.mark.parametrize(("ending", "codec"), [("mp4", "mov_text"), ("mkv", "ass"), ("mkv", "webvtt")])
async def test_captions_of_every_kind_go_with_copied_pictures(
    ending: str, codec: str, studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    source = with_captions(studio.make(videos.MP4), studio.folder / f"{codec}.{ending}", codec)
    package = await make_hls(sandbox, source, output)
    assert package.renditions[0].copied
    text = (output / "captions_1" / "captions.vtt").read_text()
    # Matroska's sound begins before zero, by what its decoder needs; everything else moves with it.
    assert re.search(r"00:00:02\.0(00|21) --> 00:00:03\.2(50|71)\nTor! Müller ⚽\n", text)
    assert text.count(" --> ") == 2
    assert play(output, package).frames == videos.MP4.frames


async def test_large_pictures_are_fitted_and_turned_upright(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    package = await make_hls(sandbox, studio.make(videos.LARGE_ROTATED), output)
    sizes = {each.name: (each.width, each.height) for each in package.renditions}
    assert sizes == {"1080p": (1080, 1920), "720p": (720, 1280), "480p": (480, 852), "360p": (360, 640)}
    for name, size in sizes.items():
        first = play_rendition(output / name / "index.m3u8").pictures[0][0]
        assert (first.width, first.height, first.rotation) == (*size, 0)
        colours = first.to_ndarray(format="rgb24").astype(int)
        assert colours[8, 20:].mean(axis=0)[0] > 150, "the stripes run across, red on top"


@pytest.mark.parametrize("recipe", [videos.INTERLACED, videos.INTERLACED_MPEG2], ids=lambda recipe: recipe.name)
async def test_interlaced_pictures_become_whole(
    recipe: videos.Recipe, studio: Studio, sandbox: Sandbox, output: Path
) -> None:
    path = studio.make(recipe)
    package = await make_hls(sandbox, path, output)
    shown = [frame for part in play(output, package).pictures for frame in part]
    assert len(shown) == count(path)[0]
    assert not any(frame.interlaced_frame for frame in shown)
    assert package.renditions[0].duration_ms == pytest.approx(6000, abs=45)
    with videos.av.open(str(path)) as container:
        woven = [luma(frame) for frame in container.decode(video=0)]
    assert combs([luma(frame) for frame in shown]) < 0.8 * combs(woven)


async def test_hdr_becomes_what_every_screen_shows(studio: Studio, sandbox: Sandbox, output: Path) -> None:
    short = replace(videos.HDR, name="short-pq.mp4", seconds=0.4, size=(160, 90))
    package = await make_hls(sandbox, studio.make(short), output)
    [[first, *_]] = play(output, package).pictures
    assert (first.format.name, first.color_trc, first.color_primaries, first.colorspace) == ("yuv420p", 1, 1, 1)
    with videos.av.open(str(studio.make(short))) as container:
        stored = luma(next(container.decode(video=0)))
    assert luma(first).mean() > stored.mean() + 10, "the stored values are far darker on a screen that does not know"
    assert package.renditions[0].codecs.startswith("avc1.6400")
