"""Pictures that many videos share are near in many places; few of these lie in a row.

Invariant: no place is dropped whose neighbours may make a row of three with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from touchline.media.fingerprint.model import Hashes

from .inquiry import LIMIT, Inquiry
from .segment import Segment

FEW_PLACES = 64
MANY_PLACES = 4096  # from here on it is worth to look up a neighbour
ONE, TWO = np.uint32(1), np.uint32(2)
Places = NDArray[np.uint32]


class Rows:
    def __init__(self, query: Hashes, segment: Segment, inquiries: Mapping[int, Inquiry]) -> None:
        """The inquiries by their places in the query."""
        self._query = query
        self._segment = segment
        self._inquiries = inquiries

    def thinned_out(self, place: int, places: Places) -> Places:
        """Those with two neighbours that are near too, or have no information, in the query or in the video."""
        if len(places) <= FEW_PLACES:
            return places
        before, after = self._fits(place - 1, places - ONE), self._fits(place + 1, places + ONE)
        kept = before & after
        for further, beside, them in ((place - 2, before, places - TWO), (place + 2, after, places + TWO)):
            open_ones = np.flatnonzero(beside & ~kept)
            kept[open_ones] = self._fits(further, them[open_ones])
        return places[kept]

    def _fits(self, place: int, places: Places) -> NDArray[np.bool_]:
        """What lies outside of the segment is taken for its border: later the whole video is compared."""
        if not 0 <= place < len(self._query):
            return np.zeros(len(places), np.bool_)
        if not self._query[place]:
            return np.ones(len(places), np.bool_)
        frames = self._segment.frames.take(places, mode="clip")
        inquiry = self._inquiries.get(place)
        if inquiry and len(places) > MANY_PLACES:
            return self._are_among(frames, inquiry)
        return self._are_near(frames, self._query[place])

    def _are_near(self, frames: NDArray[np.uint32], value: np.uint64) -> NDArray[np.bool_]:
        hashes = self._segment.unique.take(frames.astype(np.int64) - 1)
        return (np.bitwise_count(hashes ^ value) <= LIMIT) | (frames == 0)

    def _are_among(self, frames: NDArray[np.uint32], inquiry: Inquiry) -> NDArray[np.bool_]:
        """By the numbers of the hashes that were found: a table of them is small beside the hashes themselves."""
        numbers = inquiry.found.numbers + 1
        self._table[numbers] = True
        among = self._table.take(frames)
        self._table[numbers] = False
        return among

    @cached_property
    def _table(self) -> NDArray[np.bool_]:
        """For each number; the one of no information is always in."""
        table = np.zeros(len(self._segment.unique) + 1, np.bool_)
        table[0] = True
        return table
