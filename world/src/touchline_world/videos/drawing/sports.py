"""Other sports: basketball, tennis, ice hockey and a running track, each with its floor, its people and its ball."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.random import Generator, default_rng

from touchline_world.videos.model import Take

from .camera import Camera, Plane
from .figures import STEPS, Figure, Kit, Posture, Shadows, lay_figure
from .paint import RATE, WHITE, Bgr, DrawnPicture, Pixels, Text, lay, letters, plate, times_of


@dataclass(frozen=True)
class Court:
    name: str
    size_m: tuple[float, float]
    floor: Bgr
    apron: Bgr
    lines: tuple[tuple[float, float, float, float], ...]  # boxes, in shares of the floor
    ring: float  # radius of the circle in the middle, in metres
    ink: Bgr
    players: int
    net_m: float = 0.0
    ball: Bgr = (40, 120, 230)
    lanes: int = 0

    @cached_property
    def metre(self) -> int:
        return round(1100 / self.size_m[0])


BOX = (0.0, 0.0, 1.0, 1.0)
COURTS = (
    Court(
        "BASKETBALL",
        (28, 15),
        (96, 156, 206),
        (110, 60, 40),
        (BOX, (0, 0.33, 0.2, 0.67), (0.8, 0.33, 1, 0.67)),
        1.8,
        WHITE,
        10,
    ),
    Court(
        "TENNIS",
        (24, 11),
        (150, 90, 40),
        (90, 130, 60),
        (BOX, (0, 0.12, 1, 0.88), (0.23, 0.12, 0.5, 0.5), (0.5, 0.5, 0.77, 0.88)),
        0,
        WHITE,
        2,
        1.0,
        (80, 240, 220),
    ),
    Court(
        "TENNIS",
        (24, 11),
        (54, 96, 190),
        (60, 86, 160),
        (BOX, (0, 0.12, 1, 0.88), (0.23, 0.12, 0.5, 0.5), (0.5, 0.5, 0.77, 0.88)),
        0,
        WHITE,
        2,
        1.0,
        (80, 240, 220),
    ),
    Court(
        "ICE HOCKEY",
        (60, 30),
        (240, 236, 230),
        (60, 50, 150),
        (BOX, (0.33, 0, 0.67, 1), (0.07, 0, 0.93, 1)),
        4.5,
        (60, 50, 200),
        12,
        0,
        (20, 20, 20),
    ),
    Court("ATHLETICS", (60, 10), (60, 70, 176), (96, 84, 72), (), 0, WHITE, 8, 0, (0, 0, 0), 8),
)


def draw_sport(take: Take, size: tuple[int, int]) -> Iterator[DrawnPicture]:
    scene = _Scene(take, size)
    for at_ms in times_of(take.length_ms):
        picture, texts = scene.picture(at_ms / 1000)
        yield DrawnPicture(at_ms, picture, tuple(texts))


class _Scene:
    def __init__(self, take: Take, size: tuple[int, int]) -> None:
        random = default_rng([take.seed, 91])
        self._size, self._court = size, COURTS[int(random.integers(0, len(COURTS)))]
        long, wide = self._court.size_m
        edge = 0.22 * wide + 2 + self._court.lanes
        self._floor, self._stand = _floor(random, self._court, edge), _hall(random)
        self._plane = _flat((-edge, -edge), (long + edge, wide + edge))
        self._seats = _rising(self._court, edge)
        count = self._court.players
        self._pace, self._phase = random.uniform(0.5, 1.3, (count, 2)), random.uniform(0, 6.3, (count, 2))
        self._home = random.uniform(0.15, 0.85, (count, 2))
        self._kits = [_kit(random) for _ in range(2 if not self._court.lanes else count)]
        self._scores = random.integers(0, 90, 2)
        self._sway = float(random.uniform(0, 6))

    def picture(self, at_s: float) -> tuple[Pixels, list[Text]]:
        width, height = self._size
        camera = self._camera(at_s)
        picture = np.empty((height, width, 3), np.uint8)
        cv2.rectangle(picture, (0, 0), (width, height), self._court.apron, -1)
        camera.lay(picture, self._stand, self._seats)
        camera.lay(picture, self._floor, self._plane)
        if self._court.net_m:
            self._lay_net(picture, camera)
        self._lay_people(picture, camera, at_s)
        return picture, self._sign(picture)

    def _places(self, at_s: float) -> Pixels:
        long, wide = self._court.size_m
        if self._court.lanes:
            run = (self._pace[:, 0] * 0.8 + 7.2) * at_s % (long + 20) - 8
            return np.stack([run, (np.arange(self._court.players) + 0.5) * wide / self._court.lanes], axis=1)
        flow = 0.22 * np.sin(at_s * 0.8 + self._sway)
        if self._court.net_m:
            end = np.array([[0.02, 0.5], [0.98, 0.5]]) * [long, wide]
            return end + np.sin(self._pace * at_s * 2.6 + self._phase) * [0.8, wide * 0.36]
        drift = np.sin(self._pace * at_s * 1.7 + self._phase) * [0.12, 0.16]
        share = np.clip(self._home * [0.6, 0.9] + [0.2 + flow, 0.05] + drift, 0.02, 0.98)
        return share * np.array([long, wide])

    def _ball(self, at_s: float, places: Pixels) -> Pixels:
        """From one to the next, again and again."""
        beat = 1.1 if not self._court.net_m else 1.3
        number, share = int(at_s / beat), at_s / beat % 1
        one, other = places[number % len(places)], places[(number + 1) % len(places)]
        low = 0.05 if self._court.name == "ICE HOCKEY" else 1.0
        return np.array([*(one * (1 - share) + other * share), low + (low > 0.5) * 6 * share * (1 - share)])

    def _camera(self, at_s: float) -> Camera:
        long, wide = self._court.size_m
        aim = long / 2 + long * 0.18 * np.sin(at_s * 0.8 + self._sway)
        if self._court.lanes:
            aim = float(np.clip(self._places(at_s)[:, 0].mean(), 8, long - 8))
        if self._court.net_m:
            return Camera((-17.0, wide / 2, 8.5), (long * 0.42, wide / 2 + 0.6 * np.sin(at_s), 0.0), 1.25, self._size)
        if self._court.lanes:
            return Camera((aim * 0.7 + 6, -13.0, 5.5), (float(aim), wide * 0.4, 0.4), 1.0, self._size)
        far = long * 0.62
        return Camera(
            (long / 2 + (aim - long / 2) * 0.4, -far, far * 0.48), (float(aim), wide * 0.42, 0.0), 1.12, self._size
        )

    def _lay_people(self, picture: Pixels, camera: Camera, at_s: float) -> None:
        places, before = self._places(at_s), self._places(at_s - 1 / RATE)
        feet = np.concatenate([places, np.zeros((len(places), 1))], axis=1)
        spots, depth = camera.pixels(feet)
        ball = self._ball(at_s, places)
        shadows = Shadows(self._size)
        for (x, y), away in zip(spots, depth, strict=True):
            tall = 1.9 * camera.focal * self._size[0] / float(away)
            shadows.add((float(x), float(y)), (float(x) + 0.35 * tall, float(y) + 0.06 * tall), tall, 0.3)
        shadows.fall_on(picture)
        for number in np.argsort(-depth):
            tall = 1.9 * camera.focal * self._size[0] / float(depth[number])
            speed = (places[number] - before[number]) * RATE
            stride = round(min(1.0, float(np.linalg.norm(speed)) / 3) * 2) / 2
            step = int((at_s * 1.8 + number * 0.37) * STEPS) % STEPS if stride else 0
            posture = Posture(
                step, stride, bool(self._court.net_m), bool(self._court.net_m) and depth[number] == depth.min()
            )
            figure = Figure(
                self._kits[int(number) % len(self._kits)],
                int(number),
                posture,
                bool(speed[0] < 0 and not self._court.net_m),
            )
            foot = (float(spots[number][0]), float(spots[number][1]))
            lay_figure(picture, figure, foot, tall)
        if not self._court.lanes:
            spot, away = camera.pixels(ball[None])
            radius = max(2, round(0.16 * camera.focal * self._size[0] / float(away[0])))
            cv2.circle(picture, (round(spot[0][0]), round(spot[0][1])), radius, self._court.ball, -1, cv2.LINE_AA)

    def _lay_net(self, picture: Pixels, camera: Camera) -> None:
        long, wide = self._court.size_m
        for up in np.linspace(0.1, self._court.net_m, 9):
            ends, _ = camera.pixels(np.array([(long / 2, -0.6, up), (long / 2, wide + 0.6, up)]))
            thick, colour = (max(2, self._size[1] // 180), WHITE) if up == self._court.net_m else (1, (70, 70, 70))
            cv2.line(picture, _point(ends[0]), _point(ends[1]), colour, thick, cv2.LINE_AA)

    def _sign(self, picture: Pixels) -> list[Text]:
        height, width = picture.shape[:2]
        size = max(10, round(height * 0.04))
        word = letters(self._court.name, size, WHITE, 1 if size > 15 else 0)
        x, y = round(width * 0.05), round(height * 0.88)
        lay(picture, plate((word.shape[1] + 2 * size, size * 2), (60, 40, 30), 0, 0.9), x, y)
        at = (x + size, y + (size * 2 - word.shape[0]) // 2)
        lay(picture, word, *at)
        return [Text(self._court.name, (*at, word.shape[1], word.shape[0]))]


def _point(spot: Pixels) -> tuple[int, int]:
    return round(float(spot[0])), round(float(spot[1]))


def _flat(low: tuple[float, float], high: tuple[float, float]) -> Plane:
    return Plane(
        np.array([(low[0], high[1], 0.0), (high[0], high[1], 0.0), (high[0], low[1], 0.0), (low[0], low[1], 0.0)])
    )


def _rising(court: Court, edge: float) -> Plane:
    """Seats behind the floor, where the camera looks to."""
    long, wide = court.size_m
    if court.net_m:
        near, far, left, right = long + edge, long + edge + 22, 3 * wide, -2 * wide
        corners = [(far, left, 15.0), (far, right, 15.0), (near, right, 0.4), (near, left, 0.4)]
    else:
        near, far = wide + edge, wide + edge + 20
        corners = [(-long, far, 14.0), (2 * long, far, 14.0), (2 * long, near, 0.4), (-long, near, 0.4)]
    return Plane(np.array(corners))


def _kit(random: Generator) -> Kit:
    shirt, shorts = (tuple(int(v) for v in random.integers(20, 240, 3)) for _ in range(2))
    return Kit((shirt[0], shirt[1], shirt[2]), (shorts[0], shorts[1], shorts[2]), WHITE)


def _floor(random: Generator, court: Court, edge: float) -> Pixels:
    metre, (long, wide) = court.metre, court.size_m
    width, height = round((long + 2 * edge) * metre), round((wide + 2 * edge) * metre)
    floor = np.empty((height, width, 3), np.uint8)
    cv2.rectangle(floor, (0, 0), (width, height), court.apron, -1)
    begin, end = round(edge * metre), (round((long + edge) * metre), round((wide + edge) * metre))
    cv2.rectangle(floor, (begin, begin), end, court.floor, -1)
    thick = max(2, metre // 9)
    for x, y, to_x, to_y in court.lines:
        corner = round((x * long + edge) * metre), round((y * wide + edge) * metre)
        cv2.rectangle(
            floor, corner, (round((to_x * long + edge) * metre), round((to_y * wide + edge) * metre)), court.ink, thick
        )
    if court.lines:
        middle = round((long / 2 + edge) * metre)
        cv2.line(floor, (middle, begin), (middle, end[1]), court.ink, thick)
        if court.ring:
            cv2.circle(
                floor,
                (middle, round((wide / 2 + edge) * metre)),
                round(court.ring * metre),
                court.ink,
                thick,
                cv2.LINE_AA,
            )
    for lane in range(court.lanes + 1):
        y = round((lane * wide / max(1, court.lanes) + edge) * metre)
        cv2.line(floor, (0, y), (width, y), court.ink, thick)
    grain = random.normal(0, 3, (height // 2, width // 2)).astype(np.float32)
    shade = cv2.resize(grain, (width, height))[..., None] + np.linspace(10, -10, height)[:, None, None]
    return np.clip(floor + shade, 0, 255).astype(np.uint8)


def _hall(random: Generator) -> Pixels:
    people = random.integers(20, 130, (26, 320, 3)).astype(np.uint8)
    seats = cv2.resize(people, (1600, 260), interpolation=cv2.INTER_NEAREST)
    seats[::10] //= 2
    return cv2.GaussianBlur(seats, (0, 0), 1.6)
