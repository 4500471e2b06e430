from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import videos
from tests.support.videos import Recipe, Studio
from touchline.media.model import ContainerFormat, PlayVerdict, Ratio
from touchline.media.rules import display_size
from touchline.media.sandbox import Sandbox
from touchline.media.tasks import probe

PLAYS, REPACKAGE, RE_ENCODE = PlayVerdict.PLAYS, PlayVerdict.REPACKAGE, PlayVerdict.RE_ENCODE


@dataclass(frozen=True)
class Expected:
    container: ContainerFormat
    codecs: tuple[str, str | None]
    verdict: PlayVerdict
    reason: str


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (videos.MP4, Expected(ContainerFormat.MP4, ("h264", "aac"), PLAYS, "browsers play")),
        (videos.SILENT, Expected(ContainerFormat.MP4, ("h264", None), PLAYS, "browsers play")),
        (videos.FAST_START, Expected(ContainerFormat.MP4, ("h264", "aac"), PLAYS, "browsers play")),
        (videos.FRAGMENTED, Expected(ContainerFormat.MP4, ("h264", "aac"), PLAYS, "browsers play")),
        (videos.ROTATED, Expected(ContainerFormat.MP4, ("h264", "aac"), PLAYS, "browsers play")),
        (videos.UNEVEN, Expected(ContainerFormat.MP4, ("h264", "aac"), PLAYS, "browsers play")),
        (videos.QUICKTIME, Expected(ContainerFormat.QUICKTIME, ("h264", "aac"), REPACKAGE, "quicktime")),
        (videos.MATROSKA, Expected(ContainerFormat.MATROSKA, ("h264", "aac"), REPACKAGE, "matroska")),
        (videos.LIVE, Expected(ContainerFormat.MATROSKA, ("h264", "aac"), REPACKAGE, "matroska")),
        (videos.TRANSPORT_STREAM, Expected(ContainerFormat.MPEG_TS, ("h264", "aac"), REPACKAGE, "mpeg-ts")),
        (videos.FLASH, Expected(ContainerFormat.FLASH, ("h264", "aac"), REPACKAGE, "flv")),
        (
            videos.WEBM,
            Expected(
                ContainerFormat.WEBM, ("vp9", "opus"), RE_ENCODE, "the video codec is vp9; the audio codec is opus"
            ),
        ),
        (videos.AVI, Expected(ContainerFormat.AVI, ("mpeg4", "mp3"), RE_ENCODE, "the video codec is mpeg4")),
        (videos.AVI_H264, Expected(ContainerFormat.AVI, ("h264", "aac"), RE_ENCODE, "the container avi")),
        (videos.TEN_BIT, Expected(ContainerFormat.MP4, ("h264", "aac"), RE_ENCODE, "yuv420p10le")),
        (videos.MP3_SOUND, Expected(ContainerFormat.MATROSKA, ("h264", "mp3"), RE_ENCODE, "the audio codec is mp3")),
        (videos.ONE_KEYFRAME, Expected(ContainerFormat.MP4, ("h264", "aac"), RE_ENCODE, "between keyframes")),
    ],
    ids=lambda value: value.name if isinstance(value, Recipe) else "",
)
async def test_what_a_video_is(recipe: Recipe, expected: Expected, studio: Studio, sandbox: Sandbox) -> None:
    path = studio.make(recipe)
    found = await probe(sandbox, path)
    assert (found.format, found.verdict) == (expected.container, expected.verdict)
    assert expected.reason in found.reason
    assert (found.video.codec, found.audio.codec if found.audio else None) == expected.codecs
    assert (found.video.width, found.video.height, found.video.pixel_format) == (*recipe.size, recipe.pixels)
    assert found.size_bytes == path.stat().st_size
    # A container that keeps no duration of the pictures counts the sound's last packet too.
    assert found.duration_ms == pytest.approx(recipe.seconds * 1000, abs=110)


async def test_the_details(studio: Studio, sandbox: Sandbox) -> None:
    found = await probe(sandbox, studio.make(videos.MP4))
    assert found.duration_ms == 6000
    assert found.video.profile == "High"
    assert found.video.frame_rate == Ratio(25, 1)
    assert found.video.keyframe_gap_ms == 2000
    assert found.audio
    assert (found.audio.profile, found.audio.channels, found.audio.sample_rate_hz) == ("LC", 2, 48_000)
    assert [(stream.index, stream.kind, stream.codec) for stream in found.streams] == [
        (0, "video", "h264"),
        (1, "audio", "aac"),
    ]


async def test_how_it_is_seen(studio: Studio, sandbox: Sandbox) -> None:
    rotated = await probe(sandbox, studio.make(videos.ROTATED))
    assert (rotated.video.rotation, display_size(rotated.video)) == (90, (180, 320))
    anamorphic = await probe(sandbox, studio.make(videos.ANAMORPHIC))
    assert (float(anamorphic.video.sample_aspect), display_size(anamorphic.video)) == (pytest.approx(4 / 3), (320, 180))


async def test_a_descriptor_keeps_its_position(studio: Studio, sandbox: Sandbox) -> None:
    path = studio.make(videos.MP4)
    with path.open("rb") as file:
        file.seek(100)
        found = await probe(sandbox, file.fileno())
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == 100
    assert found == await probe(sandbox, path)


async def test_a_file_without_a_name(studio: Studio, sandbox: Sandbox, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.write_bytes(studio.make(videos.SMALL).read_bytes())
    with copy.open("rb") as file:
        copy.unlink()
        assert (await probe(sandbox, file.fileno())).duration_ms == 1000


async def test_the_ending_of_a_name_means_nothing(studio: Studio, sandbox: Sandbox) -> None:
    disguised = studio.write("picture.jpg", studio.make(videos.SMALL).read_bytes())
    assert (await probe(sandbox, disguised)).format is ContainerFormat.MP4
