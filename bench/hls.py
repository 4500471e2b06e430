"""HLS beside the program `ffmpeg`, and what the sandbox costs.

Repackaging: 60 s of 1080p, by ours in the sandbox and by `ffmpeg -c copy` with the same options, in turns. The sandbox:
a probe and a full decoding of 15 s of 720p, in a child and in a plain process that has the codecs already. The ladder:
when the first rendition can be watched and when all can, beside one pass of `ffmpeg` that makes all at once.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from imageio_ffmpeg import get_ffmpeg_exe
from support.decoding.work import Decoded
from support.report import percentile, report

from touchline.media import rules
from touchline.media.model import FIRST_MASTER, OutputFile
from touchline.media.sandbox import Program, Sandbox, Task
from touchline.media.settings import MediaSettings, child_limits, child_options
from touchline.media.tasks import make_hls

ROUNDS = 15
LADDER_ROUNDS = 3
DECODING = Program("decoding", (Path(__file__).parent / "support",))
Figures = dict[str, float | str]


def ffmpeg(*arguments: str) -> float:
    begun = time.perf_counter()
    subprocess.run([get_ffmpeg_exe(), "-hide_banner", "-loglevel", "error", "-y", *arguments], check=True)
    return time.perf_counter() - begun


def make_video(path: Path, seconds: int, size: str, *codec: str) -> Path:
    pictures = ("-f", "lavfi", "-i", f"testsrc2=size={size}:rate=30:duration={seconds}")
    sound = ("-f", "lavfi", "-i", f"sine=duration={seconds}")
    ffmpeg(*pictures, *sound, *codec, "-pix_fmt", "yuv420p", "-g", "60", "-c:a", "aac", "-shortest", str(path))
    return path


def copy_by_ffmpeg(path: Path) -> float:
    muxer = ("-hls_time", "4", "-hls_playlist_type", "vod", "-hls_segment_type", "fmp4")
    with tempfile.TemporaryDirectory() as folder:
        names = ("-hls_segment_filename", f"{folder}/segment_%05d.m4s", f"{folder}/index.m3u8")
        return ffmpeg("-i", str(path), "-c", "copy", "-f", "hls", *muxer, *names)


async def copy_by_ours(sandbox: Sandbox, path: Path) -> float:
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        await make_hls(sandbox, path, Path(folder))
        return time.perf_counter() - begun


async def measure_copying(sandbox: Sandbox, folder: Path) -> Figures:
    codec = ("-c:v", "libx264", "-preset", "ultrafast", "-b:v", "6M", "-maxrate", "6M", "-bufsize", "12M")
    video = await asyncio.to_thread(make_video, folder / "copy.mp4", 60, "1920x1080", *codec)
    theirs: list[float] = []
    ours: list[float] = []
    for _ in range(ROUNDS):
        theirs.append(await asyncio.to_thread(copy_by_ffmpeg, video))
        ours.append(await copy_by_ours(sandbox, video))
    their, our = percentile(theirs, 0.5), percentile(ours, 0.5)
    return {
        "repackaging 60 s of 1080p: ffmpeg -c copy, median ms": their * 1000,
        "repackaging 60 s of 1080p: ours in the sandbox, median ms": our * 1000,
        "repackaging: ratio (limit 1)": our / their,
        "repackaging: ratio of the quickest": min(ours) / min(theirs),
    }


def decode_plainly(video: Path, options: dict[str, Any]) -> float:
    command = [sys.executable, "-m", "decoding.plain", json.dumps(options)]
    with video.open("rb") as source:
        folder = DECODING.folders[0]
        done = subprocess.run(command, stdin=source, capture_output=True, text=True, check=True, cwd=folder)
    return float(done.stdout)


async def measure_sandbox(folder: Path) -> Figures:
    codec = ("-c:v", "libx264", "-preset", "veryfast", "-b:v", "3M")
    video = await asyncio.to_thread(make_video, folder / "clip.mp4", 15, "1280x720", *codec)
    settings = MediaSettings()
    plain: list[float] = []
    inside: list[float] = []
    options = asdict(child_options(settings))
    task = Task("decode", child_limits(settings, settings.packaging_time), options, video)
    async with Sandbox(settings, DECODING) as sandbox:
        await sandbox.isolation()
        for _ in range(ROUNDS):
            plain.append(await asyncio.to_thread(decode_plainly, video, options))
            begun = time.perf_counter()
            await sandbox.run(task, Decoded)
            inside.append(time.perf_counter() - begun)
    return {
        "decoding 15 s of 720p: plain process, median ms": percentile(plain, 0.5) * 1000,
        "decoding 15 s of 720p: in the sandbox, median ms": percentile(inside, 0.5) * 1000,
        "the sandbox: ratio (limit 1.1)": percentile(inside, 0.5) / percentile(plain, 0.5),
        "the sandbox: ratio of the quickest": min(inside) / min(plain),
    }


async def ladder_times(sandbox: Sandbox, video: Path) -> tuple[float, float]:
    """When the first rendition is complete, and when all are."""
    first = 0.0
    begun = time.perf_counter()

    def note(file: OutputFile) -> None:
        nonlocal first
        if file.path == FIRST_MASTER:
            first = time.perf_counter() - begun

    with tempfile.TemporaryDirectory() as folder:
        await make_hls(sandbox, video, Path(folder), completed=note)
    return first, time.perf_counter() - begun


def ladder_by_ffmpeg(video: Path) -> float:
    """All rungs in one pass, with the same encoder settings."""
    sizes = rules.ladder(1920, 1080)
    split = f"[0:v]split={len(sizes)}" + "".join(f"[i{n}]" for n in range(len(sizes)))
    scales = [f"[i{n}]scale={width}:{height}:flags=bicubic[o{n}]" for n, (width, height) in enumerate(sizes)]
    arguments = ["-i", str(video), "-filter_complex", ";".join([split, *scales])]
    with tempfile.TemporaryDirectory() as folder:
        for number, (width, height) in enumerate(sizes):
            peak = rules.most_bits_per_second(width, height, 30)
            limits = ["-crf", "23", "-maxrate", str(peak), "-bufsize", str(2 * peak)]
            keys = ["-force_key_frames", "expr:gte(t,n_forced*4)", "-x264-params", "keyint=infinite:scenecut=0"]
            muxer = ["-f", "hls", "-hls_time", "4", "-hls_playlist_type", "vod", "-hls_segment_type", "fmp4"]
            target = Path(folder) / str(number)
            target.mkdir()
            codec = ["-map", f"[o{number}]", "-c:v", "libx264", "-preset", "veryfast", *limits, *keys]
            arguments += [*codec, *muxer, str(target / "index.m3u8")]
        return ffmpeg(*arguments)


async def measure_ladder(sandbox: Sandbox, folder: Path) -> Figures:
    video = await asyncio.to_thread(make_video, folder / "ladder.mp4", 20, "1920x1080", "-c:v", "mpeg4", "-b:v", "8M")
    firsts: list[float] = []
    alls: list[float] = []
    theirs: list[float] = []
    for _ in range(LADDER_ROUNDS):
        first, every = await ladder_times(sandbox, video)
        firsts.append(first)
        alls.append(every)
        theirs.append(await asyncio.to_thread(ladder_by_ffmpeg, video))
    first, every, their = percentile(firsts, 0.5), percentile(alls, 0.5), percentile(theirs, 0.5)
    return {
        "ladder of 20 s of 1080p: first rendition, median s": first,
        "ladder of 20 s of 1080p: all four, median s": every,
        "ladder of 20 s of 1080p: ffmpeg, all at once, median s": their,
        "ladder: all, ours to ffmpeg's": every / their,
        "ladder: first, ours to ffmpeg's": first / their,
    }


async def measure() -> Figures:
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures |= await measure_sandbox(folder)
        async with Sandbox(MediaSettings()) as sandbox:
            await sandbox.isolation()
            figures |= await measure_copying(sandbox, folder)
            figures |= await measure_ladder(sandbox, folder)
    return figures


if __name__ == "__main__":
    report("hls", asyncio.run(measure()))
