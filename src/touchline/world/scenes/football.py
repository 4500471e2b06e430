"""Shots of a football match: the whole game, a zoom, behind the goal, one player, a replay."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.random import Generator

from .canvas import SKINS, WHITE, Pixels, Point, any_colour, crowd, figure, plain, shaded, uneven, write
from .overlays import any_bug, put_bug
from .pitch import LENGTH, WIDTH, Camera, Match, any_match, any_players, plan_of, put_goal, put_players, see_pitch

Shot = Callable[[Generator, Point], Pixels]


def wide(random: Generator, size: Point) -> Pixels:
    aim = (float(random.uniform(15, LENGTH - 15)), float(random.uniform(22, 40)), 0.0)
    place = (
        float(np.clip(aim[0] + random.normal(0, 14), 25, 80)),
        float(random.uniform(-55, -28)),
        random.uniform(13, 30),
    )
    return _game(random, Camera(place, aim, float(random.uniform(0.9, 1.5)), size), spread=14)


def zoomed(random: Generator, size: Point) -> Pixels:
    aim = (float(random.uniform(8, LENGTH - 8)), float(random.uniform(12, 52)), 0.8)
    place = (float(random.uniform(25, 80)), float(random.uniform(-45, -22)), float(random.uniform(8, 22)))
    return _game(random, Camera(place, aim, float(random.uniform(1.9, 4.2)), size), spread=7)


def behind_goal(random: Generator, size: Point) -> Pixels:
    place = (-float(random.uniform(9, 22)), WIDTH / 2 + float(random.normal(0, 8)), float(random.uniform(4, 13)))
    aim = (float(random.uniform(10, 30)), WIDTH / 2 + float(random.normal(0, 5)), 0.0)
    return _game(random, Camera(place, aim, float(random.uniform(0.6, 1.1)), size), spread=9)


def _game(random: Generator, camera: Camera, spread: float) -> Pixels:
    match = any_match(random)
    picture = see_pitch(random, match, camera, plan_of(random, match))
    put_goal(picture, camera)
    put_players(picture, camera, match, any_players(random, (camera.aim[0], camera.aim[1]), spread))
    return lit(random, match, picture)


def close_up(random: Generator, size: Point) -> Pixels:
    """One or two players from the waist or the knees up, on soft grass, perhaps below a soft stand."""
    width, height = size
    match = any_match(random)
    picture = shaded(plain(size, match.grass), uneven(random, size, 90) * 14 + random.normal(0, 3, (height, width)))
    if random.random() < 0.6:
        edge = int(height * random.uniform(0.15, 0.6))
        picture[:edge] = crowd(random, (width, edge), int(random.integers(10, 26)))
    if random.random() < 0.5:
        y = int(height * random.uniform(0.5, 0.95))
        cv2.line(picture, (0, y), (width, y + int(random.normal(0, 40))), WHITE, max(2, height // 60))
    picture = cv2.GaussianBlur(picture, (0, 0), float(random.uniform(2, 7)))
    for number in range(int(random.integers(1, 3))):
        tall = min(width, height) * float(random.uniform(0.75, 1.35))
        shirt, shorts = match.kits[number % 2]
        foot = int(width * random.uniform(0.15, 0.85)), int(height * random.uniform(0.35, 0.6) + tall * 0.6)
        figure(picture, foot, tall, (shirt, shorts, SKINS[int(random.integers(0, 4))]), float(random.uniform(0.3, 1.2)))
        back = foot[0] - int(tall * 0.03), foot[1] - int(tall * 0.76)
        write(picture, str(random.integers(1, 30)), back, max(8, int(tall * 0.11)), any_colour(random))
    return lit(random, match, picture)


def lit(random: Generator, match: Match, picture: Pixels) -> Pixels:
    """Sun, floodlight or dusk; shadow of a stand; rain, snow and fog; shaken or sharp."""
    height, width = picture.shape[:2]
    work = picture.astype(np.float32) * match.light
    if random.random() < 0.2:
        slope = random.uniform(-0.5, 0.5)
        down, across = np.mgrid[0 : int(height), 0 : int(width)]
        work[down + across * slope < height * 0.5] *= float(random.uniform(0.45, 0.75))
    if random.random() < 0.12:
        fog = float(random.uniform(0.2, 0.5))
        work = work * (1 - fog) + 200 * fog
    if random.random() < 0.15:
        drops = (random.random((height, width)) > 0.994).astype(np.float32)
        streak = cv2.filter2D(drops, -1, np.eye(int(random.integers(3, 9)), dtype=np.float32) * 120)
        work = work + streak[..., None]
    shown = np.clip(work, 0, 255).astype(np.uint8)
    if random.random() < 0.15:
        length = int(random.integers(3, 13))
        shown = cv2.filter2D(shown, -1, np.full((1, length), 1 / length, np.float32))
    if random.random() < 0.7:
        put_bug(shown, any_bug(random, (width, height)))
    return shown


SHOTS: tuple[tuple[Shot, float], ...] = ((wide, 0.4), (zoomed, 0.25), (behind_goal, 0.1), (close_up, 0.25))
