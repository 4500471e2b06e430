from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from touchline.media.fingerprint.pictures import hash_of_cells, picture_area, sample_count


@pytest.mark.parametrize(
    ("duration_ms", "count"),
    [(0, 0), (300, 0), (550, 0), (551, 1), (800, 1), (801, 2), (15_000, 58), (15_050, 58), (15_051, 59)],
)
def test_last_sample_is_before_the_margin(duration_ms: int, count: int) -> None:
    assert sample_count(duration_ms) == count


@given(st.integers(0, 10_000_000))
def test_samples_are_those_that_counting_up_gives(duration_ms: int) -> None:
    duration_ms %= 100_000
    assert sample_count(duration_ms) == len(range(250, max(250, duration_ms - 300), 250))


def test_first_cell_is_the_highest_bit() -> None:
    cells = np.zeros((8, 9), np.uint8)
    cells[0, 1:] = 9
    assert hash_of_cells(cells) == 1 << 63
    cells[7, 8] = 9
    assert hash_of_cells(cells) == 1 << 63 | 1


def framed(top: int, left: int) -> np.ndarray:
    picture = np.full((180, 320), 17, np.uint8)
    picture[top : 180 - top, left : 320 - left] = 90
    return picture


@pytest.mark.parametrize(("top", "left"), [(0, 0), (30, 0), (0, 40), (20, 20)])
def test_borders_are_found(top: int, left: int) -> None:
    area = picture_area([framed(80, 150), framed(top, left)])
    assert framed(top, left)[area].shape == (180 - 2 * top, 320 - 2 * left)


def test_a_dark_picture_has_no_borders() -> None:
    assert picture_area([framed(80, 100)]) == (slice(None), slice(100, 220))
    assert picture_area([np.zeros((180, 320), np.uint8)]) == (slice(None), slice(None))
