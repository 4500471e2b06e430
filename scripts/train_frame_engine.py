"""Draw pictures, grow the frame engine's trees on their cues, and write them into the package.

The measurement (`bench/frame_engine.py`) draws others: its numbers begin where these never come to. Takes some minutes.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from touchline.media.vision import judge
from touchline.media.vision.areas import Pixels
from touchline.media.vision.judge import DEPTH, QUESTIONS, DecisionTrees, cues_of
from touchline_world.scenes.samples import draw_scene

PICTURES = 2000  # numbers 0 to 1999
VERSION = 1
TREES, PACE = 220, 0.08
BINS = 24  # limits that are tried for each cue
CALM = 2.0  # keeps the votes of small groups small
ROW_SHARE, CUE_SHARE = 0.7, 0.35  # that each tree sees, so that they differ
INNER = 2**DEPTH - 1


@dataclass(frozen=True, slots=True)
class Sample:
    """What one tree learns from: cues as numbers of their bins, and what is still wrong about each picture."""

    binned: Pixels
    slopes: Pixels
    bends: Pixels
    asked: Pixels  # the cues that this tree may ask about


def learning_set() -> tuple[tuple[str, ...], Pixels, Pixels]:
    """The names of the cues, a row of them for each picture, and the answers."""
    rows: list[list[float]] = []
    answers: list[list[bool]] = []
    names: tuple[str, ...] = ()
    with ProcessPoolExecutor(initializer=cv2.setNumThreads, initargs=(1,)) as pool:
        for found, answer in pool.map(drawn, range(PICTURES), chunksize=20):
            names = tuple(found)
            rows.append(list(found.values()))
            answers.append(answer)
            if len(rows) % 100 == 0:
                print(f"{len(rows)} of {PICTURES} pictures", file=sys.stderr, flush=True)
    return names, np.array(rows), np.array(answers, np.float64)


def drawn(number: int) -> tuple[dict[str, float], list[bool]]:
    scene = draw_scene(number)
    return cues_of(scene.picture), [scene.football, scene.filmed]


def train(rows: Pixels, answers: Pixels, seed: int) -> DecisionTrees:
    """Gradient boosting on the log loss: each tree corrects what those before it got wrong."""
    random = np.random.default_rng(seed)
    borders = [np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1]) for column in rows.T]
    binned = np.stack([np.searchsorted(border, column) for border, column in zip(borders, rows.T, strict=True)], axis=1)
    start = float(np.log(answers.mean() / (1 - answers.mean())))
    score, trees = np.full(len(rows), start), list[tuple[Pixels, Pixels, Pixels]]()
    for _ in range(TREES):
        chance = 1 / (1 + np.exp(-score))
        part = random.random(len(rows)) < ROW_SHARE
        asked = np.flatnonzero(random.random(rows.shape[1]) < CUE_SHARE)
        sample = Sample(binned, (answers - chance) * part, chance * (1 - chance) * part, asked)
        cues, bins, votes, ends = grow(sample)
        limits = np.array([borders[cue][border] for cue, border in zip(cues, bins, strict=True)])
        trees.append((cues, limits, votes))
        score += votes[ends]
    cues, limits, votes = (np.array(column) for column in zip(*trees, strict=True))
    return DecisionTrees(cues, limits, votes, start)


def grow(sample: Sample) -> tuple[Pixels, Pixels, Pixels, Pixels]:
    """One tree: what each node asks about, the last bin that goes left, the votes, and where each row ends."""
    node = np.zeros(len(sample.slopes), np.int64)
    cues, bins = np.zeros(INNER, np.int64), np.zeros(INNER, np.int64)
    for number in range(INNER):
        inside = np.flatnonzero(node == number)
        cues[number], bins[number] = best_split(sample, inside)
        node[inside] = 2 * number + 1 + (sample.binned[inside, cues[number]] > bins[number])
    ends = node - INNER
    slopes = np.bincount(ends, sample.slopes, INNER + 1)
    bends = np.bincount(ends, sample.bends, INNER + 1)
    return cues, bins, PACE * slopes / (bends + CALM), ends


def best_split(sample: Sample, inside: Pixels) -> tuple[int, int]:
    """The question that tells most of what is still wrong."""
    best, found = -1.0, (0, 0)
    slopes, bends = sample.slopes[inside], sample.bends[inside]
    for cue in sample.asked:
        column = sample.binned[inside, cue]
        left_slopes = np.cumsum(np.bincount(column, slopes, BINS))[:-1]
        left_bends = np.cumsum(np.bincount(column, bends, BINS))[:-1]
        right_slopes, right_bends = slopes.sum() - left_slopes, bends.sum() - left_bends
        gains = left_slopes**2 / (left_bends + CALM) + right_slopes**2 / (right_bends + CALM)
        if gains.max() > best:
            best, found = float(gains.max()), (int(cue), int(gains.argmax()))
    return found


def balanced_accuracy(said: Pixels, true: Pixels) -> float:
    return float((said[true].mean() + (~said[~true]).mean()) / 2)


def main() -> None:
    names, rows, answers = learning_set()
    document: dict[str, object] = {"version": VERSION, "pictures": PICTURES, "cues": names}
    held = np.arange(len(rows)) % 5 == 0
    for column, question in enumerate(QUESTIONS):
        trial = train(rows[~held], answers[~held, column], seed=column)
        said = trial.probability(rows[held]) >= 0.5
        print(f"{question}: {balanced_accuracy(said, answers[held, column] > 0):.3f} on a fifth that was held back")
        document[question] = train(rows, answers[:, column], seed=column).document()
    path = Path(judge.__file__).with_name(judge.WEIGHTS)
    path.write_text(json.dumps(document, separators=(",", ":")) + "\n", "utf-8")
    print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
