"""Readings of single pictures become segments: the same text in the same place, for as long as it stood there.

Several texts stand on the screen at once, a reader misses one now and then and misreads letters. Invariant: every
detection belongs to exactly one segment, and the order in which regions are listed changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, TypeAlias

from touchline.media.engines.model import Box

from .folding import shape
from .likeness import likeness
from .model import Detection, Frame, Segment

SAME_PLACE = 0.5  # of the smaller box
CELL = 96  # pixels: only what lies near each other is compared
CROWD, MOST_ALIKE = 64, 16  # texts in one cell; in a larger crowd only a few of the same shape are compared
_Rank: TypeAlias = tuple[float, int, str, tuple[Any, ...]]


@dataclass(slots=True)
class _Standing:
    """A text that is on the screen, or was a moment ago."""

    start_ms: int
    box: Box
    detections: list[Detection]
    missing_ms: int | None = None  # since when it is not there

    @property
    def last(self) -> Detection:
        return self.detections[-1]

    def take(self, detection: Detection) -> None:
        self.detections.append(detection)
        self.box, self.missing_ms = detection.box, None

    def is_over(self, at_ms: int, gap_ms: int) -> bool:
        return self.missing_ms is not None and at_ms - self.missing_ms > gap_ms

    def ended(self, end_ms: int) -> Segment:
        """With the text that was read most often and most surely."""
        votes: dict[str, float] = defaultdict(float)
        for each in self.detections:
            votes[each.text] += each.confidence
        text = min(votes, key=lambda each: (-votes[each], each))
        best = max((each for each in self.detections if each.text == text), key=lambda each: each.confidence)
        end_ms = end_ms if self.missing_ms is None else self.missing_ms
        return Segment(text, best.box, best.confidence, best.language, self.start_ms, end_ms, len(self.detections))


def merge(frames: Iterable[Frame], end_ms: int, gap_ms: int) -> Iterator[Segment]:
    """Frames in the order of time. `gap_ms`: how long a text may be missing and still be the same."""
    standing: list[_Standing] = []
    for frame in frames:
        yield from (each.ended(end_ms) for each in standing if each.is_over(frame.at_ms, gap_ms))
        standing = [each for each in standing if not each.is_over(frame.at_ms, gap_ms)]
        standing += _follow(standing, frame)
    yield from (each.ended(end_ms) for each in standing)


def _follow(standing: Sequence[_Standing], frame: Frame) -> list[_Standing]:
    """Each detection goes to what stands there already, the surest pairs first. What began now."""
    free = dict(enumerate(standing))
    new = dict(enumerate(sorted(frame.detections, key=_detected_order)))  # numbers decide where nothing else does
    for number, detected in _unchanged(free, new):
        free.pop(number).take(new.pop(detected))
    for _, number, detected in sorted(_pairs(free, new)):
        if number in free and detected in new:
            free.pop(number).take(new.pop(detected))
    for each in free.values():
        each.missing_ms = frame.at_ms if each.missing_ms is None else each.missing_ms
    return [_Standing(frame.at_ms, each.box, [each]) for each in new.values()]


def _unchanged(free: Mapping[int, _Standing], new: Mapping[int, Detection]) -> list[tuple[int, int]]:
    """Most texts stand just as they stood before: those need no comparison. Of equal ones the oldest goes on."""
    known: dict[tuple[str, Box], list[int]] = defaultdict(list)
    for number in sorted(free, key=lambda number: free[number].start_ms, reverse=True):
        known[free[number].last.text, free[number].box].append(number)
    same = ((known.get((each.text, each.box)), detected) for detected, each in new.items())
    return [(numbers.pop(), detected) for numbers, detected in same if numbers]


def _pairs(free: Mapping[int, _Standing], new: Mapping[int, Detection]) -> Iterator[tuple[_Rank, int, int]]:
    """What may be the same, with a rank that does not depend on the order in which regions are listed."""
    if not new:
        return
    near = _Neighbours(free)
    for detected, detection in new.items():
        for number in near.of(detection):
            other = free[number]
            place = _same_place(other.box, detection.box)
            alike = likeness(other.last.text, detection.text) if place >= SAME_PLACE else 0.0
            if alike:
                yield (-alike * place, other.start_ms, detection.text, astuple(detection.box)), number, detected


class _Neighbours:
    """Texts by the cells of a grid that they touch: ten thousand on one picture are no reason to compare all, also when
    they stand on top of each other.
    """

    def __init__(self, free: Mapping[int, _Standing]) -> None:
        self._cells: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._alike: dict[tuple[tuple[int, int], str], list[int]] = defaultdict(list)
        for number in sorted(free, key=lambda number: _standing_order(free[number])):
            for cell in _cells(free[number].box):
                self._cells[cell].append(number)
        for cell, numbers in self._cells.items():
            for number in numbers if len(numbers) > CROWD else ():
                self._alike[cell, shape(free[number].last.text)].append(number)

    def of(self, detection: Detection) -> set[int]:
        return {number for cell in _cells(detection.box) for number in self._in(cell, detection.text)}

    def _in(self, cell: tuple[int, int], text: str) -> Sequence[int]:
        numbers = self._cells.get(cell, ())
        return numbers if len(numbers) <= CROWD else self._alike.get((cell, shape(text)), ())[:MOST_ALIKE]


def _detected_order(detection: Detection) -> tuple[Any, ...]:
    """All that tells two of them apart."""
    return detection.text, astuple(detection.box), detection.confidence, detection.language or ""


def _standing_order(standing: _Standing) -> tuple[Any, ...]:
    """Whatever order they were listed in."""
    return standing.start_ms, astuple(standing.box), standing.last.text


def _cells(box: Box) -> Iterator[tuple[int, int]]:
    for x in range(box.x // CELL, (box.x + box.width) // CELL + 1):
        for y in range(box.y // CELL, (box.y + box.height) // CELL + 1):
            yield x, y


def _same_place(one: Box, other: Box) -> float:
    """The share of the smaller box that lies in the other."""
    return one.shared(other) / max(1, min(one.pixels, other.pixels))
