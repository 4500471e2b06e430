"""Where the cameras of a match stand and how they follow the game: the main one, one for the cheering, replays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, default_rng

from .camera import Camera
from .ground import LENGTH, MIDDLE
from .paint import Pixels
from .play import Play

SETTLED_S = 1.2


@dataclass(frozen=True)
class Cameras:
    """All of one take."""

    size: tuple[int, int]
    play: Play
    main: tuple[float, float, float]
    focal: float
    path: Pixels  # of what the main camera aims at
    drift: tuple[float, float]
    replay: int

    def wide(self, at_s: float) -> Camera:
        row = self.play.row(at_s)
        aim, ball = self.path[row], self.play.ball[row]
        nearer = float(np.clip((abs(aim[0] - LENGTH / 2) - 18) / 30, 0, 1))
        across = MIDDLE + (aim[1] - MIDDLE) * 0.42 - 3 + 0.02 * float(ball[2])
        sway = 0.25 * np.sin(at_s * 1.3 + self.drift[0])
        focal = self.focal * (1 + 0.3 * nearer * nearer + 0.02 * np.sin(at_s * 0.7 + self.drift[1]))
        return Camera(self.main, (float(aim[0]) + float(sway), float(across), 0.3), float(focal), self.size)

    def close(self, at_s: float, on: int) -> Camera:
        """From the touchline, on one player."""
        people, _, _, _ = self.play.state(at_s)
        slow, _, _, _ = self.play.state(at_s + 0.12)
        x, y = (float(value) for value in people[on] * 0.4 + slow[on] * 0.6)
        side = 4.5 if self.play.is_left else -4.5
        place = (x + side * (0.5 + 0.5 * self.drift[0] / 6.3), min(y - 13.0, -7.0), 1.9)
        far = float(np.hypot(place[0] - x, place[1] - y))
        return Camera(place, (x, y, 1.0), 0.125 * far, self.size)

    def again(self, at_s: float) -> Camera:
        """For a replay: behind the goal, low beside it, or high from the side."""
        _, ball, _, _ = self.play.state(at_s)
        later, _, _ = self.play.state(at_s + 0.25)[1]
        end, inward = (0.0, 1.0) if self.play.is_left else (LENGTH, -1.0)
        aim = (float(ball[0] + later) / 2, float(ball[1]) * 0.6 + MIDDLE * 0.4, 1.0)
        low = self.drift[1] / 6.3
        if self.replay == 0:
            return Camera(
                (end - inward * 7.5, MIDDLE + 12 * (low - 0.5), 4.5 + 2 * low), aim, 0.8 + 0.25 * low, self.size
            )
        if self.replay == 1:
            return Camera((end + inward * (14 + 8 * low), -7.5, 3.6 + 2 * low), aim, 1.15 + 0.3 * low, self.size)
        return Camera((end + inward * (2 + 6 * low), -24.0, 15 + 4 * low), aim, 1.9 + 0.3 * low, self.size)


def place_cameras(play: Play, size: tuple[int, int], look: int, take: int) -> Cameras:
    """Broadcasters have more than one main camera, each with a person who likes it nearer or wider."""
    stadium, random = default_rng([look, 41]), default_rng([take, 42])
    main = (
        LENGTH / 2 + float(random.choice([-30, -14, 0, 14, 30])) + float(random.uniform(-6, 6)),
        -float(stadium.uniform(34, 44)) - float(random.uniform(-5, 5)),
        float(stadium.uniform(15, 21)) + float(random.uniform(-4, 4)),
    )
    drift = (float(random.uniform(0, 6.3)), float(random.uniform(0, 6.3)))
    focal = float(stadium.uniform(1.55, 1.8)) * float(random.uniform(0.82, 1.3))
    return Cameras(size, play, main, focal, _followed(random, play), drift, int(random.integers(0, 3)))


def _followed(random: Generator, play: Play) -> Pixels:
    """A person turns the camera: late at first, then too far, never at a stroke."""
    aim = play.ball[:, :2].copy()
    inward = 1.0 if play.is_left else -1.0
    end = 0.0 if play.is_left else LENGTH
    aim[:, 0] = np.where(np.abs(aim[:, 0] - end) < 12, end + inward * 10 + (aim[:, 0] - end) * 0.2, aim[:, 0])
    aim[:, 0] = np.clip(aim[:, 0], 9, LENGTH - 9)
    stiff, damp = float(random.uniform(5, 8)), float(random.uniform(3.6, 4.6))
    place, speed = aim[0].copy(), np.zeros(2)
    path = np.empty_like(aim)
    for row, wanted in enumerate(aim):
        speed += (stiff * (wanted - place) - damp * speed) / 25
        place = place + speed / 25
        path[row] = place
    return path
