"""A line that runs over two plates, like a score beside its clock, is two lines: each has its own ground. Pure.

A plate's border has even ground on both hands, as high as the letters are; a letter's edge has ground on one hand only,
or it is a thick stem, above and below which the ground goes on.
"""

from __future__ import annotations

from itertools import pairwise

import cv2
import numpy as np

from .areas import Area, Pixels

STEP = 45  # grey levels between two grounds
EVEN = 14  # that a ground may vary by
CORE = 0.3  # of the height, above and below: left out, for there the line may be higher than its plate
MARGIN = 0.12  # of the height, above and below the letters


def split_at_plates(grey: Pixels, area: Area) -> list[Area]:
    inside = area.within(grey)
    side = max(4, inside.height // 6)  # of ground that must be seen on either hand
    if inside.height < 8 or inside.width < 4 * side:
        return [area]
    steps, cuts = _borders(inside.of(grey).astype(np.float32), side), list[int]()
    while steps.max(initial=0) > STEP:
        cut = int(steps.argmax())
        steps[max(0, cut - 2 * side) : cut + 2 * side] = 0
        cuts.append(cut)
    borders = pairwise([0, *sorted(cuts), inside.width])
    parts = [Area(inside.x + start, inside.y, end - start, inside.height) for start, end in borders]
    return [part for part in parts if part.width >= side]


def _borders(rows: Pixels, side: int) -> Pixels:
    """How much the ground left of each column differs from the ground right of it; nothing where it goes on."""
    height = len(rows)
    above, below = max(2, int(MARGIN * height)), min(height - 2, int((1 - MARGIN) * height))
    steps, even = _steps(rows[int(CORE * height) : int((1 - CORE) * height)], side)
    goes_on = np.zeros(len(steps), bool)
    for margin in (rows[:above], rows[below:]):
        step, is_ground = _steps(margin, side)
        goes_on |= is_ground & (step < STEP / 2)
    return np.where(even & ~goes_on, steps, 0)


def _steps(rows: Pixels, side: int) -> tuple[Pixels, Pixels]:
    """For each column, how much left and right differ, and whether both are even."""
    mean = _over(rows.mean(axis=0), side)
    rough = np.sqrt(np.maximum(0, _over((rows**2).mean(axis=0), side) - mean**2))
    reach = side // 2 + 1
    steps, even = np.zeros(len(mean), np.float32), np.zeros(len(mean), bool)
    steps[reach:-reach] = np.abs(mean[2 * reach :] - mean[: -2 * reach])
    even[reach:-reach] = (rough[: -2 * reach] < EVEN) & (rough[2 * reach :] < EVEN)
    return steps, even


def _over(values: Pixels, side: int) -> Pixels:
    """The mean of so many neighbours."""
    return cv2.blur(values.reshape(1, -1), (side, 1), borderType=cv2.BORDER_REPLICATE)[0]
