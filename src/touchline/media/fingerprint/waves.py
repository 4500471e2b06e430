"""The two hashes of a foreground: of the waves that it is made of, long ones to find it, shorter ones to be sure.

A hash to find says of each of the 32 longest waves whether it is strong, weak or strong the other way up, in two bits:
cropping changes few of them. A detail has the signs of 8 by 8 waves. Invariant: mirroring twice changes nothing. Pure.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .model import Fingerprint, Hashes
from .motion import HEIGHT, WIDTH, Small

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
