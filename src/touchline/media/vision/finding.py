"""Lines of text in one place of a picture, found by the reader's detector.

Invariant: a line is whole: where it runs out of the place, the place is made wider and looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2

from .areas import Area, Pixels
from .plates import split_at_plates
from .readers import Reader

LARGEST_SCALE = 2.5
SIDE = 2  # pixels from the place's end, where a line may go on
MOST_LOOKS = 3
WIDER = 160


def find_lines(reader: Reader, picture: Pixels, grey: Pixels, place: Area, known: Sequence[Area]) -> list[Area]:
    """`known`: lines that need not be found; their ends may reach into the place."""
    boxes: list[Area] = []
    for _ in range(MOST_LOOKS):
        boxes = [box for box in _detected(reader, picture, place) if not _is_end_of(box, place, known)]
        left = any(box.x <= place.x + SIDE for box in boxes) and place.x > 0
        right = any(_right(box) >= _right(place) - SIDE for box in boxes) and _right(place) < grey.shape[1]
        if not left and not right:
            break
        wider = max(WIDER, place.width)
        place = Area(place.x - wider * left, place.y, place.width + wider * (left + right), place.height).within(grey)
    return [line for box in boxes for line in split_at_plates(grey, box)]


def _detected(reader: Reader, picture: Pixels, place: Area) -> list[Area]:
    short_side: int = min(picture.shape[0], picture.shape[1])
    scale = min(LARGEST_SCALE, max(1.0, reader.short_side / short_side))
    crop = place.of(picture)
    enlarged = cv2.resize(crop, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC) if scale > 1 else crop
    boxes = (box.scaled(1 / scale).moved(place.x, place.y).within(picture) for box in reader.detect(enlarged))
    return [box for box in boxes if box.pixels]


def _is_end_of(box: Area, place: Area, known: Sequence[Area]) -> bool:
    at_side = box.x <= place.x + SIDE or _right(box) >= _right(place) - SIDE
    return at_side and any(box.shared(area) >= 0.25 * box.pixels for area in known)


def _right(area: Area) -> int:
    return area.x + area.width
