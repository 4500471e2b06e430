"""Pictures by number: what is shown, whether somebody filmed it from a screen, and what a codec did to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.random import Generator, default_rng

from . import elsewhere, football
from .canvas import Pixels, Point
from .filming import film

SIZES: tuple[Point, ...] = ((640, 360), (854, 480), (1280, 720), (480, 360), (406, 720))
SHARES = (0.4, 0.25, 0.15, 0.1, 0.1)


@dataclass(frozen=True, slots=True)
class Scene:
    picture: Pixels
    kind: str  # the name of the shot
    football: bool
    filmed: bool


def draw_scene(seed: int) -> Scene:
    random = default_rng(seed)
    size = SIZES[int(random.choice(len(SIZES), p=SHARES))]
    is_football, is_filmed = bool(random.random() < 0.5), bool(random.random() < 0.5)
    shot = _choice(random, football.SHOTS if is_football else elsewhere.SHOTS)
    picture = shot(random, size)
    if random.random() < 0.12:
        picture = _letterboxed(random, picture)
    if is_filmed:
        picture = film(random, picture)
    return Scene(_compressed(random, picture), shot.__name__, is_football, is_filmed)


def _choice(random: Generator, shots: Sequence[tuple[football.Shot, float]]) -> football.Shot:
    shares = np.array([share for _, share in shots])
    return shots[int(random.choice(len(shots), p=shares / shares.sum()))][0]


def _letterboxed(random: Generator, picture: Pixels) -> Pixels:
    """Black bars above and below, or at the sides, as re-posted clips have them. They are not a bezel."""
    height, width = picture.shape[:2]
    bar = float(random.uniform(0.06, 0.2))
    inner = (width, int(height * (1 - 2 * bar))) if random.random() < 0.5 else (int(width * (1 - 2 * bar)), height)
    framed = np.zeros_like(picture)
    x, y = (width - inner[0]) // 2, (height - inner[1]) // 2
    framed[y : y + inner[1], x : x + inner[0]] = cv2.resize(picture, inner, interpolation=cv2.INTER_AREA)
    return framed


def _compressed(random: Generator, picture: Pixels) -> Pixels:
    """Scaled down and up again now and then, and always coded."""
    height, width = picture.shape[:2]
    if random.random() < 0.3:
        share = float(random.uniform(0.4, 0.8))
        small = cv2.resize(picture, None, fx=share, fy=share, interpolation=cv2.INTER_AREA)
        picture = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)
    quality = [cv2.IMWRITE_JPEG_QUALITY, int(random.integers(25, 95))]
    coded = cv2.imdecode(cv2.imencode(".jpg", picture, quality)[1], cv2.IMREAD_COLOR)
    if coded is None:
        raise ValueError("a picture could not be coded")
    return coded
