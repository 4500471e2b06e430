"""The frame engine on a few drawn pictures that it has never seen; `bench/frame_engine.py` measures on many."""

from __future__ import annotations

import numpy as np
import pytest

from touchline.media.vision.areas import Pixels
from touchline.media.vision.judge import FrameClassifier, cues_of
from touchline_world.scenes.samples import draw_scene

FIRST, PICTURES, ERRORS = 2_000_000, 10, 2


@pytest.fixture(scope="module")
def judge() -> FrameClassifier:
    return FrameClassifier.load()


def test_it_tells_drawn_pictures_apart(judge: FrameClassifier) -> None:
    wrong: dict[str, list[int]] = {"football": [], "filmed": []}
    for number in range(FIRST, FIRST + PICTURES):
        scene = draw_scene(number)
        football, filmed = judge.verdict(scene.picture)
        wrong["football"] += [number] * ((football >= 0.5) != scene.football)
        wrong["filmed"] += [number] * ((filmed >= 0.5) != scene.filmed)
    assert max(len(numbers) for numbers in wrong.values()) <= ERRORS, wrong


def test_the_weights_are_for_these_cues(judge: FrameClassifier) -> None:
    assert set(judge.cues) == set(cues_of(np.zeros((90, 160, 3), np.uint8)))


@pytest.mark.parametrize("size", [(8, 8), (2000, 8), (8, 2000), (33, 47), (640, 360)])
@pytest.mark.parametrize("level", [0, 255])
def test_every_picture_gets_a_verdict(judge: FrameClassifier, size: tuple[int, int], level: int) -> None:
    picture: Pixels = np.full((size[1], size[0], 3), level, np.uint8)
    assert all(0 <= probability <= 1 for probability in judge.verdict(picture))


def test_the_same_number_is_the_same_scene() -> None:
    first, second = draw_scene(7), draw_scene(7)
    assert (first.kind, first.football, first.filmed) == (second.kind, second.football, second.filmed)
    assert np.array_equal(first.picture, second.picture)
