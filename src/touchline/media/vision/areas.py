"""Pixels, and rectangles of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

import cv2
from numpy.typing import NDArray

from touchline.media.engines.model import Box

Pixels: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Area(Box):
    """A box that may reach beyond its picture."""

    def grown(self, sideways: int, up_and_down: int) -> Area:
        return Area(self.x - sideways, self.y - up_and_down, self.width + 2 * sideways, self.height + 2 * up_and_down)

    def within(self, picture: Pixels) -> Area:
        x, y = max(0, self.x), max(0, self.y)
        right, bottom = min(picture.shape[1], self.x + self.width), min(picture.shape[0], self.y + self.height)
        return Area(x, y, max(0, right - x), max(0, bottom - y))

    def of(self, picture: Pixels) -> Pixels:
        inside = self.within(picture)
        return picture[inside.y : inside.y + inside.height, inside.x : inside.x + inside.width]

    def moved(self, by_x: int, by_y: int) -> Area:
        return Area(self.x + by_x, self.y + by_y, self.width, self.height)

    def scaled(self, by: float) -> Area:
        x, y = int(self.x * by), int(self.y * by)
        return Area(x, y, round((self.x + self.width) * by) - x, round((self.y + self.height) * by) - y)

    def joined(self, other: Area) -> Area:
        x, y = min(self.x, other.x), min(self.y, other.y)
        right = max(self.x + self.width, other.x + other.width)
        bottom = max(self.y + self.height, other.y + other.height)
        return Area(x, y, right - x, bottom - y)


def scaled_to(picture: Pixels, width: int) -> Pixels:
    """In its own shape, but for strips: those would become as long as somebody likes."""
    tall, wide = picture.shape[:2]
    height = min(4 * width, max(width // 5, round(width * tall / wide)))
    return cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)


def covered(area: Area, by: Iterable[Area]) -> float:
    """The share of it that lies under others, which may count twice where they overlap."""
    return sum(area.shared(other) for other in by) / max(1, area.pixels)


def merged(areas: Iterable[Area], most_pixels: float = inf) -> list[Area]:
    """Those that touch become one, unless that costs much more than looking at each, or too much at once."""
    waiting, done = list(areas), list[Area]()
    while waiting:
        area = waiting.pop()
        partner = next((other for other in waiting if _belongs(area, other, most_pixels)), None)
        if partner is None:
            done.append(area)
        else:
            waiting.remove(partner)
            waiting.append(area.joined(partner))
    return done


def _belongs(area: Area, other: Area, most_pixels: float) -> bool:
    together = area.joined(other).pixels
    if together > most_pixels:
        return area.shared(other) >= 0.8 * min(area.pixels, other.pixels)
    return area.shared(other) > 0 or together < 1.2 * (area.pixels + other.pixels)
