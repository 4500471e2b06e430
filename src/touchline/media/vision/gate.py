"""The text gate: where letters could be, told in milliseconds, and mostly "nowhere".

Letters are many upright strokes close together, on a ground that is plain between them, or else far brighter than
it. Invariant: tuned to lose no letters; what it lets through without need costs time, never a wrong word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from .areas import Area, Pixels, covered

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
