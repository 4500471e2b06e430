"""From near samples to the videos that match: every offset at which a sample is near is compared as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from touchline.kernel import InvalidInput
from touchline.media.errors import DamagedIndex
from touchline.media.fingerprint.comparison import (
    NEUTRAL,
    Alignment,
    MatchRule,
    aligned,
    comparison,
    is_convincing,
    states_of,
)
from touchline.media.fingerprint.model import LEAST_RUN, NEAR, Comparison, Fingerprint, Hashes

from .segment import DIGESTS, BandPlan, IndexSegment, SegmentEntry, digests, plans, ranges

# One hash of a query that may be looked up in a segment, and what is found.

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


# Pictures that many videos share are near in many places; few of these lie in a row. Invariant: no place is dropped
# whose neighbours may make a row of three with it; of pictures that are in many places, no place from which such a
# row goes on.

FEW_PLACES = 64
MANY_FOUND = 4096  # from here on it is worth to look up the picture behind
ONE, TWO = np.uint32(1), np.uint32(2)
Flags = NDArray[np.bool_]


def is_everywhere(found: NearHashes) -> bool:
    """Of such a picture only the places are kept from which a row goes on."""
    return found.count > MANY_FOUND


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


# Which samples of a segment are near those of a query: enough of them to see every row that the rule asks for. Not
# every picture of the query is looked up. Of a row of three neighbours one is enough, so the cheapest are taken; of
# pictures that are everywhere it must be one of the first two. A row may also stretch over pictures without
# information, of the query or of the video; then the picture before such a gap is enough, and those are looked up as
# well: in the query all, in the videos among the `edges`.

TOGETHER = 256  # hashes of the query that are looked up together
MANY_COVERED = 20_000  # that look alike: then it is worth to look for pictures that have fewer
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
        if chosen <= known or covers[-1][0] <= MANY_COVERED:
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


MOST_CELLS = 1 << 21  # pairs of pictures that are compared together
Offsets = NDArray[np.int64]  # in samples, as `Comparison.offset_ms`


def search(
    query: Fingerprint, segment: IndexSegment, entry: SegmentEntry, rule: MatchRule
) -> Iterator[tuple[int, Comparison]]:
    """The numbers of the videos that match, each with what comparing it with the query says."""
    if rule.near > NEAR or rule.least_run < LEAST_RUN:
        raise InvalidInput("an index cannot be searched with a looser rule than its own", field="rule")
    try:
        yield from _found(query, segment, entry, rule)
    except IndexError as error:
        raise DamagedIndex(f"{segment.path.name} of the index is damaged", why=str(error)) from error


def _found(
    query: Fingerprint, segment: IndexSegment, entry: SegmentEntry, rule: MatchRule
) -> Iterator[tuple[int, Comparison]]:
    best: dict[int, Alignment] = {}
    numbers, offsets = _pairs(query, segment, entry)
    block = max(1, MOST_CELLS // max(1, len(query)))
    for begin in range(0, len(numbers), block):
        for number, found in _aligned(
            query, segment, numbers[begin : begin + block], offsets[begin : begin + block], rule
        ):
            best[number] = max(best.get(number, found), found)
    for number, found in best.items():
        yield number, comparison(found, query.informative, segment.fingerprint(number).informative)


def _pairs(query: Fingerprint, segment: IndexSegment, entry: SegmentEntry) -> tuple[NDArray[np.int64], Offsets]:
    """Each video and offset once, at which some sample is near."""
    width = len(query) + len(segment.frames) + 1
    keys: list[NDArray[np.int64]] = []
    for place, places in hits(query.hashes, segment):
        numbers = np.searchsorted(segment.ends, places, side="right")
        keys.append(numbers * width + place - (places - segment.starts[numbers]) + len(segment.frames))
    if not keys:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    numbers, shifted = np.divmod(np.unique(np.concatenate(keys)), width)
    if entry.removed:
        live = ~np.isin(numbers, entry.removed)
        numbers, shifted = numbers[live], shifted[live]
    return numbers, shifted - len(segment.frames)


def _aligned(
    query: Fingerprint, segment: IndexSegment, numbers: NDArray[np.int64], offsets: Offsets, rule: MatchRule
) -> Iterator[tuple[int, Alignment]]:
    states = _states(query, segment, numbers, offsets, rule)
    enough = np.flatnonzero(np.count_nonzero(states == 1, axis=1) >= rule.least_run)
    for row in enough.tolist():
        found, number = aligned(int(offsets[row]), states[row].tobytes(), rule), int(numbers[row])
        if found and (not rule.least_evidence or is_convincing(found, query, segment.fingerprint(number), rule)):
            yield number, found


def _states(
    query: Fingerprint, segment: IndexSegment, numbers: NDArray[np.int64], offsets: Offsets, rule: MatchRule
) -> NDArray[np.uint8]:
    """A row for each pair of video and offset, a column for each sample of the query."""
    places = np.arange(len(query)) + (segment.starts[numbers] - offsets)[:, None]
    inside = (places >= segment.starts[numbers][:, None]) & (places < segment.ends[numbers][:, None])
    hashes = segment.hashes_at(segment.frames[np.where(inside, places, 0)])
    states = states_of(hashes, query.hashes, rule)
    states[~inside] = ord(NEUTRAL)  # what only one of them has says nothing
    return states
