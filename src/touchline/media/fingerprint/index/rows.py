"""Pictures that many videos share are near in many places; few of these lie in a row.

Invariant: no place is dropped whose neighbours may make a row of three with it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from touchline.media.fingerprint.model import Hashes

from .inquiry import LIMIT, Inquiry
from .segment import Segment

FEW_PLACES = 64
MANY_PLACES = 4096  # from here on it is worth to look up the neighbours
BLOCK = 8192  # places that are looked at together: both neighbours of one are in the same line of the cache
TABLE = 1 << 16
ONE, TWO = np.uint32(1), np.uint32(2)
Places = NDArray[np.uint32]
Flags = NDArray[np.bool_]


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
        places.sort()  # in the order of the memory
        near_by = self._by_tables if len(places) > MANY_PLACES else self._by_hashes
        before, after = near_by(place, places)
        kept = before & after
        for further, beside, them in ((place - 2, before, places - TWO), (place + 2, after, places + TWO)):
            open_ones = np.flatnonzero(beside & ~kept)
            kept[open_ones] = self._fits(further, them[open_ones])
        return places[kept]

    def _by_hashes(self, place: int, places: Places) -> tuple[Flags, Flags]:
        return self._fits(place - 1, places - ONE), self._fits(place + 1, places + ONE)

    def _fits(self, place: int, places: Places) -> Flags:
        """What lies outside of the segment is taken for its border: later the whole video is compared."""
        if not 0 <= place < len(self._query):
            return np.zeros(len(places), np.bool_)
        if not self._query[place]:
            return np.ones(len(places), np.bool_)
        frames = self._segment.frames.take(places, mode="clip").astype(np.int64)
        hashes = self._segment.unique.take(frames - 1)  # of one without information the last: it does not matter
        return (np.bitwise_count(hashes ^ self._query[place]) <= LIMIT) | (frames == 0)

    def _by_tables(self, place: int, places: Places) -> tuple[Flags, Flags]:
        """First by the last bits of the numbers of hashes: a table of these is so small that it stays in the cache."""
        tables = self._table(place - 1), self._table(place + 1)
        before, after = np.empty(len(places), np.bool_), np.empty(len(places), np.bool_)
        for begin in range(0, len(places), BLOCK):
            block = slice(begin, begin + BLOCK)
            before[block] = self._marks(tables[0], places[block] - ONE)
            after[block] = self._marks(tables[1], places[block] + ONE)
        for number, likely, them in ((place - 1, before, places - ONE), (place + 1, after, places + ONE)):
            likely_ones = np.flatnonzero(likely)
            likely[likely_ones] = self._fits(number, them[likely_ones])
        return before, after

    def _marks(self, table: Flags, places: Places) -> Flags:
        return table.take(self._segment.frames.take(places, mode="clip").astype(np.uint16))

    def _table(self, place: int) -> Flags:
        """Marks what may be near this picture, and what has no information."""
        inquiry = self._inquiries.get(place)
        if inquiry is None:  # outside of the query, without information, or looked up with others
            return np.ones(TABLE, np.bool_)
        table = np.zeros(TABLE, np.bool_)
        table[(inquiry.found.numbers + 1) % TABLE] = True
        table[0] = True
        return table
