"""People at a desk who talk, before a wall of screens; their names come and go."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np
from numpy.random import Generator, default_rng

from touchline_world.videos.model import Take

from .figures import HAIRS, SKINS
from .paint import WHITE, Bgr, DrawnPicture, Pixels, Text, lay, lay_turned, letters, mixed, plate, times_of

NAMES = ("Marta Silva", "Henrik Dahl", "Tom Baker", "Luca Ferrari", "Ines Moreau", "Jan Novak", "Amina Diallo")
TITLES = ("Analyst", "Former captain", "Presenter", "Chief reporter", "Coach")
TOPICS = ("TRANSFER NEWS", "MATCHDAY LIVE", "THE VERDICT", "PRESS REVIEW", "TONIGHT")
BUST = 300  # pixels of a bust that is drawn once


def draw_studio(take: Take, size: tuple[int, int]) -> Iterator[DrawnPicture]:
    random = default_rng([take.seed, 71])
    wall, count = _wall(random, size), int(random.integers(2, 4))
    people = [_bust(random) for _ in range(count)]
    pace, names = random.uniform(0.5, 1.4, (count, 4)), [str(name) for name in random.permutation(NAMES)[:count]]
    title, topic = str(random.choice(TITLES)), str(random.choice(TOPICS))
    desk: Bgr = tuple(int(value) for value in random.integers(30, 120, 3))  # pyright: ignore[reportAssignmentType]
    screens = [tuple(int(v) for v in random.integers(40, 200, 3)) for _ in range(3)]
    for at_ms in times_of(take.length_ms):
        at_s = at_ms / 1000
        picture = _seen(wall, size, at_s, take.length_ms / 1000)
        _lay_screens(picture, screens, at_s)
        for number, person in enumerate(people):
            _lay_person(picture, person, (number + 1) / (count + 1), pace[number], at_s)
        _lay_desk(picture, desk)
        texts = [_lay_topic(picture, topic)]
        if 0.6 < at_s % 5 < 4.4:
            texts += _lay_name(picture, (names[int(at_s / 5) % count], title), desk)
        yield DrawnPicture(at_ms, picture, tuple(texts))


def _wall(random: Generator, size: tuple[int, int]) -> Pixels:
    """A little larger than the picture, so that the camera can come nearer."""
    width, height = round(size[0] * 1.25), round(size[1] * 1.25)
    top, bottom = random.integers(10, 120, 3), random.integers(20, 90, 3)
    share = np.linspace(0, 1, height)[:, None, None]
    wall = np.repeat(top * (1 - share) + bottom * share, width, axis=1).astype(np.uint8)
    for _ in range(7):
        x, wide = int(random.integers(0, width)), int(random.integers(width // 40, width // 8))
        colour = tuple(int(v) for v in random.integers(20, 190, 3))
        cv2.rectangle(wall, (x, 0), (x + wide, height), colour, -1)
    wall = cv2.GaussianBlur(wall, (0, 0), size[1] / 45)
    for x in range(0, width, width // 14):
        cv2.line(wall, (x, 0), (x, height), (200, 190, 180), 1, cv2.LINE_AA)
    return wall


def _seen(wall: Pixels, size: tuple[int, int], at_s: float, length_s: float) -> Pixels:
    nearer = 1.0 + 0.18 * at_s / max(1.0, length_s)
    shift = 12 * np.sin(at_s * 0.4)
    matrix = np.array([[nearer, 0, -size[0] * 0.125 * nearer + shift], [0, nearer, -size[1] * 0.12 * nearer]])
    return cv2.warpAffine(wall, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)


def _lay_screens(picture: Pixels, colours: list[tuple[int, ...]], at_s: float) -> None:
    height, width = picture.shape[:2]
    for number, colour in enumerate(colours):
        x, y = round(width * (0.06 + 0.31 * number)), round(height * 0.09)
        wide, tall = round(width * 0.26), round(height * 0.3)
        part = picture[y : y + tall, x : x + wide]
        part[:] = mixed((colour[0], colour[1], colour[2]), (20, 16, 12), 0.55)
        for bar in range(6):
            level = 0.25 + 0.6 * abs(np.sin(at_s * (0.3 + 0.1 * bar) + bar + number * 2))
            left = round(wide * (0.08 + 0.15 * bar))
            cv2.rectangle(part, (left, round(tall * (1 - 0.8 * level))), (left + wide // 10, tall), colour, -1)
        cv2.rectangle(part, (0, 0), (wide - 1, tall - 1), (16, 14, 14), max(2, height // 150))


def _bust(random: Generator) -> tuple[Pixels, Pixels]:
    """Head and body, which move apart."""
    skin, hair = SKINS[int(random.integers(0, 4))], HAIRS[int(random.integers(0, 4))]
    coat: Bgr = tuple(int(value) for value in random.integers(20, 130, 3))  # pyright: ignore[reportAssignmentType]
    size = BUST * 2
    body = np.zeros((size, size, 4), np.uint8)
    middle = size // 2
    cv2.ellipse(body, (middle, size), (round(size * 0.46), round(size * 0.62)), 0, 180, 360, (*coat, 255), -1)
    cv2.ellipse(
        body,
        (middle, round(size * 0.45)),
        (round(size * 0.3), round(size * 0.1)),
        0,
        180,
        360,
        (*mixed(coat, (255, 255, 255), 0.12), 255),
        -1,
    )
    shirt = np.array(
        [(middle - size // 9, size * 2 // 5), (middle + size // 9, size * 2 // 5), (middle, size * 4 // 5)]
    )
    cv2.fillPoly(body, [shirt.astype(np.int32)], (238, 236, 234, 255))
    tie: tuple[int, ...] = tuple(int(v) for v in random.integers(30, 200, 3))
    cv2.line(body, (middle, size * 2 // 5), (middle, size * 4 // 5), (*tie, 255), size // 24)
    head = np.zeros((size, size, 4), np.uint8)
    centre = (middle, round(size * 0.5))
    cv2.line(head, centre, (middle, round(size * 0.86)), (*mixed(skin, (0, 0, 0), 0.2), 255), size // 7)
    cv2.ellipse(
        head, (middle, centre[1] - size // 20), (size * 23 // 100, size * 30 // 100), 0, 0, 360, (*hair, 255), -1
    )
    cv2.ellipse(head, centre, (size // 5, size * 27 // 100), 0, 0, 360, (*mixed(skin, (0, 0, 0), 0.1), 255), -1)
    cv2.ellipse(
        head, (middle - size // 40, centre[1]), (size * 18 // 100, size * 25 // 100), 0, 0, 360, (*skin, 255), -1
    )
    cv2.ellipse(head, (middle, round(size * 0.29)), (size * 21 // 100, size // 8), 0, 180, 360, (*hair, 255), -1)
    for side in (-1, 1):
        eye = (middle + side * size * 8 // 100, round(size * 0.47))
        cv2.ellipse(head, eye, (size // 34, size // 56), 0, 0, 360, (240, 240, 240, 255), -1)
        cv2.circle(head, eye, size // 70, (30, 30, 30, 255), -1)
        cv2.line(
            head,
            (eye[0] - size // 26, eye[1] - size // 22),
            (eye[0] + size // 26, eye[1] - size // 20),
            (*hair, 255),
            size // 90,
        )
    cv2.line(
        head,
        (middle, round(size * 0.5)),
        (middle - size // 50, round(size * 0.57)),
        (*mixed(skin, (0, 0, 0), 0.25), 255),
        size // 80,
    )
    small = (BUST, BUST)
    return cv2.resize(body, small, interpolation=cv2.INTER_AREA), cv2.resize(head, small, interpolation=cv2.INTER_AREA)


def _lay_person(picture: Pixels, person: tuple[Pixels, Pixels], place: float, pace: Pixels, at_s: float) -> None:
    height, width = picture.shape[:2]
    scale = height * 0.5 / BUST
    sway = float(np.sin(at_s * pace[0] + pace[1] * 9))
    x, bottom = width * place + sway * height * 0.012, height * 0.9
    body, head = person
    lay_turned(picture, body, np.array([[scale, 0, x - scale * BUST / 2], [0, scale, bottom - scale * BUST]]))
    turn = 0.06 * float(np.sin(at_s * pace[2] * 1.7 + pace[3] * 7))
    nod = height * 0.008 * float(np.sin(at_s * pace[3] * 4))
    small = scale * 0.78
    matrix = np.array([[small, -small * turn, 0.0], [small * turn, small, 0.0]])
    matrix[:, 2] = np.array([x + turn * 60, bottom - scale * BUST * 0.78 + nod]) - matrix[:, :2] @ np.array(
        [BUST / 2, BUST * 0.6]
    )
    lay_turned(picture, head, matrix)
    talks = abs(np.sin(at_s * 9 * pace[2])) * (np.sin(at_s * 0.9 + pace[0] * 20) > -0.2)
    mouth = (round(x + turn * 60), round(bottom - scale * BUST * 0.78 + nod + small * BUST * 0.06))
    cv2.ellipse(
        picture, mouth, (round(small * 15), round(small * (2 + 7 * talks))), 0, 0, 360, (60, 50, 120), -1, cv2.LINE_AA
    )


def _lay_desk(picture: Pixels, colour: Bgr) -> None:
    height, width = picture.shape[:2]
    top = round(height * 0.8)
    cv2.rectangle(picture, (0, top), (width, height), mixed(colour, (0, 0, 0), 0.35), -1)
    cv2.rectangle(picture, (0, top), (width, top + height // 28), mixed(colour, (255, 255, 255), 0.35), -1)
    cv2.rectangle(picture, (0, top + height // 28), (width, top + height // 22), (20, 18, 18), -1)


def _lay_topic(picture: Pixels, topic: str) -> Text:
    height, width = picture.shape[:2]
    word = letters(topic, round(height * 0.04), WHITE, 1)
    x, y = round(width * 0.95) - word.shape[1], round(height * 0.93)
    lay(picture, word, x, y)
    return Text(topic, (x, y, word.shape[1], word.shape[0]))


def _lay_name(picture: Pixels, said: tuple[str, str], colour: Bgr) -> list[Text]:
    height, width = picture.shape[:2]
    size, small = round(height * 0.05), round(height * 0.034)
    words = [letters(said[0], size, WHITE, 1), letters(said[1], small, WHITE)]
    wide = max(word.shape[1] for word in words) + 2 * size
    x, y = round(width * 0.06), round(height * 0.79)
    lay(picture, plate((wide, round(size * 2.7)), mixed(colour, (0, 0, 0), 0.5), 0, 0.96), x, y)
    texts: list[Text] = []
    for text, word, down in zip(said, words, (0.45, 1.7), strict=True):
        at = (x + size, y + round(size * down))
        lay(picture, word, *at)
        texts.append(Text(text, (*at, word.shape[1], word.shape[0])))
    return texts
