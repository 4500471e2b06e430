"""What makes a video unusual, beside what another program says about the same file."""

from __future__ import annotations

import re
import struct
import subprocess
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from imageio_ffmpeg import get_ffmpeg_exe

from tests.support import videos
from tests.support.videos import Recipe, Studio
from touchline.media.model import Index, Light, PlayVerdict, Probe
from touchline.media.rules import SampleOptions
from touchline.media.sandbox import Sandbox
from touchline.media.tasks import probe, read_manifest, sample

LIGHTS = {"smpte2084": Light.PQ, "arib-std-b67": Light.HLG}


@dataclass(frozen=True)
class Facts:
    start_ms: int
    light: Light
    is_interlaced: bool
    has_variable_rate: bool


def told(found: Probe) -> Facts:
    video = found.video
    return Facts(found.start_ms, video.light, video.is_interlaced, video.has_variable_rate)


def told_by_another(path: Path) -> Facts:
    """The program `ffmpeg`, an older version with its own build of everything, reads all of it."""
    command = [get_ffmpeg_exe(), "-hide_banner", "-i", str(path), "-vf", "vfrdet", "-an", "-f", "null", "-"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    [start] = re.findall(r"start: ([0-9.]+)", text)
    stream = next(line for line in text.splitlines() if "Video:" in line)
    uneven = float(re.findall(r"VFR:([0-9.]+)", text)[-1])
    light = next((light for word, light in LIGHTS.items() if word in stream), Light.STANDARD)
    return Facts(round(float(start) * 1000), light, "progressive" not in stream, uneven > 0)


@pytest.mark.parametrize(
    "recipe",
    [
        videos.MP4, videos.UNEVEN, videos.UNEVEN_MATROSKA, videos.LATE, videos.INTERLACED, videos.HDR,
        videos.HDR_BROADCAST,
    ],
    ids=lambda recipe: recipe.name,
)  # fmt: skip
async def test_another_program_says_the_same(recipe: Recipe, studio: Studio, sandbox: Sandbox) -> None:
    path = studio.make(recipe)
    assert told(await probe(sandbox, path)) == told_by_another(path)


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (videos.UNEVEN_STREAM, Facts(0, Light.STANDARD, False, True)),
        (videos.LATE_STREAM, Facts(5000, Light.STANDARD, False, False)),
        (videos.INTERLACED_MPEG2, Facts(20, Light.STANDARD, True, False)),
        (videos.AVI, Facts(0, Light.STANDARD, False, False)),
        (videos.WEBM, Facts(0, Light.STANDARD, False, False)),
        (videos.ROTATED, Facts(0, Light.STANDARD, False, False)),
    ],
    ids=lambda value: value.name if isinstance(value, Recipe) else "",
)
async def test_what_was_made_is_found(recipe: Recipe, expected: Facts, studio: Studio, sandbox: Sandbox) -> None:
    found = told(await probe(sandbox, studio.make(recipe)))
    # A transport stream begins later, by the time that a decoder needs to fill up.
    assert found.start_ms == pytest.approx(expected.start_ms, abs=1500)
    assert (found.light, found.is_interlaced, found.has_variable_rate) == (
        expected.light, expected.is_interlaced, expected.has_variable_rate,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("recipe", "verdict", "reason"),
    [
        (videos.INTERLACED, PlayVerdict.RE_ENCODE, "the video is interlaced"),
        (videos.HDR, PlayVerdict.RE_ENCODE, "the video is HDR (pq)"),
        (videos.HDR_BROADCAST, PlayVerdict.RE_ENCODE, "the video is HDR (hlg)"),
        (videos.UNEVEN, PlayVerdict.PLAYS, "browsers play its streams and its container"),
        (videos.LATE, PlayVerdict.REPACKAGE, "browsers play its streams, but not the container matroska"),
    ],
    ids=lambda value: value.name if isinstance(value, Recipe) else "",
)
async def test_the_verdict(recipe: Recipe, verdict: PlayVerdict, reason: str, studio: Studio, sandbox: Sandbox) -> None:
    found = await probe(sandbox, studio.make(recipe))
    assert (found.verdict, found.reason) == (verdict, reason)


def with_offset_outside(content: bytes) -> bytes:
    """The last place in the first table of places (stco) is moved behind the end of the file."""
    table = content.index(b"stco")
    [count] = struct.unpack_from(">I", content, table + 8)
    last = table + 12 + 4 * (count - 1)
    return content[:last] + struct.pack(">I", len(content)) + content[last + 4 :]


def with_entry_outside(content: bytes) -> bytes:
    """The same for the last entry of an AVI: a name, flags, place and length."""
    table = content.rindex(b"idx1") + 4
    [length] = struct.unpack_from("<I", content, table)
    last = table + 4 + length - 8
    return content[:last] + struct.pack("<I", len(content)) + content[last + 4 :]


async def test_the_index(studio: Studio, sandbox: Sandbox) -> None:
    mp4, avi = studio.make(videos.MP4).read_bytes(), studio.make(videos.AVI).read_bytes()
    for path, index in {
        studio.make(videos.MP4): Index.WHOLE,
        studio.make(videos.MATROSKA): Index.WHOLE,
        studio.make(videos.WEBM): Index.WHOLE,
        studio.make(videos.AVI): Index.WHOLE,
        studio.make(videos.FRAGMENTED): Index.WHOLE,
        studio.make(videos.LIVE): Index.MISSING,
        studio.make(videos.LIVE_PIECES): Index.MISSING,
        studio.make(videos.TRANSPORT_STREAM): Index.MISSING,
        studio.write("no-index.avi", avi.replace(b"idx1", b"JUNK")): Index.MISSING,
        studio.write("broken-index.avi", with_entry_outside(avi)): Index.BROKEN,
        studio.write("broken-index.mp4", with_offset_outside(mp4)): Index.BROKEN,
    }.items():
        assert (await probe(sandbox, path)).index is index, path.name


async def test_a_broken_index_is_a_reason_to_repackage(studio: Studio, sandbox: Sandbox) -> None:
    broken = studio.write("broken-index.mp4", with_offset_outside(studio.make(videos.MP4).read_bytes()))
    found = await probe(sandbox, broken)
    assert (found.verdict, "index" in found.reason) == (PlayVerdict.REPACKAGE, True)


def make_late(path: Path, *, has_sound: bool) -> None:
    """Three seconds of pictures that begin two seconds behind zero, where the sound begins."""
    with av.open(str(path), "w") as output:
        pictures = output.add_stream("libx264", rate=10)
        pictures.width, pictures.height, pictures.pix_fmt = 64, 64, "yuv420p"
        sound = output.add_stream("aac", rate=48_000) if has_sound else None
        for number in range(30):
            frame = av.VideoFrame.from_ndarray(np.full((64, 64, 3), 8 * number, np.uint8), format="bgr24")
            frame.pts, frame.time_base = number + 20, Fraction(1, 10)
            output.mux(pictures.encode(frame))
        output.mux(pictures.encode(None))
        if sound is None:
            return
        for number in range(5 * 48_000 // 1024):
            samples = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            samples.pts, samples.sample_rate, samples.time_base = number * 1024, 48_000, Fraction(1, 48_000)
            output.mux(sound.encode(samples))
        output.mux(sound.encode(None))


@pytest.mark.parametrize(("has_sound", "begins_ms"), [(True, 2000), (False, 0)])
@pytest.mark.parametrize("name", ["late.mp4", "late.mkv", "late.ts"])
async def test_pictures_that_begin_late_end_when_they_end(
    name: str, has_sound: bool, begins_ms: int, sandbox: Sandbox, tmp_path: Path
) -> None:
    """Where the sound begins first its beginning is the start; the duration reaches to the end of the last picture."""
    path, folder = tmp_path / name, tmp_path / "samples"
    make_late(path, has_sound=has_sound)
    folder.mkdir()
    found = await probe(sandbox, path)
    made = await sample(sandbox, path, folder, SampleOptions(100, 1.0))
    times = [each.time_ms for each in read_manifest(folder / made.manifest)]
    assert (times[0], times[-1]) == pytest.approx((begins_ms, begins_ms + 2900), abs=50)
    assert made.source.duration_ms == found.duration_ms == pytest.approx(begins_ms + 3000, abs=50)
