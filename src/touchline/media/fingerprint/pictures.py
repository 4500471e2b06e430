"""From a picture to its hash, exactly as Pillow computes it, and to a small one. Imported where pictures are: in the
child and in tests."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageStat

from .averaging import averaged
from .motion import HEIGHT, WIDTH, Small
from .rules import COLUMNS, ROWS, has_information, hash_of_cells


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
