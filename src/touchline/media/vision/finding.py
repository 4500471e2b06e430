"""Lines of text in one place of a picture, found by the reader's detector.

Invariant: a line is whole: where it runs out of the place, the place is made wider and looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2

from .areas import Area, Pixels
from .plates import split_at_plates
from .readers import Reader

LARGEST_SCALE = 2.5
SIDE = 2  # pixels from the place's end, where a line may go on
MOST_LOOKS = 3
WIDER = 160


@dataclass(frozen=True, slots=True)
class SearchArea:
    """Where letters may be. Large ones are found from afar, for a quarter of the pixels."""

    area: Area
    is_far: bool = False

    def scale(self, reader: Reader, picture: Pixels) -> float:
        short_side: int = min(picture.shape[0], picture.shape[1])
        scale = min(LARGEST_SCALE, max(1.0, reader.short_side / short_side))
        return scale / 2 if self.is_far else scale

    def cost(self, reader: Reader, picture: Pixels) -> float:
        """The pixels that the detector looks at."""
        return self.area.within(picture).pixels * self.scale(reader, picture) ** 2


def find_lines(reader: Reader, picture: Pixels, grey: Pixels, place: SearchArea, known: Sequence[Area]) -> list[Area]:
    """`known`: lines that need not be found; their ends may reach into the place."""
    boxes: list[Area] = []
    scale, area = place.scale(reader, picture), place.area.within(grey)
    for _ in range(MOST_LOOKS):
        boxes = [box for box in _detected(reader, picture, area, scale) if not _is_end_of(box, area, known)]
        left = any(box.x <= area.x + SIDE for box in boxes) and area.x > 0
        right = any(_right(box) >= _right(area) - SIDE for box in boxes) and _right(area) < grey.shape[1]
        if not left and not right:
            break
        wider = max(WIDER, area.width)
        area = Area(area.x - wider * left, area.y, area.width + wider * (left + right), area.height).within(grey)
    return [line for box in boxes for line in split_at_plates(grey, box)]


def _detected(reader: Reader, picture: Pixels, area: Area, scale: float) -> list[Area]:
    crop = area.of(picture)
    if min(crop.shape[:2]) * scale < 1:
        return []
    how = cv2.INTER_CUBIC if scale > 1 else cv2.INTER_AREA
    scaled = cv2.resize(crop, None, fx=scale, fy=scale, interpolation=how) if scale != 1 else crop
    boxes = (box.scaled(1 / scale).moved(area.x, area.y).within(picture) for box in reader.detect(scaled))
    return [box for box in boxes if box.pixels]


def _is_end_of(box: Area, place: Area, known: Sequence[Area]) -> bool:
    at_side = box.x <= place.x + SIDE or _right(box) >= _right(place) - SIDE
    return at_side and any(box.shared(area) >= 0.25 * box.pixels for area in known)


def _right(area: Area) -> int:
    return area.x + area.width
