"""What a broadcaster lays over its pictures: the score with its clock, and captions. Each says what it says.

Invariant: the strings are exactly those that a reader should find, one for each block of letters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.random import Generator

from .canvas import BLACK, WHITE, Colour, Pixels, Point, any_colour, text_size, write

CODES = ("ARS", "CHE", "MUN", "LIV", "BAR", "RMA", "JUV", "BVB", "AJX", "POR", "CEL", "MIL", "NED", "BRA", "FRA", "GER")
NAMES = ("Marta Silva", "Henrik Dahl", "Youssef Amrani", "Tom Baker", "Luca Ferrari", "Kofi Mensah", "Jan Novak")
LINES = ("Substitution", "Yellow card", "Goal 1-0", "Second half", "Head coach", "Attendance 48,210", "Corner kick")


@dataclass(frozen=True, slots=True)
class Bug:
    """A score bug: home, score, away and clock, in boxes of two colours."""

    where: Point
    size: int
    home: str
    away: str
    score: str
    clock: str
    plate: Colour
    ink: Colour
    clock_plate: Colour
    clock_ink: Colour
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Caption:
    where: Point
    size: int
    title: str
    line: str
    plate: Colour
    ink: Colour
    opacity: float = 1.0


def any_bug(random: Generator, size: Point) -> Bug:
    letters = max(9, int(size[1] * random.uniform(0.03, 0.05)))
    home, away = random.choice(CODES, 2, replace=False)
    dark = tuple(int(value) for value in random.integers(0, 70, 3))
    flip = random.random() < 0.3
    where = int(size[0] * random.uniform(0.03, 0.08)), int(size[1] * random.uniform(0.04, 0.09))
    if random.random() < 0.2:
        where = int(size[0] * 0.55), where[1]
    plate: Colour = WHITE if flip else (dark[0], dark[1], dark[2])
    bug = Bug(
        where,
        letters,
        str(home),
        str(away),
        f"{random.integers(0, 5)}-{random.integers(0, 5)}",
        "",
        plate,
        WHITE,
        WHITE,
        BLACK,
    )
    bug = replace(bug, clock=f"{random.integers(0, 95):02d}:{random.integers(0, 60):02d}", ink=BLACK if flip else WHITE)
    if random.random() < 0.4:
        bug = replace(bug, clock_plate=(dark[2], dark[0], dark[1]), clock_ink=WHITE)
    return replace(bug, opacity=float(random.choice([1.0, 0.85])))


def put_bug(picture: Pixels, bug: Bug) -> list[str]:
    x, y = bug.where
    said: list[str] = []
    for text in (f"{bug.home} {bug.score} {bug.away}", bug.clock):
        is_clock = text == bug.clock
        plate, ink = (bug.clock_plate, bug.clock_ink) if is_clock else (bug.plate, bug.ink)
        width = text_size("88:88" if is_clock else text, bug.size)[0] + bug.size
        _plate(picture, (x, y, width, int(bug.size * 1.7)), plate, bug.opacity)
        write(picture, text, (x + bug.size // 2, y + int(bug.size * 0.4)), bug.size, ink)
        said.append(text)
        x += width
    return said


def any_caption(random: Generator, size: Point) -> Caption:
    letters = max(12, int(size[1] * random.uniform(0.035, 0.055)))
    where = int(size[0] * random.uniform(0.06, 0.4)), int(size[1] * random.uniform(0.74, 0.82))
    plate = any_colour(random, 0, 110)
    title, line = str(random.choice(NAMES)), str(random.choice(LINES))
    return Caption(where, letters, title, line, plate, WHITE, float(random.choice([1.0, 0.9])))


def put_caption(picture: Pixels, caption: Caption) -> list[str]:
    x, y = caption.where
    small = int(caption.size * 0.7)
    width = max(text_size(caption.title, caption.size)[0], text_size(caption.line, small)[0]) + 2 * caption.size
    _plate(picture, (x, y, width, int(caption.size * 3.1)), caption.plate, caption.opacity)
    write(picture, caption.title, (x + caption.size, y + caption.size // 2), caption.size, caption.ink)
    write(picture, caption.line, (x + caption.size, y + int(caption.size * 1.9)), small, caption.ink)
    return [caption.title, caption.line]


def _plate(picture: Pixels, place: tuple[int, int, int, int], colour: Colour, opacity: float) -> None:
    x, y, width, height = place
    part = picture[y : y + height, x : x + width]
    part[:] = (part * (1 - opacity) + np.array(colour) * opacity).astype(np.uint8)
    if opacity == 1.0:
        cv2.line(picture, (x, y + height), (x + width, y + height), (90, 90, 90), 1)
