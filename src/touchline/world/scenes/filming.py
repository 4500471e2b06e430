"""A picture on a screen that somebody films with a telephone: bezel and room, keystone, the beat of two pixel grids,
glare, bands, another colour, less contrast, a shaking hand.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.random import Generator

from .canvas import Colour, Pixels, Point, gradient, uneven


def film(random: Generator, picture: Pixels) -> Pixels:
    height, width = picture.shape[:2]
    screen = _glow(random, _grid(random, picture))
    seen = _placed(random, screen, (width, height))
    return _by_hand(random, seen)


def _grid(random: Generator, picture: Pixels) -> Pixels:
    """Two grids of nearly the same pitch beat: waves of light and dark, one phase for each colour."""
    height, width = picture.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    work = picture.astype(np.float32)
    for _ in range(int(random.integers(1, 4))):
        turn, pitch = random.uniform(0, np.pi), random.uniform(2.5, 9)
        bend = random.uniform(0, 4e-4) * ((x - width / 2) ** 2 + (y - height / 2) ** 2) / width
        phase = 2 * np.pi * (x * np.cos(turn) + y * np.sin(turn) + bend * 30) / pitch
        strength = random.uniform(0.03, 0.14)
        for channel in range(3):
            work[..., channel] *= 1 + strength * np.sin(phase + channel * random.uniform(0, 2))
    return np.clip(work, 0, 255).astype(np.uint8)


def _glow(random: Generator, screen: Pixels) -> Pixels:
    """Weak blacks, a cast, uneven light, perhaps a lamp and the bands of a rolling shutter."""
    height: int = screen.shape[0]
    width: int = screen.shape[1]
    low, high = random.uniform(8, 45), random.uniform(170, 250)
    work = low + screen.astype(np.float32) * (high - low) / 255
    work *= np.array([random.uniform(0.8, 1.2), random.uniform(0.9, 1.05), random.uniform(0.8, 1.15)])
    work += (uneven(random, (width, height), width // 3) * random.uniform(3, 18))[..., None]
    if random.random() < 0.45:
        lamp = np.zeros((height, width), np.float32)
        centre = int(random.integers(0, width)), int(random.integers(0, height))
        axes = width // int(random.integers(6, 20)), height // int(random.integers(6, 20))
        cv2.ellipse(lamp, centre, axes, 0, 0, 360, 1, -1)
        work += cv2.GaussianBlur(lamp, (0, 0), width / 25)[..., None] * random.uniform(60, 160)
    if random.random() < 0.4:
        wave = np.sin(np.arange(height) * 2 * np.pi / (height * random.uniform(0.15, 0.7)) + random.uniform(0, 6))
        work *= (1 + random.uniform(0.04, 0.14) * wave)[:, None, None]
    return np.clip(work, 0, 255).astype(np.uint8)


def _placed(random: Generator, screen: Pixels, size: Point) -> Pixels:
    """The screen in its room, from a little aside; or so near that it fills the view."""
    width, height = size
    near = random.random() < 0.25
    margin = -0.04 if near else float(random.uniform(0.02, 0.2))
    room = gradient(size, _wall(random), _wall(random))
    room = np.clip(room + uneven(random, size, 50)[..., None] * 10, 0, 255).astype(np.uint8)
    bezel = 0 if near else int(min(size) * random.uniform(0.01, 0.05))
    framed = cv2.copyMakeBorder(screen, bezel, bezel, bezel, bezel, cv2.BORDER_CONSTANT, value=(14, 12, 12))
    turn = random.normal(0, 0.05 if near else 0.035, (4, 2))
    corners = np.array([[margin, margin], [1 - margin, margin], [1 - margin, 1 - margin], [margin, 1 - margin]])
    corners = (corners + turn + random.normal(0, 0.02, (1, 2))) * np.array([width, height])
    tall, wide = framed.shape[:2]
    source = np.array([[0, 0], [wide, 0], [wide, tall], [0, tall]], np.float32)
    view = cv2.getPerspectiveTransform(source, corners.astype(np.float32))
    cover = cv2.warpPerspective(np.full((tall, wide), 255, np.uint8), view, size)
    seen = cv2.warpPerspective(framed, view, size, flags=cv2.INTER_LINEAR)
    room[cover > 127] = seen[cover > 127]
    return room


def _wall(random: Generator) -> Colour:
    level = int(random.integers(5, 150))
    blue, green, red = (int(np.clip(level + random.normal(0, 14), 0, 255)) for _ in range(3))
    return blue, green, red


def _by_hand(random: Generator, seen: Pixels) -> Pixels:
    """Out of focus, shaken, and grainy in a dark room."""
    height, width = seen.shape[:2]
    blurred = cv2.GaussianBlur(seen, (0, 0), float(random.uniform(0.3, 1.3)))
    if random.random() < 0.4:
        length = int(random.integers(2, 7))
        kernel = np.zeros((length, length), np.float32)
        cv2.line(kernel, (0, int(random.integers(0, length))), (length - 1, int(random.integers(0, length))), 1, 1)
        blurred = cv2.filter2D(blurred, -1, kernel / kernel.sum())
    grain = random.normal(0, random.uniform(1, 7), (height, width, 3))
    return np.clip(blurred + grain, 0, 255).astype(np.uint8)
