"""The memory of what reads a video from end to end: three hours beside one minute, five pictures a second, 360p.

Each task runs in its child, whose resident memory is noted whenever it tells how far it is.
"""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import psutil
from imageio_ffmpeg import get_ffmpeg_exe
from support.report import report

from touchline.media.fingerprint.service import take_fingerprint
from touchline.media.rules import SampleOptions
from touchline.media.sandbox import Progress, Sandbox
from touchline.media.settings import MediaSettings
from touchline.media.tasks import make_storyboard, sample

MIB = 1024**2
HOURS = 3
Work = Callable[[Sandbox, Path, Path, Progress], Awaitable[object]]
TASKS: dict[str, Work] = {
    "sample": lambda sandbox, path, folder, progress: sample(sandbox, path, folder, SampleOptions(500), progress),
    "storyboard": make_storyboard,
    "fingerprint": lambda sandbox, path, folder, progress: take_fingerprint(sandbox, path, progress=progress),
}


def ffmpeg(*arguments: str) -> None:
    subprocess.run([get_ffmpeg_exe(), "-hide_banner", "-loglevel", "error", "-y", *arguments], check=True)


def make_videos(folder: Path) -> tuple[Path, Path]:
    """A minute, and the same again and again."""
    minute, hours = folder / "minute.mp4", folder / "hours.mp4"
    codec = ("-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-g", "50")
    ffmpeg("-f", "lavfi", "-i", "testsrc2=size=640x360:rate=5:duration=60", *codec, str(minute))
    ffmpeg("-stream_loop", str(HOURS * 60 - 1), "-i", str(minute), "-c", "copy", str(hours))
    return minute, hours


class Watch:
    """The most memory that the child of a task was seen with."""

    def __init__(self, task: str) -> None:
        self._name = f"media-{task}"[:15]  # as much as the kernel keeps
        self._child: psutil.Process | None = None
        self.peak = 0

    def __call__(self, percent: int) -> None:
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process().children(recursive=True)
            self._child = self._child or next((each for each in children if each.name() == self._name), None)
            self.peak = max(self.peak, self._child.memory_info().rss if self._child else 0)


async def peak(sandbox: Sandbox, name: str, path: Path) -> int:
    watch = Watch(name)
    with tempfile.TemporaryDirectory() as folder:
        await TASKS[name](sandbox, path, Path(folder), watch)
    return watch.peak


async def measure() -> dict[str, float | str]:
    figures: dict[str, float | str] = {}
    with tempfile.TemporaryDirectory() as folder:
        minute, hours = await asyncio.to_thread(make_videos, Path(folder))
        async with Sandbox(MediaSettings()) as sandbox:
            for name in TASKS:
                short, long = await peak(sandbox, name, minute), await peak(sandbox, name, hours)
                figures[f"{name}: one minute, MiB"] = short / MIB
                figures[f"{name}: {HOURS} hours, MiB"] = long / MIB
                figures[f"{name}: ratio"] = long / short
    return figures


if __name__ == "__main__":
    report("long_video", asyncio.run(measure()))
