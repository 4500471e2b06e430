"""How an attack runs: who passes to whom from where, and how the ball gets into the net. Pure numbers, no pictures.

Metres and seconds; the attack goes towards x = LENGTH, time 0 is the moment at which the ball crosses the line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from .ground import LENGTH, MIDDLE, WIDTH
from .paint import Pixels

OUTFIELD = 10


@dataclass(frozen=True, slots=True)
class Touch:
    """One player has the ball for a while; then it flies on, `height` metres high in the middle."""

    player: int
    from_s: float
    begin: tuple[float, float]
    until_s: float
    end: tuple[float, float]
    height: float = 0.0


@dataclass(frozen=True, slots=True)
class Attack:
    touches: tuple[Touch, ...]  # by time; the last one is the shot
    target: tuple[float, float, float]  # where it crosses the line, or passes by
    scores: bool

    @property
    def shooter(self) -> int:
        return self.touches[-1].player


@dataclass(frozen=True, slots=True)
class _Finish:
    """The shot and the pass before it."""

    shot: tuple[float, float]
    shot_s: float
    run: tuple[float, float]  # with the ball, before the shot
    run_s: float
    source: tuple[float, float]
    pass_s: float
    pass_height: float
    shot_height: float = 0.0


def any_attack(random: Generator, scores: bool, back_s: float) -> Attack:
    """With passes for so many seconds before the ball is in."""
    finish = FINISHES[int(random.integers(0, len(FINISHES)))](random)
    target = _aimed(random, finish, scores)
    players = [int(number) for number in random.permutation(np.arange(3, OUTFIELD))]
    shot_at = -finish.shot_s
    scorer = Touch(
        players.pop(),
        shot_at - finish.run_s,
        finish.run,
        shot_at,
        finish.shot,
        max(finish.shot_height, target[2] * 0.4),
    )
    touches = [scorer]
    place, height, flight = finish.source, finish.pass_height, finish.pass_s
    while touches[0].from_s > -back_s:
        before = players.pop() if players else int(random.integers(0, 5))
        if before == touches[0].player:
            before = (before + 1) % OUTFIELD
        released = touches[0].from_s - flight
        hold = float(random.uniform(0.7, 1.7))
        drift = float(random.uniform(1.5, 4.5)) * hold, float(random.normal(0, 1.6)) * hold
        taken = place[0] - drift[0], float(np.clip(place[1] - drift[1], 4, WIDTH - 4))
        touches.insert(0, Touch(before, released - hold, taken, released, place, height))
        place = _earlier(random, taken)
        far = float(np.hypot(place[0] - taken[0], place[1] - taken[1]))
        flight, height = far / float(random.uniform(13, 18)) + 0.12, (2.6 if far > 24 else 0.0)
    return Attack(tuple(touches), target, scores)


def _earlier(random: Generator, taken: tuple[float, float]) -> tuple[float, float]:
    """Where the pass came from."""
    x = taken[0] - float(random.uniform(-3, 15))
    y = taken[1] + float(random.choice([-1, 1])) * float(random.uniform(6, 20))
    return float(np.clip(x, 34, LENGTH - 12)), float(np.clip(y, 5, WIDTH - 5))


def _aimed(random: Generator, finish: _Finish, scores: bool) -> tuple[float, float, float]:
    if not scores:
        side = float(random.choice([-1, 1]))
        return (LENGTH, MIDDLE + side * float(random.uniform(4.6, 8)), float(random.uniform(0.3, 3.4)))
    side = -1.0 if finish.shot[1] > MIDDLE else 1.0
    if random.random() < 0.3:
        side = -side
    return (LENGTH, MIDDLE + side * float(random.uniform(1.6, 3.2)), float(random.choice([0.15, 0.5, 1.3, 1.95])))


def _through(random: Generator) -> _Finish:
    y = MIDDLE + float(random.uniform(-9, 9))
    shot = (LENGTH - float(random.uniform(8, 14)), y)
    run = (shot[0] - float(random.uniform(7, 12)), y + float(random.uniform(-3, 3)))
    source = (run[0] - float(random.uniform(12, 20)), float(np.clip(y + random.uniform(-14, 14), 6, 62)))
    return _Finish(shot, 0.5, run, 1.6, source, float(random.uniform(1.0, 1.4)), 0.0)


def _cross(random: Generator) -> _Finish:
    side = float(random.choice([5, WIDTH - 5]))
    shot = (LENGTH - float(random.uniform(5, 9)), MIDDLE + float(random.uniform(-5, 5)))
    source = (LENGTH - float(random.uniform(5, 18)), side + float(random.uniform(-2, 2)))
    return _Finish(shot, 0.42, (shot[0] - 0.6, shot[1]), 0.08, source, float(random.uniform(1.3, 1.7)), 4.2)


def _from_far(random: Generator) -> _Finish:
    y = MIDDLE + float(random.uniform(-15, 15))
    shot = (LENGTH - float(random.uniform(21, 30)), y)
    run = (shot[0] - float(random.uniform(1, 5)), y + float(random.uniform(-4, 4)))
    source = (
        run[0] + float(random.uniform(-10, 8)),
        float(np.clip(y + random.choice([-1, 1]) * random.uniform(9, 17), 5, 63)),
    )
    return _Finish(shot, float(random.uniform(0.85, 1.1)), run, 0.9, source, 0.9, 0.0, 1.4)


def _cut_back(random: Generator) -> _Finish:
    side = float(random.choice([-1, 1]))
    shot = (LENGTH - float(random.uniform(9, 15)), MIDDLE - side * float(random.uniform(0, 6)))
    source = (LENGTH - float(random.uniform(2, 5)), MIDDLE + side * float(random.uniform(11, 19)))
    return _Finish(shot, 0.5, (shot[0] - 0.8, shot[1] - side), 0.15, source, 1.0, 0.0)


def _corner(random: Generator) -> _Finish:
    side = float(random.choice([0.4, WIDTH - 0.4]))
    shot = (LENGTH - float(random.uniform(4, 8)), MIDDLE + float(random.uniform(-4, 4)))
    return _Finish(shot, 0.4, (shot[0] - 0.5, shot[1]), 0.06, (LENGTH - 0.4, side), 1.75, 5.0)


FINISHES: tuple[Callable[[Generator], _Finish], ...] = (_through, _cross, _from_far, _cut_back, _corner)


def ball_path(attack: Attack, times: Pixels) -> Pixels:
    """Where the ball is at each time: (n, 3)."""
    stops: list[tuple[float, float, float, float]] = []
    flights: list[tuple[float, float, float]] = []
    for number, touch in enumerate(attack.touches):
        stops += [(touch.from_s, *touch.begin, 0.11), (touch.until_s, *touch.end, 0.11)]
        arrives = attack.touches[number + 1].from_s if number + 1 < len(attack.touches) else 0.0
        flights.append((touch.until_s, arrives, touch.height))
    stops.append((0.0, *attack.target))
    stops += _afterwards(attack)
    path = np.array(stops)
    place = np.stack([np.interp(times, path[:, 0], path[:, column]) for column in (1, 2, 3)], axis=1)
    for begin, end, height in flights:
        share = np.clip((times - begin) / max(0.05, end - begin), 0, 1)
        place[:, 2] += 4 * height * share * (1 - share)
    return place


def _afterwards(attack: Attack) -> list[tuple[float, float, float, float]]:
    _, y, z = attack.target
    if attack.scores:
        deep = LENGTH + 1.75 - 0.25 * z
        return [
            (0.09, deep, y, max(0.2, z - 0.1)),
            (0.4, deep - 0.2, y, 0.11),
            (1.4, LENGTH + 0.9, y * 0.9 + MIDDLE * 0.1, 0.11),
        ]
    return [(0.4, LENGTH + 8, y + (y - MIDDLE) * 0.3, z * 0.6 + 0.11), (1.2, LENGTH + 9, y + (y - MIDDLE) * 0.4, 0.11)]
