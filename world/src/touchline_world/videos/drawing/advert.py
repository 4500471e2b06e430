"""Adverts: one product, loud colours, words that move. No pitch anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from math import cos, pi, sin

import cv2
import numpy as np
from numpy.random import Generator, default_rng

from touchline_world.videos.model import Take

from .paint import Bgr, DrawnPicture, Pixels, Text, is_light, lay, lay_turned, letters, mixed, times_of

BRANDS = ("NORDLICHT", "AQUA VIVA", "ZEPHYR", "MOBIL 24", "KAFFEE EINS", "BANCO SUR", "SOLARA", "RUNDUM")
LINES = ("TASTE THE SUMMER", "NOW 50% OFF", "DRIVE TOMORROW", "ONLY THIS WEEK", "FEEL FRESH", "ALWAYS WITH YOU")
PRODUCT = 400


def draw_advert(take: Take, size: tuple[int, int]) -> Iterator[DrawnPicture]:
    random = default_rng([take.seed, 81])
    colours = [_vivid(random) for _ in range(3)]
    product = (_bottle, _telephone, _car)[int(random.integers(0, 3))](colours)
    brand, line = str(random.choice(BRANDS)), str(random.choice(LINES))
    turn = float(random.uniform(0, 6))
    for at_ms in times_of(take.length_ms):
        share = at_ms / take.length_ms
        picture = _rays(size, colours, turn + at_ms / 4000)
        _lay_bubbles(picture, random=default_rng([take.seed, 82]), at_s=at_ms / 1000)
        texts = _lay_product(picture, product, share, at_ms / 1000)
        texts += _lay_words(picture, (brand, line), colours, share)
        yield DrawnPicture(at_ms, picture, tuple(texts))


def _vivid(random: Generator) -> Bgr:
    hue = np.array([[random.integers([95, 150, 130], [205, 230, 245])]])
    hue[..., 0] %= 180  # no green: that is the colour of pitches
    hue = hue.astype(np.uint8)
    blue, green, red = (int(value) for value in cv2.cvtColor(hue, cv2.COLOR_HSV2BGR)[0, 0])
    return blue, green, red


def _rays(size: tuple[int, int], colours: list[Bgr], turn: float) -> Pixels:
    """A wheel of light behind the product."""
    width, height = size
    picture = np.empty((height, width, 3), np.uint8)
    cv2.rectangle(picture, (0, 0), (width, height), colours[0], -1)
    centre, far = (width * 0.62, height * 0.5), width
    for ray in range(12):
        ends = [turn + 2 * pi * ray / 12, turn + 2 * pi * (ray + 0.5) / 12]
        fan = [centre, *((centre[0] + far * cos(end), centre[1] + far * sin(end)) for end in ends)]
        cv2.fillPoly(picture, [np.array(fan, np.int32)], mixed(colours[0], (255, 255, 255), 0.12), cv2.LINE_AA)
    cv2.circle(
        picture,
        (round(centre[0]), round(centre[1])),
        round(height * 0.42),
        mixed(colours[0], (255, 255, 255), 0.3),
        -1,
        cv2.LINE_AA,
    )
    return picture


def _lay_bubbles(picture: Pixels, random: Generator, at_s: float) -> None:
    height, width = picture.shape[:2]
    for x, y, radius, pace in random.random((24, 4)):
        rise = (y - at_s * (0.08 + 0.25 * pace)) % 1.2 - 0.1
        spot = round((x + 0.02 * sin(at_s * 2 + y * 9)) * width), round(rise * height)
        cv2.circle(picture, spot, round(height * (0.008 + 0.02 * radius)), (255, 255, 255), 2, cv2.LINE_AA)


def _lay_product(picture: Pixels, product: Pixels, share: float, at_s: float) -> list[Text]:
    height, width = picture.shape[:2]
    come = 1 - (1 - min(1.0, share * 3)) ** 3
    scale = height * (0.35 + 0.5 * come) / PRODUCT * (1 + 0.03 * sin(at_s * 3))
    angle = 0.25 * (1 - come) * 6 + 0.1 * sin(at_s * 1.3)
    matrix = scale * np.array([[cos(angle), -sin(angle), 0], [sin(angle), cos(angle), 0]])
    matrix[:, 2] = np.array([width * 0.62, height * (1.3 - 0.8 * come)]) - matrix[:, :2] @ np.array(
        [PRODUCT / 2, PRODUCT / 2]
    )
    lay_turned(picture, product, matrix)
    return []


def _lay_words(picture: Pixels, said: tuple[str, str], colours: list[Bgr], share: float) -> list[Text]:
    height, width = picture.shape[:2]
    ink: Bgr = (24, 20, 20) if is_light(colours[0]) else (250, 250, 250)
    texts: list[Text] = []
    for text, size, y, begin in ((said[0], 0.13, 0.14, 0.08), (said[1], 0.065, 0.76, 0.35)):
        if share < begin:
            continue
        word = letters(text, round(height * size), ink, 2 if height > 400 else 1)
        come = 1 - (1 - min(1.0, (share - begin) / 0.1)) ** 3
        x = round(width * 0.06 - (1 - come) * (word.shape[1] + width * 0.06))
        lay(picture, word, x, round(height * y))
        if come == 1:
            texts.append(Text(text, (x, round(height * y), word.shape[1], word.shape[0])))
    return texts


def _bottle(colours: list[Bgr]) -> Pixels:
    drawn, unit = np.zeros((PRODUCT * 2, PRODUCT * 2, 4), np.uint8), PRODUCT * 2 // 100
    glass, lit = (*colours[1], 255), (*mixed(colours[1], (255, 255, 255), 0.45), 255)
    cv2.rectangle(drawn, (36 * unit, 36 * unit), (64 * unit, 95 * unit), glass, -1)
    cv2.ellipse(drawn, (50 * unit, 37 * unit), (14 * unit, 16 * unit), 0, 180, 360, glass, -1)
    cv2.rectangle(drawn, (45 * unit, 8 * unit), (55 * unit, 30 * unit), glass, -1)
    cv2.rectangle(drawn, (44 * unit, 4 * unit), (56 * unit, 10 * unit), (*mixed(colours[2], (0, 0, 0), 0.2), 255), -1)
    cv2.rectangle(drawn, (36 * unit, 52 * unit), (64 * unit, 78 * unit), (*colours[2], 255), -1)
    cv2.circle(drawn, (50 * unit, 65 * unit), 9 * unit, (250, 250, 250, 255), -1)
    cv2.line(drawn, (40 * unit, 34 * unit), (40 * unit, 92 * unit), lit, 2 * unit)
    return _smaller(drawn)


def _telephone(colours: list[Bgr]) -> Pixels:
    drawn, unit = np.zeros((PRODUCT * 2, PRODUCT * 2, 4), np.uint8), PRODUCT * 2 // 100
    cv2.rectangle(drawn, (28 * unit, 6 * unit), (72 * unit, 94 * unit), (24, 22, 22, 255), -1)
    for row in range(80):
        share = row / 80
        colour = (*mixed(colours[1], colours[2], share), 255)
        cv2.rectangle(drawn, (31 * unit, (10 + row) * unit), (69 * unit, (11 + row) * unit), colour, -1)
    for row in range(4):
        for column in range(3):
            spot = (38 + 12 * column) * unit, (34 + 13 * row) * unit
            cv2.circle(drawn, spot, 4 * unit, (248, 248, 248, 255), -1)
    return _smaller(drawn)


def _car(colours: list[Bgr]) -> Pixels:
    drawn, unit = np.zeros((PRODUCT * 2, PRODUCT * 2, 4), np.uint8), PRODUCT * 2 // 100
    body = (*colours[1], 255)
    roof = np.array([(24, 50), (36, 32), (64, 32), (80, 50)], np.int32) * unit
    cv2.fillPoly(drawn, [roof], body)
    glass = np.array([(30, 49), (39, 35), (62, 35), (73, 49)], np.int32) * unit
    cv2.fillPoly(drawn, [glass], (210, 190, 160, 255))
    cv2.rectangle(drawn, (6 * unit, 49 * unit), (96 * unit, 66 * unit), body, -1)
    cv2.line(
        drawn, (8 * unit, 54 * unit), (94 * unit, 54 * unit), (*mixed(colours[1], (255, 255, 255), 0.4), 255), unit
    )
    for x in (24, 76):
        cv2.circle(drawn, (x * unit, 67 * unit), 10 * unit, (28, 28, 28, 255), -1)
        cv2.circle(drawn, (x * unit, 67 * unit), 5 * unit, (190, 190, 190, 255), -1)
    return _smaller(drawn)


def _smaller(drawn: Pixels) -> Pixels:
    return cv2.resize(drawn, (PRODUCT, PRODUCT), interpolation=cv2.INTER_AREA)
