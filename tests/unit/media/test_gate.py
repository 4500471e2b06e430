"""The text gate: it loses no letters, in a table of styles; and it says "nothing here" where nothing is."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.random import default_rng

from touchline.media.vision.areas import Pixels, covered
from touchline.media.vision.attention import find_candidates, find_edges
from touchline_world.scenes.canvas import (
    Colour,
    any_bug,
    any_caption,
    crowd,
    gradient,
    plain,
    put_bug,
    put_caption,
    shaded,
    text_size,
    uneven,
    write,
)

SIZE = (640, 360)
INKS: dict[str, tuple[Colour, Colour]] = {
    "white on black": ((255, 255, 255), (10, 10, 10)),
    "black on white": ((0, 0, 0), (250, 250, 250)),
    "white on red": ((255, 255, 255), (40, 30, 200)),
    "yellow on blue": ((40, 220, 250), (120, 40, 20)),
    "light grey on grey": ((200, 200, 200), (120, 120, 120)),
    "dark on mid grey": ((60, 60, 60), (130, 130, 130)),
}


def grey(picture: Pixels, quality: int = 60) -> Pixels:
    """As a codec leaves it."""
    coded = cv2.imdecode(cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], cv2.IMREAD_GRAYSCALE)
    assert coded is not None
    return coded


def letters_found(picture: Pixels, place: tuple[int, int, int, int]) -> float:
    """The share of the letters that candidates cover."""
    from touchline.media.vision.areas import Area

    areas = [candidate.area for candidate in find_candidates(find_edges(grey(picture)))]
    return covered(Area(*place), areas)


@pytest.mark.parametrize("ink", INKS)
@pytest.mark.parametrize("size", [11, 16, 24, 40, 72])
@pytest.mark.parametrize("text", ["67:42", "ARS 2-1 CHE", "Head coach"])
def test_letters_on_a_plate(ink: str, size: int, text: str) -> None:
    colour, plate = INKS[ink]
    picture = crowd(default_rng(1), SIZE, 5)
    width, height = text_size(text, size)
    cv2.rectangle(picture, (60, 60), (60 + width + size, 60 + height + size), plate, -1)
    place = write(picture, text, (60 + size // 2, 60 + size // 2), size, colour)
    assert letters_found(picture, place) > 0.5


@pytest.mark.parametrize("size", [16, 30, 60])
@pytest.mark.parametrize("ground", ["grass", "sky", "plain"])
def test_letters_without_a_plate(size: int, ground: str) -> None:
    random = default_rng(2)
    grounds = {
        "grass": shaded(plain(SIZE, (45, 120, 60)), uneven(random, SIZE, 40) * 12 + random.normal(0, 5, (360, 640))),
        "sky": gradient(SIZE, (220, 180, 140), (150, 120, 90)),
        "plain": plain(SIZE, (90, 90, 90)),
    }
    place = write(grounds[ground], "Goal 1-0", (80, 120), size, (255, 255, 255))
    assert letters_found(grounds[ground], place) > 0.5


@pytest.mark.parametrize("seed", range(4))
def test_every_broadcast_overlay_has_a_clear_candidate(seed: int) -> None:
    random = default_rng(seed)
    picture = crowd(random, (1280, 720), int(random.integers(3, 14)))
    put_bug(picture, any_bug(random, (1280, 720)))
    put_caption(picture, any_caption(random, (1280, 720)))
    clear = [each.area for each in find_candidates(find_edges(grey(picture))) if each.is_clear]
    assert any(area.y < 130 for area in clear), "the score"
    assert any(area.y > 500 for area in clear), "the caption"


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(plain(SIZE, (0, 0, 0)), id="black"),
        pytest.param(plain(SIZE, (40, 130, 60)), id="one colour"),
        pytest.param(gradient(SIZE, (230, 200, 180), (20, 20, 60)), id="gradient"),
        pytest.param(shaded(plain(SIZE, (45, 120, 60)), default_rng(3).normal(0, 6, (360, 640))), id="grass"),
        pytest.param(crowd(default_rng(4), SIZE, 6), id="stand"),
    ],
)
def test_nothing_where_nothing_is(picture: Pixels) -> None:
    assert [each for each in find_candidates(find_edges(grey(picture))) if each.is_clear] == []


def test_what_is_known_is_left_out_and_its_neighbour_is_not() -> None:
    from touchline.media.vision.areas import Area

    picture = plain(SIZE, (20, 20, 20))
    known = Area(*write(picture, "67:42", (60, 60), 30, (255, 255, 255)))
    strokes = find_edges(grey(picture))
    assert find_candidates(strokes, [known]) == []
    write(picture, "EXTRA TIME", (known.x + known.width + 40, 60), 30, (255, 255, 255))
    [beside] = find_candidates(find_edges(grey(picture)), [known])
    assert beside.area.x > known.x + known.width


@pytest.mark.parametrize("size", [(8, 8), (9, 400), (400, 9), (31, 33)])
def test_any_size_is_looked_at(size: tuple[int, int]) -> None:
    assert find_candidates(find_edges(np.zeros((size[1], size[0]), np.uint8))) == []
