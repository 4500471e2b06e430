"""Where the cameras of a match stand and how they follow the game: the main one, one for the cheering, replays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.random import Generator, default_rng

from touchline_world.videos.model import Look, Take, TakeKind

from .arena import Arena, build_arena, lay_arena, lay_boards
from .camera import Camera
from .figures import STEPS, Figure, Kit, Posture, Shadows, lay_figure
from .graphics import is_broadcast, lay_bug, lay_caption, lay_marks, lay_replay_sign, lay_wipe
from .paint import Bgr, DrawnPicture, Pixels, Text, bgr, darken, times_of
from .pitch import GROUND, LENGTH, MIDDLE, NetHit, PitchLight, lay_goal, lit_plan, pitch_of
from .play import KEEPER, OTHER_KEEPER, PEOPLE, Play, run_play

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


TALL_M, BALL_M = 1.84, 0.17
CHEER_AFTER_S, LEAST_SHOT_S, WIPE_S, SLOW = 1.7, 1.6, 0.6, 0.45


@dataclass(frozen=True, slots=True)
class Cuts:
    """When the shots begin; after the end if there is none."""

    cheer_s: float
    replay_s: float


def cuts_of(take: Take) -> Cuts:
    end = take.length_ms / 1000
    if take.goal_ms is None or not is_broadcast(take):
        return Cuts(end, end)
    cheer = take.goal_ms / 1000 + CHEER_AFTER_S
    rest = end - cheer
    if rest < LEAST_SHOT_S:
        return Cuts(end, end)
    if not take.has_replay or rest < 2 * LEAST_SHOT_S:
        return Cuts(cheer, end)
    return Cuts(cheer, cheer + rest * 0.42)


def draw_football(take: Take, size: tuple[int, int]) -> Iterator[DrawnPicture]:
    scene = Broadcast(take, size)
    for at_ms in times_of(take.length_ms):
        picture, texts = scene.picture(at_ms)
        yield DrawnPicture(at_ms, picture, tuple(texts))


class Broadcast:
    """A take of a match, any picture of it. What is the same in all pictures is drawn once."""

    def __init__(self, take: Take, size: tuple[int, int]) -> None:
        if take.look is None:
            raise ValueError("a football take needs a look")
        look = take.look
        self._take, self._look, self._size = take, look, size
        self._ground = pitch_of(look.seed)
        self._plan = lit_plan(look.seed, take.seed, max(8, round(size[1] * 0.028)))
        self._far_plan = cv2.resize(self._plan, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        self._arena: Arena = build_arena(
            (look.seed, take.seed), self._ground.light, (bgr(look.home.shirt), bgr(look.away.shirt)), size[1] * 0.018
        )
        goal_s = None if take.goal_ms is None else take.goal_ms / 1000
        self._play = run_play(take.seed, take.length_ms / 1000, goal_s, take.kind is TakeKind.GOAL)
        self._cameras: Cameras = place_cameras(self._play, size, look.seed, take.seed)
        self._cuts = cuts_of(take)
        self._kits, self._skins = kits_of(take, look), default_rng([look.seed, 61]).integers(0, 16, PEOPLE)
        self._words_s = float(default_rng([take.seed, 62]).uniform(0, 60))

    def picture(self, at_ms: int) -> tuple[Pixels, list[Text]]:
        at_s, cuts = at_ms / 1000, self._cuts
        if at_s < cuts.cheer_s:
            picture = self._seen(self._cameras.wide(at_s), at_s)
        elif at_s < cuts.replay_s:
            picture = self._cheering(at_s)
        else:
            picture = self._again(at_s)
        texts = self._signs(picture, at_ms)
        share = (at_s - cuts.replay_s) / WIPE_S + 0.5
        if 0 < share < 1 and cuts.replay_s < self._take.length_ms / 1000:
            lay_wipe(picture, self._look, share)
            texts = []
        return picture, texts

    def _signs(self, picture: Pixels, at_ms: int) -> list[Text]:
        texts = lay_marks(picture, self._take)
        if at_ms / 1000 >= self._cuts.replay_s:
            return texts + lay_replay_sign(picture, self._look)
        return texts + lay_bug(picture, self._take, at_ms) + lay_caption(picture, self._take, at_ms)

    def _cheering(self, at_s: float) -> Pixels:
        camera = self._cameras.close(at_s, self._play.attack.shooter)
        return self._seen(camera, at_s, soft=5)

    def _again(self, at_s: float) -> Pixels:
        begin = (self._play.goal_s or 0.0) - 2.0
        shown_s = begin + (at_s - self._cuts.replay_s) * SLOW
        return self._seen(self._cameras.again(shown_s), shown_s)

    def _seen(self, camera: Camera, at_s: float, soft: int = 0) -> Pixels:
        """The whole stadium. `soft`: what is behind the people is out of focus, and drawn so much smaller."""
        width, height = self._size
        lens = camera.scaled(1 / soft) if soft else camera
        picture = np.empty((lens.size[1], lens.size[0], 3), np.uint8)
        joy = 0.0 if self._play.goal_s is None else max(0.0, at_s - self._play.goal_s)
        lay_arena(self._arena, picture, lens, at_s, joy)
        lens.lay(picture, self._plan if camera.place[2] > 10 else self._far_plan, GROUND)
        lay_boards(self._arena, picture, lens, at_s + self._words_s)
        if soft:
            picture = cv2.GaussianBlur(picture, (0, 0), 0.8)
            picture = cv2.resize(picture, (width, height), interpolation=cv2.INTER_CUBIC)
        self._lay_game(picture, camera, at_s)
        return picture

    def _lay_game(self, picture: Pixels, camera: Camera, at_s: float) -> None:
        people, ball, phase, velocity = self._play.state(at_s)
        hit = self._hit(at_s, ball)
        behind = camera.place[0] > LENGTH if not self._play.is_left else camera.place[0] < 0
        if not behind:
            lay_goal(picture, camera, self._play.is_left, hit)
        feet = np.concatenate([people, np.zeros((PEOPLE, 1))], axis=1)
        spots, depth = camera.pixels(feet)
        tall = TALL_M * camera.focal * camera.size[0] / np.maximum(depth, 0.1)
        seen = [
            int(number)
            for number in np.argsort(-depth)
            if depth[number] > 2 and -tall[number] < spots[number][0] < camera.size[0] + tall[number]
        ]
        figures = {number: self._figure(number, camera, (phase[number], velocity[number]), at_s) for number in seen}
        shadows = Shadows(self._size)
        for number in seen:
            self._add_shadow(shadows, camera, feet[number], (spots[number], float(tall[number])))
        shadows.fall_on(picture)
        ball_depth = float(camera.pixels(ball[None])[1][0])
        laid = False
        for number in seen:
            if not laid and depth[number] < ball_depth:
                lay_ball(picture, camera, ball)
                laid = True
            x, y = float(spots[number][0]), float(spots[number][1]) - self._raised(number, at_s) * float(tall[number])
            lay_figure(picture, figures[number], (x, y), float(tall[number]))
        if not laid:
            lay_ball(picture, camera, ball)
        if behind:
            lay_goal(picture, camera, self._play.is_left, hit)

    def _hit(self, at_s: float, ball: Pixels) -> NetHit | None:
        goal_s = self._play.goal_s
        if goal_s is None or not self._play.attack.scores or at_s < goal_s + 0.06:
            return None
        return NetHit(
            self._play.is_left, self._play.attack.target[1], self._play.attack.target[2], at_s - goal_s - 0.06
        )

    def _dive(self, at_s: float) -> float:
        """How far the keeper is in the dive: up to 1 on the ground, and back."""
        end = self._play.shot_s - self._play.attack.touches[-1].until_s
        since = at_s - end
        down = float(np.clip((since + 0.4) / 0.5, 0, 1))
        return down * (1 - float(np.clip((since - 1.6) / 0.8, 0, 1)))

    def _raised(self, number: int, at_s: float) -> float:
        """Of their height, above the ground."""
        if number != OTHER_KEEPER:
            return 0.0
        dive = self._dive(at_s)
        return 0.22 * dive + 0.5 * dive * (1 - dive)

    def _figure(self, number: int, camera: Camera, motion: tuple[float, Pixels], at_s: float) -> Figure:
        phase, velocity = motion
        ahead = np.array(camera.aim[:2]) - np.array(camera.place[:2])
        ahead = ahead / np.linalg.norm(ahead)
        sideways = float(velocity[0] * ahead[1] - velocity[1] * ahead[0])
        speed = float(np.linalg.norm(velocity))
        is_ahead = abs(sideways) < 0.55 * speed or speed < 0.4
        scored = self._play.goal_s is not None and at_s > self._play.goal_s + 0.4 and self._play.attack.scores
        cheers = scored and number < KEEPER and (number + int(at_s * 1.5)) % 4 != 0
        shoots = number == self._play.attack.shooter and abs(at_s - self._play.shot_s) < 0.14
        stride = round(min(1.0, speed / 5.5) * 4) / 4
        step = int(phase * STEPS) % STEPS if stride else 0
        away = float(velocity @ ahead) > 0.0
        posture = Posture(step, stride, is_ahead and not shoots, away, cheers, shoots)
        turn, faces_left = 0.0, sideways < 0 and not posture.is_ahead
        if number == OTHER_KEEPER and (dive := self._dive(at_s)) > 0:
            across = (self._play.attack.target[1] - MIDDLE) * float(ahead[0])
            turn = 1.45 * dive * (-1 if across > 0 else 1)
            posture, faces_left = Posture(is_ahead=True, arms_up=dive > 0.15), False
        return Figure(self._kits[number], int(self._skins[number]), posture, faces_left, turn)

    def _add_shadow(self, shadows: Shadows, camera: Camera, foot: Pixels, seen: tuple[Pixels, float]) -> None:
        spot, tall = seen
        sun = self._ground.sun
        falls = [(sun[0], sun[1], 0.4)]
        if self._ground.light is PitchLight.FLOODLIGHT:
            falls = [(sun[0], sun[1], 0.22), (-sun[0], sun[1] * 0.8, 0.22)]
        tops = np.array([[foot[0] + along * TALL_M, foot[1] + across * TALL_M, 0.0] for along, across, _ in falls])
        ends, _ = camera.pixels(tops)
        for (x, y), (_, _, dark) in zip(ends, falls, strict=True):
            shadows.add((float(spot[0]), float(spot[1])), (float(x), float(y)), tall, dark)


def kits_of(take: Take, look: Look) -> list[Kit]:
    """Of everybody in a play: attackers first."""
    sides = (look.home, look.away) if take.by_home else (look.away, look.home)
    first, second = (Kit(bgr(side.shirt), bgr(side.shorts), bgr(side.shirt)) for side in sides)
    keepers: tuple[Bgr, Bgr] = ((60, 190, 235), (170, 90, 200))
    black: Bgr = (30, 30, 32)
    kits = [Kit(first.shirt, first.shorts, first.socks, number + 2) for number in range(10)]
    kits.append(Kit(keepers[0], keepers[0], keepers[0], 1))
    kits += [Kit(second.shirt, second.shorts, second.socks, number + 2) for number in range(10)]
    kits += [Kit(keepers[1], keepers[1], keepers[1], 1), Kit((48, 220, 226), black, black)]
    return kits


def lay_ball(picture: Pixels, camera: Camera, ball: Pixels) -> None:
    places = np.array([ball, [ball[0], ball[1], 0.0]])
    spots, depth = camera.pixels(places)
    if depth[0] < 1:
        return
    radius = max(1.7 * camera.size[1] / 540, BALL_M * camera.focal * camera.size[0] / float(depth[0]))
    cover = np.zeros((9, 9), np.uint8)
    cv2.circle(cover, (4, 4), 3, 255, -1, cv2.LINE_AA)
    wide = radius / 3
    matrix = np.array([[wide, 0, spots[1][0] - 4.5 * wide], [0, wide * 0.4, spots[1][1] - 4.5 * wide * 0.4]])
    darken(picture, cover, matrix, 0.4)
    at = (round(float(spots[0][0]) * 16), round(float(spots[0][1]) * 16))
    cv2.circle(picture, at, round(radius * 16), (150, 156, 156), -1, cv2.LINE_AA, 4)
    lit = (at[0] - round(radius * 2.4), at[1] - round(radius * 3.2))
    cv2.circle(picture, lit, round(radius * 12.5), (252, 252, 252), -1, cv2.LINE_AA, 4)
