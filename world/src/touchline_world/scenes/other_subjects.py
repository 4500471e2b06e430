"""What is not football: studios, other sports, adverts, graphics, nature, streets, crowds and darkness."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.random import Generator

from .canvas import (
    LINES,
    NAMES,
    SKINS,
    WHITE,
    Colour,
    Pixels,
    Point,
    any_bug,
    any_caption,
    any_colour,
    crowd,
    figure,
    gradient,
    plain,
    put_bug,
    put_caption,
    shaded,
    uneven,
    write,
)

Shot = Callable[[Generator, Point], Pixels]
WORDS = ("SALE", "NEW", "DRIVE", "FRESH", "50% OFF", "CLUB", "NOW", "TASTE", "BANK", "PHONE")


def studio(random: Generator, size: Point) -> Pixels:
    """People at a desk in front of a wall, which may show a small picture of grass."""
    width, height = size
    picture = gradient(size, any_colour(random, 10, 160), any_colour(random, 5, 90))
    for _ in range(int(random.integers(1, 6))):
        x, y = int(random.integers(0, width)), int(random.integers(0, height // 2))
        box = (int(width * random.uniform(0.05, 0.35)), int(height * random.uniform(0.05, 0.4)))
        cv2.rectangle(picture, (x, y), (x + box[0], y + box[1]), any_colour(random), -1)
    if random.random() < 0.3:
        x, y = int(width * random.uniform(0.3, 0.6)), int(height * 0.08)
        picture[y : y + height // 3, x : x + width // 3] = (40, int(random.integers(90, 150)), 50)
    picture = cv2.GaussianBlur(picture, (0, 0), float(random.uniform(1, 5)))
    people = int(random.integers(1, 5))
    for number in range(people):
        x = int(width * (number + 1) / (people + 1) + random.normal(0, width * 0.03))
        _bust(random, picture, (x, int(height * 0.95)), height * float(random.uniform(0.45, 0.8)))
    if random.random() < 0.7:
        cv2.rectangle(
            picture, (0, int(height * random.uniform(0.78, 0.9))), (width, height), any_colour(random, 0, 140), -1
        )
    return _captioned(random, picture)


def _bust(random: Generator, picture: Pixels, bottom: Point, tall: float) -> None:
    x, y = bottom
    coat, skin = any_colour(random, 0, 150), SKINS[int(random.integers(0, len(SKINS)))]
    cv2.ellipse(picture, (x, y), (int(tall * 0.36), int(tall * 0.6)), 0, 180, 360, coat, -1, cv2.LINE_AA)
    cv2.ellipse(
        picture, (x, int(y - tall * 0.72)), (int(tall * 0.15), int(tall * 0.2)), 0, 0, 360, skin, -1, cv2.LINE_AA
    )
    hair = any_colour(random, 0, 80)
    cv2.ellipse(
        picture, (x, int(y - tall * 0.8)), (int(tall * 0.16), int(tall * 0.14)), 0, 180, 360, hair, -1, cv2.LINE_AA
    )


def interview(random: Generator, size: Point) -> Pixels:
    width, height = size
    picture = plain(size, any_colour(random, 60, 256))
    ink = any_colour(random)
    for row in range(0, height, max(20, height // 6)):
        for column in range(0, width, max(40, width // 5)):
            write(picture, str(random.choice(WORDS)), (column + (row % 3) * 9, row), max(9, height // 18), ink)
    picture = cv2.GaussianBlur(picture, (0, 0), float(random.uniform(0.5, 3)))
    _bust(random, picture, (width // 2, height), height * 0.9)
    return _captioned(random, picture)


def court(random: Generator, size: Point) -> Pixels:
    """Tennis, basketball, ice hockey, handball: a small marked floor of any colour, seen in perspective."""
    width, height = size
    grass: Colour = (50, int(random.integers(100, 160)), int(random.integers(50, 110)))
    floors: tuple[Colour, ...] = (
        grass,
        (150, 80, 40),
        (60, 110, 190),
        (100, 150, 205),
        (235, 230, 225),
        (60, 70, 170),
        (90, 60, 120),
    )
    floor = floors[int(random.integers(0, len(floors)))]
    plan = shaded(plain((600, 300), floor), random.normal(0, 4, (300, 600)))
    line = WHITE if sum(floor) < 560 else any_colour(random, 0, 200)
    for x, y, to_x, to_y in ((20, 20, 580, 280), (20, 60, 580, 240), (160, 60, 440, 240)):
        cv2.rectangle(plan, (x, y), (to_x, to_y), line, 3)
    cv2.line(plan, (300, 20), (300, 280), line, 3)
    if random.random() < 0.5:
        cv2.circle(plan, (300, 150), 40, line, 3)
    picture = crowd(random, size, int(random.integers(4, 16)))
    top, slant = height * random.uniform(0.1, 0.5), width * random.uniform(0.05, 0.3)
    shift = random.normal(0, width * 0.1)
    corners = [[slant + shift, top], [width - slant + shift, top], [width * 1.1, height], [-width * 0.1, height]]
    view = cv2.getPerspectiveTransform(
        np.array([[0, 0], [600, 0], [600, 300], [0, 300]], np.float32), np.array(corners, np.float32)
    )
    cover = cv2.warpPerspective(np.full((300, 600), 255, np.uint8), view, size)
    picture[cover > 127] = cv2.warpPerspective(plan, view, size)[cover > 127]
    for _ in range(int(random.integers(2, 11))):
        foot = int(random.integers(0, width)), int(random.uniform(top + 10, height))
        kit = (any_colour(random), any_colour(random), SKINS[int(random.integers(0, 4))])
        figure(picture, foot, height * float(random.uniform(0.12, 0.4)), kit, float(random.uniform(0.2, 1.4)))
    if random.random() < 0.6:
        put_bug(picture, any_bug(random, size))
    return picture


def swimming(random: Generator, size: Point) -> Pixels:
    width, height = size
    picture = shaded(plain(size, (190, 140, 30)), uneven(random, size, 12) * 40)
    for lane in range(1, 8):
        y = int(height * lane / 8)
        cv2.line(picture, (0, y), (width, y + int(random.normal(0, 12))), any_colour(random, 60, 250), 3)
        cv2.circle(picture, (int(random.integers(0, width)), y - height // 16), height // 40, SKINS[1], -1)
    return _captioned(random, picture)


def open_green(random: Generator, size: Point) -> Pixels:
    """Golf, parks, forests and fields: green, and no football."""
    width, height = size
    sky = gradient(size, (int(random.integers(180, 256)), 190, 150), (235, 220, 210))
    horizon = int(height * random.uniform(0.1, 0.6))
    meadow = shaded(
        plain(size, (45, int(random.integers(90, 170)), int(random.integers(50, 120)))), uneven(random, size, 40) * 35
    )
    sky[horizon:] = meadow[horizon:]
    for _ in range(int(random.integers(3, 25))):
        x, y = int(random.integers(0, width)), horizon + int(random.normal(0, height * 0.08))
        crown = int(height * random.uniform(0.03, 0.2))
        leaf = (int(random.integers(20, 60)), int(random.integers(50, 120)), int(random.integers(20, 70)))
        cv2.rectangle(sky, (x - crown // 8, y), (x + crown // 8, y + crown), (30, 50, 70), -1)
        cv2.circle(sky, (x, y - crown // 2), crown, leaf, -1)
    picture = shaded(sky, uneven(random, size, 6) * 22 + random.normal(0, 9, (height, width)))
    if random.random() < 0.5:
        cv2.ellipse(picture, (width // 2, int(height * 0.8)), (width // 4, height // 9), 0, 0, 360, (150, 200, 220), -1)
    if random.random() < 0.5:
        kit = (any_colour(random), any_colour(random), SKINS[0])
        figure(picture, (int(width * random.uniform(0.2, 0.8)), int(height * 0.9)), height * 0.4, kit, 0.4)
    return picture


def advert(random: Generator, size: Point) -> Pixels:
    width, height = size
    picture = gradient(size, any_colour(random), any_colour(random))
    for _ in range(int(random.integers(2, 9))):
        centre = int(random.integers(0, width)), int(random.integers(0, height))
        radius = int(height * random.uniform(0.05, 0.4))
        if random.random() < 0.5:
            cv2.circle(picture, centre, radius, any_colour(random), -1, cv2.LINE_AA)
        else:
            cv2.rectangle(picture, centre, (centre[0] + radius, centre[1] + radius // 2), any_colour(random), -1)
    for _ in range(int(random.integers(1, 4))):
        where = int(width * random.uniform(0, 0.6)), int(height * random.uniform(0, 0.8))
        write(picture, str(random.choice(WORDS)), where, int(height * random.uniform(0.08, 0.25)), any_colour(random))
    return picture


def table(random: Generator, size: Point) -> Pixels:
    """A full-screen graphic: line-ups, tables, statistics; often on the colour of grass."""
    width, height = size
    base: Colour = (40, int(random.integers(70, 140)), 40) if random.random() < 0.3 else any_colour(random, 0, 130)
    picture = gradient(size, base, any_colour(random, 0, 80))
    rows = int(random.integers(4, 12))
    for row in range(rows):
        y = int(height * (0.15 + 0.8 * row / rows))
        cv2.rectangle(
            picture, (width // 8, y), (width * 7 // 8, y + int(0.6 * height / rows)), any_colour(random, 0, 120), -1
        )
        text = f"{row + 1}  {random.choice(NAMES)}  {random.integers(0, 90)}"
        write(picture, text, (width // 6, y + 2), max(8, int(0.4 * height / rows)), WHITE)
    write(picture, str(random.choice(LINES)), (width // 8, height // 30), max(10, height // 12), WHITE)
    return picture


def street(random: Generator, size: Point) -> Pixels:
    width, height = size
    picture = gradient(size, (220, 200, 180), (110, 110, 110))
    x = 0
    while x < width:
        wide, tall = int(width * random.uniform(0.06, 0.2)), int(height * random.uniform(0.3, 0.8))
        wall = any_colour(random, 40, 200)
        cv2.rectangle(picture, (x, int(height * 0.75) - tall), (x + wide, int(height * 0.75)), wall, -1)
        for row in range(int(height * 0.75) - tall + 6, int(height * 0.75) - 8, max(8, height // 22)):
            for column in range(x + 4, x + wide - 6, max(8, width // 40)):
                cv2.rectangle(picture, (column, row), (column + 5, row + 7), any_colour(random, 60, 255), -1)
        x += wide
    return shaded(picture, random.normal(0, 6, (height, width)))


def people(random: Generator, size: Point) -> Pixels:
    return _captioned(random, crowd(random, size, int(random.integers(5, 40))))


def nothing(random: Generator, size: Point) -> Pixels:
    """Black, white, a fade, or one colour."""
    width, height = size
    colour = any_colour(random) if random.random() < 0.4 else (int(random.integers(0, 30)),) * 3
    if random.random() < 0.15:
        colour = (30, int(random.integers(80, 170)), 40)
    return shaded(
        plain(size, (colour[0], colour[1], colour[2])), random.normal(0, random.uniform(0, 4), (height, width))
    )


def _captioned(random: Generator, picture: Pixels) -> Pixels:
    if random.random() < 0.5:
        put_caption(picture, any_caption(random, (picture.shape[1], picture.shape[0])))
    return picture


SHOTS: tuple[tuple[Shot, float], ...] = (
    (studio, 0.2),
    (interview, 0.08),
    (court, 0.2),
    (swimming, 0.04),
    (open_green, 0.12),
    (advert, 0.12),
    (table, 0.1),
    (street, 0.05),
    (people, 0.05),
    (nothing, 0.04),
)
