"""A football pitch as a camera beside it sees it: a plan of the ground, seen in perspective, with people on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.random import Generator

from touchline_world.videos.drawing.camera import lens_matrix

from .canvas import (
    SKINS,
    WHITE,
    Colour,
    Pixels,
    Point,
    any_bug,
    any_colour,
    crowd,
    figure,
    plain,
    put_bug,
    shaded,
    uneven,
    write,
)

METRE = 9  # pixels of the plan
LENGTH, WIDTH, EDGE = 105, 68, 9
BOARDS = ("TOUCHLINE", "NORTH BANK", "KICK OFF", "FAIR PLAY", "CITY BREW", "AERO", "MOBIL 24", "BANCO")


@dataclass(frozen=True, slots=True)
class SceneCamera:
    place: tuple[float, float, float]  # metres: along, across, up
    aim: tuple[float, float, float]
    focal: float  # in widths of the picture
    size: Point

    def matrix(self) -> Pixels:
        """From points of the ground, in metres, to pixels."""
        return lens_matrix(self.place, self.aim, self.focal, self.size)

    def pixel(self, x: float, y: float, z: float = 0.0) -> tuple[float, float] | None:
        across, down, depth = self.matrix() @ np.array([x, y, z, 1.0])
        return (across / depth, down / depth) if depth > 1 else None


@dataclass(frozen=True, slots=True)
class SceneMatch:
    """What stays the same while a match goes on."""

    grass: Colour
    stripes: float
    snow: float
    kits: tuple[tuple[Colour, Colour], tuple[Colour, Colour]]
    boards: Colour
    light: float


def any_match(random: Generator) -> SceneMatch:
    snow = float(random.uniform(0.5, 0.95)) if random.random() < 0.06 else 0.0
    grass = (int(random.integers(20, 75)), int(random.integers(85, 170)), int(random.integers(30, 110)))
    kits = ((any_colour(random), any_colour(random)), (any_colour(random), any_colour(random)))
    light = float(random.choice([1.0, 0.8, 0.6], p=[0.6, 0.25, 0.15]))
    return SceneMatch(grass, float(random.uniform(0, 16)), snow, kits, any_colour(random), light)


def plan_of(random: Generator, match: SceneMatch) -> Pixels:
    size = ((LENGTH + 2 * EDGE) * METRE, (WIDTH + 2 * EDGE) * METRE)
    ground = plain(size, match.grass)
    width = int(random.integers(5, 9)) * METRE
    if random.random() < 0.5:
        wave = np.sign(np.sin(np.arange(size[0]) * np.pi / width))[None, :]
    else:
        wave = np.sign(np.sin(np.arange(size[1]) * np.pi / width))[:, None]
    shade = wave * match.stripes + uneven(random, size, 60) * 8 + random.normal(0, 5, (size[1], size[0]))
    ground = shaded(ground, shade)
    if match.snow:
        cover = (uneven(random, size, 25)[..., None] * 0.25 + match.snow).clip(0, 1)
        ground = (ground * (1 - cover) + np.array([235, 232, 228]) * cover).astype(np.uint8)
    _lines(ground, (40, 90, 230) if match.snow else WHITE)
    return ground


def _lines(ground: Pixels, colour: Colour) -> None:
    def at(x: float, y: float) -> Point:
        return int((x + EDGE) * METRE), int((y + EDGE) * METRE)

    def box(x: float, y: float, to_x: float, to_y: float) -> None:
        cv2.rectangle(ground, at(x, y), at(to_x, to_y), colour, 2, cv2.LINE_AA)

    middle = WIDTH / 2
    box(0, 0, LENGTH, WIDTH)
    cv2.line(ground, at(LENGTH / 2, 0), at(LENGTH / 2, WIDTH), colour, 2, cv2.LINE_AA)
    cv2.circle(ground, at(LENGTH / 2, middle), int(9.15 * METRE), colour, 2, cv2.LINE_AA)
    for deep, half in ((16.5, 20.16), (5.5, 9.16)):
        box(0, middle - half, deep, middle + half)
        box(LENGTH - deep, middle - half, LENGTH, middle + half)
    for spot, start in ((11.0, -53), (LENGTH - 11.0, 127)):
        cv2.circle(ground, at(spot, middle), 3, colour, -1, cv2.LINE_AA)
        cv2.ellipse(ground, at(spot, middle), (int(9.15 * METRE),) * 2, 0, start, start + 106, colour, 2, cv2.LINE_AA)


def any_stand(random: Generator, size: Point) -> Pixels:
    stand = crowd(random, size, int(random.integers(3, 14)))
    return (stand * 0.4).astype(np.uint8) if random.random() < 0.3 else stand


def see_pitch(
    random: Generator, match: SceneMatch, camera: SceneCamera, ground: Pixels, stand: Pixels | None = None
) -> Pixels:
    """The ground in perspective, in front of boards and a stand."""
    width, height = camera.size
    picture = any_stand(random, camera.size) if stand is None else stand.copy()
    to_plan = np.array([[1 / METRE, 0, -EDGE], [0, -1 / METRE, WIDTH + EDGE], [0, 0, 0], [0, 0, 1]])
    view = camera.matrix() @ to_plan  # the far touchline is the upper edge of the plan
    seen = cv2.warpPerspective(ground, view, (width, height), flags=cv2.INTER_AREA)
    cover = cv2.warpPerspective(np.full(ground.shape[:2], 255, np.uint8), view, (width, height))
    picture[cover > 127] = seen[cover > 127]
    _boards(random, match, camera, picture)
    return picture


def _boards(random: Generator, match: SceneMatch, camera: SceneCamera, picture: Pixels) -> None:
    """Letters stand along the far touchline, and bend with the perspective."""
    strip = plain((1600, 20), match.boards)
    ink: Colour = (255 - match.boards[0], 255 - match.boards[1], 255 - match.boards[2])
    for x in range(20, 1600, 200):
        write(strip, str(random.choice(BOARDS)), (x, 2), 15, ink)
    far = WIDTH + EDGE * 0.6
    corners = [camera.pixel(x, far, z) for x, z in ((-EDGE, 1.1), (LENGTH + EDGE, 1.1), (LENGTH + EDGE, 0), (-EDGE, 0))]
    if any(corner is None for corner in corners):
        return
    source = np.array([[0, 0], [1600, 0], [1600, 20], [0, 20]], np.float32)
    view = cv2.getPerspectiveTransform(source, np.array(corners, np.float32))
    size = (picture.shape[1], picture.shape[0])
    cover = cv2.warpPerspective(np.full(strip.shape[:2], 255, np.uint8), view, size)
    picture[cover > 127] = cv2.warpPerspective(strip, view, size, flags=cv2.INTER_AREA)[cover > 127]


@dataclass(slots=True)
class ScenePlayer:
    x: float
    y: float
    kit: int
    skin: Colour
    stride: float
    speed: tuple[float, float]


def any_players(random: Generator, around: tuple[float, float], spread: float) -> list[ScenePlayer]:
    skins = [SKINS[int(random.integers(0, len(SKINS)))] for _ in range(22)]
    return [
        ScenePlayer(
            float(np.clip(random.normal(around[0], spread), 1, LENGTH - 1)),
            float(np.clip(random.normal(around[1], spread * 0.8), 1, WIDTH - 1)),
            number % 2,
            skins[number],
            float(random.uniform(0.2, 1.4)),
            (float(random.normal(0, 2)), float(random.normal(0, 1))),
        )
        for number in range(22)
    ]


def put_players(picture: Pixels, camera: SceneCamera, match: SceneMatch, players: list[ScenePlayer]) -> None:
    for player in sorted(players, key=lambda each: -each.y):
        foot, head = camera.pixel(player.x, player.y), camera.pixel(player.x, player.y, 1.82)
        if foot is None or head is None:
            continue
        shirt, shorts = match.kits[player.kit]
        spot = int(foot[0]), int(foot[1])
        tall = max(3.0, foot[1] - head[1])
        cv2.ellipse(
            picture, spot, (int(tall * 0.3), max(1, int(tall * 0.06))), 0, 0, 360, (20, 50, 25), -1, cv2.LINE_AA
        )
        figure(picture, spot, tall, (shirt, shorts, player.skin), player.stride)


def put_goal(picture: Pixels, camera: SceneCamera) -> None:
    """The posts and the net at the end that the camera sees better."""
    x = 0.0 if camera.aim[0] < LENGTH / 2 else float(LENGTH)
    middle, deep = WIDTH / 2, -1.8 if x == 0 else 1.8
    for share in np.linspace(0, 1, 13):
        y = middle - 3.66 + 7.32 * float(share)
        _bar(picture, camera, (x + deep, y, 0), (x, y, 2.44), (190, 190, 190), 1)
    thick = max(1, picture.shape[0] // 180)
    for side in (-3.66, 3.66):
        _bar(picture, camera, (x, middle + side, 0), (x, middle + side, 2.44), WHITE, thick)
    _bar(picture, camera, (x, middle - 3.66, 2.44), (x, middle + 3.66, 2.44), WHITE, thick)


def _bar(
    picture: Pixels,
    camera: SceneCamera,
    start: tuple[float, float, float],
    end: tuple[float, float, float],
    colour: Colour,
    thick: int,
) -> None:
    first, second = camera.pixel(*start), camera.pixel(*end)
    if first and second and max(map(abs, (*first, *second))) < 10_000:
        cv2.line(picture, (int(first[0]), int(first[1])), (int(second[0]), int(second[1])), colour, thick, cv2.LINE_AA)


Shot = Callable[[Generator, Point], Pixels]


def wide(random: Generator, size: Point) -> Pixels:
    aim = (float(random.uniform(15, LENGTH - 15)), float(random.uniform(22, 40)), 0.0)
    place = (
        float(np.clip(aim[0] + random.normal(0, 14), 25, 80)),
        float(random.uniform(-55, -28)),
        random.uniform(13, 30),
    )
    return _game(random, SceneCamera(place, aim, float(random.uniform(0.9, 1.5)), size), spread=14)


def zoomed(random: Generator, size: Point) -> Pixels:
    aim = (float(random.uniform(8, LENGTH - 8)), float(random.uniform(12, 52)), 0.8)
    place = (float(random.uniform(25, 80)), float(random.uniform(-45, -22)), float(random.uniform(8, 22)))
    return _game(random, SceneCamera(place, aim, float(random.uniform(1.9, 4.2)), size), spread=7)


def behind_goal(random: Generator, size: Point) -> Pixels:
    place = (-float(random.uniform(9, 22)), WIDTH / 2 + float(random.normal(0, 8)), float(random.uniform(4, 13)))
    aim = (float(random.uniform(10, 30)), WIDTH / 2 + float(random.normal(0, 5)), 0.0)
    return _game(random, SceneCamera(place, aim, float(random.uniform(0.6, 1.1)), size), spread=9)


def _game(random: Generator, camera: SceneCamera, spread: float) -> Pixels:
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


def lit(random: Generator, match: SceneMatch, picture: Pixels) -> Pixels:
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
