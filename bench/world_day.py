"""How long a day's videos take the first time and later, and what they cost.

Processor time is that of the makers and ours: others may use the machine at the same time. The yardstick is equal work
on this machine at this moment: one picture of the pitch laid into perspective by OpenCV, measured before and after.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
from support.report import report

from touchline_world.days.builder import build
from touchline_world.days.generator import GeneratorOptions, generate
from touchline_world.videos.library import VideoLibrary, recipes_of

ROUNDS = 60


def yardstick_ms() -> float:
    """Processor time of one warp, the most frequent work of the renderer."""
    cv2.setNumThreads(1)
    plan, seen = np.zeros((1350, 1905, 3), np.uint8), np.empty((540, 960, 3), np.uint8)
    view = np.array([[0.9, -0.3, 100], [0.05, 0.4, 50], [0.00002, -0.0003, 1.0]])
    begun = time.process_time()
    for _ in range(ROUNDS):
        cv2.warpPerspective(plan, view, (960, 540), seen, cv2.INTER_LINEAR, borderMode=cv2.BORDER_TRANSPARENT)
    return 1000 * (time.process_time() - begun) / ROUNDS


def spent_s() -> float:
    """Of this process and of all makers that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


async def measure(seed: int, folder: Path) -> dict[str, float | str]:
    recipes = recipes_of(build(generate(GeneratorOptions(seed=seed))))
    before, begun, spent = yardstick_ms(), time.monotonic(), spent_s()
    async with VideoLibrary(folder) as library:
        await library.prepare(recipes, lambda done, of: print(f"{done} of {of}", file=sys.stderr, flush=True))
        first_s, cost_s = time.monotonic() - begun, spent_s() - spent
        begun = time.monotonic()
        await library.prepare(recipes)
        again_s = time.monotonic() - begun
        size = sum(path.stat().st_size for path in await asyncio.to_thread(list, library.folder.glob("*.mp4")))
    return {
        "takes": len({each.take for each in recipes}),
        "copies": len(recipes),
        "first time, s (at most 120 on two quiet cores)": first_s,
        "first time, processor s": cost_s,
        "later, s": again_s,
        "MiB": size / 1024**2,
        "yardstick before, processor ms": before,
        "yardstick after, processor ms": yardstick_ms(),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report("world_day", asyncio.run(measure(given.seed, Path(folder))))


if __name__ == "__main__":
    main()
