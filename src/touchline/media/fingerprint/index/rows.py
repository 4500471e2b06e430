"""Pictures that many videos share are near in many places; few of these lie in a row.

Invariant: no place is dropped whose neighbours may make a row of three with it; of pictures that are in many places,
no place from which such a row goes on.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from touchline.media.fingerprint.model import Hashes

from .building import DIGESTS, digests
from .inquiry import LIMIT, HashQuery, NearHashes, Places
from .segment import IndexSegment

FEW_PLACES = 64
MANY_PLACES = 4096  # from here on it is worth to look up the picture behind
ONE, TWO = np.uint32(1), np.uint32(2)
Flags = NDArray[np.bool_]


def is_everywhere(found: NearHashes) -> bool:
    """Of such a picture only the places are kept from which a row goes on."""
    return found.count > MANY_PLACES


class RunFilter:
    def __init__(self, query: Hashes, segment: IndexSegment, inquiries: Mapping[int, HashQuery]) -> None:
        """The inquiries by their places in the query."""
        self._query = query
        self._segment = segment
        self._inquiries = inquiries

    def thinned_out(self, place: int, found: NearHashes) -> Places:
        """Those with two neighbours that are near too, or have no information, in the query or in the video."""
        if is_everywhere(found):
            return self._going_on(place, found)
        places = found.places()
        if len(places) <= FEW_PLACES:
            return places
        before, after = self._fits(place - 1, places - ONE), self._fits(place + 1, places + ONE)
        kept = before & after
        for further, beside, them in ((place - 2, before, places - TWO), (place + 2, after, places + TWO)):
            open_ones = np.flatnonzero(beside & ~kept)
            kept[open_ones] = self._fits(further, them[open_ones])
        return places[kept]

    def _going_on(self, place: int, found: NearHashes) -> Places:
        """Most are seen not to by the digest of the next picture, which lies beside them."""
        places = found.places_before(self._likely(place + 1))
        places = places[self._fits(place + 1, places + ONE)]
        return places[self._fits(place + 2, places + TWO) | self._fits(place - 1, places - ONE)]

    def _fits(self, place: int, places: Places) -> Flags:
        """What lies outside of the segment is taken for its border: later the whole video is compared."""
        if not 0 <= place < len(self._query):
            return np.zeros(len(places), np.bool_)
        if not self._query[place]:
            return np.ones(len(places), np.bool_)
        frames = self._segment.frames.take(places, mode="clip").astype(np.int64)
        hashes = self._segment.unique.take(frames - 1)  # of one without information the last: it does not matter
        return (np.bitwise_count(hashes ^ self._query[place]) <= LIMIT) | (frames == 0)

    def _likely(self, place: int) -> Flags:
        """Marks the digests of what is near this picture, and of what has no information. So small a table stays in
        the processor's cache."""
        inquiry = self._inquiries.get(place)
        if inquiry is None:  # outside of the query, without information, or looked up with others
            return np.ones(DIGESTS, np.bool_)
        table = np.zeros(DIGESTS, np.bool_)
        table[digests(inquiry.found.numbers.astype(np.uint64) + ONE, len(self._segment.unique))] = True
        table[0] = True
        return table
