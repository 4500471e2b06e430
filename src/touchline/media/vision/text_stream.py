"""One stream of pictures, read with as little work as its changes allow.

Known regions are compared pixel by pixel: the same letters keep their words, letters that changed inside are read
again, and a change at the edge is looked for again. New places come from the gate.
Invariant: a region's words were read from pixels that still show the same letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil

import cv2
import numpy as np

from .areas import Area, Pixels, covered, merged
from .attention import SAME_PLACE, Attention, DetectorBudget, TextCandidate, overlap, share_of_strokes
from .memory import ReadMemory, ReadWords, differences, same
from .readers import Reader

# A line that runs over two plates, like a score beside its clock, is two lines: each has its own ground. Pure. A
# plate's border has even ground on both hands, as high as the letters are; a letter's edge has ground on one hand
# only, or it is a thick stem, above and below which the ground goes on.

STEP = 45  # grey levels between two grounds
EVEN = 14  # that a ground may vary by
CORE = 0.3  # of the height, above and below: left out, for there the line may be higher than its plate
MARGIN = 0.12  # of the height, above and below the letters


def split_at_plates(grey: Pixels, area: Area) -> list[Area]:
    inside = area.within(grey)
    side = max(4, inside.height // 6)  # of ground that must be seen on either hand
    if inside.height < 8 or inside.width < 4 * side:
        return [area]
    steps, cuts = _borders(inside.of(grey).astype(np.float32), side), list[int]()
    while steps.max(initial=0) > STEP:
        cut = int(steps.argmax())
        steps[max(0, cut - 2 * side) : cut + 2 * side] = 0
        cuts.append(cut)
    borders = pairwise([0, *sorted(cuts), inside.width])
    parts = [Area(inside.x + start, inside.y, end - start, inside.height) for start, end in borders]
    return [part for part in parts if part.width >= side]


def _borders(rows: Pixels, side: int) -> Pixels:
    """How much the ground left of each column differs from the ground right of it; nothing where it goes on."""
    height = len(rows)
    above, below = max(2, int(MARGIN * height)), min(height - 2, int((1 - MARGIN) * height))
    steps, even = _steps(rows[int(CORE * height) : int((1 - CORE) * height)], side)
    goes_on = np.zeros(len(steps), bool)
    for margin in (rows[:above], rows[below:]):
        step, is_ground = _steps(margin, side)
        goes_on |= is_ground & (step < STEP / 2)
    return np.where(even & ~goes_on, steps, 0)


def _steps(rows: Pixels, side: int) -> tuple[Pixels, Pixels]:
    """For each column, how much left and right differ, and whether both are even."""
    mean = _over(rows.mean(axis=0), side)
    rough = np.sqrt(np.maximum(0, _over((rows**2).mean(axis=0), side) - mean**2))
    reach = side // 2 + 1
    steps, even = np.zeros(len(mean), np.float32), np.zeros(len(mean), bool)
    steps[reach:-reach] = np.abs(mean[2 * reach :] - mean[: -2 * reach])
    even[reach:-reach] = (rough[: -2 * reach] < EVEN) & (rough[2 * reach :] < EVEN)
    return steps, even


def _over(values: Pixels, side: int) -> Pixels:
    """The mean of so many neighbours."""
    return cv2.blur(values.reshape(1, -1), (side, 1), borderType=cv2.BORDER_REPLICATE)[0]


# Lines of text in one place of a picture, found by the reader's detector. Invariant: a line is whole: where it runs
# out of the place, the place is made wider and looked at again.

LARGEST_SCALE = 2.5
SIDE = 2  # pixels from the place's end, where a line may go on
MOST_LOOKS = 3
WIDER = 160


@dataclass(frozen=True, slots=True)
class SearchArea:
    """Where letters may be. Large ones are found from afar, for a quarter of the pixels."""

    area: Area
    is_far: bool = False

    def scale(self, reader: Reader, picture: Pixels) -> float:
        short_side: int = min(picture.shape[0], picture.shape[1])
        scale = min(LARGEST_SCALE, max(1.0, reader.short_side / short_side))
        return scale / 2 if self.is_far else scale

    def cost(self, reader: Reader, picture: Pixels) -> float:
        """The pixels that the detector looks at."""
        return self.area.within(picture).pixels * self.scale(reader, picture) ** 2


def find_lines(reader: Reader, picture: Pixels, grey: Pixels, place: SearchArea, known: Sequence[Area]) -> list[Area]:
    """`known`: lines that need not be found; their ends may reach into the place."""
    boxes: list[Area] = []
    scale, area = place.scale(reader, picture), place.area.within(grey)
    for _ in range(MOST_LOOKS):
        boxes = [box for box in _detected(reader, picture, area, scale) if not _is_end_of(box, area, known)]
        left = any(box.x <= area.x + SIDE for box in boxes) and area.x > 0
        right = any(_right(box) >= _right(area) - SIDE for box in boxes) and _right(area) < grey.shape[1]
        if not left and not right:
            break
        wider = max(WIDER, area.width)
        area = Area(area.x - wider * left, area.y, area.width + wider * (left + right), area.height).within(grey)
    return [line for box in boxes for line in split_at_plates(grey, box)]


def _detected(reader: Reader, picture: Pixels, area: Area, scale: float) -> list[Area]:
    crop = area.of(picture)
    if min(crop.shape[:2]) * scale < 1:
        return []
    how = cv2.INTER_CUBIC if scale > 1 else cv2.INTER_AREA
    scaled = cv2.resize(crop, None, fx=scale, fy=scale, interpolation=how) if scale != 1 else crop
    boxes = (box.scaled(1 / scale).moved(area.x, area.y).within(picture) for box in reader.detect(scaled))
    return [box for box in boxes if box.pixels]


def _is_end_of(box: Area, place: Area, known: Sequence[Area]) -> bool:
    at_side = box.x <= place.x + SIDE or _right(box) >= _right(place) - SIDE
    return at_side and any(box.shared(area) >= 0.25 * box.pixels for area in known)


def _right(area: Area) -> int:
    return area.x + area.width


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
        return _after(self.area)


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
        greys = [_after(line).of(look.grey) for line in lines]
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
            stood = self._last is not None and same(_after(area).of(self._last.grey), grey)
            since_ms = self._last.at_ms if stood and self._last else look.at_ms
        else:
            since_ms = self._attention.since_ms(area)
        return TrackedRegion(area, words, since_ms, grey.copy(), rested=since_ms < look.at_ms)


def _after(area: Area) -> Area:
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
