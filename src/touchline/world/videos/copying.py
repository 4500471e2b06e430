"""What people do to footage before they post it: cut, crop, mirror, brighten, mark, letterbox, film it from a screen.

Invariant: a copy's pictures depend on the take's pictures and the copy alone, one by one and in order.
"""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np

from .drawing.paint import WHITE, Pixels, lay, letters, plate
from .drawing.shown import RATE
from .filming import Filming
from .model import Copy, Recipe

LEAST_MS = 200
CANVASES = (270, 540, 720, 1080)


def size_of(copy: Copy) -> tuple[int, int]:
    """Sixteen to nine, both even."""
    return round(copy.height * 16 / 9 / 2) * 2, round(copy.height / 2) * 2


def canvas_of(copy: Copy) -> tuple[int, int]:
    """The size at which its take is drawn: what else is made with it must not matter."""
    return size_of(Copy(height=next((each for each in CANVASES if each >= copy.height), copy.height)))


def span_of(recipe: Recipe) -> tuple[int, int]:
    """From when to when of the take it goes, in milliseconds."""
    begin = min(max(0, recipe.copy.starts_ms), recipe.take.length_ms - LEAST_MS)
    end = recipe.take.length_ms if recipe.copy.ends_ms is None else min(recipe.copy.ends_ms, recipe.take.length_ms)
    return begin, max(end, begin + LEAST_MS)


class Copier:
    """Makes one copy's pictures of the take's as they come by."""

    def __init__(self, recipe: Recipe) -> None:
        self._copy = recipe.copy
        self._begin, self._end = span_of(recipe)
        self._made = 0
        self._size = size_of(recipe.copy)
        self._filming = Filming(recipe.take.seed, self._size) if recipe.copy.is_filmed else None

    def pictures(self, number: int, picture: Pixels) -> Iterator[Pixels]:
        """Those that show the take's picture of this number: none outside of the cut, now and then two if slower."""
        last = int((self._end - self._begin) * RATE / 1000 / self._speed)
        changed: Pixels | None = None
        while self._made < last and self._source(self._made) <= number:
            if changed is None:
                changed = self._changed(picture)
            yield self._filming.film(changed, self._made) if self._filming else changed
            self._made += 1

    @property
    def _speed(self) -> float:
        return self._copy.speed_percent / 100

    def _source(self, made: int) -> int:
        return int(self._begin * RATE / 1000 + made * self._speed)

    def _changed(self, picture: Pixels) -> Pixels:
        copy = self._copy
        picture = _fitted(_cropped(picture, copy.crop_percent), self._inner)
        if copy.is_mirrored:
            picture = cv2.flip(picture, 1)
        if copy.brightness:
            picture = cv2.LUT(picture, np.clip(np.arange(256) + copy.brightness, 0, 255).astype(np.uint8))
        if copy.logo:
            _mark(picture, copy.logo)
        if copy.bars_percent:
            bar = (self._size[1] - picture.shape[0]) // 2
            rest = self._size[1] - picture.shape[0] - bar
            picture = cv2.copyMakeBorder(picture, bar, rest, 0, 0, cv2.BORDER_CONSTANT, value=(0, 0, 0))
        return picture

    @property
    def _inner(self) -> tuple[int, int]:
        width, height = self._size
        return width, round(height * (1 - 2 * self._copy.bars_percent / 100) / 2) * 2


def _cropped(picture: Pixels, percent: int) -> Pixels:
    if not percent:
        return picture
    height, width = picture.shape[:2]
    x, y = width * percent // 100, height * percent // 100
    return picture[y : height - y, x : width - x]


def _fitted(picture: Pixels, size: tuple[int, int]) -> Pixels:
    """A new picture in any case: what is laid over it is this copy's alone."""
    if (picture.shape[1], picture.shape[0]) == size:
        return picture.copy()
    while picture.shape[1] > 2 * size[0]:
        picture = cv2.resize(picture, (picture.shape[1] // 2, picture.shape[0] // 2), interpolation=cv2.INTER_AREA)
    return cv2.resize(picture, size, interpolation=cv2.INTER_LINEAR)


def _mark(picture: Pixels, logo: str) -> None:
    height, width = picture.shape[:2]
    size = max(9, round(height * 0.04))
    word = letters(logo, size, WHITE, 0)
    x, y = width - word.shape[1] - 3 * size, round(height * 0.8)
    lay(picture, plate((word.shape[1] + 2 * size, size * 2), (40, 30, 190), size // 2, 0.85), x, y)
    lay(picture, word, x + size, y + (size * 2 - word.shape[0]) // 2)
