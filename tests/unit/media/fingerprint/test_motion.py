from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from touchline.media.fingerprint.pictures import small_of
from touchline.media.fingerprint.waves import HEIGHT, REACH, WIDTH, Small, camera_shift, foregrounds, moved

SEEDS = st.integers(0, 2**32 - 1)
PLAYER = 5  # pixels


def world(seed: int, height: int = 60, width: int = 160) -> Small:
    """A ground with soft spots."""
    rough = np.random.default_rng(seed).uniform(0, 255, (height // 4 + 1, width // 4 + 1))
    grid = np.kron(rough, np.ones((4, 4)))
    for axis in (0, 1):
        grid = (grid + np.roll(grid, 1, axis) + np.roll(grid, 2, axis) + np.roll(grid, 3, axis)) / 4
    return grid.astype(np.float32)


def view(ground: Small, top: int, left: int) -> Small:
    return ground[top : top + HEIGHT, left : left + WIDTH].copy()


@given(SEEDS, st.integers(-2, 2), st.integers(-5, 5))
def test_the_camera_is_followed(seed: int, down: int, right: int) -> None:
    ground = world(seed)
    shift = camera_shift(view(ground, 12, 40), view(ground, 12 - down, 40 - right))
    assert shift == pytest.approx((down, right), abs=0.51)


@given(SEEDS, st.integers(-3, 3), st.integers(-6, 6))
def test_moving_by_whole_pixels(seed: int, down: int, right: int) -> None:
    ground = world(seed)
    found, expected = moved(view(ground, 12, 40), (down, right)), view(ground, 12 - down, 40 - right)
    known = found < 1000
    assert np.count_nonzero(known) == (HEIGHT - abs(down)) * (WIDTH - abs(right))
    assert np.array_equal(found[known], expected[known])


def scene(number: int, pan: int) -> Small:
    """A ground that the camera pans over, a logo that stands still, and a player who runs the other way."""
    picture = view(world(3), 12, 20 + pan * number)
    picture[2:5, 2:10] = 250
    picture[20 : 20 + PLAYER, 15 + 4 * number : 15 + 4 * number + PLAYER] = 0
    return picture


@pytest.mark.parametrize("pan", [0, 3])
def test_only_the_player_is_left(pan: int) -> None:
    pictures = [scene(number, pan) for number in range(8)]
    for number, foreground in list(enumerate(foregrounds(pictures)))[1:-1]:
        player = np.zeros_like(foreground, bool)
        player[20 : 20 + PLAYER, 15 + 4 * number : 15 + 4 * number + PLAYER] = True
        assert np.abs(foreground[player]).mean() > 20 * np.abs(foreground[~player]).mean()


@given(st.integers(0, 12))
def test_one_for_each_picture_of_its_neighbours(count: int) -> None:
    pictures = [scene(number, 2) for number in range(count)]
    found = list(foregrounds(iter(pictures)))
    assert len(found) == count
    for place in range(REACH, count - REACH):
        alone = list(foregrounds(pictures[place - REACH : place + REACH + 1]))[REACH]
        assert np.allclose(found[place], alone, atol=1e-3)


def test_nothing_moves() -> None:
    for count in (1, 5):
        assert np.abs(list(foregrounds([view(world(1), 0, 0)] * count))).max() < 1e-3


def test_small_pictures_are_averages() -> None:
    grey = np.zeros((72, 128), np.uint8)
    grey[0, :2] = 3
    assert small_of(grey)[0, 0] == 1.5
    assert small_of(grey).shape == (HEIGHT, WIDTH)
