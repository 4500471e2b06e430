"""Which places of a picture are worth the detector's time, told by how long their strokes have stood there.

Letters that are laid over a picture stand still: their edges stay on the same pixels while what is filmed moves on. So
a place waits until its edges have stood, and edges that the detector saw and found no letters in need no second look.
Letters that move with the camera get a look now and then. Looks that find nothing are paid from an allowance that grows
with the time of the video: a forest costs no more than that, and a page full of text costs what it needs.
Invariant: what waits is not lost: `since_ms` tells when its strokes began.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import cv2
import numpy as np

from .areas import Area, Pixels, covered

# The text gate: where letters could be, told in milliseconds, and mostly "nowhere". Letters are many upright strokes
# close together, on a ground that is plain between them, or else far brighter than it. Invariant: tuned to lose no
# letters; what it lets through without need costs time, never a wrong word.

STEP = 18  # between neighbours, in grey levels: an edge
WEAK = STEP // 2  # an edge that was strong once goes on with this: a codec lets it flicker
SHARP = 80  # a stroke that needs no plain ground
PLAIN = 9
BRIGHT = 190
RISING, FALLING = 1, 2  # bits
WINDOW = (33, 13)  # about three letters of the smallest size
SMEAR = (WINDOW[0] // 2, WINDOW[1] // 2)  # how far letters show beside themselves
STROKES, GROUND = 0.11, 0.2  # the least shares of a window
FAR_GROUND = 0.4  # large letters leave more of it, and a stand from afar little
SMALLEST, NARROWEST = 6, 12  # pixels of height and width
TALLEST = 0.3  # of the picture's height
CLEAR_RUNS = 5  # upright edges in one row, near each other, that make it clear
NEIGHBOURS = 81  # pixels that are near
FAINT_RUNS = 2
COARSE = 3  # large letters are small ones, seen from afar
CLEAR_ROWS = 5  # that follow each other
LEAST_FILL = 0.3  # of the box around it; slanted lines fill less
LEAST_EDGES = int(STROKES * WINDOW[0] * WINDOW[1]) // 4  # fewer pixels fill no window, also not in a corner


@dataclass(frozen=True, slots=True)
class TextCandidate:
    area: Area
    is_clear: bool  # several letters in a row; otherwise it could be one, or a player
    is_large: bool = False  # seen from afar only


@dataclass(frozen=True, slots=True)
class Edges:
    """The upright edges of a grey picture. `scale`: how much smaller it was made."""

    grey: Pixels
    across: Pixels  # how strong they are
    strong: Pixels  # 255 where they are strong enough
    sides: Pixels  # the bit of the side that is brighter, of weak ones too
    scale: int = 1

    @classmethod
    def of(cls, sharp: Pixels, scale: int = 1) -> Edges:
        grey = cv2.GaussianBlur(sharp, (3, 3), 0)
        rising, falling = cv2.subtract(grey[:, 2:], grey[:, :-2]), cv2.subtract(grey[:, :-2], grey[:, 2:])
        across = _wide(cv2.max(rising, falling))
        sides = _wide(cv2.bitwise_or(over(rising, WEAK, RISING), over(falling, WEAK, FALLING)))
        return cls(grey, across, over(across, STEP), sides, scale)

    def cut(self, area: Area) -> Edges:
        return Edges(area.of(self.grey), area.of(self.across), area.of(self.strong), area.of(self.sides), self.scale)


def find_edges(grey: Pixels) -> list[Edges]:
    """Of the picture as it is, and from afar, where it is large enough for that."""
    height, width = grey.shape
    if min(height, width) < 8 * COARSE:
        return [Edges.of(grey)]
    small = cv2.resize(grey, (width // COARSE, height // COARSE), interpolation=cv2.INTER_AREA)
    return [Edges.of(grey), Edges.of(small, COARSE)]


def share_of_strokes(edges: Edges, area: Area) -> float:
    """How much of it looks like letters."""
    around = area.grown(*WINDOW).within(edges.grey)
    part = edges.cut(around)
    inside = area.within(edges.grey).moved(-around.x, -around.y).of(_dense(part, part.strong))
    return float(inside.mean()) if inside.size else 0.0


def find_candidates(
    seen: Sequence[Edges], known: Sequence[Area] = (), masks: Sequence[Pixels] | None = None
) -> list[TextCandidate]:
    """What is left beside the regions that are known. Each mask says which edges of its picture count."""
    found: list[TextCandidate] = []
    for number, edges in enumerate(seen):
        counted = edges.strong if masks is None else cv2.bitwise_and(edges.strong, masks[number])
        near = [area.scaled(1 / edges.scale).grown(*SMEAR) for area in known]
        new = _candidates(edges, counted, near) if cv2.countNonZero(counted) >= LEAST_EDGES else []
        if edges.scale > 1:
            large = (TextCandidate(each.area.scaled(edges.scale), True, True) for each in new if each.is_clear)
            new = [each for each in large if covered(each.area, [other.area for other in found]) < 0.5]
        found += new
    return found


def over(levels: Pixels, limit: int, value: int = 255) -> Pixels:
    """That value where it is more than the limit."""
    return cv2.threshold(levels, limit, value, cv2.THRESH_BINARY)[1]


def _candidates(edges: Edges, counted: Pixels, known: Sequence[Area]) -> list[TextCandidate]:
    left = _dense(edges, counted)
    for area in known:
        area.of(left)[:] = 0
    starts = cv2.bitwise_and(counted, left)
    if not cv2.countNonZero(starts):
        return []
    starts[:, 1:] = cv2.subtract(starts[:, 1:], starts[:, :-1])
    many = cv2.boxFilter(starts, -1, (NEIGHBOURS, 1), normalize=False, borderType=cv2.BORDER_CONSTANT)
    clear = cv2.bitwise_and(over(many, CLEAR_RUNS - 1, 1), left)
    for operation in (cv2.MORPH_CLOSE, cv2.MORPH_OPEN):  # small letters have a poor row in their middle
        clear = cv2.morphologyEx(clear, operation, np.ones((CLEAR_ROWS, 1), np.uint8))
    found = [area for area, _ in _boxes(clear) if area.width >= NARROWEST]
    faint = _faint(starts, _boxes(left), found)
    return [
        *(TextCandidate(area, is_clear=True) for area in found),
        *(TextCandidate(area, is_clear=False) for area in faint),
    ]


def _faint(starts: Pixels, boxes: Iterable[tuple[Area, float]], clear: Sequence[Area]) -> Iterator[Area]:
    for area, fill in boxes:
        if fill >= LEAST_FILL and not any(area.shared(other) for other in clear):
            runs = np.sort(cv2.reduce(area.of(starts), 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S), axis=None)
            if runs[int(0.8 * len(runs))] >= FAINT_RUNS:
                yield area


def _boxes(mask: Pixels) -> Iterator[tuple[Area, float]]:
    """What hangs together, with the share of its box that it fills. Every other pixel tells as much, in less time."""
    _, _, boxes, _ = cv2.connectedComponentsWithStats(np.ascontiguousarray(mask[::2, ::2]), connectivity=8)
    for box in boxes[1:].tolist():
        area = Area(*box[:4]).scaled(2).within(mask)
        if SMALLEST <= area.height <= TALLEST * mask.shape[0] + WINDOW[1]:
            yield area, 4 * box[4] / area.pixels


def _dense(edges: Edges, counted: Pixels) -> Pixels:
    """Where the edges that count are as dense as in letters."""
    dense = _many(counted, STROKES)
    if not cv2.countNonZero(dense):
        return dense
    grey, across = edges.grey, edges.across
    down = cv2.copyMakeBorder(cv2.absdiff(grey[2:], grey[:-2]), 1, 1, 0, 0, cv2.BORDER_REPLICATE)
    plain = cv2.threshold(cv2.max(across, down), PLAIN - 1, 255, cv2.THRESH_BINARY_INV)[1]
    ground = GROUND if edges.scale == 1 else FAR_GROUND
    on_plain = cv2.bitwise_and(dense, _many(plain, ground))
    outshining = _many(cv2.bitwise_and(over(across, SHARP), counted), STROKES)
    if cv2.countNonZero(outshining):
        outshining = cv2.bitwise_and(outshining, _many(over(grey, BRIGHT), GROUND / 2))
    return cv2.bitwise_or(on_plain, outshining)


def _wide(levels: Pixels) -> Pixels:
    return cv2.copyMakeBorder(levels, 0, 0, 1, 1, cv2.BORDER_REPLICATE)


def _many(mask: Pixels, share: float) -> Pixels:
    """1 where more than that share of the window around is set."""
    return cv2.threshold(cv2.blur(mask, WINDOW), share * 255, 1, cv2.THRESH_BINARY)[1]


STOOD_MS = 200  # that strokes must have stood
COARSE_STEP_MS = 500  # between pictures: what is clear is looked at at once, for it may be gone in the next one
MOVING_EVERY_MS = 5_000
RESTING = 0.5  # of a candidate's strokes
SAME_PLACE = 0.6  # of their union
REACH = 0.5  # of the picture's width: how far letters may move between two pictures
CUT = 0.7  # of the edges are new: another scene
CROWDED = 0.5  # of a place: so many edges that had their look tell nothing any more
MOST_AGE = 255  # pictures that a byte can count
STAYED_MS = 300  # longer than most of what moves rests
TOGETHER = 2  # pictures within which all edges of a new scene begin
YOUNGER = 0.15  # of a line's strokes may be younger than the line: a codec lets them flicker
PIXELS_A_SECOND, MOST_PIXELS = 60_000, 250_000  # that the detector may look at for nothing


class Rank(IntEnum):
    """What strokes are likely to be; the likeliest letters first."""

    LAID_OVER = 0
    SCENERY = 1  # it is there since the scene began
    BRIEF = 2  # it has stood for a moment only


class DetectorBudget:
    """What looks may still cost that find nothing, in pixels. Only one that costs more than there ever is overdraws."""

    def __init__(self) -> None:
        self.pixels = float(MOST_PIXELS)
        self._at_ms: int | None = None

    def allows(self, cost: float, left: float, rank: Rank) -> bool:
        """With so much left of it. Half is kept for what is likely."""
        return cost <= (left if rank is Rank.LAID_OVER else left - MOST_PIXELS / 2) or left >= MOST_PIXELS

    def grow(self, at_ms: int) -> None:
        passed_ms = max(0, at_ms - self._at_ms) if self._at_ms is not None else 0
        self.pixels = min(MOST_PIXELS, self.pixels + passed_ms * PIXELS_A_SECOND / 1000)
        self._at_ms = at_ms

    def take(self, pixels: float) -> None:
        self.pixels -= pixels


@dataclass(slots=True)
class _Layer:
    """The edges of a stream at one scale: for how many pictures each has stood, and which had their look in vain."""

    ages: Pixels
    sides: Pixels  # of those that live
    vain: Pixels  # the sides that had their look

    @classmethod
    def of(cls, edges: Edges) -> _Layer:
        return cls(*(np.zeros(edges.grey.shape, np.uint8) for _ in range(3)))

    def see(self, edges: Edges) -> bool:
        """Whether another scene began."""
        older = cv2.bitwise_and(self.ages, cv2.compare(edges.sides, self.sides, cv2.CMP_EQ))
        alive = cv2.max(older, edges.strong)
        self.ages = cv2.add(older, over(alive, 0, 1))
        self.sides = cv2.bitwise_and(edges.sides, over(alive, 0))
        is_cut = cv2.countNonZero(older) < (1 - CUT) * cv2.countNonZero(edges.strong)
        if is_cut:
            self.vain[:] = 0
        return is_cut

    def stood(self, pictures: int) -> Pixels:
        """The edges that have stood for so many pictures and had no look yet."""
        vain = over(cv2.bitwise_and(self.sides, self.vain), 0)
        return cv2.subtract(over(self.ages, pictures - 1), vain)

    def forget(self, place: Area, letters: Sequence[Area]) -> None:
        """No look at these edges any more, but for those of letters."""
        inside = place.of(self.vain)
        for side in (RISING, FALLING):
            if cv2.countNonZero(inside & side) > CROWDED * inside.size:
                inside &= ~np.uint8(side)
        inside |= place.of(self.sides)
        for area in letters:
            area.of(self.vain)[:] = 0


@dataclass(slots=True)
class Attention:
    """Of one stream of pictures that have one size."""

    edges: list[Edges] = field(default_factory=list[Edges])
    _layers: list[_Layer] = field(default_factory=list[_Layer])
    _times: deque[int] = field(default_factory=lambda: deque[int](maxlen=MOST_AGE))
    _moving: list[Area] = field(default_factory=list[Area])
    _moving_looked_at_ms: int = 0
    _step_ms: int = COARSE_STEP_MS
    _needed: int = 1
    _scene: int = 0  # pictures since it began

    def see(self, grey: Pixels, at_ms: int) -> None:
        """A picture that is shown twice stands for itself: it has rested."""
        self.edges = find_edges(grey)
        self._layers = self._layers or [_Layer.of(each) for each in self.edges]
        repeats = bool(self._times) and at_ms == self._times[-1]
        if self._times and not repeats:
            self._step_ms = at_ms - self._times[-1]
        self._times.append(at_ms)
        self._needed = 2 if repeats else self._pictures_to_stand(at_ms)
        is_cut, *_ = [layer.see(edges) for layer, edges in zip(self._layers, self.edges, strict=True)]
        self._scene = 1 if is_cut else self._scene + 1

    def choose(self, known: Sequence[Area]) -> list[TextCandidate]:
        """`known`: lines that are followed already."""
        at_ms, is_first = self._times[-1], len(self._times) == 1
        looks_at_moving = at_ms - self._moving_looked_at_ms >= MOVING_EVERY_MS
        if not (is_first or looks_at_moving or self._step_ms >= COARSE_STEP_MS):
            self._moving = []
            return find_candidates(self.edges, known, [layer.stood(self._needed) for layer in self._layers])
        chosen, moving = list[TextCandidate](), list[Area]()
        for candidate in find_candidates(self.edges, known, [layer.stood(1) for layer in self._layers]):
            if self._rests(candidate.area) or (candidate.is_clear and not self._moves(candidate.area)):
                chosen.append(candidate)
            elif candidate.is_clear:
                moving.append(candidate.area)
                if looks_at_moving:
                    chosen.append(candidate)
        if looks_at_moving:
            self._moving_looked_at_ms = at_ms
        self._moving = moving
        return chosen

    def moved(self, area: Area) -> None:
        """Letters that were there and are gone may be somewhere else now."""
        self._moving.append(area)

    def forget(self, place: Area, letters: Sequence[Area]) -> None:
        """There was a look at it, and there are no other letters than these."""
        for layer, edges in zip(self._layers, self.edges, strict=True):
            small = place.scaled(1 / edges.scale).within(edges.grey)
            if small.pixels:
                layer.forget(small, [area.scaled(1 / edges.scale) for area in letters])

    def since_ms(self, area: Area) -> int:
        """When the strokes of a line began to stand there."""
        ages = area.of(self._layers[0].ages)
        strokes = np.sort(ages[ages > 0])
        if not strokes.size:
            return self._times[-1]
        return self._times[-min(len(self._times), int(strokes[int(YOUNGER * strokes.size)]))]

    def rank(self, area: Area) -> Rank:
        """Letters that are laid over a picture come in the middle of a scene, and stay."""
        age = self.age(area)
        if not age or self._times[-1] - self._times[-age] < STAYED_MS:
            return Rank.BRIEF
        return Rank.SCENERY if abs(age - self._scene) <= TOGETHER else Rank.LAID_OVER

    def age(self, area: Area) -> int:
        """For how many pictures its strokes have stood."""
        ages = area.of(self._layers[0].ages)
        strokes = ages[ages >= min(self._needed, len(self._times))]
        return min(len(self._times), int(np.median(strokes))) if strokes.size else 0

    def _pictures_to_stand(self, at_ms: int) -> int:
        enough = (number for number, time in enumerate(reversed(self._times), 1) if at_ms - time >= STOOD_MS)
        return max(2, next(enough, len(self._times) + 1))

    def _rests(self, area: Area) -> bool:
        strokes = area.of(self._layers[0].ages)
        return cv2.countNonZero(over(strokes, self._needed - 1)) >= RESTING * max(1, cv2.countNonZero(strokes))

    def _moves(self, area: Area) -> bool:
        return moves(area, self._moving, REACH * self.edges[0].grey.shape[1])


def moves(area: Area, moving: Sequence[Area], reach: float) -> bool:
    """Whether letters of that size were just now somewhere else at about that height."""
    alike = [place for place in moving if _alike(place, area, reach)]
    return bool(alike) and not any(overlap(place, area) >= SAME_PLACE for place in alike)


def _alike(before: Area, now: Area, reach: float) -> bool:
    tall = max(before.height, now.height)
    return (
        min(before.height, now.height) >= 0.5 * tall
        and abs(before.y + before.height / 2 - now.y - now.height / 2) <= 2 * tall
        and abs(before.x + before.width / 2 - now.x - now.width / 2) <= reach
    )


def overlap(one: Area, other: Area) -> float:
    """The share of their union that both have."""
    both = one.shared(other)
    return both / max(1, one.pixels + other.pixels - both)
