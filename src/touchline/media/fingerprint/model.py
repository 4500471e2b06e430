"""Fingerprints and what comparing them says. Shared with the child: it imports nothing heavier than numpy.

Invariant: sample number `k`, counted from zero, was taken at `(k + 1) * INTERVAL_MS`; the hash 0 stands for a picture
without information, such as black ones have by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .style import Style

INTERVAL_MS = 250
END_MARGIN_MS = 300  # the last pictures of a video are often cut off
MOST_SAMPLES = 4 * 3600 * 24 * 7  # a week
NEAR = 10  # bits of 64 that may differ between two pictures that count as the same
LEAST_RUN = 3
FINGERPRINT = "{}.tlfp"  # the file of each style

Hashes: TypeAlias = "NDArray[np.uint64]"


def _none() -> Hashes:
    return np.zeros(0, np.uint64)


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """The 64-bit hashes of a video's pictures, one for each quarter of a second."""

    hashes: Hashes
    style: Style = Style.DENSE
    details: Hashes = field(default_factory=_none)  # of careful ones, a second hash for each of the first

    def __post_init__(self) -> None:
        if len(self.details) != (len(self.hashes) if self.style is Style.CAREFUL else 0):
            raise ValueError(f"{len(self.details)} details do not fit {len(self.hashes)} hashes of style {self.style}")

    @classmethod
    def of(cls, hashes: Iterable[int], style: Style = Style.DENSE, details: Iterable[int] = ()) -> Fingerprint:
        return cls(np.fromiter(hashes, np.uint64), style, np.fromiter(details, np.uint64))

    def __len__(self) -> int:
        return len(self.hashes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fingerprint):
            return False
        same = self.style is other.style and np.array_equal(self.hashes, other.hashes)
        return same and np.array_equal(self.details, other.details)

    def __hash__(self) -> int:
        return hash(self.hashes.tobytes())

    @cached_property
    def informative(self) -> int:
        """How many of its pictures have information."""
        return int(np.count_nonzero(self.hashes))


class Comparison(NamedTuple):
    """What two videos have in common; without a match all is zero. A tuple, since many are made in a short time."""

    match: bool
    offset_ms: int = 0  # where the second video begins in the first: negative where it begins earlier
    run: int = 0  # the most pictures in a row that are the same
    matched: int = 0  # all pictures in such rows, at this offset
    coverage_first: float = 0.0  # the share of them in the pictures with information
    coverage_second: float = 0.0
    mirrored: bool = False  # left is right; only careful fingerprints show that


@dataclass(frozen=True, slots=True)
class Way:
    """How a fingerprint is taken."""

    style: Style = Style.DENSE
    fast: bool = False  # skip pictures that no others are made of; where a video has such, a few bits differ


USUAL = Way()


NO_MATCH = Comparison(match=False)
