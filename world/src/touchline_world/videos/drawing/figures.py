"""Shadows of people: all of a picture are drawn into one small layer, which darkens the picture at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import cos, pi, sin
from typing import TypeAlias

import cv2
import numpy as np

from .paint import Bgr, Pixels, is_light, lay_turned, letters, mixed

COARSE = 2  # the layer is so many times smaller
SHIFT = 4  # cv2 takes sixteenths of a pixel
DARKEST = 255


class Shadows:
    def __init__(self, size: tuple[int, int]) -> None:
        self._size = size
        self._layer = np.zeros((size[1] // COARSE, size[0] // COARSE), np.uint8)

    def add(self, foot: tuple[float, float], top: tuple[float, float], height: float, dark: float) -> None:
        """Of somebody whose head's shadow is at `top`."""
        colour = round(dark * DARKEST)
        ends = np.array([foot, top]) / COARSE
        if np.abs(ends).max() > 8 * max(self._size):
            return
        start, end = (tuple(round(float(value) * (1 << SHIFT)) for value in point) for point in ends)
        thick = max(1, round(height * 0.17 / COARSE))
        cv2.line(self._layer, (start[0], start[1]), (end[0], end[1]), colour, thick, cv2.LINE_AA, SHIFT)
        below = (start[0], start[1])
        wide = (round(height * 0.15 * (1 << SHIFT) / COARSE), round(height * 0.035 * (1 << SHIFT) / COARSE))
        cv2.ellipse(self._layer, below, wide, 0, 0, 360, colour, -1, cv2.LINE_AA, SHIFT)

    def fall_on(self, picture: Pixels) -> None:
        rows = np.flatnonzero(self._layer.any(axis=1))
        if not len(rows):
            return
        first, last = max(0, int(rows[0]) - 2), min(self._layer.shape[0], int(rows[-1]) + 3)
        soft = cv2.blur(self._layer[first:last], (3, 3))
        part = picture[first * COARSE : last * COARSE]
        light = cv2.resize(cv2.bitwise_not(soft), (part.shape[1], part.shape[0]), interpolation=cv2.INTER_LINEAR)
        cv2.multiply(part, cv2.cvtColor(light, cv2.COLOR_GRAY2BGR), dst=part, scale=1 / 255)


Joint: TypeAlias = tuple[float, float]

LEVELS = (64, 128, 256, 400)  # heights at which figures are drawn
FINE = 256  # from this height on one sees faces and numbers
WIDE, TALL, FOOT = 1.1, 1.45, 1.32
STEPS = 10  # of a stride
SKINS: tuple[Bgr, ...] = ((150, 182, 226), (118, 152, 204), (78, 108, 156), (50, 70, 104))
HAIRS: tuple[Bgr, ...] = ((28, 30, 36), (38, 58, 84), (92, 142, 176), (20, 20, 22))


@dataclass(frozen=True, slots=True)
class Kit:
    shirt: Bgr
    shorts: Bgr
    socks: Bgr
    number: int = 0


@dataclass(frozen=True, slots=True)
class Posture:
    """`step`: of the stride; `is_ahead`: seen from before or behind, not from the side."""

    step: int = 0
    stride: float = 0.0  # 0 stands, 1 runs
    is_ahead: bool = False
    is_away: bool = False  # seen from behind
    arms_up: bool = False
    kicks: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    kit: Kit
    skin: int
    posture: Posture
    faces_left: bool = False
    turn: float = 0.0  # radians, of somebody who falls


def lay_figure(picture: Pixels, figure: Figure, foot: tuple[float, float], height: float) -> None:
    level = _level(height)
    lay_turned(picture, _cut_out(figure, level), _matrix(figure, foot, height / level, level))


def _level(height: float) -> int:
    return next((level for level in LEVELS if level >= height * 0.9), LEVELS[-1])


def _matrix(figure: Figure, foot: tuple[float, float], scale: float, level: int) -> Pixels:
    flip = -1.0 if figure.faces_left else 1.0
    turned = np.array([[cos(figure.turn), -sin(figure.turn)], [sin(figure.turn), cos(figure.turn)]])
    matrix = np.zeros((2, 3))
    matrix[:, :2] = turned @ np.array([[flip * scale, 0], [0, scale]])
    matrix[:, 2] = np.array(foot) - matrix[:, :2] @ np.array([WIDE * level / 2, FOOT * level])
    return matrix


def _cut_out(figure: Figure, level: int) -> Pixels:
    """Small ones are shared: nobody sees who it is."""
    if level >= FINE:
        return _large_sprite(figure.kit, figure.skin, figure.posture, level)
    step, posture = 2 if level == LEVELS[0] else 1, figure.posture
    alike = replace(posture, step=posture.step // step * step, stride=round(posture.stride * 2) / 2, is_away=False)
    return _small_sprite(replace(figure.kit, number=0), figure.skin % 4, alike, level)


@lru_cache(maxsize=1000)
def _small_sprite(kit: Kit, skin: int, posture: Posture, level: int) -> Pixels:
    return _sprite(kit, skin, posture, level)


@lru_cache(maxsize=80)  # a megabyte each
def _large_sprite(kit: Kit, skin: int, posture: Posture, level: int) -> Pixels:
    return _sprite(kit, skin, posture, level)


def _sprite(kit: Kit, skin: int, posture: Posture, level: int) -> Pixels:
    finer = 2 if level >= FINE else 3
    size = round(WIDE * level), round(TALL * level)
    pencil = _Pencil(level * finer, (size[0] * finer, size[1] * finer))
    (_draw_ahead if posture.is_ahead else _draw_aside)(pencil, kit, skin, posture)
    if level >= FINE and posture.is_ahead:
        pencil.number(kit) if posture.is_away else pencil.face()
    return cv2.resize(pencil.picture, size, interpolation=cv2.INTER_AREA)


class _Pencil:
    """Draws limbs: round lines, lit from above."""

    def __init__(self, unit: int, size: tuple[int, int]) -> None:
        self.unit = unit
        self.picture = np.zeros((size[1], size[0], 4), np.uint8)

    def at(self, joint: Joint) -> tuple[int, int]:
        return round((WIDE / 2 + joint[0]) * self.unit), round((FOOT - joint[1]) * self.unit)

    def limb(self, joints: list[Joint], thick: float, colour: Bgr) -> None:
        spots = [np.array([self.at(joint) for joint in joints], np.int32)]
        wide = max(2, round(thick * self.unit))
        cv2.polylines(self.picture, spots, False, (*mixed(colour, (0, 0, 0), 0.3), 255), wide)
        lit = [spots[0] - np.array([round(wide * 0.1), round(wide * 0.12)])]
        cv2.polylines(self.picture, lit, False, (*colour, 255), max(1, round(wide * 0.68)))
        if self.unit < FINE * 2:
            return
        glow = [spots[0] - np.array([round(wide * 0.2), round(wide * 0.16)])]
        cv2.polylines(
            self.picture, glow, False, (*mixed(colour, (255, 255, 255), 0.14), 255), max(1, round(wide * 0.22))
        )

    def shape(self, joints: list[Joint], colour: Bgr) -> None:
        spots = [np.array([self.at(joint) for joint in joints], np.int32)]
        cv2.fillPoly(self.picture, spots, (*colour, 255))

    def ball(self, centre: Joint, radius: float, colour: Bgr) -> None:
        cv2.circle(self.picture, self.at(centre), max(1, round(radius * self.unit)), (*colour, 255), -1)

    def face(self) -> None:
        for x in (-0.022, 0.022):
            self.ball((x, 0.918), 0.0075, (28, 26, 26))
        self.limb([(-0.014, 0.882), (0.014, 0.882)], 0.012, (70, 60, 130))

    def number(self, kit: Kit) -> None:
        if not kit.number:
            return
        ink: Bgr = (24, 24, 24) if is_light(kit.shirt) else (240, 240, 240)
        word = letters(str(kit.number), max(8, round(self.unit * 0.13)), ink, max(1, self.unit // 260))
        x, y = self.at((0, 0.76))
        x -= word.shape[1] // 2
        part = self.picture[y : y + word.shape[0], x : x + word.shape[1]]
        share = word[..., 3:].astype(np.float32) / 255
        part[..., :3] = (part[..., :3] * (1 - share) + word[..., :3]).clip(0, 255).astype(np.uint8)


def _draw_aside(pencil: _Pencil, kit: Kit, skin: int, posture: Posture) -> None:
    angle, stride = 2 * pi * posture.step / STEPS, posture.stride
    hip, lean = (0.0, 0.5), 0.03 + 0.09 * stride
    neck = (hip[0] + lean, 0.83)
    legs = [_leg(hip, angle + pi * number, stride) for number in range(2)]
    if posture.kicks:
        legs = [[hip, (0.14, 0.3), (0.36, 0.16)], [hip, (0.03, 0.25), (-0.06, 0.02)]]
    lift = min(joint[1] for leg in legs for joint in leg) - 0.03
    legs = [[(x, y - lift) for x, y in leg] for leg in legs]
    hip, neck = (hip[0], hip[1] - lift), (neck[0], neck[1] - lift)
    arms = [_arm(neck, angle + pi * (number + 1), posture) for number in range(2)]
    pale, dark = SKINS[skin % 4], mixed(SKINS[skin % 4], (0, 0, 0), 0.3)
    _draw_arm(pencil, arms[1], mixed(kit.shirt, (0, 0, 0), 0.3), dark)
    _draw_leg(pencil, legs[1], kit, dark, far=True)
    _draw_leg(pencil, legs[0], kit, pale, far=False)
    pencil.limb([(hip[0], hip[1] + 0.03), (hip[0], hip[1])], 0.15, kit.shorts)
    pencil.limb([(hip[0], hip[1] + 0.07), (neck[0] - 0.01, neck[1] - 0.06)], 0.165, kit.shirt)
    _draw_head(pencil, (neck[0] + 0.025, neck[1] + 0.085), skin, forward=0.02)
    _draw_arm(pencil, arms[0], kit.shirt, pale)


def _leg(hip: Joint, angle: float, stride: float) -> list[Joint]:
    thigh = (0.1 + 0.62 * stride) * sin(angle)
    bend = 0.06 + stride * (0.2 + 1.15 * max(0.0, cos(angle)))
    knee = (hip[0] + 0.25 * sin(thigh), hip[1] - 0.25 * cos(thigh))
    return [hip, knee, (knee[0] + 0.25 * sin(thigh - bend), knee[1] - 0.25 * cos(thigh - bend))]


def _arm(neck: Joint, angle: float, posture: Posture) -> list[Joint]:
    shoulder = (neck[0] - 0.005, neck[1] - 0.045)
    if posture.arms_up:
        reach = 2.7 + 0.25 * sin(angle)
        elbow = (shoulder[0] + 0.16 * sin(reach), shoulder[1] - 0.16 * cos(reach))
        return [shoulder, elbow, (elbow[0] + 0.15 * sin(reach + 0.3), elbow[1] - 0.15 * cos(reach + 0.3))]
    swing = (0.12 + 0.6 * posture.stride) * sin(angle)
    bend = 0.25 + 1.2 * posture.stride
    elbow = (shoulder[0] + 0.155 * sin(swing), shoulder[1] - 0.155 * cos(swing))
    return [shoulder, elbow, (elbow[0] + 0.15 * sin(swing + bend), elbow[1] - 0.15 * cos(swing + bend))]


def _draw_ahead(pencil: _Pencil, kit: Kit, skin: int, posture: Posture) -> None:
    """From before or behind: knees rise in turn, shoulders are broad."""
    angle, stride = 2 * pi * posture.step / STEPS, posture.stride
    pale = SKINS[skin % 4]
    bob = 0.012 * stride * abs(sin(angle))
    for side in (-1, 1):
        raised = stride * max(0.0, sin(angle) * side)
        hip, knee = (0.055 * side, 0.5 + bob), (0.075 * side, 0.27 + 0.09 * raised)
        foot = ((0.07 - 0.03 * raised) * side, 0.03 + 0.2 * raised)
        _draw_leg(pencil, [hip, knee, foot], kit, pale, far=raised > 0.4)
    pencil.limb([(-0.045, 0.52 + bob), (0.045, 0.52 + bob)], 0.13, kit.shorts)
    pencil.shape([(-0.115, 0.8 + bob), (0.115, 0.8 + bob), (0.088, 0.54 + bob), (-0.088, 0.54 + bob)], kit.shirt)
    for x in (-0.06, 0.0, 0.06):
        pencil.limb([(x * 1.05, 0.785 + bob), (x, 0.58 + bob)], 0.085, kit.shirt)
    for side in (-1, 1):
        _draw_arm(pencil, _arm_ahead(side, sin(angle) * side * stride, posture), kit.shirt, pale)
    _draw_head(pencil, (0.0, 0.915 + bob), skin, forward=0.0, from_behind=posture.is_away)


def _arm_ahead(side: int, swing: float, posture: Posture) -> list[Joint]:
    shoulder = (0.115 * side, 0.785)
    if posture.arms_up:
        return [shoulder, (0.19 * side, 0.91), ((0.2 + 0.04 * swing) * side, 1.08)]
    return [
        shoulder,
        ((0.165 + 0.02 * posture.stride) * side, 0.655),
        (0.15 * side, 0.55 + 0.1 * swing + 0.08 * posture.stride),
    ]


def _draw_arm(pencil: _Pencil, arm: list[Joint], sleeve: Bgr, skin: Bgr) -> None:
    shoulder, elbow, hand = arm
    pencil.limb([shoulder, elbow, hand], 0.05, skin)
    middle = (shoulder[0] * 0.3 + elbow[0] * 0.7, shoulder[1] * 0.3 + elbow[1] * 0.7)
    pencil.limb([shoulder, middle], 0.072, sleeve)
    pencil.ball(hand, 0.028, skin)


def _draw_leg(pencil: _Pencil, leg: list[Joint], kit: Kit, skin: Bgr, *, far: bool) -> None:
    hip, knee, foot = leg
    dim = 0.28 if far else 0.0
    middle = (hip[0] * 0.35 + knee[0] * 0.65, hip[1] * 0.35 + knee[1] * 0.65)
    calf = (knee[0] * 0.7 + foot[0] * 0.3, knee[1] * 0.7 + foot[1] * 0.3)
    pencil.limb([hip, knee, foot], 0.072, skin)
    pencil.limb([calf, foot], 0.066, mixed(kit.socks, (0, 0, 0), dim))
    pencil.limb([hip, middle], 0.115, mixed(kit.shorts, (0, 0, 0), dim))
    pencil.limb([(foot[0] - 0.012, foot[1] - 0.01), (foot[0] + 0.05, foot[1] - 0.014)], 0.04, (36, 34, 40))


def _draw_head(pencil: _Pencil, centre: Joint, skin: int, *, forward: float, from_behind: bool = False) -> None:
    face = SKINS[skin % 4]
    pencil.limb([(centre[0] - forward, centre[1] - 0.1), centre], 0.06, mixed(face, (0, 0, 0), 0.15))
    pencil.ball(centre, 0.066, mixed(face, (0, 0, 0), 0.12))
    pencil.ball((centre[0] + forward * 0.5, centre[1] - 0.004), 0.056, face)
    hair = HAIRS[(skin * 3 + skin // 4) % len(HAIRS)]
    pencil.limb([(centre[0] - 0.035, centre[1] + 0.035), (centre[0] + 0.03, centre[1] + 0.04)], 0.055, hair)
    if from_behind:
        pencil.ball((centre[0], centre[1] + 0.008), 0.06, hair)
    if forward:
        pencil.limb([(centre[0] - 0.05, centre[1] + 0.01), (centre[0] - 0.04, centre[1] + 0.03)], 0.04, hair)
