from __future__ import annotations

import cv2
import numpy as np
import pytest

from touchline.media.vision.areas import Area, Pixels
from touchline.media.vision.text_stream import split_at_plates
from touchline_world.scenes.canvas import Bug, plain, put_bug, write

LINE = Area(20, 22, 220, 34)
BUG = Bug((20, 20), 22, "ARS", "CHE", "2-1", "67:42", (60, 20, 10), (245, 245, 245), (245, 245, 245), (10, 10, 10))


def grey(picture: Pixels) -> Pixels:
    return cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)


def test_a_score_beside_its_clock_is_two_lines() -> None:
    picture = plain((320, 100), (50, 110, 60))
    put_bug(picture, BUG)
    score, clock = split_at_plates(grey(picture), LINE)
    assert (score.x, score.y, score.height) == (LINE.x, LINE.y, LINE.height)
    assert clock.x == score.x + score.width
    assert abs(clock.x - 171) <= 3
    assert clock.x + clock.width == LINE.x + LINE.width


@pytest.mark.parametrize("plate", [(20, 20, 20), (250, 250, 250), (30, 20, 160)])
def test_letters_alone_are_no_border(plate: tuple[int, int, int]) -> None:
    picture = plain((320, 100), plate)
    write(picture, "MIII LEEL 1111 |||| 88", (28, 30), 20, (128, 128, 128))
    assert split_at_plates(grey(picture), LINE) == [LINE]


def test_thick_stems_are_no_border() -> None:
    picture = plain((320, 100), (90, 60, 10))
    for left in range(40, 220, 12):  # with even ground between them
        picture[28:50, left : left + 6] = 245
    assert split_at_plates(grey(picture), LINE) == [LINE]


def test_a_restless_ground_is_not_split() -> None:
    noise = np.random.default_rng(1).integers(0, 255, (100, 320, 3)).astype(np.uint8)
    assert split_at_plates(grey(noise), LINE) == [LINE]


@pytest.mark.parametrize("area", [Area(0, 0, 8, 8), Area(0, 0, 300, 5), Area(310, 90, 40, 40)])
def test_what_is_too_small_stays(area: Area) -> None:
    assert split_at_plates(np.zeros((100, 320), np.uint8), area) == [area]
