"""Which places of a picture are worth the detector's time, told by how long their strokes have stood there.

Letters that are laid over a picture stand still: their edges stay on the same pixels while what is filmed moves on. So
a place waits until its edges have stood, and edges that the detector saw and found no letters in need no second look.
Letters that move with the camera get a look now and then. Looks that find nothing are paid from an allowance that grows
with the time of the video: a forest costs no more than that, and a page full of text costs what it needs.
Invariant: what waits is not lost: `since_ms` tells when its strokes began.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import cv2
import numpy as np

from .areas import Area, Pixels
from .gate import (
    FALLING,
    RISING,
    Edges,
    TextCandidate,
    find_candidates,
    find_edges,
    over,
)

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
