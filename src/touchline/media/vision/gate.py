"""The text gate: where letters could be, told in milliseconds, and mostly "nowhere".

Letters are many upright strokes close together, on a ground that is plain between them, or else far brighter than
it. Invariant: tuned to lose no letters; what it lets through without need costs time, never a wrong word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from .areas import Area, Pixels, covered

STEP = 18  # between neighbours, in grey levels: an edge
SHARP = 80  # a stroke that needs no plain ground
PLAIN = 9
BRIGHT = 190
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


@dataclass(frozen=True, slots=True)
class Candidate:
    area: Area
    is_clear: bool  # several letters in a row; otherwise it could be one, or a player


@dataclass(frozen=True, slots=True)
class Strokes:
    """The upright edges of a picture, and where they are as dense as in letters; once as it is, once from afar."""

    edges: Pixels
    dense: Pixels
    far_edges: Pixels | None
    far_dense: Pixels | None

    def share(self, area: Area) -> float:
        """How much of it looks like letters."""
        inside = area.of(self.dense)
        return float(inside.mean()) if inside.size else 0.0


def find_strokes(grey: Pixels) -> Strokes:
    height, width = grey.shape
    if min(height, width) < 8 * COARSE:
        return Strokes(*_strokes(grey), None, None)
    small = cv2.resize(grey, (width // COARSE, height // COARSE), interpolation=cv2.INTER_AREA)
    return Strokes(*_strokes(grey), *_strokes(small, FAR_GROUND))


def find_candidates(strokes: Strokes, known: Sequence[Area] = ()) -> list[Candidate]:
    """What is left beside the regions that are known."""
    near = _candidates(strokes.edges, strokes.dense, [area.grown(*SMEAR) for area in known])
    if strokes.far_edges is None or strokes.far_dense is None:
        return near
    far_known = [area.scaled(1 / COARSE).grown(*SMEAR) for area in known]
    far = _candidates(strokes.far_edges, strokes.far_dense, far_known)
    found = [Candidate(each.area.scaled(COARSE), each.is_clear) for each in far if each.is_clear]
    return [*near, *(each for each in found if covered(each.area, [other.area for other in near]) < 0.5)]


def _candidates(edges: Pixels, dense: Pixels, known: Sequence[Area]) -> list[Candidate]:
    left = dense.copy()
    for area in known:
        area.of(left)[:] = 0
    strokes = cv2.bitwise_and(_over(edges, STEP), left)
    starts = strokes.copy()
    starts[:, 1:] = strokes[:, 1:] > strokes[:, :-1]
    many = cv2.boxFilter(starts, -1, (NEIGHBOURS, 1), normalize=False, borderType=cv2.BORDER_CONSTANT)
    clear = cv2.bitwise_and(cv2.threshold(many, CLEAR_RUNS - 1, 1, cv2.THRESH_BINARY)[1], left)
    for operation in (cv2.MORPH_CLOSE, cv2.MORPH_OPEN):  # small letters have a poor row in their middle
        clear = cv2.morphologyEx(clear, operation, np.ones((CLEAR_ROWS, 1), np.uint8))
    found = [area for area, _ in _boxes(clear) if area.width >= NARROWEST]
    faint = _faint(starts, left, found)
    return [*(Candidate(area, is_clear=True) for area in found), *(Candidate(area, is_clear=False) for area in faint)]


def _faint(starts: Pixels, dense: Pixels, clear: Sequence[Area]) -> Iterator[Area]:
    for area, fill in _boxes(dense):
        if fill >= LEAST_FILL and not any(area.shared(other) for other in clear):
            runs = np.sort(area.of(starts).sum(axis=1))
            if runs[int(0.8 * len(runs))] >= FAINT_RUNS:
                yield area


def _boxes(mask: Pixels) -> Iterator[tuple[Area, float]]:
    """What hangs together, with the share of its box that it fills. Every other pixel tells as much, in less time."""
    _, _, boxes, _ = cv2.connectedComponentsWithStats(np.ascontiguousarray(mask[::2, ::2]), connectivity=8)
    for box in boxes[1:].tolist():
        area = Area(*box[:4]).scaled(2).within(mask)
        if SMALLEST <= area.height <= TALLEST * mask.shape[0] + WINDOW[1]:
            yield area, 4 * box[4] / area.pixels


def _strokes(sharp: Pixels, ground: float = GROUND) -> tuple[Pixels, Pixels]:
    grey = cv2.GaussianBlur(sharp, (3, 3), 0)
    across = cv2.copyMakeBorder(cv2.absdiff(grey[:, 2:], grey[:, :-2]), 0, 0, 1, 1, cv2.BORDER_REPLICATE)
    down = cv2.copyMakeBorder(cv2.absdiff(grey[2:], grey[:-2]), 1, 1, 0, 0, cv2.BORDER_REPLICATE)
    on_plain = cv2.bitwise_and(_many(_over(across, STEP), STROKES), _many(_under(cv2.max(across, down), PLAIN), ground))
    outshining = cv2.bitwise_and(_many(_over(across, SHARP), STROKES), _many(_over(grey, BRIGHT), GROUND / 2))
    return across, cv2.bitwise_or(on_plain, outshining)


def _over(levels: Pixels, limit: int) -> Pixels:
    return cv2.threshold(levels, limit, 255, cv2.THRESH_BINARY)[1]


def _under(levels: Pixels, limit: int) -> Pixels:
    return cv2.threshold(levels, limit - 1, 255, cv2.THRESH_BINARY_INV)[1]


def _many(mask: Pixels, share: float) -> Pixels:
    """1 where more than that share of the window around is set."""
    return cv2.threshold(cv2.blur(mask, WINDOW), share * 255, 1, cv2.THRESH_BINARY)[1]
