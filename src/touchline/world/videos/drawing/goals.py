"""The two goals: posts, and a net that gives way where the ball hits it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from .camera import Camera
from .ground import LENGTH, MIDDLE
from .paint import Pixels

HALF, HIGH, DEEP = 3.66, 2.44, 1.9
SHIFT = 4  # cv2 takes sixteenths of a pixel


@dataclass(frozen=True, slots=True)
class Hit:
    """The ball is in the net."""

    left: bool
    across: float  # y
    height: float
    since_s: float


def lay_goal(picture: Pixels, camera: Camera, left: bool, hit: Hit | None) -> None:
    side, line = (-1.0, 0.0) if left else (1.0, LENGTH)
    points = np.concatenate([_back(side, line, hit), _still(side, line)]) if hit else _at_rest(side, line)
    spots, depth = camera.pixels(points.reshape(-1, 3))
    if (depth < 1).any():
        return
    threads = spots.reshape(-1, points.shape[1], 2)
    window = _window(picture, spots)
    if window:
        x, y, to_x, to_y = window
        part = picture[y:to_y, x:to_x]
        net = part.copy()
        moved = np.round((threads - [x, y]) * (1 << SHIFT)).astype(np.int32)
        cv2.polylines(net, list(moved), False, (225, 228, 228), 1, cv2.LINE_AA, SHIFT)
        cv2.addWeighted(net, 0.42, part, 0.58, 0, part)
    _posts(picture, camera, line)


@lru_cache(maxsize=2)
def _still(side: float, line: float) -> Pixels:
    return np.concatenate([_roof(side, line), _sides(side, line)])


@lru_cache(maxsize=2)
def _at_rest(side: float, line: float) -> Pixels:
    return np.concatenate([_back(side, line, None), _still(side, line)])


def _back(side: float, line: float, hit: Hit | None) -> Pixels:
    across, up = np.meshgrid(np.linspace(-HALF, HALF, 17), np.linspace(0, HIGH, 9))
    out = DEEP - 0.9 * (up / HIGH) ** 2
    if hit:
        swing = np.exp(-2.2 * hit.since_s) * (0.35 + 0.65 * np.cos(9 * hit.since_s)) * min(1.0, hit.since_s * 12)
        near = np.exp(-((across - (hit.across - MIDDLE)) ** 2 + (up - hit.height) ** 2) / 1.3)
        out = out + 0.75 * swing * near
        up = up + 0.12 * swing * near
    nodes = np.stack([line + side * out, MIDDLE + across, up], axis=-1)
    tall = nodes.transpose(1, 0, 2)
    return np.concatenate([_resampled(nodes), _resampled(tall)])


def _roof(side: float, line: float) -> Pixels:
    across, out = np.meshgrid(np.linspace(-HALF, HALF, 17), np.linspace(0, DEEP - 0.9, 4))
    nodes = np.stack([line + side * out, MIDDLE + across, np.full_like(out, HIGH)], axis=-1)
    return np.concatenate([_resampled(nodes), _resampled(nodes.transpose(1, 0, 2))])


def _sides(side: float, line: float) -> Pixels:
    threads: list[Pixels] = []
    for across in (-HALF, HALF):
        share, up = np.meshgrid(np.linspace(0, 1, 6), np.linspace(0, HIGH, 8))
        out = share * (DEEP - 0.9 * (up / HIGH) ** 2)
        nodes = np.stack([line + side * out, np.full_like(out, MIDDLE + across), up], axis=-1)
        threads += [_resampled(nodes), _resampled(nodes.transpose(1, 0, 2))]
    return np.concatenate(threads)


def _resampled(nodes: Pixels, count: int = 9) -> Pixels:
    """All threads with as many points."""
    places: Pixels = np.linspace(0, float(nodes.shape[1] - 1), count)
    low = np.minimum(places.astype(int), nodes.shape[1] - 2)
    share = (places - low)[None, :, None]
    return nodes[:, low] * (1 - share) + nodes[:, low + 1] * share


def _window(picture: Pixels, spots: Pixels) -> tuple[int, int, int, int] | None:
    height, width = picture.shape[:2]
    x, y = np.clip(np.floor(spots.min(axis=0)) - 2, 0, [width, height]).astype(int)
    to_x, to_y = np.clip(np.ceil(spots.max(axis=0)) + 2, 0, [width, height]).astype(int)
    return (int(x), int(y), int(to_x), int(to_y)) if to_x > x and to_y > y else None


def _posts(picture: Pixels, camera: Camera, line: float) -> None:
    feet = np.array(
        [(line, MIDDLE - HALF, 0), (line, MIDDLE - HALF, HIGH), (line, MIDDLE + HALF, HIGH), (line, MIDDLE + HALF, 0)]
    )
    spots, depth = camera.pixels(feet)
    thick = max(2, round(0.13 * camera.focal * camera.size[0] / float(depth.mean())))
    ends = [np.round(spots * (1 << SHIFT)).astype(np.int32)]
    cv2.polylines(picture, ends, False, (120, 120, 120), thick + 1, cv2.LINE_AA, SHIFT)
    cv2.polylines(picture, ends, False, (246, 248, 248), thick, cv2.LINE_AA, SHIFT)
