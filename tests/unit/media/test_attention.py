"""What the detector is asked to look at, and what looks that find nothing may cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import cv2
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.random import default_rng

from touchline.media.vision.areas import Area, Pixels, covered, merged
from touchline.media.vision.attention import (
    MOST_PIXELS,
    MOVING_EVERY_MS,
    PIXELS_A_SECOND,
    Attention,
    DetectorBudget,
    Rank,
    moves,
)
from touchline.media.vision.memory import ReadMemory, ReadWords
from touchline.media.vision.text_stream import TextStream
from touchline_world.scenes.canvas import crowd, plain, write

SIZE = (640, 360)
STEP_MS = 100
PLACE = Area(40, 40, 60, 16)
FOREST = cv2.GaussianBlur(default_rng(5).integers(0, 160, (360, 2000), np.uint8), (5, 5), 0)


def forest(number: int) -> Pixels:
    """A texture that the camera pans over, eight pixels from picture to picture."""
    return FOREST[:, 8 * number : 8 * number + SIZE[0]]


def still(_: int) -> Pixels:
    return cv2.cvtColor(plain(SIZE, (40, 90, 40)), cv2.COLOR_BGR2GRAY)


def with_text(picture: Pixels, text: str = "Goal 2-1", x: int = 200, *, on_plate: bool = False) -> Pixels:
    shown = cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR)
    if on_plate:
        cv2.rectangle(shown, (x - 16, 270), (x + 140, 320), (30, 30, 30), -1)
    write(shown, text, (x, 280), 32, (255, 255, 255))
    return cv2.cvtColor(shown, cv2.COLOR_BGR2GRAY)


TEXT = Area(*write(plain(SIZE, (0, 0, 0)), "Goal 2-1", (200, 280), 32, (255, 255, 255)))


def seen(attention: Attention, pictures: Sequence[Pixels], step_ms: int = STEP_MS) -> Iterator[list[Area]]:
    for number, picture in enumerate(pictures):
        attention.see(picture, number * step_ms)
        yield [each.area for each in attention.choose([])]


def looks_at_text(areas: Sequence[Area]) -> bool:
    return covered(TEXT, areas) > 0.5


@pytest.mark.parametrize("ground", [still, forest])
def test_text_that_appears_gets_its_look_once_it_has_stood(ground: Callable[[int], Pixels]) -> None:
    pictures = [ground(number) if number < 4 else with_text(ground(number)) for number in range(9)]
    attention = Attention()
    looks = [looks_at_text(areas) for areas in seen(attention, pictures)]
    assert looks == [False] * 6 + [True] * 3
    assert attention.since_ms(TEXT) in {400, 500}


def test_text_that_was_there_when_a_picture_rests_gets_its_look() -> None:
    """A sampler leaves out pictures that are the same; the one that stays is shown twice."""
    attention = Attention()
    [*_, moving] = seen(attention, [still(0), still(1), with_text(still(2))])
    assert not looks_at_text(moving)
    attention.see(with_text(still(2)), 200)
    assert looks_at_text([each.area for each in attention.choose([])])
    assert attention.since_ms(TEXT) == 200


def test_in_coarse_steps_clear_text_gets_its_look_at_once() -> None:
    [_, now] = seen(Attention(), [still(0), with_text(still(1))], step_ms=1000)
    assert looks_at_text(now)


def test_text_on_the_move_gets_a_look_now_and_then() -> None:
    pictures = [with_text(still(number), x=40 + 6 * number) for number in range(MOVING_EVERY_MS // STEP_MS + 1)]
    looks = [bool(areas) for areas in seen(Attention(), pictures)]
    assert looks == [True, *[False] * (len(looks) - 2), True]


def test_a_texture_in_motion_gets_no_look() -> None:
    assert [areas for areas in list(seen(Attention(), [forest(number) for number in range(20)]))[1:] if areas] == []


def test_what_had_its_look_in_vain_gets_none_again_but_what_comes_there_does() -> None:
    texture = cv2.cvtColor(crowd(default_rng(4), SIZE, 9), cv2.COLOR_BGR2GRAY)
    attention = Attention()
    for number in range(3):
        attention.see(texture, number * STEP_MS)
    whole = Area(0, 0, *SIZE)
    attention.forget(whole, [])
    assert attention.choose([]) == []
    for number in range(3, 6):
        attention.see(with_text(texture, on_plate=True), number * STEP_MS)
    assert looks_at_text([each.area for each in attention.choose([])])


def test_letters_that_were_found_are_not_forgotten() -> None:
    attention = Attention()
    for number in range(3):
        attention.see(with_text(still(number)), number * STEP_MS)
    attention.forget(TEXT.grown(20, 20), [TEXT])
    assert looks_at_text([each.area for each in attention.choose([])])
    assert attention.choose([TEXT]) == []


class Blind:
    """A detector that finds nothing, or one line, and counts what it was shown."""

    language: str | None = None
    short_side = 360  # nothing is enlarged

    def __init__(self, line: Area | None = None) -> None:
        self.pixels = 0
        self.line = line

    def detect(self, picture: Pixels) -> list[Area]:
        self.pixels += picture.shape[0] * picture.shape[1]
        return [self.line] if self.line else []

    def recognise(self, lines: Sequence[Pixels]) -> list[ReadWords]:
        return [ReadWords("Goal", 0.99) for _ in lines]


def test_a_scene_without_text_that_never_rests_costs_its_allowance_at_most() -> None:
    reader, random, largest = Blind(), default_rng(6), 150_000
    stream = TextStream(reader, ReadMemory())
    for number in range(100):
        flickering = crowd(random, SIZE, 9)
        for repeat in range(3):
            stream.read(flickering, 300 * number + 100 * repeat)
    assert reader.pixels <= MOST_PIXELS + 30 * PIXELS_A_SECOND + largest


def test_looks_that_find_text_are_not_counted() -> None:
    """Another page of text every second is looked at as a whole, however long that goes on."""
    reader = Blind(Area(10, 10, 80, 20))
    stream = TextStream(reader, ReadMemory())
    shown = 0
    for number in range(30):
        page = plain(SIZE, (250, 250, 250))
        for row in range(4):
            write(page, f"{number} Line of text {row * number}", (40, 30 + 80 * row), 30, (0, 0, 0))
        stream.read(page, 1000 * number)
        shown += bool(stream.read(page, 1000 * number + 500))
    assert shown == 30


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 10**6))))
def test_the_allowance_is_never_more_than_it_may_be(acts: Sequence[tuple[int, int]]) -> None:
    allowance, at_ms, spent = DetectorBudget(), 0, 0
    for passed_ms, pixels in acts:
        at_ms += passed_ms
        allowance.grow(at_ms)
        assert allowance.pixels <= MOST_PIXELS
        if allowance.allows(pixels, allowance.pixels, Rank(at_ms % 3)):
            allowance.take(pixels)
            spent += pixels
    largest = max((pixels for _, pixels in acts), default=0)
    assert spent <= MOST_PIXELS + at_ms * PIXELS_A_SECOND / 1000 + largest


@pytest.mark.parametrize(
    ("case", "before", "is_moving"),
    [
        ("the same size, aside", PLACE.moved(80, 0), True),
        ("the same place", PLACE.moved(2, 0), False),
        ("another size", Area(120, 30, 60, 60), False),
        ("another height on the screen", PLACE.moved(80, 90), False),
        ("too far to have got here", PLACE.moved(200, 0), False),
    ],
)
def test_moves(case: str, before: Area, is_moving: bool) -> None:
    assert moves(PLACE, [before], reach=160) is is_moving, case


def test_areas_that_touch_are_looked_at_together() -> None:
    assert merged([Area(0, 0, 10, 10), Area(5, 5, 10, 10), Area(100, 100, 5, 5)]) == [
        Area(100, 100, 5, 5),
        Area(0, 0, 15, 15),
    ]


def test_areas_that_would_become_too_large_stay_apart() -> None:
    areas = [Area(0, 0, 10, 10), Area(5, 5, 10, 10)]
    assert sorted(merged(areas, most_pixels=200), key=lambda area: area.x) == areas
