"""Whether two readings are of one caption. Letters may be misread; a number that differs is another one.

Invariant: symmetric, and every text is like itself.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from .folding import fold, shape

MISREAD = 0.2  # of the letters
LEAST_LETTERS = 4  # below that every letter counts
_NUMBERS = re.compile(r"[\doil|]*\d[\doil|]*")  # with the letters that are taken for digits beside digits
_DIGITS = str.maketrans("oil|", "0111")


def likeness(one: str, other: str) -> float:
    """From 0, not the same, to 1, the same to the letter."""
    if one == other:
        return 1.0
    mine, theirs = shape(one), shape(other)
    if mine == theirs:
        return 0.99 if mine else 0.0
    longest = max(len(mine), len(theirs))
    if longest < LEAST_LETTERS or numbers(one) != numbers(other):
        return 0.0
    allowed = int(longest * MISREAD)
    distance = Levenshtein.distance(mine, theirs, score_cutoff=allowed)
    return 0.0 if distance > allowed else 1 - distance / longest


@lru_cache(maxsize=4096)
def numbers(text: str) -> tuple[str, ...]:
    return tuple(found.translate(_DIGITS) for found in _NUMBERS.findall(fold(text)))
