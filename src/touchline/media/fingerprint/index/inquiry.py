"""One hash of a query that may be looked up in a segment, and what is found."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from touchline.media.fingerprint.model import NEAR, Hashes

from .bands import BandPlan, ranges
from .segment import IndexSegment

BLOCK = 1 << 16  # hashes that are looked at together: they stay in the processor's cache
LIMIT = np.array(NEAR, np.uint8)
Places = NDArray[np.uint32]


class NearHashes:
    """Hashes that are near, each once, and where the videos have them."""

    def __init__(self, near: Hashes, segment: IndexSegment) -> None:
        self.numbers = np.searchsorted(segment.unique, near)
        self._starts = segment.posting_starts[self.numbers]
        self._lengths = segment.posting_starts[self.numbers + 1] - self._starts
        self._segment = segment
        self.count = int(self._lengths.sum(dtype=np.int64))

    def places(self) -> Places:
        """All samples with one of these hashes."""
        return self._segment.postings.take(ranges(self._starts, self._lengths))

    def places_before(self, likely: NDArray[np.bool_]) -> Places:
        """Those of them whose next picture has a digest that is likely."""
        postings = ranges(self._starts, self._lengths)
        return self._segment.postings.take(postings[likely.take(self._segment.nexts.take(postings))])


class HashQuery:
    """One hash that may be looked up: what that costs is known before, in how many places it is only afterwards."""

    def __init__(self, value: np.uint64, segment: IndexSegment, plan: BandPlan | None) -> None:
        self.value = value
        self.cost = plan.cost if plan else len(segment.unique)
        self._segment = segment
        self._plan = plan
        self._found: NearHashes | None = None

    @property
    def found(self) -> NearHashes:
        """Kept: several parts of a search ask for it."""
        if self._found is None:
            self._found = NearHashes(self._near(), self._segment)
        return self._found

    def _near(self) -> Hashes:
        if self._plan is None:
            return flat(self.value, self._segment.unique)
        found = self._plan.candidates(self._segment.bands)
        return _each_once(found[np.bitwise_count(found ^ self.value) <= LIMIT])


def flat(value: np.uint64, hashes: Hashes) -> Hashes:
    parts = (hashes[begin : begin + BLOCK] for begin in range(0, len(hashes), BLOCK))
    near = [part[np.bitwise_count(part ^ value) <= LIMIT] for part in parts]
    return np.concatenate(near) if near else hashes[:0]


def _each_once(hashes: Hashes) -> Hashes:
    """Sorted; several bands may have led to the same one. For so few this is quicker than `np.unique`."""
    hashes.sort()
    first = np.ones(len(hashes), np.bool_)
    np.not_equal(hashes[1:], hashes[:-1], out=first[1:])
    return hashes[first]
