"""What people do to footage before they post it: cut, crop, mirror, brighten, add a logo, letterbox, film a screen.

Invariant: a copy's pictures depend on the take's pictures and the copy alone, one by one and in order. When filmed
from a screen, room, light and pixel grid stay the same for the whole clip; only the hand moves.
"""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np
from numpy.random import Generator, default_rng

from touchline_world.videos.drawing.paint import RATE, WHITE, Pixels, lay, letters, plate

from .model import Copy, Recipe

GRAIN = 6  # pictures of noise that are used in turn


class FilmedScreen:
    def __init__(self, seed: int, size: tuple[int, int]) -> None:
        random = default_rng([seed, 111])
        self._size = size
        self._factor = _grid(random, size) * _light(random, size)
        self._glare = _lamp(random, size) + np.float32(random.uniform(16, 34))  # also what a screen calls black
        self._room, self._bezel = _room(random, size), max(3, round(size[1] * float(random.uniform(0.02, 0.04))))
        margin = float(random.uniform(0.03, 0.1))
        corners = np.array([[margin, margin], [1 - margin, margin], [1 - margin, 1 - margin], [margin, 1 - margin]])
        self._corners = (corners + random.normal(0, 0.018, (4, 2))) * np.array(size)
        self._hand = random.uniform(0.5, 2.4, (2, 3)), random.uniform(0, 6.3, (2, 3))
        self._soft = float(random.uniform(0.5, 0.9)) * size[1] / 540
        noise = random.normal(0, 3.0, (GRAIN, size[1] // 2, size[0] // 2)).astype(np.float32)
        self._grain: list[Pixels] = [cv2.resize(each, size, interpolation=cv2.INTER_LINEAR) for each in list(noise)]

    def film(self, picture: Pixels, number: int) -> Pixels:
        lit = cv2.multiply(picture, self._factor, dtype=cv2.CV_32F)
        screen = cv2.add(lit, self._glare, dtype=cv2.CV_8U)
        edge = self._bezel
        framed = cv2.copyMakeBorder(screen, edge, edge, edge, edge, cv2.BORDER_CONSTANT, value=(16, 14, 14))
        seen = self._room.copy()
        tall, wide = framed.shape[:2]
        source = np.array([[0, 0], [wide, 0], [wide, tall], [0, tall]], np.float32)
        view = cv2.getPerspectiveTransform(source, (self._corners + self._shake(number / RATE)).astype(np.float32))
        cv2.warpPerspective(framed, view, self._size, seen, cv2.INTER_LINEAR, borderMode=cv2.BORDER_TRANSPARENT)
        seen = cv2.GaussianBlur(seen, (0, 0), self._soft)
        grain = cv2.cvtColor(self._grain[number % GRAIN], cv2.COLOR_GRAY2BGR)
        return cv2.add(seen, grain, dtype=cv2.CV_8U)

    def _shake(self, at_s: float) -> Pixels:
        pace, phase = self._hand
        reach = np.array([0.006, 0.003, 0.0012]) * self._size[1]
        return (np.sin(pace * [1, 2.7, 6.5] * at_s + phase) * reach).sum(axis=1)


def _grid(random: Generator, size: tuple[int, int]) -> Pixels:
    """Waves of light and dark, a little different for each colour."""
    width, height = size
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    factor = np.ones((height, width, 3), np.float32)
    for _ in range(2):
        turn, pitch = random.uniform(0, np.pi), random.uniform(3, 8)
        bend = random.uniform(0, 4e-4) * ((x - width / 2) ** 2 + (y - height / 2) ** 2) / width
        phase = 2 * np.pi * (x * np.cos(turn) + y * np.sin(turn) + bend * 30) / pitch
        strength = random.uniform(0.06, 0.12)
        for channel in range(3):
            factor[..., channel] *= 1 + strength * np.sin(phase + channel * random.uniform(0.3, 2))
    return factor


def _light(random: Generator, size: tuple[int, int]) -> Pixels:
    """A cast of one colour, darker towards the sides of a screen that is seen from aside."""
    width, height = size
    cast = np.array([random.uniform(0.85, 1.1), random.uniform(0.9, 1.0), random.uniform(0.8, 1.05)])
    fall = 1 - 0.25 * np.linspace(0.0, 1.0, width)[None, :: int(random.choice([-1, 1]))] * random.uniform(0.4, 1.0)
    bands = 1 + 0.05 * np.sin(np.arange(height) * 2 * np.pi / (height * random.uniform(0.3, 0.8)))[:, None]
    return ((fall * bands * 0.82)[..., None] * cast).astype(np.float32)


def _lamp(random: Generator, size: tuple[int, int]) -> Pixels:
    width, height = size
    lamp = np.zeros((height // 4, width // 4), np.float32)
    if random.random() < 0.6:
        centre = int(random.integers(0, width // 4)), int(random.integers(0, height // 4))
        cv2.ellipse(lamp, centre, (width // 60, height // 50), 0, 0, 360, float(random.uniform(60, 130)), -1)
        lamp = cv2.GaussianBlur(lamp, (0, 0), width / 120)
    return cv2.cvtColor(cv2.resize(lamp, size), cv2.COLOR_GRAY2BGR)


def _room(random: Generator, size: tuple[int, int]) -> Pixels:
    width, height = size
    level = random.uniform(12, 80) + random.normal(0, 6, 3)
    share = np.linspace(1.15, 0.6, height)[:, None, None]
    wall = np.repeat(np.clip(level, 4, 255) * share, width, axis=1)
    blotch = cv2.resize(random.normal(0, 5, (9, 16)).astype(np.float32), size, interpolation=cv2.INTER_CUBIC)
    return np.clip(wall + blotch[..., None], 0, 255).astype(np.uint8)


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
        self._filming = FilmedScreen(recipe.take.seed, self._size) if recipe.copy.is_filmed else None

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
