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
from .attention import KNOWN, SAME_PLACE, Known, Look, Rejected, overlap, worth_a_look
from .finding import SIDE, find_lines
from .gate import Strokes, find_candidates, find_strokes
from .memory import Memory, Words
from .readers import Reader
from .sameness import differences, same

LONGEST_SIDE = 1920  # pictures are not read larger than this
LEAST_CONFIDENCE = 0.5
ALONE = 0.95  # for one letter: a player's legs look like an A
WHOLE = 0.4  # of the picture: looking at all of it costs no more
STILL_THERE = 0.5  # of a region that has not rested yet
MOST_REJECTED = 64
LEAST_ROWS = 8  # fewer have no letters


@dataclass(frozen=True, slots=True)
class Region:
    area: Area
    words: Words
    since_ms: int  # when it was first seen like this
    seen: Pixels  # the grey pixels that were read, and a little beside them
    rested: bool = False  # it was the same in two pictures

    @property
    def surroundings(self) -> Area:
        return _beside(self.area)


class Stream:
    def __init__(self, reader: Reader, memory: Memory) -> None:
        self._reader = reader
        self._memory = memory
        self._regions: list[Region] = []
        self._rejected: list[Rejected] = []
        self._last: Look | None = None
        self._moving: list[Area] = []
        self._moving_looked_at_ms = 0

    def read(self, picture: Pixels, at_ms: int, upper: float = 1.0) -> list[Region]:
        """`upper`: the share of the picture, from its top, that is looked at. A line that is cut there is none."""
        scale = min(1.0, LONGEST_SIDE / max(picture.shape[:2]))
        shown = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1 else picture
        grey = cv2.cvtColor(shown[: max(LEAST_ROWS, ceil(upper * len(shown)))], cv2.COLOR_BGR2GRAY)
        if self._last is not None and self._last.grey.shape != grey.shape:
            self._regions, self._rejected, self._moving, self._last = [], [], [], None
        self._regions = self._followed(shown, grey, at_ms)
        return [replace(region, area=region.area.scaled(1 / scale)) for region in self._regions]

    def _followed(self, picture: Pixels, grey: Pixels, at_ms: int) -> list[Region]:
        strokes = find_strokes(grey)
        kept, changed, shifted = self._compared(grey, strokes)
        known = [region.area for region in (*kept, *changed, *shifted)]
        look = Look(picture, grey, at_ms, find_candidates(strokes, known))
        places = self._places(look, shifted)
        sure = [region.area for region in (*kept, *changed)]
        found = [line for place in places for line in find_lines(self._reader, picture, grey, place, sure)]
        found = [line for line in found if len(grey) == len(picture) or line.y + line.height < len(grey) - SIDE]
        lines = [region.area for region in changed] + [line for line in found if covered(line, sure) < KNOWN]
        kept = [region for region in kept if not _outgrown(region.area, lines)]
        fresh = self._read(look, _distinct(lines))
        self._reject(look, places, fresh)
        self._last = look
        return [*kept, *fresh]

    def _compared(self, grey: Pixels, strokes: Strokes) -> tuple[list[Region], list[Region], list[Region]]:
        """The regions that are the same, those whose letters changed, and those whose edge did."""
        kept, changed, shifted = list[Region](), list[Region](), list[Region]()
        for region in self._regions:
            now = region.surroundings.of(grey)
            where = differences(region.seen, now)
            if not where.any():
                kept.append(replace(region, rested=True))
            elif region.rested or strokes.share(region.area) > STILL_THERE:
                (shifted if _at_edge(where, region) else changed).append(region)
            else:
                self._moving.append(region.area)
        return kept, changed, shifted

    def _places(self, look: Look, shifted: Sequence[Region]) -> list[Area]:
        chosen = worth_a_look(look, self._last, Known(self._rejected, self._moving, self._moving_looked_at_ms))
        self._moving = list(chosen.moving)
        if chosen.looks_at_moving:
            self._moving_looked_at_ms = look.at_ms
        areas = [_around(candidate.area) for candidate in chosen.candidates]
        areas += [_around(region.area) for region in shifted]
        places = [place.within(look.grey) for place in merged(areas)]
        whole = Area(0, 0, look.grey.shape[1], look.grey.shape[0])
        worthwhile = 0 if self._last is None else WHOLE * whole.pixels  # the first picture is looked at carefully
        return [whole] if sum(place.pixels for place in places) > worthwhile else places

    def _read(self, look: Look, lines: Sequence[Area]) -> list[Region]:
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

    def _region(self, look: Look, area: Area, grey: Pixels, words: Words) -> Region:
        """Since when: what says the same in the same place as before did not begin now."""
        for old in self._regions:
            if old.words.text == words.text and overlap(old.area, area) >= SAME_PLACE:
                return Region(area, words, old.since_ms, grey.copy(), rested=old.rested)
        stood = self._last is not None and same(_beside(area).of(self._last.grey), grey)
        since = self._last.at_ms if stood and self._last else look.at_ms
        return Region(area, words, since, grey.copy(), rested=stood)

    def _reject(self, look: Look, places: Sequence[Area], found: Sequence[Region]) -> None:
        without = [place for place in places if not any(place.shared(region.area) for region in found)]
        # What is without words inside of a place that has some is remembered too.
        quiet = [each.area for each in look.candidates if any(place.shared(each.area) for place in places)]
        quiet = [area for area in quiet if not any(area.shared(region.area) for region in found)]
        fresh = [Rejected(area, area.of(look.grey).copy()) for area in (*without, *quiet)]
        self._rejected = [*fresh, *self._rejected][:MOST_REJECTED]


def _beside(area: Area) -> Area:
    return area.grown(area.height // 8, 0)


def _around(area: Area) -> Area:
    """A line with the air that the detector needs."""
    air = min(48, max(16, area.height))
    return area.grown(air, min(24, max(10, area.height // 2)))


def _at_edge(where: Pixels, region: Region) -> bool:
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


def _is_text(words: Words) -> bool:
    text = words.text.strip()
    return bool(text) and words.confidence >= (LEAST_CONFIDENCE if len(text) > 1 else ALONE)
