"""How often the world's model knows which of its own videos a picture is from, and how long it looks.

Of every video of a day three pictures are taken, made smaller and coded as JPEG, as a client would send them. Right
means: the same take, football or not, filmed or not, and the clock to the second. `--folder` keeps the videos.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from PIL import Image
from support.report import report

from touchline.kernel import ManualClock
from touchline_world.days.builder import build
from touchline_world.days.generator import GeneratorOptions, generate
from touchline_world.frames import Pixels, pictures
from touchline_world.language_model.vision import PictureRecogniser, Recognised, facts_of
from touchline_world.videos.library import VideoLibrary, recipes_of
from touchline_world.videos.model import Recipe
from touchline_world.world import DayClock, World

SHARES = (0.25, 0.5, 0.75)
SENT = (640, 360)
STARTS = datetime(2026, 3, 14, tzinfo=UTC)


async def measure(seed: int, folder: Path) -> dict[str, float | str]:
    day = build(generate(GeneratorOptions(seed=seed)))
    wall = ManualClock(STARTS + timedelta(milliseconds=day.length_ms))
    counts, looking_s = Counter[str](), list[float]()
    async with VideoLibrary(folder) as library:
        await library.prepare(recipes_of(day), lambda done, of: print(f"{done} of {of}", file=sys.stderr, flush=True))
        sight = PictureRecogniser(World(day, DayClock(wall, STARTS), library))
        begun, spent = time.monotonic(), time.process_time()
        await sight.learn()
        learning_s, learning_cpu_s = time.monotonic() - begun, time.process_time() - spent
        for recipe in recipes_of(day):
            for at_ms, picture in await asyncio.to_thread(sent, await library.file(recipe)):
                begun = time.monotonic()
                found = await sight.recognise(picture)
                looking_s.append(time.monotonic() - begun)
                counts[judged(found, recipe, at_ms)] += 1
    return {
        "videos": len(recipes_of(day)),
        "pictures": sum(counts.values()),
        **{name: counts[name] for name in ("right", "unknown", "another take", "another clock")},
        "learning all videos, s": learning_s,
        "learning all videos, processor s": learning_cpu_s,
        "one picture, ms (median)": 1000 * sorted(looking_s)[len(looking_s) // 2],
        "one picture, ms (slowest)": 1000 * max(looking_s),
    }


def sent(path: Path) -> list[tuple[int, Image.Image]]:
    every = list(pictures(path, 1))
    return [(at_ms, coded(Image.fromarray(pixels[:, :, ::-1].copy()))) for at_ms, pixels in chosen(every)]


def chosen(every: list[tuple[int, Pixels]]) -> list[tuple[int, Pixels]]:
    return [every[int(len(every) * share)] for share in SHARES]


def coded(picture: Image.Image) -> Image.Image:
    written = io.BytesIO()
    picture.resize(SENT).save(written, "JPEG", quality=80)
    return Image.open(written)


def judged(found: Recognised | None, recipe: Recipe, at_ms: int) -> str:
    if found is None:
        return "unknown"
    if found.recipe.take != recipe.take:
        return "another take"
    return "right" if facts_of(found) == facts_of(Recognised(recipe, at_ms, 0)) else "another clock"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--folder", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report("world_sight", asyncio.run(measure(given.seed, given.folder or Path(folder))))


if __name__ == "__main__":
    main()
