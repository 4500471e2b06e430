"""The two hashes of a foreground: of the waves that it is made of, long ones to find it, shorter ones to be sure.

A hash to find says of each of the 32 longest waves whether it is strong, weak or strong the other way up, in two bits:
cropping changes few of them. A detail has the signs of 8 by 8 waves. Invariant: mirroring twice changes nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import floor
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from .model import Fingerprint, Hashes

# What moves by itself in a video: players, not the ground that the camera pans over, nor a logo that stands still.
# Each small picture is explained by its neighbours, four times: by those before it and by those after it, as they are
# and moved along with the camera. What the best explanation of each pixel leaves over is the foreground, as far as
# the camera had, or will have, that place in view. Pure.

WIDTH, HEIGHT = 64, 36  # of small pictures: a player is a few pixels
REACH = 3  # neighbours on each side that explain a picture
FARTHEST = (4, 14)  # pixels that the camera may move from one picture to the next, down and to the right
LARGEST = 1000.0  # no pixel is as bright
UNKNOWN = np.float32(1e6)  # beyond the border of a picture that was moved
Small: TypeAlias = "NDArray[np.float32]"
Shift: TypeAlias = tuple[float, float]  # down and to the right


def foregrounds(pictures: Iterable[Small]) -> Iterator[Small]:
    """One for each picture; only as many pictures are kept as explain one."""
    window: list[tuple[Small, Shift]] = []
    centre = 0
    for picture in pictures:
        window.append((picture, _followed(window[-1], picture) if window else (0.0, 0.0)))
        if len(window) - centre > REACH:
            yield _foreground(window, centre)
            centre += 1
        if centre > REACH:
            del window[0]
            centre -= 1
    for place in range(centre, len(window)):
        yield _foreground(window, place)


def _followed(last: tuple[Small, Shift], picture: Small) -> Shift:
    """Where the ground is that was at the origin in the first picture."""
    down, right = camera_shift(last[0], picture)
    return last[1][0] + down, last[1][1] + right


def _foreground(window: Sequence[tuple[Small, Shift]], centre: int) -> Small:
    picture, place = window[centre]
    left_over = np.full_like(picture, UNKNOWN)
    seen = np.zeros(picture.shape, np.bool_)
    for side in (window[max(0, centre - REACH) : centre], window[centre + 1 : centre + 1 + REACH]):
        if not side:
            continue
        still = sum(each for each, _ in side)
        panned = sum(moved(each, (place[0] - was[0], place[1] - was[1])) for each, was in side)
        for explanation in (still, panned):
            rest = picture - explanation / np.float32(len(side))
            left_over = np.where(np.abs(rest) < np.abs(left_over), rest, left_over)
        seen |= panned < len(side) * LARGEST
    return np.where(seen, left_over, np.float32(0))


def camera_shift(first: Small, second: Small) -> Shift:
    """By how much the middle of the first picture has moved in the second: where the differences are smallest."""
    down, right = FARTHEST
    middle = first[down:-down, right:-right]
    costs = np.abs(sliding_window_view(second, middle.shape) - middle).mean((2, 3))
    row, column = divmod(int(costs.argmin()), costs.shape[1])
    return _between(costs[:, column], row) - down, _between(costs[row], column) - right


def _between(costs: NDArray[np.float32], lowest: int) -> float:
    """Where the smallest of the costs lies between pixels: they rise evenly on both sides of it."""
    if not 0 < lowest < len(costs) - 1:
        return lowest
    left, middle, right = costs[lowest - 1 : lowest + 2].tolist()
    steepness = max(left, right) - middle
    return lowest + (0.5 * (left - right) / steepness if steepness > 0 else 0.0)


def moved(picture: Small, shift: Shift) -> Small:
    """What comes in from outside is unknown."""
    return _moved_down(_moved_down(picture, shift[0]).T, shift[1]).T


def _moved_down(picture: Small, shift: float) -> Small:
    whole = floor(-shift)
    share = np.float32(-shift - whole)
    rows = len(picture)
    padded = np.full((rows + 1, picture.shape[1]), UNKNOWN, np.float32)
    begin, end = max(0, -whole), min(rows + 1, rows - whole)
    if begin < end:
        padded[begin:end] = picture[begin + whole : end + whole]
    return np.add(padded[:-1], (padded[1:] - padded[:-1]) * share, dtype=np.float32)


MOST_WAVES = 9  # in each direction, with the one that does not change
WEAK = 0.6  # the share of the long waves that count as weak
LEAST_MOTION = 0.12  # grey levels that a picture's foreground has on average: below, there is only noise
Wave: TypeAlias = tuple[int, int]  # how often it changes from top to bottom, and from left to right


def _longest(count: int) -> list[Wave]:
    waves = [(down, right) for down in range(MOST_WAVES) for right in range(MOST_WAVES) if down or right]
    return sorted(waves, key=lambda wave: (wave[0] ** 2 + wave[1] ** 2, wave))[:count]


LONG = _longest(32)
SHORTER: list[Wave] = [(down, right) for down in range(1, MOST_WAVES) for right in range(1, MOST_WAVES)]


def _shapes(length: int) -> NDArray[np.float64]:
    return np.cos(np.pi * (np.arange(length) + 0.5) * np.arange(MOST_WAVES)[:, None] / length)


def _places(waves: list[Wave]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    both = np.array(waves, np.int64)
    return both[:, 0], both[:, 1]


def _turned(waves: list[Wave]) -> int:
    """The waves that a mirror turns upside down, as bits, the first one highest."""
    return int("".join(str(right % 2) for _, right in waves), 2)


DOWN, ACROSS = _shapes(HEIGHT), _shapes(WIDTH)
LONG_PLACES, SHORTER_PLACES = _places(LONG), _places(SHORTER)
TURNED, TURNED_DETAIL = np.uint64(_turned(LONG)), np.uint64(_turned(SHORTER))
HALF, LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)


def hash_and_detail(foreground: Small) -> tuple[int, int]:
    """Zero and zero where nothing moves."""
    if float(np.abs(foreground).mean()) < LEAST_MOTION:
        return 0, 0
    waves = DOWN @ foreground.astype(np.float64) @ ACROSS.T
    long = waves[LONG_PLACES]
    weak = np.quantile(np.abs(long), WEAK)
    return _number(np.concatenate([long > weak, long > -weak])), _number(waves[SHORTER_PLACES] > 0)


def _number(bits: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(bits).tobytes())


def mirrored(fingerprint: Fingerprint) -> Fingerprint:
    """That of the mirrored video."""
    hashes = fingerprint.hashes
    return Fingerprint(
        mirrored_hashes(hashes),
        fingerprint.style,
        np.where(hashes == 0, fingerprint.details, fingerprint.details ^ TURNED_DETAIL),
    )


def mirrored_hashes(hashes: Hashes) -> Hashes:
    """What the hashes of the mirrored video would be: a turned wave that was above one bound is below the other."""
    above, below = hashes >> HALF, hashes & LOW_HALF
    turned_above = (above & ~TURNED) | (~below & TURNED)
    turned_below = (below & ~TURNED) | (~above & TURNED)
    return np.where(hashes == 0, hashes, ((turned_above & LOW_HALF) << HALF) | (turned_below & LOW_HALF))
