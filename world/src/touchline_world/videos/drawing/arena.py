"""What stands around a pitch: four stands full of people in two tiers, boards with words, goals with nets.

Invariant: stands and boards are textures that are drawn once; a picture only lays them into its perspective.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.random import Generator, default_rng

from .camera import Camera, Plane
from .paint import Bgr, Pixels, is_light, letters, mixed
from .pitch import LENGTH, MIDDLE, WIDTH, PitchLight

FRONT = 9.0  # metres between the lines and the stands
LOWER, UPPER = (15.0, 8.5), (17.0, 13.0)  # depth and height of a tier
LIFT, GAP = 1.6, 3.2
SEAT_M, ROW_M = 0.62, 1.05
MOODS = 4  # sitting, and three of jumping
SEAT = (44, 40, 38)
WORDS = ("TOUCHLINE", "NORTH BANK", "KICK OFF", "FAIR PLAY", "CITY BREW", "AERO", "MOBIL 24", "BANCO SUR", "RADIO 5")
SKIN = np.array([(150, 180, 222), (112, 146, 196), (74, 104, 150), (52, 74, 108)], np.float32)
COATS = np.array([(60, 52, 46), (38, 36, 40), (92, 78, 66), (120, 118, 120), (64, 42, 34), (190, 188, 186)], np.float32)


@dataclass(frozen=True, slots=True)
class Surface:
    plane: Plane
    moods: tuple[Pixels, ...]


@dataclass(frozen=True, slots=True)
class Arena:
    stands: tuple[Surface, ...]
    sky: Pixels  # one column, from top to bottom
    boards: tuple[tuple[Plane, Pixels], ...]  # where, and words, twice as long as they are
    light: PitchLight


def build_arena(seeds: tuple[int, int], light: PitchLight, colours: tuple[Bgr, Bgr], scale: float) -> Arena:
    """Of a stadium, at one moment. `scale`: pixels a metre."""
    random, moment = default_rng([seeds[0], 21]), default_rng([*seeds, 22])
    dim = {PitchLight.DAY: 1.0, PitchLight.DUSK: 0.72, PitchLight.FLOODLIGHT: 0.6}[light]
    stands = tuple(
        Surface(Plane(corners), _lit(moment, _people(random, corners, colours, (scale, dim * (0.8 if tier else 1.0)))))
        for side in range(4)
        for tier, corners in enumerate(_tiers(side))
    )
    return Arena(stands, _sky(light), tuple(_boards(random, scale)), light)


def _lit(random: Generator, moods: tuple[Pixels, ...]) -> tuple[Pixels, ...]:
    """Sun and shade lie on a stand in patches."""
    width = moods[0].shape[1]
    if width < 16:
        return moods
    patches = random.uniform(0.62, 1.12, (1, int(random.integers(3, 9)))).astype(np.float32)
    light = cv2.resize(patches, (width, 1), interpolation=cv2.INTER_LINEAR)[..., None].repeat(3, axis=2)
    return tuple(cv2.multiply(mood, light.repeat(mood.shape[0], axis=0), dtype=cv2.CV_8U) for mood in moods)


def _tiers(side: int) -> list[Pixels]:
    """The two trapezia of one side; at the corners they meet those of their neighbours."""
    low = LIFT + LOWER[1]
    high = low + GAP
    begin = LOWER[0] - 2.0
    return [
        _slope(side, (0.0, 0.0), (0.01, LIFT)),
        _slope(side, (0.0, LIFT), (LOWER[0], low)),
        _slope(side, (begin, low - 0.4), (begin + 0.01, high)),
        _slope(side, (begin, high), (begin + UPPER[0], high + UPPER[1])),
    ]


def _slope(side: int, near: tuple[float, float], far: tuple[float, float]) -> Pixels:
    def ring(back: float) -> list[tuple[float, float]]:
        out = FRONT + back
        corners = [(-out, WIDTH + out), (LENGTH + out, WIDTH + out), (LENGTH + out, -out), (-out, -out)]
        return [corners[side], corners[(side + 1) % 4]]

    behind, before = ring(far[0]), ring(near[0])
    return np.array(
        [(*behind[0], far[1]), (*behind[1], far[1]), (*before[1], near[1]), (*before[0], near[1])], np.float64
    )


def _people(
    random: Generator, corners: Pixels, colours: tuple[Bgr, Bgr], fit: tuple[float, float]
) -> tuple[Pixels, ...]:
    scale, light = fit
    long, deep = np.linalg.norm(corners[2] - corners[3]), np.linalg.norm(corners[0] - corners[3])
    if deep < 2:
        return (np.full((4, 4, 3), 62 * light, np.uint8),)
    if deep < 6:
        return (_fascia(random, (round(long * scale), max(6, round(deep * scale))), light),)
    seat, row = max(3, round(SEAT_M * scale)), max(4, round(ROW_M * scale))
    rows, seats = max(4, round(deep / ROW_M)), max(8, round(long / SEAT_M))
    coats = _coats(random, (rows, seats), colours)
    faces = SKIN[random.choice(4, (rows, seats), p=[0.4, 0.3, 0.2, 0.1])] * random.uniform(0.75, 1.05, (rows, seats, 1))
    there = random.random((rows, seats)) < 0.93
    lift = random.random((rows, seats))
    crowd = _Crowd(coats, faces, there, (seat, row))
    shade = np.linspace(0.62, 1.0, rows * row)[:, None, None] * light
    return tuple(_drawn(crowd, lift, mood, shade) for mood in range(MOODS))


@dataclass(frozen=True, slots=True)
class _Crowd:
    coats: Pixels
    faces: Pixels
    there: Pixels
    cell: tuple[int, int]


def _coats(random: Generator, shape: tuple[int, int], colours: tuple[Bgr, Bgr]) -> Pixels:
    rows, seats = shape
    coats = COATS[random.integers(0, len(COATS), shape)] * random.uniform(0.7, 1.3, (*shape, 1))
    block = np.repeat(random.choice(3, max(1, seats // 18) + 1, p=[0.5, 0.38, 0.12]), 18)[:seats][None, :]
    wears = random.random(shape) < np.where(block == 0, 0.15, 0.6)
    side = np.where(block == 2, 1, 0).repeat(rows, axis=0)
    team = np.array(colours, np.float32)[side] * random.uniform(0.8, 1.1, (*shape, 1))
    return np.where(wears[..., None], team, coats)


def _drawn(crowd: _Crowd, lift: Pixels, mood: int, shade: Pixels) -> Pixels:
    """Heads above shoulders, row above row; who jumps is higher, and some have their arms up."""
    seat, row = crowd.cell
    rows, seats = crowd.there.shape
    empty = np.broadcast_to(np.array(SEAT, np.float32), crowd.coats.shape)
    there = crowd.there[..., None]
    colours = np.stack([empty, np.where(there, crowd.faces, empty), np.where(there, crowd.coats, empty)], axis=2)
    colours = np.clip(colours, 0, 255).astype(np.uint8)
    people = colours[:, :, _cell((seat, row), lifted=False, arms=False)]
    if mood:
        jumps = (lift + mood / 3) % 1 < 0.5
        for arms in (False, True):
            these = jumps & ((lift > 0.55) == arms)
            people[these] = colours[these][:, _cell((seat, row), lifted=True, arms=arms)]
    flat = people.transpose(0, 2, 1, 3, 4).reshape(rows * row, seats * seat, 3)
    lit = cv2.multiply(flat, np.broadcast_to(shade, flat.shape).astype(np.float32), dtype=cv2.CV_8U)
    return cv2.GaussianBlur(lit, (0, 0), 0.55)


def _cell(size: tuple[int, int], *, lifted: bool, arms: bool) -> Pixels:
    """What is seen of one person: 0 the seat, 1 skin, 2 the coat."""
    seat, row = size
    cell = np.zeros((row, seat), np.intp)
    top = 0 if lifted else max(1, row // 5)
    neck = top + max(2, row * 2 // 5)
    cell[neck:, : max(2, seat - 1)] = 2
    cell[top:neck, max(1, seat // 4) : max(2, seat - seat // 4)] = 1
    if arms:
        cell[top:neck, 0] = 1
    return cell


def _fascia(random: Generator, size: tuple[int, int], light: float) -> Pixels:
    """The front of the upper tier, with a lit band."""
    width, height = size
    strip = np.full((height, width, 3), (34, 31, 30), np.uint8)
    band: Bgr = tuple(int(v) for v in random.integers(30, 150, 3))  # pyright: ignore[reportAssignmentType]
    cv2.rectangle(strip, (0, height * 2 // 5), (width, height * 4 // 5), band, -1)
    for x in range(0, width, max(60, height * 9)):
        word = letters(str(random.choice(WORDS)), max(6, height // 3), (235, 235, 235))
        part = strip[height * 2 // 5 + 1 :, x:][: word.shape[0], : word.shape[1]]
        part[:] = np.maximum(part, word[: part.shape[0], : part.shape[1], :3])
    return (strip * (0.6 + 0.4 * light)).astype(np.uint8)


def _sky(light: PitchLight) -> Pixels:
    top, bottom = {
        PitchLight.DAY: ((214, 178, 140), (236, 222, 206)),
        PitchLight.DUSK: ((120, 84, 88), (128, 158, 226)),
        PitchLight.FLOODLIGHT: ((26, 18, 14), (46, 36, 30)),
    }[light]
    share = np.linspace(0, 1, 64)[:, None, None]
    return (np.array(top) * (1 - share) + np.array(bottom) * share).astype(np.uint8)


def _boards(random: Generator, scale: float) -> list[tuple[Plane, Pixels]]:
    """Along the far touchline and beside both goals. The words can move along by half of the strip."""
    height, far, back = 0.95, WIDTH + 4.5, 5.0
    base: Bgr = tuple(int(v) for v in random.integers(10, 110, 3))  # pyright: ignore[reportAssignmentType]
    left, right = -back, LENGTH + back
    lines = (  # from left to right, as seen from the pitch
        ((left, far), (right, far)),
        ((right, far), (right, MIDDLE + 7)),
        ((right, MIDDLE - 7), (right, -6.0)),
        ((left, -6.0), (left, MIDDLE - 7)),
        ((left, MIDDLE + 7), (left, far)),
    )
    boards: list[tuple[Plane, Pixels]] = []
    for (x, y), (to_x, to_y) in lines:
        corners = np.array([(x, y, height), (to_x, to_y, height), (to_x, to_y, 0), (x, y, 0)], np.float64)
        long = float(np.hypot(to_x - x, to_y - y))
        boards.append(
            (Plane(corners), _words(random, base, (round(long * scale), max(8, round(height * scale * 1.2)))))
        )
    return boards


def _words(random: Generator, base: Bgr, size: tuple[int, int]) -> Pixels:
    width, height = size
    strip = np.empty((height, width, 3), np.uint8)
    x = 0
    while x < width:
        colour = base if random.random() < 0.5 else tuple(int(v) for v in random.integers(20, 240, 3))
        word = letters(
            str(random.choice(WORDS)), max(7, round(height * 0.8)), _ink((colour[0], colour[1], colour[2])), 1
        )
        wide = word.shape[1] + height * 2
        strip[:, x : x + wide] = colour
        top = max(0, (height - word.shape[0]) // 2)
        part = strip[top : top + word.shape[0], x + height :][:, : word.shape[1]]
        fits = word[: part.shape[0], : part.shape[1]]
        share = fits[..., 3:].astype(np.float32) / 255
        part[:] = (part * (1 - share) + fits[..., :3]).clip(0, 255).astype(np.uint8)
        x += wide
    strip[0] = strip[-1] = (20, 20, 20)
    return np.concatenate([strip, strip], axis=1)


def _ink(colour: Bgr) -> Bgr:
    return mixed((20, 20, 20), colour, 0.1) if is_light(colour) else (240, 240, 240)


def lay_arena(arena: Arena, picture: Pixels, camera: Camera, at_s: float, joy: float) -> None:
    """Sky and stands. `joy`: above nothing, the people jump."""
    _fill(arena.sky, picture, camera.horizon)
    mood = 1 + int(at_s * 6) % (MOODS - 1) if joy > 0.05 else 0
    for stand in arena.stands:
        if camera.sees_front(stand.plane):
            camera.lay_pieces(picture, stand.moods[mood % len(stand.moods)], stand.plane)


def _fill(sky: Pixels, picture: Pixels, horizon: int) -> None:
    """Sky above, dark ground below; what is in between will be covered."""
    height, width = picture.shape[:2]
    horizon = min(max(horizon, 0), height)
    if horizon:
        column = cv2.resize(sky, (1, horizon), interpolation=cv2.INTER_LINEAR)
        cv2.resize(column, (width, horizon), dst=picture[:horizon], interpolation=cv2.INTER_NEAREST)
    cv2.rectangle(picture, (0, horizon), (width, height), (52, 66, 56), -1)


def lay_boards(arena: Arena, picture: Pixels, camera: Camera, at_s: float) -> None:
    for plane, words in arena.boards:
        half = words.shape[1] // 2
        moved = int(at_s * words.shape[0] * 0.8) % half
        if camera.sees_front(plane):
            camera.lay_pieces(picture, words[:, moved : moved + half], plane)
