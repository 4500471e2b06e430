"""From a picture to its hash, exactly as Pillow computes it, and to a small one. Imported where pictures are: in the
child and in tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import pi, sin

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageStat

from .model import END_MARGIN_MS, INTERVAL_MS
from .waves import HEIGHT, WIDTH, Small

# Lanczos' averages of a picture, bit for bit as Pillow computes them, in a third of the time. Each cell is a weighted
# sum of whole numbers that a float of 64 bits holds exactly, so that one product of matrices does for all. Like
# Pillow it averages along the rows first, rounds to bytes, and then along the columns.

SUPPORT = 3.0  # of the window, in cells
PRECISION = 22  # bits behind the point of a weight
ROWS_AT_ONCE = 256  # what is worked on stays in the processor's cache
Bytes = NDArray[np.uint8]
Weights = NDArray[np.float64]


def averaged(pixels: Bytes, columns: int, rows: int) -> Bytes:
    """A picture of so many columns and rows, of one that has more and is not upright: Pillow begins with the columns of
    very high ones."""
    height, width = pixels.shape
    across = _weights(width, columns)
    blocks = [pixels[begin : begin + ROWS_AT_ONCE] @ across for begin in range(0, height, ROWS_AT_ONCE)]
    return _rounded(_weights(height, rows).T @ _rounded(np.concatenate(blocks)))


def _rounded(sums: Weights) -> Bytes:
    return np.clip(np.floor(sums / (1 << PRECISION) + 0.5), 0, 255).astype(np.uint8)


@lru_cache(maxsize=16)
def _weights(length: int, cells: int) -> Weights:
    """A column for each cell."""
    weights = np.zeros((length, cells))
    scale = length / cells
    for cell in range(cells):
        centre = (cell + 0.5) * scale
        first, end = max(0, int(centre - SUPPORT * scale + 0.5)), min(length, int(centre + SUPPORT * scale + 0.5))
        shares = [_lanczos((place - centre + 0.5) * (1.0 / scale)) for place in range(first, end)]
        total = 0.0
        for share in shares:  # in this order, since the last bits depend on it
            total += share
        weights[first:end, cell] = [_whole(share * (1.0 / total)) for share in shares]
    return weights


def _whole(share: float) -> int:
    return int(share * (1 << PRECISION) + (0.5 if share >= 0 else -0.5))


def _lanczos(place: float) -> float:
    return _sinc(place) * _sinc(place / SUPPORT) if -SUPPORT <= place < SUPPORT else 0.0


def _sinc(place: float) -> float:
    return sin(place * pi) / (place * pi) if place else 1.0


# When pictures are taken, what their hash is, and which of them say nothing. Pure.

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


@dataclass(frozen=True, slots=True)
class PictureHash:
    hash: int
    informative: bool

    @property
    def sample(self) -> int:
        """As fingerprints keep it."""
        return self.hash if self.informative else 0


def hash_image(picture: Image.Image) -> PictureHash:
    grey = picture if picture.mode == "L" else picture.convert("L")
    histogram = grey.histogram()
    cells = cells_of(grey, histogram)
    return PictureHash(hash_of_cells(cells), has_information(ImageStat.Stat(histogram).stddev[0], cells))


def cells_of(grey: Image.Image, histogram: list[int] | None = None) -> NDArray[np.uint8]:
    """Equalised at full size, so that the brightness of a copy does not matter, then averaged."""
    equalised = grey.point(_equalising(histogram or grey.histogram()))
    if grey.height > grey.width or grey.width <= COLUMNS or grey.height <= ROWS:
        return np.asarray(equalised.resize((COLUMNS, ROWS), Image.Resampling.LANCZOS), np.uint8)
    return averaged(np.asarray(equalised, np.uint8), COLUMNS, ROWS)


def _equalising(histogram: list[int]) -> list[int]:
    """What `ImageOps.equalize` makes of each brightness; here the histogram is known already."""
    used = [count for count in histogram if count]
    step = (sum(used) - used[-1]) // 255 if used else 0
    if len(used) <= 1 or not step:
        return list(range(256))
    return [before // step for before in accumulate(histogram[:-1], initial=step // 2)]


def small_of(grey: NDArray[np.uint8]) -> Small:
    """Averages, with what is left behind the point: a player changes some of them by a few levels only."""
    picture = Image.fromarray(np.ascontiguousarray(grey)).convert("F")
    return np.asarray(picture.resize((WIDTH, HEIGHT), Image.Resampling.BOX), np.float32)
