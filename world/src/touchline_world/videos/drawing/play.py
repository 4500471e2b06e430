"""How an attack runs: who passes to whom from where, and how the ball gets into the net. Pure numbers, no pictures.

Metres and seconds; the attack goes towards x = LENGTH, time 0 is the moment at which the ball crosses the line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator, default_rng

from .paint import RATE, Pixels
from .pitch import LENGTH, MIDDLE, WIDTH

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


LEAD_S = 3.0  # before the first picture, so that everybody is on the move already
ATTACKERS, KEEPER, DEFENDERS, OTHER_KEEPER, REFEREE = slice(0, 10), 10, slice(11, 21), 21, 22
PEOPLE = 23
SLOTS = np.array(  # of the attackers: metres from the ball along, and place across
    [(-30, 12), (-33, 27), (-33, 41), (-29, 56), (-16, 34), (-9, 20), (-8, 49), (3, 10), (6, 34), (3, 58)], float
)
BLOCK = np.array(  # of the defenders: metres before their goal's side of the ball
    [(13, 13), (15, 27), (15, 41), (13, 55), (5, 16), (4, 29), (4, 41), (5, 54), (-10, 28), (-12, 42)], float
)


@dataclass(frozen=True)
class Play:
    times: Pixels  # of the rows below; the first picture is at 0
    people: Pixels  # (pictures, 23, 2)
    ball: Pixels  # (pictures, 3)
    phase: Pixels  # of everybody's stride, in strides
    velocity: Pixels
    attack: Attack
    goal_s: float | None
    shot_s: float
    is_left: bool  # the attack goes to the left end

    def row(self, at_s: float) -> int:
        return int(np.clip(round((at_s + LEAD_S) * RATE), 0, len(self.times) - 1))

    def state(self, at_s: float) -> tuple[Pixels, Pixels, Pixels, Pixels]:
        """People, ball, phases and velocities, also between two pictures."""
        place = float(np.clip((at_s + LEAD_S) * RATE, 0, len(self.times) - 1.001))
        row, share = int(place), place - int(place)

        def between(values: Pixels) -> Pixels:
            return values[row] * (1 - share) + values[row + 1] * share

        return between(self.people), between(self.ball), between(self.phase), between(self.velocity)


def run_play(seed: int, length_s: float, goal_s: float | None, ends_in_goal: bool = True) -> Play:
    random = default_rng([seed, 31])
    end_s = goal_s if goal_s is not None else length_s * float(random.uniform(0.55, 1.35))
    attack = any_attack(random, goal_s is not None and ends_in_goal, end_s + LEAD_S + 1)
    times = np.arange(round((length_s + 2 * LEAD_S) * RATE)) / RATE - LEAD_S
    ball = ball_path(attack, times - end_s)
    people = _people(random, attack, times - end_s, ball)
    if goal_s is not None:
        _celebrate(random, people, attack, times - end_s)
    people = _smoothed(people, 0.22)
    velocity = np.gradient(people, 1 / RATE, axis=0)
    speed = np.linalg.norm(velocity, axis=2)
    phase = np.cumsum(0.35 * np.sqrt(speed + 0.01) * (speed > 0.25) / RATE * 1.75, axis=0) + random.random(PEOPLE)
    play = Play(times, people, ball, phase, velocity, attack, goal_s, end_s + attack.touches[-1].until_s, False)
    return _turned(play) if random.random() < 0.5 else play


def _turned(play: Play) -> Play:
    """The same at the other end."""
    people, ball, velocity = play.people.copy(), play.ball.copy(), play.velocity.copy()
    people[..., 0], ball[:, 0] = LENGTH - people[..., 0], LENGTH - ball[:, 0]
    velocity[..., 0] *= -1
    return replace(play, people=people, ball=ball, velocity=velocity, is_left=True)


def _people(random: Generator, attack: Attack, times: Pixels, ball: Pixels) -> Pixels:
    slow = _smoothed(ball[:, None, :2], 1.3)[:, 0]
    people = np.zeros((len(times), PEOPLE, 2))
    wander = _wander(random, len(times), PEOPLE)
    people[:, ATTACKERS, 0] = np.clip(slow[:, :1] + SLOTS[:, 0], 18, LENGTH - 5)
    people[:, ATTACKERS, 1] = SLOTS[:, 1] * 0.75 + slow[:, 1:] * 0.25
    people[:, DEFENDERS, 0] = np.clip(slow[:, :1] + BLOCK[:, 0], 40, LENGTH - 6 - np.abs(BLOCK[:, 1] - MIDDLE) * 0.1)
    people[:, DEFENDERS, 1] = BLOCK[:, 1] * 0.6 + slow[:, 1:] * 0.4
    people += wander
    _press(people, ball)
    _take_part(people, attack, times)
    people[:, KEEPER] = np.stack([np.full(len(times), 12.0), slow[:, 1] * 0.2 + MIDDLE * 0.8], axis=1)
    people[:, OTHER_KEEPER] = _keeper(attack, times, slow)
    people[:, REFEREE] = np.stack([slow[:, 0] - 13, slow[:, 1] * 0.6 + 10], axis=1) + wander[:, REFEREE]
    return people


def _press(people: Pixels, ball: Pixels) -> None:
    """Whoever defends near the ball goes for it."""
    way = ball[:, None, :2] - people[:, DEFENDERS]
    far = np.linalg.norm(way, axis=2, keepdims=True)
    pull = 0.72 * np.exp(-((far / 9) ** 2))
    stay = np.minimum(1.0, 1.5 / np.maximum(far, 0.1))
    people[:, DEFENDERS] += way * np.maximum(0.0, pull - stay * 0.4)


def _take_part(people: Pixels, attack: Attack, times: Pixels) -> None:
    for touch in attack.touches:
        along = np.clip((times - touch.from_s) / max(0.04, touch.until_s - touch.from_s), 0, 1)
        key = np.array(touch.begin) + along[:, None] * (np.array(touch.end) - np.array(touch.begin))
        key[:, 0] -= 0.35
        rise = _smooth_step((times - touch.from_s + 2.6) / 2.6)
        weight = (rise * (1 - _smooth_step((times - touch.until_s - 0.25) / 2.4)))[:, None]
        people[:, touch.player] = people[:, touch.player] * (1 - weight) + key * weight


def _keeper(attack: Attack, times: Pixels, slow: Pixels) -> Pixels:
    out = np.clip((slow[:, 0] - 70) * 0.05, 0.4, 3.0)
    place = np.stack([LENGTH - out, MIDDLE + (slow[:, 1] - MIDDLE) * 0.12], axis=1)
    aim = np.clip(attack.target[1], MIDDLE - 3.4, MIDDLE + 3.4)
    reach = MIDDLE + (aim - MIDDLE) * 0.62
    share = _smooth_step((times + 0.42) / 0.5)
    place[:, 1] = place[:, 1] * (1 - share) + reach * share
    place[:, 0] = place[:, 0] * (1 - share) + (LENGTH - 1.0) * share
    return place


def _celebrate(random: Generator, people: Pixels, attack: Attack, times: Pixels) -> None:
    """The scorer runs to a corner, the others after; who conceded stays where they are."""
    scored = int(np.searchsorted(times, 0.0))
    near = random.random() < 0.75
    spot = np.array([LENGTH - float(random.uniform(3, 24)), float(random.uniform(2.5, 6)) if near else WIDTH - 4])
    after = np.maximum(0, times[scored:])[:, None]
    for player in [*range(21), REFEREE]:
        start = people[scored, player].copy()
        speed = people[scored, player] - people[max(0, scored - 1), player]
        rest = start + speed * RATE * 0.9 * (1 - np.exp(-after / 0.9))
        people[scored:, player] = np.clip(rest, [2, 1], [LENGTH - 1.2, WIDTH - 1])
    scorer = _towards(people[scored:, attack.shooter], spot, (after - 0.35) / 1.0, 7.2)
    people[scored:, attack.shooter] = scorer
    for number, player in enumerate(p for p in range(OUTFIELD) if p != attack.shooter):
        turn = 2 * np.pi * number / 9 + float(random.uniform(0, 0.5))
        ring = np.array([np.cos(turn), np.sin(turn)]) * float(random.uniform(1.0, 2.3))
        late = float(random.uniform(0.5, 1.3))
        people[scored:, player] = _towards(
            people[scored:, player], scorer[-1] + ring, after - late, float(random.uniform(5.2, 6.8))
        )


def _towards(path: Pixels, spot: Pixels, after: Pixels, speed: float) -> Pixels:
    """From where they are to the spot, not faster than that."""
    way = spot - path
    far = np.linalg.norm(way, axis=1, keepdims=True)
    share = _smooth_step(np.clip(after, 0, None) * speed / np.maximum(1.0, far) * 0.8)
    return path + way * share


def _wander(random: Generator, count: int, people: int) -> Pixels:
    pace, phase = random.uniform(0.25, 0.9, (people, 2)), random.uniform(0, 6.3, (people, 2))
    reach = random.uniform(0.8, 2.4, (people, 2))
    shift = random.normal(0, 2.2, (people, 2))
    return shift + reach * np.sin(pace * np.arange(count)[:, None, None] / RATE + phase)


def _smooth_step(share: Pixels) -> Pixels:
    share = np.clip(share, 0, 1)
    return share * share * (3 - 2 * share)


def _smoothed(paths: Pixels, sigma_s: float) -> Pixels:
    reach = round(3 * sigma_s * RATE)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / (sigma_s * RATE)) ** 2)
    weights /= weights.sum()
    padded = np.concatenate([paths[:1].repeat(reach, 0), paths, paths[-1:].repeat(reach, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, len(weights), axis=0)
    return windows @ weights
