"""How often the frame engine is right, on drawn pictures that no choice was made on.

Balanced accuracy for both questions, and the share of right answers for each kind of picture; written into
docs/reference/frame-engine.md between its marks. The numbers of pictures are kept apart: 0 to 1,999 train, from
1,000,000 on are for choosing cues and sizes, 2,000,000 for the tests, 7,000,000 for this.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import cv2
import numpy as np
from support.report import report

from touchline.media.vision import judge
from touchline.media.vision.judge import QUESTIONS, FrameClassifier
from touchline_world.scenes.samples import draw_scene

FIRST, PICTURES = 7_000_000, 600
PAGE = Path(__file__).parents[1] / "docs" / "reference" / "frame-engine.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


@dataclass(frozen=True, slots=True)
class Judged:
    group: str
    said: tuple[bool, ...]  # in the order of the questions
    true: tuple[bool, ...]
    spent_s: float


def judged(number: int) -> Judged:
    scene, engine = draw_scene(number), loaded()
    begun = time.process_time()
    verdict = engine.verdict(scene.picture)
    spent_s = time.process_time() - begun
    group = f"{scene.kind}, {'filmed from a screen' if scene.filmed else 'as broadcast'}"
    said = tuple(probability >= 0.5 for probability in verdict)
    return Judged(group, said, (scene.football, scene.filmed), spent_s)


@cache
def loaded() -> FrameClassifier:
    return FrameClassifier.load()


def measure() -> list[Judged]:
    found: list[Judged] = []
    with ProcessPoolExecutor(initializer=cv2.setNumThreads, initargs=(1,)) as pool:
        for each in pool.map(judged, range(FIRST, FIRST + PICTURES), chunksize=20):
            found.append(each)
            if len(found) % 100 == 0:
                print(f"{len(found)} of {PICTURES} pictures", file=sys.stderr, flush=True)
    return found


def figures(found: list[Judged]) -> dict[str, float | str]:
    spent_s = sum(each.spent_s for each in found)
    told: dict[str, float | str] = {"pictures": len(found), "processor ms a picture": 1000 * spent_s / len(found)}
    for column, question in enumerate(QUESTIONS):
        hits = [each.said[column] for each in found if each.true[column]]
        spared = [not each.said[column] for each in found if not each.true[column]]
        told |= {
            f"{question}: balanced accuracy (at least 0.95)": float(np.mean(hits) + np.mean(spared)) / 2,
            f"{question}: found where it is": float(np.mean(hits)),
            f"{question}: not found where it is not": float(np.mean(spared)),
        }
    return told


def block(found: list[Judged], told: dict[str, float | str]) -> str:
    trained = json.loads(files("touchline.media.vision").joinpath(judge.WEIGHTS).read_text("utf-8"))
    trees = f"Trees of version {trained['version']}, trained on {trained['pictures']} pictures"
    head = f"{trees}, measured on {len(found)} others."
    lines = [BEGIN, "", head, "", "| question | balanced accuracy | found where it is | not found where it is not |"]
    lines.append("| --- | --- | --- | --- |")
    for question in QUESTIONS:
        shares = [value for label, value in told.items() if label.startswith(f"{question}:")]
        lines.append(f"| {question.replace('_', ' ')} | " + " | ".join(f"{share:.3f}" for share in shares) + " |")
    lines += ["", "| picture | how many | football right | filmed screen right |", "| --- | --- | --- | --- |"]
    groups: dict[str, list[tuple[bool, ...]]] = defaultdict(list)
    for each in found:
        groups[each.group].append(tuple(np.equal(each.said, each.true).tolist()))
    for group in sorted(groups):
        football, filmed = np.mean(groups[group], axis=0)
        lines.append(f"| {group.replace('_', ' ')} | {len(groups[group])} | {football:.2f} | {filmed:.2f} |")
    return "\n".join([*lines, "", END])


def main() -> None:
    found = measure()
    told = figures(found)
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    PAGE.write_text(before + block(found, told) + rest.split(END)[1], "utf-8")
    report("frame_engine", told)


if __name__ == "__main__":
    main()
