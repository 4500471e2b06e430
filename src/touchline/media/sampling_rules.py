"""What sampling is asked for and what it says, and which pictures of a video are worth reading.

Pure, and light: the child decides by these rules.
Invariant: a picture on which any small tile has changed is never left out, however alike the rest is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from .model import OutputFile, Probe

HASH_WIDTH, HASH_HEIGHT = 8, 8
HASH_BITS = HASH_WIDTH * HASH_HEIGHT
LONGEST_SIDE = 640  # of the picture that is examined: one digit of a scoreboard is about a tile there
TILE = 8
CHANGE = 8  # of 255, the mean over a tile: compression stays below, a digit does not
MOST_CHANGE = 255
MOST_PICTURES = 200_000


def next_wanted(time: Fraction, every: Fraction) -> Fraction:
    """The first point of the grid behind a picture that was taken."""
    return (time // every + 1) * every


def difference_hash(pixels: bytes) -> int:
    """64 bits: whether each of 8 x 8 pixels is brighter than its right neighbour; `pixels` are 9 x 8."""
    bits = 0
    for row in range(HASH_HEIGHT):
        line = pixels[row * (HASH_WIDTH + 1) : (row + 1) * (HASH_WIDTH + 1)]
        for left, right in pairwise(line):
            bits = bits << 1 | (left > right)
    return bits


def is_similar(one: int, other: int, threshold: float) -> bool:
    return 1 - (one ^ other).bit_count() / HASH_BITS > threshold


def is_changed(change: int) -> bool:
    return change > CHANGE


def examined_size(width: int, height: int) -> tuple[int, int]:
    """Never enlarged, and at least one tile."""
    scale = min(1.0, LONGEST_SIDE / max(width, height))
    return max(TILE, round(width * scale)), max(TILE, round(height * scale))


# What sampling is asked for, and what it says. Shared with the child: it imports nothing heavy.

MANIFEST = "manifest.jsonl"


@dataclass(frozen=True, slots=True)
class SampleOptions:
    every_ms: int = 100  # ten pictures a second
    threshold: float = 0.95  # of similarity; what is above it is the same picture, unless a tile of it changed


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a child says about the pictures that it wrote."""

    source: Probe
    width: int
    height: int
    examined: int
    kept: int


@dataclass(frozen=True, slots=True)
class SampledPicture:
    """A line of the manifest."""

    name: str
    time_ms: int  # the media time of the picture
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SampleSet:
    source: Probe
    width: int
    height: int
    examined: int
    kept: int
    manifest: str  # from the output folder
    files: tuple[OutputFile, ...]
