"""One picture of a take and what is written on it."""

from __future__ import annotations

from typing import NamedTuple

from .paint import Pixels, Text

RATE = 25


class Shown(NamedTuple):
    at_ms: int
    picture: Pixels
    texts: tuple[Text, ...]


def times_of(length_ms: int) -> range:
    """Of all pictures of a take."""
    return range(0, length_ms - 1000 // RATE + 1, 1000 // RATE)
