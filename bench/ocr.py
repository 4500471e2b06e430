"""Text of ordinary footage: our reader beside RapidOCR called for every picture, in one run, on the same pictures.

Drawn matches at 720p, coded as H.264: a score bug with a running clock, captions that come and go, replays without
either, boards and a stand that move with the camera; in every other match the plates let the game shine through. One
picture a second. Both use one thread. No choice was made on these matches; tuning used the seeds below 100.

A string counts as read if a region of its picture has it, as whole words; ours is asked picture by picture, and a text
that it names one picture later, with the time since when it stood there, counts from then on. A clock that is not the
one on the picture counts as wrong. Wall and processor time are told, since others may use the machine at the same time.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import psutil
from numpy.typing import NDArray
from support.report import report

from touchline.media.engines.model import Picture, ReaderName
from touchline.media.engines.service import Engine
from touchline.media.rules import SampleOptions
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings
from touchline.media.tasks import decode_samples, read_manifest, sample
from touchline_world.scenes.samples import broadcast

SEEDS = tuple(int(seed) for seed in sys.argv[1:]) or (211, 212, 213, 214)
SECONDS = 45
SIZE = (1280, 720)
THREADS = 1
STEP_MS = 1000
RATE = 2
CLOCK = re.compile(r"(?<!\w)\d{2,3}:\d{2}(?!\w)")


@dataclass
class Tally:
    """What one of the two needed and found."""

    wall_s: float = 0
    processor_s: float = 0
    right: int = 0
    wrong_clocks: int = 0
    ratios: list[float] = field(default_factory=list)

    def count(self, texts: Sequence[Sequence[str]], read: Sequence[Sequence[str]]) -> None:
        for wanted, found in zip(texts, read, strict=True):
            self.right += sum(_is_in(text, found) for text in wanted)
            self.wrong_clocks += sum(clock not in wanted for line in found for clock in CLOCK.findall(line))


def _is_in(text: str, found: Sequence[str]) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(text)}(?!\w)", line) for line in found)


def make_video(path: Path, seed: int) -> list[tuple[str, ...]]:
    """What stands on each picture that will be looked at."""
    texts: list[tuple[str, ...]] = []
    opacity = 1.0 if seed % 2 else 0.85
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=RATE, options={"preset": "veryfast", "crf": "24"})
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for number, shown in enumerate(broadcast(seed, SECONDS * 1000, 1000 // RATE, SIZE, opacity)):
            frame = av.VideoFrame.from_ndarray(shown.picture, format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            output.mux(stream.encode(frame))
            if shown.at_ms % STEP_MS == 0:
                texts.append(shown.texts)
        output.mux(stream.encode(None))
    return texts


async def sampled(sandbox: Sandbox, video: Path, folder: Path) -> list[Picture]:
    await asyncio.to_thread(folder.mkdir)
    made = await sample(sandbox, video, folder, SampleOptions(STEP_MS, threshold=1.0))
    samples = list(read_manifest(folder / made.manifest))
    return [picture async for picture in decode_samples(sandbox, folder, samples, SIZE)]


def plain_reader() -> Any:
    import touchline.media.vision  # noqa: F401 - says no to the telemetry of what is imported next

    from rapidocr import RapidOCR  # isort: skip

    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": THREADS for kind in ("intra", "inter")}
    return RapidOCR(params={"Global.log_level": "error", **threads})


def read_plainly(reader: Any, pictures: Sequence[Picture], tally: Tally) -> list[list[str]]:
    wall, processor = time.monotonic(), time.process_time()
    found = [reader(pixels_of(picture)) for picture in pictures]
    tally.wall_s += time.monotonic() - wall
    tally.processor_s += time.process_time() - processor
    return [list(getattr(each, "txts", None) or ()) for each in found]


async def read_ours(engine: Engine, pictures: Sequence[Picture], stream: str, tally: Tally) -> list[list[str]]:
    wall, processor = time.monotonic(), processor_s(engine)
    found = [await engine.read(picture, stream) for picture in pictures]
    tally.wall_s += time.monotonic() - wall
    tally.processor_s += processor_s(engine) - processor
    read = [[region.text for region in regions] for regions in found]
    for number, regions in enumerate(found):
        for region in regions:
            for earlier in range(region.since_ms // STEP_MS, number):
                if region.text not in read[earlier]:
                    read[earlier].append(region.text)
    return read


def processor_s(engine: Engine) -> float:
    """Of the engine process, and of ours, which sends the pictures."""
    first = psutil.Process(engine.process_id)
    times = [process.cpu_times() for process in (first, *first.children(recursive=True))]
    return time.process_time() + sum(each.user + each.system for each in times)


async def measure(folder: Path) -> dict[str, float | str]:
    ours, theirs, strings, ratios = Tally(), Tally(), 0, list[float]()
    plain = plain_reader()
    async with (
        Sandbox(MediaSettings(engine_threads=THREADS)) as sandbox,
        Engine(sandbox, ReaderName.RAPIDOCR) as engine,
    ):
        for seed in SEEDS:
            print(f"match {seed}", file=sys.stderr, flush=True)
            path = folder / f"{seed}.mp4"
            texts = await asyncio.to_thread(make_video, path, seed)
            pictures = await sampled(sandbox, path, folder / str(seed))
            plain(pixels_of(pictures[0]))
            await engine.read(pictures[0])  # both have loaded their models
            before = ours.processor_s, theirs.processor_s
            ours.count(texts, await read_ours(engine, pictures, str(seed), ours))
            theirs.count(texts, await asyncio.to_thread(read_plainly, plain, pictures, theirs))
            ratios.append((theirs.processor_s - before[1]) / (ours.processor_s - before[0]))
            strings += sum(len(wanted) for wanted in texts)
    return figures(ours, theirs, strings, ratios)


def figures(ours: Tally, theirs: Tally, strings: int, ratios: Sequence[float]) -> dict[str, float | str]:
    count = len(SEEDS) * SECONDS
    return {
        "pictures": count,
        "strings on them": strings,
        "plain RapidOCR, processor ms a picture": 1000 * theirs.processor_s / count,
        "ours, processor ms a picture": 1000 * ours.processor_s / count,
        "ratio of processor time (at least 5)": theirs.processor_s / ours.processor_s,
        "ratio of wall time": theirs.wall_s / ours.wall_s,
        "ratio of processor time, the worst match": min(ratios),
        "plain RapidOCR, exact strings": theirs.right / strings,
        "ours, exact strings (at least the same)": ours.right / strings,
        "plain RapidOCR, wrong clocks": theirs.wrong_clocks,
        "ours, wrong clocks": ours.wrong_clocks,
    }


def pixels_of(picture: Picture) -> NDArray[np.uint8]:
    return np.frombuffer(picture.pixels, np.uint8).reshape(picture.height, picture.width, 3)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        report("ocr", asyncio.run(measure(Path(folder))))


if __name__ == "__main__":
    main()
