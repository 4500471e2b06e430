"""The plan of a pitch: mown grass, worn where they play, lines, and the light that lies on it.

Invariant: the plan belongs to the stadium; only clouds and the shadow of the roof differ from one take to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import cv2
import numpy as np
from numpy.random import Generator, default_rng

from .camera import Camera, Plane
from .paint import Bgr, Pixels

LENGTH, WIDTH, EDGE = 105.0, 68.0, 11.0
MIDDLE = WIDTH / 2
WORN = (62, 112, 118)  # the colour of earth and straw
GROUND = Plane(
    np.array([[-EDGE, WIDTH + EDGE, 0], [LENGTH + EDGE, WIDTH + EDGE, 0], [LENGTH + EDGE, -EDGE, 0], [-EDGE, -EDGE, 0]])
)


class PitchLight(StrEnum):
    DAY = "day"
    DUSK = "dusk"
    FLOODLIGHT = "floodlight"


@dataclass(frozen=True, slots=True)
class Pitch:
    """What a stadium is like."""

    light: PitchLight
    grass: Bgr
    mowing: int
    stripe_m: float
    contrast: float
    sun: tuple[float, float]  # where shadows fall, in metres for each metre of height


def pitch_of(seed: int) -> Pitch:
    random = default_rng([seed, 11])
    light = list(PitchLight)[int(random.choice(3, p=[0.45, 0.2, 0.35]))]
    grass = (int(random.integers(38, 62)), int(random.integers(112, 142)), int(random.integers(52, 88)))
    long = {PitchLight.DAY: 0.9, PitchLight.DUSK: 1.9, PitchLight.FLOODLIGHT: 0.35}[light]
    turn = float(random.uniform(0.2, 2.9))
    return Pitch(
        light,
        grass,
        int(random.integers(0, 4)),
        float(random.uniform(4.5, 8)),
        float(random.uniform(7, 14)),
        (long * float(np.cos(turn)), long * float(np.sin(turn))),
    )


@lru_cache(maxsize=2)
def plan_of(seed: int, metre: int) -> Pixels:
    """The grass without clouds; so many pixels a metre."""
    random, like = default_rng([seed, 12]), pitch_of(seed)
    width, height = round((LENGTH + 2 * EDGE) * metre), round((WIDTH + 2 * EDGE) * metre)
    shade = _mown(like, (width, height), metre) * like.contrast
    shade += _soft(random, (width, height), metre * 5) * 7 + _soft(random, (width, height), max(2, metre // 3)) * 7
    blades = random.integers(-9, 10, (height // 2, width // 2)).astype(np.float32)
    shade += cv2.resize(blades, (width, height), interpolation=cv2.INTER_LINEAR)
    shade = shade.astype(np.float32)
    worn = _worn((width, height), metre) * np.float32(0.6 + 0.4 * random.random())
    mixed = zip(like.grass, WORN, (0.5, 1.0, 0.75), strict=True)
    planes = [(shade * np.float32(share) + base) * (1 - worn) + worn * bare for base, bare, share in mixed]
    plan = cv2.merge([cv2.convertScaleAbs(np.maximum(each, 0)) for each in planes])
    _draw_lines(plan, metre)
    return cv2.GaussianBlur(plan, (0, 0), sigmaX=0.4, sigmaY=1.0)  # far away its rows are closer than the picture's


def lit_plan(seed: int, take: int, metre: int) -> Pixels:
    """With the clouds or lamps of one moment."""
    random, like = default_rng([seed, take, 13]), pitch_of(seed)
    plan = plan_of(seed, metre)
    height, width = plan.shape[:2]
    small = width // 8, height // 8
    if like.light is PitchLight.FLOODLIGHT:
        light = 0.93 + 0.17 * _soft(random, small, small[0] // 5)
    else:
        cover = _soft(random, small, small[0] // 3) + 0.5 * _soft(random, small, small[0] // 8)
        depth = 0.42 if like.light is PitchLight.DAY else 0.3
        light = 1.08 - depth / (1 + np.exp(-9 * (cover - float(random.uniform(-0.1, 0.25)))))
    light *= _roof(random, like, small) * _slanting(random, small)
    tint = np.array([1.0, 1.0, 1.0] if like.light is PitchLight.DAY else [1.04, 0.97, 0.94])
    if like.light is PitchLight.DUSK:
        tint = np.array([0.86, 0.94, 1.04])
    whole = cv2.resize(light.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR)
    factor = np.repeat(whole[..., None], 3, axis=2) * tint.astype(np.float32)
    return cv2.multiply(plan, factor, dtype=cv2.CV_8U)


def _slanting(random: Generator, size: tuple[int, int]) -> Pixels:
    """The light comes more from one side than from the other, and not always from the same."""
    along, across = np.linspace(-0.5, 0.5, size[0])[None, :], np.linspace(-0.5, 0.5, size[1])[:, None]
    strong = random.choice([-1, 1], 2) * random.uniform(0.12, 0.36, 2)
    return 1 + strong[0] * along + strong[1] * across


def _roof(random: Generator, like: Pitch, size: tuple[int, int]) -> Pixels:
    """By day the roof of a stand darkens one side of the pitch."""
    width, height = size
    if like.light is PitchLight.FLOODLIGHT:
        return np.ones((height, width), np.float32)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    slope = float(random.uniform(-0.12, 0.12))
    edge = height * float(random.uniform(0.12, 0.42))
    inside = (y - edge - slope * x) if like.sun[1] > 0 else (height - y - edge - slope * x)
    return 1 - 0.34 / (1 + np.exp(np.clip(inside / 1.2, -30, 30)))


def _mown(like: Pitch, size: tuple[int, int], metre: int) -> Pixels:
    width, height = size
    pitch = like.stripe_m * metre
    x, y = np.arange(width, dtype=np.float32)[None, :], np.arange(height, dtype=np.float32)[:, None]
    along = np.tanh(4 * np.sin(x * np.pi / pitch))
    across = np.tanh(4 * np.sin(y * np.pi / pitch))
    if like.mowing == 0:
        return np.repeat(along, height, axis=0)
    if like.mowing == 1:
        return 0.55 * (along + across)
    if like.mowing == 2:
        return np.tanh(4 * np.sin((x + y) * np.pi / (1.4 * pitch)))
    radius = np.hypot(x - width / 2, y - height / 2)
    return np.tanh(4 * np.sin(radius * np.pi / pitch))


def _soft(random: Generator, size: tuple[int, int], grain: int) -> Pixels:
    width, height = size
    coarse = random.normal(0, 0.5, (max(2, height // grain), max(2, width // grain))).astype(np.float32)
    return np.clip(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC), -1, 1)


def _worn(size: tuple[int, int], metre: int) -> Pixels:
    width, height = size
    cover = np.zeros((height // 4, width // 4), np.float32)
    scale = metre / 4
    for x in (3.0, 11.0, LENGTH - 3, LENGTH - 11):
        centre = round((x + EDGE) * scale), round((MIDDLE + EDGE) * scale)
        cv2.ellipse(cover, centre, (round(2.5 * scale), round(4.5 * scale)), 0, 0, 360, 0.4, -1)
    return cv2.resize(cv2.GaussianBlur(cover, (0, 0), 1.6 * scale), size)


def _draw_lines(plan: Pixels, metre: int) -> None:
    colour, thick = (228, 236, 232), max(2, round(metre * 0.17))

    def at(x: float, y: float) -> tuple[int, int]:
        return round((x + EDGE) * metre), round((WIDTH - y + EDGE) * metre)

    def box(x: float, y: float, to_x: float, to_y: float) -> None:
        cv2.rectangle(plan, at(x, y), at(to_x, to_y), colour, thick, cv2.LINE_AA)

    ring = (round(9.15 * metre),) * 2
    box(0, 0, LENGTH, WIDTH)
    cv2.line(plan, at(LENGTH / 2, 0), at(LENGTH / 2, WIDTH), colour, thick, cv2.LINE_AA)
    cv2.circle(plan, at(LENGTH / 2, MIDDLE), ring[0], colour, thick, cv2.LINE_AA)
    cv2.circle(plan, at(LENGTH / 2, MIDDLE), thick, colour, -1, cv2.LINE_AA)
    for deep, half in ((16.5, 20.16), (5.5, 9.16)):
        box(0, MIDDLE - half, deep, MIDDLE + half)
        box(LENGTH - deep, MIDDLE - half, LENGTH, MIDDLE + half)
    for spot, start in ((11.0, -53), (LENGTH - 11.0, 127)):
        cv2.circle(plan, at(spot, MIDDLE), thick, colour, -1, cv2.LINE_AA)
        cv2.ellipse(plan, at(spot, MIDDLE), ring, 0, start, start + 106, colour, thick, cv2.LINE_AA)
    for x, y, start in ((0, 0, 270), (LENGTH, 0, 180), (LENGTH, WIDTH, 90), (0, WIDTH, 0)):
        cv2.ellipse(plan, at(x, y), (metre, metre), 0, start, start + 90, colour, thick, cv2.LINE_AA)


HALF, HIGH, DEEP = 3.66, 2.44, 1.9
SHIFT = 4  # cv2 takes sixteenths of a pixel


@dataclass(frozen=True, slots=True)
class NetHit:
    """The ball is in the net."""

    left: bool
    across: float  # y
    height: float
    since_s: float


def lay_goal(picture: Pixels, camera: Camera, left: bool, hit: NetHit | None) -> None:
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
    return np.concatenate([_net_roof(side, line), _sides(side, line)])


@lru_cache(maxsize=2)
def _at_rest(side: float, line: float) -> Pixels:
    return np.concatenate([_back(side, line, None), _still(side, line)])


def _back(side: float, line: float, hit: NetHit | None) -> Pixels:
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


def _net_roof(side: float, line: float) -> Pixels:
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
