"""When pictures are taken, what their hash is, and which of them say nothing. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .model import END_MARGIN_MS, INTERVAL_MS

COLUMNS, ROWS = 9, 8
LEAST_DEVIATION = 5.0  # of the luma: below, a picture is black, white, flat, or nearly faded out
LEAST_SPREAD = 12  # between the cells of an equalised picture: below, there is only noise
BLACK = 32  # the luma of borders stays below, with the noise of encoders
MARKS = 0.02  # of a row or column: as many pixels of a border may be brighter
LEAST_PICTURE = 0.3  # of each side: what is smaller is no picture in borders, but a dark one


def sample_count(duration_ms: int) -> int:
    """How many times a picture is taken: first after one interval, last before the margin at the end begins."""
    return max(0, (duration_ms - END_MARGIN_MS - 1) // INTERVAL_MS)


def sample_time_ms(number: int) -> int:
    return (number + 1) * INTERVAL_MS


def hash_of_cells(cells: NDArray[np.uint8]) -> int:
    """Of the 8 rows with 9 cells: one bit for each neighbour to the right that is brighter, the first one highest."""
    return int.from_bytes(np.packbits(cells[:, :-1] < cells[:, 1:]).tobytes())


def picture_area(pictures: Sequence[NDArray[np.uint8]]) -> tuple[slice, slice]:
    """Rows and columns of the picture inside of black borders, that all these pictures of a video have."""
    bright = [each > BLACK for each in pictures]
    rows, columns = (_lit(np.max([each.mean(axis) for each in bright], axis=0) > MARKS) for axis in (1, 0))
    return rows, columns


def _lit(lines: NDArray[np.bool_]) -> slice:
    places = np.flatnonzero(lines)
    if not len(places) or places[-1] - places[0] + 1 < LEAST_PICTURE * len(lines):
        return slice(None)
    return slice(int(places[0]), int(places[-1]) + 1)


def has_information(deviation: float, cells: NDArray[np.uint8]) -> bool:
    """`deviation` of the luma before it was equalised, which makes noise as visible as a picture."""
    return deviation >= LEAST_DEVIATION and int(cells.max()) - int(cells.min()) >= LEAST_SPREAD
