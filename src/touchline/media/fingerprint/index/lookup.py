"""Which samples of a segment are near those of a query: enough of them to see every row that the rule asks for.

Not every picture of the query is looked up. Of a row of three neighbours one is enough, so the cheapest are taken; of
pictures that are everywhere it must be one of the first two. A row may also stretch over pictures without information,
of the query or of the video; then the picture before such a gap is enough, and those are looked up as well: in the
query all, in the videos among the `edges`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from touchline.media.fingerprint.model import LEAST_RUN, Hashes

from .bands import plans
from .inquiry import HashQuery, NearHashes, Places, flat
from .rows import RunFilter, is_everywhere
from .segment import IndexSegment

TOGETHER = 256  # hashes of the query that are looked up together
MANY_PLACES = 20_000  # that look alike: then it is worth to look for pictures that have fewer
TRIES = 3
SUSPICION = 10
COSTLY = 16  # a plan costs too much when it looks at this part of all hashes
Hits = tuple[int, Places]  # a place in the query, and places in the segment


def hits(query: Hashes, segment: IndexSegment) -> Iterator[Hits]:
    """Part by part, so that long queries take no more memory; parts overlap so that no row is cut."""
    informative: list[int] = np.flatnonzero(query).tolist()
    for begin in range(0, max(1, len(informative) - LEAST_RUN + 1), TOGETHER - LEAST_RUN + 1):
        yield from _hits(query, informative[begin : begin + TOGETHER], segment)


def _hits(query: Hashes, informative: list[int], segment: IndexSegment) -> Iterator[Hits]:
    inquiries = _inquiries(query[informative], segment)
    chosen = _chosen(inquiries, _before_gaps(informative))
    rows = RunFilter(query, segment, dict(zip(informative, inquiries, strict=True)))
    left_out = set(range(len(inquiries))) - chosen
    if len(left_out) * len(segment.edges) > sum(inquiries[number].cost for number in left_out):
        left_out.clear()  # so many edges that it is cheaper to look up all
    for number in range(len(inquiries)) if len(segment.edges) else sorted(chosen):
        inquiry, place = inquiries[number], informative[number]
        found = NearHashes(flat(inquiry.value, segment.edges), segment) if number in left_out else inquiry.found
        yield place, rows.thinned_out(place, found)


def _chosen(inquiries: Sequence[HashQuery], needed: set[int]) -> set[int]:
    """A cover that has few places, with all that are needed. In how many places a picture is shows when it is looked
    up; before, it is judged by what that costs: where it is more than for others, many hashes are near."""
    least = min((inquiry.cost for inquiry in inquiries), default=0)
    weights = [inquiry.cost + SUSPICION * (inquiry.cost - least) for inquiry in inquiries]
    known: set[int] = set()
    everywhere: set[int] = set()
    covers: list[tuple[int, set[int]]] = []
    for _ in range(TRIES):
        chosen = _cheapest_cover(weights, everywhere) | needed
        for number in chosen - known:
            weights[number] = inquiries[number].found.count
        everywhere |= {number for number in chosen - known if is_everywhere(inquiries[number].found)}
        cover = _completed(chosen, everywhere)
        covers.append((sum(weights[number] for number in cover), cover))
        if chosen <= known or covers[-1][0] <= MANY_PLACES:
            break
        known |= chosen
    return min(covers, key=lambda each: each[0])[1]


def _completed(cover: set[int], everywhere: set[int]) -> set[int]:
    """With one of the first two of every row that ends with a picture that turned out to be everywhere."""
    open_ones = (number for number in cover & everywhere if number > 1 and not cover & {number - 1, number - 2})
    return cover | {number - 1 for number in open_ones}


def _inquiries(hashes: Hashes, segment: IndexSegment) -> list[HashQuery]:
    """Without a plan where it is cheaper to look at all hashes."""
    size = len(segment.unique)
    if not len(segment.buckets):
        return [HashQuery(value, segment, None) for value in hashes]
    planned = plans(hashes, segment.buckets, size // COSTLY)
    return [
        HashQuery(value, segment, plan if plan.cost < size else None)
        for value, plan in zip(hashes, planned, strict=True)
    ]


def _cheapest_cover(costs: Sequence[int], everywhere: set[int]) -> set[int]:
    """The cheapest choice that has one of any `LEAST_RUN` neighbours; the last of them not, if it is everywhere."""
    best: list[tuple[int, int]] = []  # the cost of a cover whose last choice is this, and the choice before
    for number, cost in enumerate(costs):
        reach = LEAST_RUN - (number in everywhere)
        before = range(max(0, number - reach), number)
        cheapest = min(before, key=lambda each: best[each][0], default=-1)
        spent, previous = (0, -1) if number < reach else (best[cheapest][0], cheapest)
        best.append((spent + cost, previous))
    chosen: set[int] = set()
    last = min(range(max(0, len(best) - LEAST_RUN), len(best)), key=lambda each: best[each][0], default=-1)
    while last >= 0:
        chosen.add(last)
        last = best[last][1]
    return chosen


def _before_gaps(informative: Sequence[int]) -> set[int]:
    return {number for number in range(len(informative) - 1) if informative[number + 1] > informative[number] + 1}
