"""One stream of pictures, read with as little work as its changes allow.

Known regions are compared pixel by pixel: the same letters keep their words, letters that changed inside are read
again, and a change at the edge is looked for again. New places come from the gate.
Invariant: a region's words were read from pixels that still show the same letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import cv2

from .areas import Area, Pixels, covered, merged
from .attention import SAME_PLACE, Attention, DetectorBudget, overlap
from .finding import SIDE, SearchArea, find_lines
from .gate import TextCandidate, share_of_strokes
from .memory import ReadMemory, ReadWords
from .readers import Reader
from .sameness import differences, same

LONGEST_SIDE = 1920  # pictures are not read larger than this
LEAST_CONFIDENCE = 0.5
ALONE = 0.95  # for one letter: a player's legs look like an A
KNOWN = 0.6  # of a line that was found, in a place that is known already
STILL_THERE = 0.5  # of a region that has not rested yet
LEAST_ROWS = 8  # fewer have no letters
PAUSE_MS = 250  # in which nobody is asked who waits, where somebody must wait for a larger allowance
MOST_CANDIDATES = 64  # in one picture; others wait
SIDE_AIR, AIR = 16, 10  # that the detector needs around letters, at least
AT_ONCE = 150_000  # pixels for the detector in one place, unless letters need more


@dataclass(frozen=True, slots=True)
class StreamFrame:
    """One picture of a stream."""

    picture: Pixels
    grey: Pixels
    at_ms: int


@dataclass(frozen=True, slots=True)
class TrackedRegion:
    area: Area
    words: ReadWords
    since_ms: int  # when it was first seen like this
    seen: Pixels  # the grey pixels that were read, and a little beside them
    rested: bool = False  # it was the same in two pictures

    @property
    def surroundings(self) -> Area:
        return _beside(self.area)


class TextStream:
    """`is_single`: no other pictures follow, so that this one is looked at as a whole, and at each place: the detector
    overlooks a small line that is alone on a large picture."""

    def __init__(self, reader: Reader, memory: ReadMemory, *, is_single: bool = False) -> None:
        self._reader = reader
        self._memory = memory
        self._is_single = is_single
        self._regions: list[TrackedRegion] = []
        self._attention = Attention()
        self._allowance = DetectorBudget()
        self._resumes_ms = 0
        self._last: StreamFrame | None = None

    def read(self, picture: Pixels, at_ms: int, upper: float = 1.0) -> list[TrackedRegion]:
        """`upper`: the share of the picture, from its top, that is looked at. A line that is cut there is none."""
        scale = min(1.0, LONGEST_SIDE / max(picture.shape[:2]))
        shown = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else picture
        grey = cv2.cvtColor(shown[: max(LEAST_ROWS, ceil(upper * len(shown)))], cv2.COLOR_BGR2GRAY)
        if self._last is not None and self._last.grey.shape != grey.shape:
            self._regions, self._attention, self._last = [], Attention(), None
        self._attention.see(grey, at_ms)
        self._allowance.grow(at_ms)
        self._regions = self._followed(StreamFrame(shown, grey, at_ms))
        return [replace(region, area=region.area.scaled(1 / scale)) for region in self._regions]

    def _followed(self, look: StreamFrame) -> list[TrackedRegion]:
        kept, changed, shifted = self._compared(look.grey)
        fresh = self._read(look, [region.area for region in changed])
        looked_at = [SearchArea(_around(region.area)) for region in shifted]  # at any price: there are letters
        waiting = self._places(look, [region.area for region in (*kept, *changed, *shifted)])
        while looked_at := looked_at or self._affordable(look, waiting):
            waiting = [place for place in waiting if place not in looked_at]
            lines = self._found(look, looked_at, [region.area for region in (*kept, *fresh)])
            kept = [region for region in kept if not _outgrown(region.area, lines)]
            new = self._read(look, lines)
            self._learn(look, looked_at, new)
            looked_at, fresh = [], [*fresh, *new]
        self._last = look
        return [*kept, *fresh]

    def _compared(self, grey: Pixels) -> tuple[list[TrackedRegion], list[TrackedRegion], list[TrackedRegion]]:
        """The regions that are the same, those whose letters changed, and those whose edge did."""
        kept, changed, shifted = list[TrackedRegion](), list[TrackedRegion](), list[TrackedRegion]()
        for region in self._regions:
            now = region.surroundings.of(grey)
            where = differences(region.seen, now)
            if not where.any():
                kept.append(replace(region, rested=True))
            elif region.rested or share_of_strokes(self._attention.edges[0], region.area) > STILL_THERE:
                (shifted if _at_edge(where, region) else changed).append(region)
            else:
                self._attention.moved(region.area)
        return kept, changed, shifted

    def _places(self, look: StreamFrame, known: Sequence[Area]) -> list[SearchArea]:
        """In the order in which they get their look: the likeliest first, of those clear letters, then the youngest: a
        caption that just came is soon gone, and what has stood for long is mostly scenery."""
        if look.at_ms < self._resumes_ms:
            return []
        candidates = self._attention.choose(known)
        candidates = sorted(candidates, key=lambda each: (not each.is_clear, each.area.pixels))[:MOST_CANDIDATES]
        clear = [each.area for each in candidates if each.is_clear]

        def turn(place: SearchArea) -> tuple[int, bool, int, float]:
            is_clear = any(place.area.shared(each) for each in clear)
            rank, age = self._attention.rank(place.area), self._attention.age(place.area)
            return rank, not is_clear, age, self._cost(look, place)

        places = [place for is_far in (False, True) for place in self._merged(look, candidates, is_far)]
        if self._is_single and places:
            return [SearchArea(Area(0, 0, look.grey.shape[1], look.grey.shape[0])), *places]
        return sorted(places, key=turn)

    def _merged(self, look: StreamFrame, candidates: Sequence[TextCandidate], is_far: bool) -> list[SearchArea]:
        areas = [_around(each.area) for each in candidates if each.is_large is is_far]
        most_pixels = AT_ONCE / SearchArea(Area(0, 0, 1, 1), is_far).scale(self._reader, look.picture) ** 2
        return [SearchArea(area.within(look.grey), is_far) for area in merged(areas, most_pixels)]

    def _cost(self, look: StreamFrame, place: SearchArea) -> float:
        return place.cost(self._reader, look.picture)

    def _affordable(self, look: StreamFrame, places: Sequence[SearchArea]) -> list[SearchArea]:
        """Those whose turn it is. Nobody goes before one that waits for a larger allowance: small ones never end."""
        if self._is_single:
            return list(places)
        chosen, left = list[SearchArea](), self._allowance.pixels
        for place in places:
            cost = self._cost(look, place)
            if not self._allowance.allows(cost, left, self._attention.rank(place.area)):
                self._resumes_ms = look.at_ms + PAUSE_MS
                break
            chosen.append(place)
            left -= cost
        return chosen

    def _found(self, look: StreamFrame, places: Sequence[SearchArea], sure: Sequence[Area]) -> list[Area]:
        found = [line for place in places for line in find_lines(self._reader, look.picture, look.grey, place, sure)]
        rows, cut = len(look.grey), len(look.grey) < len(look.picture)
        found = [line for line in found if not cut or line.y + line.height < rows - SIDE]
        return _distinct([line for line in found if covered(line, sure) < KNOWN])

    def _learn(self, look: StreamFrame, places: Sequence[SearchArea], found: Sequence[TrackedRegion]) -> None:
        """Looks that found letters cost nothing, and what stands beside letters gets another one."""
        letters = [region.area.grown(4 * region.area.height, region.area.height) for region in found]
        for place in places:
            if not any(place.area.shared(region.area) for region in found):
                self._allowance.take(self._cost(look, place))
            self._attention.forget(place.area.grown(-SIDE_AIR, -AIR), letters)

    def _read(self, look: StreamFrame, lines: Sequence[Area]) -> list[TrackedRegion]:
        greys = [_beside(line).of(look.grey) for line in lines]
        words = [self._memory.recall(grey) for grey in greys]
        unread = [number for number, known in enumerate(words) if known is None]
        if unread:
            read = self._reader.recognise([lines[number].of(look.picture) for number in unread])
            for number, one in zip(unread, read, strict=True):
                words[number] = one
                self._memory.keep(greys[number], one)
        found = zip(lines, greys, words, strict=True)
        return [self._region(look, line, grey, one) for line, grey, one in found if one and _is_text(one)]

    def _region(self, look: StreamFrame, area: Area, grey: Pixels, words: ReadWords) -> TrackedRegion:
        """Since when: what says the same in the same place as before did not begin now; what says something else began
        with the first picture that shows exactly that."""
        there = [old for old in self._regions if overlap(old.area, area) >= SAME_PLACE]
        for old in there:
            if old.words.text == words.text:
                return TrackedRegion(area, words, old.since_ms, grey.copy(), rested=old.rested)
        if there:
            stood = self._last is not None and same(_beside(area).of(self._last.grey), grey)
            since_ms = self._last.at_ms if stood and self._last else look.at_ms
        else:
            since_ms = self._attention.since_ms(area)
        return TrackedRegion(area, words, since_ms, grey.copy(), rested=since_ms < look.at_ms)


def _beside(area: Area) -> Area:
    return area.grown(area.height // 8, 0)


def _around(area: Area) -> Area:
    """A line with the air that the detector needs."""
    air = min(48, max(SIDE_AIR, area.height))
    return area.grown(air, min(24, max(AIR, area.height // 2)))


def _at_edge(where: Pixels, region: TrackedRegion) -> bool:
    """Whether something changed beside the letters, where a line has only air: they may have become more, or moved."""
    outer, inner = region.area.height // 8, max(1, region.area.height // 6)
    left, right = min(outer, region.area.x) + inner, where.shape[1] - outer - inner
    return bool(where[:, :left].any() or where[:, right:].any())


def _outgrown(area: Area, lines: Sequence[Area]) -> bool:
    return any(line.shared(area) >= 0.5 * area.pixels for line in lines)


def _distinct(lines: Sequence[Area]) -> list[Area]:
    """Places overlap, so one line may be found twice: the larger one is whole."""
    chosen: list[Area] = []
    for line in sorted(lines, key=lambda each: -each.pixels):
        if not any(line.shared(other) >= 0.6 * line.pixels for other in chosen):
            chosen.append(line)
    return chosen


def _is_text(words: ReadWords) -> bool:
    text = words.text.strip()
    return bool(text) and words.confidence >= (LEAST_CONFIDENCE if len(text) > 1 else ALONE)
