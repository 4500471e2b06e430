"""Which samples of a segment are near those of a query: enough of them to see every row that the rule asks for.

Not every picture of the query is looked up. Of a row of three neighbours one is enough, so the cheapest are taken. A
row may also stretch over pictures without information, of the query or of the video; then one of its pictures borders
such a gap on either side, and those are looked up as well: in the query all, in the videos among the `edges`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from touchline.media.fingerprint.model import LEAST_RUN, NEAR, Hashes

from .bands import Plan, plans, ranges
from .segment import Segment

BLOCK = 1 << 16  # hashes that are looked at together: they stay in the processor's cache
TOGETHER = 256  # hashes of the query that are looked up together
MANY_PLACES = 20_000  # that look alike: then it is worth to know how many each picture has
COSTLY = 16  # a plan costs too much when it looks at this part of all hashes
LIMIT = np.array(NEAR, np.uint8)
Hits = tuple[int, NDArray[np.int64]]  # a place in the query, and places in the segment


def hits(query: Hashes, segment: Segment) -> Iterator[Hits]:
    """Part by part, so that long queries take no more memory; parts overlap so that no row is cut."""
    informative: list[int] = np.flatnonzero(query).tolist()
    for begin in range(0, max(1, len(informative) - LEAST_RUN + 1), TOGETHER - LEAST_RUN + 1):
        yield from _hits(query, informative[begin : begin + TOGETHER], segment)


def _hits(query: Hashes, informative: list[int], segment: Segment) -> Iterator[Hits]:
    inquiries = _inquiries(query[informative], segment)
    beside_gaps = _beside_gaps(informative)
    chosen = _cheapest_cover([each.cost for each in inquiries]) | beside_gaps
    if sum(inquiries[number].places for number in chosen) > MANY_PLACES:
        chosen = _cheapest_cover([each.places for each in inquiries]) | beside_gaps
    left_out = set(range(len(inquiries))) - chosen
    if len(left_out) * len(segment.edges) > sum(inquiries[number].cost for number in left_out):
        left_out.clear()  # so many edges that it is cheaper to look up all
    for number, inquiry in enumerate(inquiries):
        near = _flat(inquiry.value, segment.edges) if number in left_out else inquiry.near
        if len(near):
            yield informative[number], _places(near, segment)


class Inquiry:
    """One hash that may be looked up: what that costs is known before, in how many places it is only afterwards."""

    def __init__(self, value: np.uint64, segment: Segment, plan: Plan | None) -> None:
        self.value = value
        self.cost = plan.cost if plan else len(segment.unique)
        self._segment = segment
        self._plan = plan

    @cached_property
    def near(self) -> Hashes:
        if self._plan is None:
            return _flat(self.value, self._segment.unique)
        found = self._segment.bands[self._plan.candidates()]
        return np.unique(found[np.bitwise_count(found ^ self.value) <= LIMIT])

    @cached_property
    def places(self) -> int:
        numbers = np.searchsorted(self._segment.unique, self.near)
        starts = self._segment.posting_starts
        return int((starts[numbers + 1].astype(np.int64) - starts[numbers]).sum())


def _inquiries(hashes: Hashes, segment: Segment) -> list[Inquiry]:
    """Without a plan where it is cheaper to look at all hashes."""
    size = len(segment.unique)
    if not len(segment.buckets):
        return [Inquiry(value, segment, None) for value in hashes]
    planned = plans(hashes, segment.buckets, size // COSTLY)
    return [
        Inquiry(value, segment, plan if plan.cost < size else None) for value, plan in zip(hashes, planned, strict=True)
    ]


def _cheapest_cover(costs: Sequence[int]) -> set[int]:
    """The cheapest choice that has one of any `LEAST_RUN` neighbours."""
    best: list[tuple[int, int]] = []  # the cost of a cover whose last choice is this, and the choice before
    for number, cost in enumerate(costs):
        before = range(max(0, number - LEAST_RUN), number)
        cheapest = min(before, key=lambda each: best[each][0], default=-1)
        spent, previous = (0, -1) if number < LEAST_RUN else (best[cheapest][0], cheapest)
        best.append((spent + cost, previous))
    chosen: set[int] = set()
    last = min(range(max(0, len(best) - LEAST_RUN), len(best)), key=lambda each: best[each][0], default=-1)
    while last >= 0:
        chosen.add(last)
        last = best[last][1]
    return chosen


def _beside_gaps(informative: Sequence[int]) -> set[int]:
    beside = {number for number in range(1, len(informative)) if informative[number] > informative[number - 1] + 1}
    return beside | {number - 1 for number in beside}


def _flat(value: np.uint64, hashes: Hashes) -> Hashes:
    parts = (hashes[begin : begin + BLOCK] for begin in range(0, len(hashes), BLOCK))
    near = [part[np.bitwise_count(part ^ value) <= LIMIT] for part in parts]
    return np.concatenate(near) if near else hashes[:0]


def _places(near: Hashes, segment: Segment) -> NDArray[np.int64]:
    """All samples with one of these hashes."""
    numbers = np.searchsorted(segment.unique, near)
    starts = segment.posting_starts[numbers].astype(np.int64)
    return segment.postings[ranges(starts, segment.posting_starts[numbers + 1] - starts)].astype(np.int64)
