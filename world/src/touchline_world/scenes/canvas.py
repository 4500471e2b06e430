"""Paint: plain and uneven surfaces, crowds, figures and letters, on BGR pictures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Pixels: TypeAlias = NDArray[Any]
Colour: TypeAlias = tuple[int, int, int]  # blue, green, red
Point: TypeAlias = tuple[int, int]

WHITE: Colour = (245, 245, 245)
BLACK: Colour = (12, 12, 12)
SKINS: tuple[Colour, ...] = ((150, 180, 225), (110, 145, 200), (70, 100, 150), (45, 65, 100))


def plain(size: Point, colour: Colour) -> Pixels:
    width, height = size
    return np.full((height, width, 3), colour, np.uint8)


def gradient(size: Point, top: Colour, bottom: Colour) -> Pixels:
    width, height = size
    share = np.linspace(0, 1, height)[:, None, None]
    rows = np.array(top) * (1 - share) + np.array(bottom) * share
    return np.repeat(rows, width, axis=1).astype(np.uint8)


def any_colour(random: Generator, low: int = 0, high: int = 256) -> Colour:
    blue, green, red = (int(value) for value in random.integers(low, high, 3))
    return blue, green, red


def uneven(random: Generator, size: Point, grain: int) -> Pixels:
    """Soft noise between -1 and 1, with patches of about so many pixels."""
    width, height = size
    coarse = random.normal(0, 0.5, (max(2, height // grain), max(2, width // grain))).astype(np.float32)
    return np.clip(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC), -1, 1)


def shaded(picture: Pixels, by: Pixels) -> Pixels:
    """Lighter and darker by so many levels at each pixel."""
    return np.clip(picture.astype(np.float32) + by[..., None], 0, 255).astype(np.uint8)


def crowd(random: Generator, size: Point, head: int) -> Pixels:
    """Rows of heads and shirts, in the colours of two sides and of winter coats."""
    width, height = size
    rows, columns = max(2, height // head), max(2, width // head)
    colours = np.array([any_colour(random, 20, 230) for _ in range(5)])
    seats = colours[random.integers(0, len(colours), (rows, columns))].astype(np.float32)
    seats += random.normal(0, 25, (rows, columns, 3))
    faces = np.array(SKINS)[random.integers(0, len(SKINS), (rows, columns))]
    grid = np.empty((rows * 2, columns, 3), np.float32)
    grid[0::2], grid[1::2] = faces * random.uniform(0.4, 1.0, (rows, columns, 1)), seats
    picture = cv2.resize(np.clip(grid, 0, 255).astype(np.uint8), (width, height), interpolation=cv2.INTER_LINEAR)
    return shaded(picture, random.normal(0, 8, (height, width)))


def figure(picture: Pixels, foot: Point, height: float, colours: tuple[Colour, Colour, Colour], stride: float) -> None:
    """Somebody who stands or runs: legs, shorts, shirt, arms and head."""
    shirt, shorts, skin = colours
    x, y = foot
    step, thick = int(height * 0.16 * stride), max(1, int(height * 0.09))
    hip, neck = (x, int(y - height * 0.48)), (x + step // 3, int(y - height * 0.84))
    for side in (-1, 1):
        cv2.line(picture, hip, (x + side * step, y), skin, thick, cv2.LINE_AA)
        hand = neck[0] + side * int(height * 0.17), int(y - height * (0.52 + 0.06 * side))
        cv2.line(picture, neck, hand, shirt, max(1, thick * 3 // 4), cv2.LINE_AA)
        cv2.line(
            picture, hip, (x + side * step // 2, int(y - height * 0.33)), shorts, max(1, thick * 3 // 2), cv2.LINE_AA
        )
    cv2.line(picture, hip, neck, shirt, max(2, int(height * 0.2)), cv2.LINE_AA)
    cv2.circle(picture, (neck[0], int(y - height * 0.93)), max(1, int(height * 0.075)), skin, -1, cv2.LINE_AA)


@cache
def font(size: int) -> ImageFont.FreeTypeFont:
    made = ImageFont.load_default(size)
    if not isinstance(made, ImageFont.FreeTypeFont):
        raise TypeError("this Pillow has no scalable font")
    return made


def text_size(text: str, size: int) -> Point:
    left, top, right, bottom = font(size).getbbox(text)
    return int(right - left), int(bottom - top)


def write(picture: Pixels, text: str, where: Point, size: int, colour: Colour) -> tuple[int, int, int, int]:
    """Letters with their left upper corner there. What they cover: x, y, width, height."""
    left, top, right, bottom = (int(value) for value in font(size).getbbox(text))
    width, height = right - left + 2, bottom - top + 2
    mask = Image.new("L", (width, height))
    ImageDraw.Draw(mask).text((1 - left, 1 - top), text, font=font(size), fill=255)
    x, y = where
    part = picture[max(0, y) : y + height, max(0, x) : x + width]
    share = np.asarray(mask, np.float32)[max(0, -y) :, max(0, -x) :][: part.shape[0], : part.shape[1], None] / 255
    part[:] = (part * (1 - share) + np.array(colour) * share).astype(np.uint8)
    return x, y, width, height


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
