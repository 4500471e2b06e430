"""All wanted copies of one take in one pass: every picture is drawn once for all copies of about one size.

Invariant: a file with its final name is whole. What is half-written has a name of its own and goes if the work fails.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import cv2
import numpy as np

from .copying import Copier, canvas_of, size_of, span_of
from .drawing import RATE, draw
from .drawing.paint import Pixels
from .model import Recipe, Take
from .mp4 import Mp4
from .sound import SOUND_HZ, Sound, sound_of

TELL_EVERY = 2 * RATE  # pictures


def make(recipes: Sequence[Recipe], folder: Path, tell: Callable[[int, int], None] = lambda done, of: None) -> None:
    """Copies of one take. `tell` hears of pictures done."""
    take = recipes[0].take
    if any(each.take != take for each in recipes):
        raise ValueError("these are not all of one take")
    cv2.setNumThreads(1)  # the others work for somebody else
    drafts = {each: folder / f".{each.key}.{os.getpid()}.part" for each in recipes}
    try:
        _write(take, drafts, tell)
        for recipe, draft in drafts.items():
            draft.replace(folder / f"{recipe.key}.mp4")
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def _write(take: Take, drafts: dict[Recipe, Path], tell: Callable[[int, int], None]) -> None:
    sound, count = sound_of(take), take.length_ms * RATE // 1000
    end_ms = max(span_of(each)[1] for each in drafts)
    with ExitStack() as files:
        copies: dict[tuple[int, int], list[tuple[Copier, Mp4]]] = defaultdict(list)
        for each, path in drafts.items():
            file = files.enter_context(Mp4(path, size_of(each.copy), each.copy.quality, _heard(sound, each)))
            copies[canvas_of(each.copy)].append((Copier(each), file))
        for number, drawn in enumerate(zip(*(draw(take, canvas) for canvas in copies), strict=True)):
            if drawn[0].at_ms >= end_ms:
                break
            for shown, made in zip(drawn, copies.values(), strict=True):
                _add(number, shown.picture, made)
            if number % TELL_EVERY == 0:
                tell(number, count)


def _add(number: int, picture: Pixels, made: Sequence[tuple[Copier, Mp4]]) -> None:
    for copier, file in made:
        for changed in copier.pictures(number, picture):
            file.add(changed)


def _heard(sound: Sound, recipe: Recipe) -> Sound:
    """The part of a copy; faster is higher."""
    begin, end = (value * SOUND_HZ // 1000 for value in span_of(recipe))
    part = sound[:, begin:end]
    if recipe.copy.speed_percent == 100:
        return part
    places = np.arange(0, part.shape[1] - 1, recipe.copy.speed_percent / 100)
    given = np.arange(float(part.shape[1]))
    rows: list[Sound] = [np.interp(places, given, part[row]) for row in range(2)]
    return np.stack(rows).astype(np.float32)
