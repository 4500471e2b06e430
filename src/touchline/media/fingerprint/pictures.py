"""From a picture to its hash, exactly as Pillow computes it. Imported where pictures are: in the child and in tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, ImageStat

from .rules import COLUMNS, ROWS, has_information, hash_of_cells


@dataclass(frozen=True, slots=True)
class Look:
    hash: int
    informative: bool

    @property
    def sample(self) -> int:
        """As fingerprints keep it."""
        return self.hash if self.informative else 0


def look_at(picture: Image.Image) -> Look:
    grey = picture if picture.mode == "L" else picture.convert("L")
    cells = cells_of(grey)
    return Look(hash_of_cells(cells), has_information(ImageStat.Stat(grey).stddev[0], cells))


def cells_of(grey: Image.Image) -> NDArray[np.uint8]:
    """Equalised at full size, so that the brightness of a copy does not matter, then averaged."""
    small = ImageOps.equalize(grey).resize((COLUMNS, ROWS), Image.Resampling.LANCZOS)
    return np.asarray(small, np.uint8)
