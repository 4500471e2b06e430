"""Turns what was read in single frames into segments and entities: the same text in the same place, for as long as
it was shown. Pure.

Several texts are on the screen at once, and OCR misses one now and then and misreads letters; a number that
differs is another text. Invariants: every detection belongs to exactly one segment, the order in which regions
are listed changes nothing, similarity is symmetric, and the same readings give the same rows with the same ids.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any, TypeAlias
from unicodedata import category
from uuid import UUID, uuid5

from rapidfuzz.distance import Levenshtein

from touchline.media.engines.model import Box
from touchline.process.text import fold, ocr_form

from .entities import Entity, find_entities


@dataclass(frozen=True, slots=True)
class Detection:
    """One line of text in one frame."""

    text: str
    box: Box
    confidence: float  # 0 to 1
    language: str | None = None


@dataclass(frozen=True, slots=True)
class ReadFrame:
    """A frame that was read. What it shows stays until the next one: frames are left out only while nothing changes."""

    at_ms: int
    detections: Sequence[Detection] = ()


@dataclass(frozen=True, slots=True)
class TextSegment:
    """One text in one place, from the first frame that shows it to the first that does not."""

    text: str  # as it was read best
    box: Box
    confidence: float
    language: str | None
    start_ms: int
    end_ms: int
    pictures: int  # in which it was read


MAX_MISREAD_SHARE = 0.2  # of the letters
MIN_LETTERS = 4  # below that every letter counts
_NUMBERS = re.compile(r"[\doil|]*\d[\doil|]*")  # with letters that OCR takes for digits
_DIGITS = str.maketrans("oil|", "0111")


def similarity(one: str, other: str) -> float:
    """From 0, different, to 1, identical."""
    if one == other:
        return 1.0
    mine, theirs = ocr_form(one), ocr_form(other)
    if mine == theirs:
        return 0.99 if mine else 0.0
    longest = max(len(mine), len(theirs))
    if longest < MIN_LETTERS or numbers_in(one) != numbers_in(other):
        return 0.0
    allowed = int(longest * MAX_MISREAD_SHARE)
    distance = Levenshtein.distance(mine, theirs, score_cutoff=allowed)
    return 0.0 if distance > allowed else 1 - distance / longest


@lru_cache(maxsize=4096)
def numbers_in(text: str) -> tuple[str, ...]:
    return tuple(found.translate(_DIGITS) for found in _NUMBERS.findall(fold(text)))


MIN_OVERLAP = 0.5  # of the smaller box
CELL = 96  # pixels: only texts near each other are compared
CROWDED_CELL, MAX_COMPARED = 64, 16  # texts in one cell; beyond that, only a few of the same form are compared
_Rank: TypeAlias = tuple[float, int, str, tuple[Any, ...]]


@dataclass(slots=True)
class _VisibleText:
    """A text that is on the screen, or was a moment ago."""

    start_ms: int
    box: Box
    detections: list[Detection]
    missing_ms: int | None = None  # since when it is missing

    @property
    def last(self) -> Detection:
        return self.detections[-1]

    def take(self, detection: Detection) -> None:
        self.detections.append(detection)
        self.box, self.missing_ms = detection.box, None

    def is_over(self, at_ms: int, gap_ms: int) -> bool:
        return self.missing_ms is not None and at_ms - self.missing_ms > gap_ms

    def ended(self, end_ms: int) -> TextSegment:
        """With the text that was read most often and with most confidence."""
        votes: dict[str, float] = defaultdict(float)
        for each in self.detections:
            votes[each.text] += each.confidence
        text = min(votes, key=lambda each: (-votes[each], each))
        best = max((each for each in self.detections if each.text == text), key=lambda each: each.confidence)
        end_ms = end_ms if self.missing_ms is None else self.missing_ms
        return TextSegment(text, best.box, best.confidence, best.language, self.start_ms, end_ms, len(self.detections))


def merge_frames(frames: Iterable[ReadFrame], end_ms: int, gap_ms: int) -> Iterator[TextSegment]:
    """Frames in order of time. `gap_ms`: how long a text may be missing and still count as the same."""
    visible: list[_VisibleText] = []
    for frame in frames:
        yield from (each.ended(end_ms) for each in visible if each.is_over(frame.at_ms, gap_ms))
        visible = [each for each in visible if not each.is_over(frame.at_ms, gap_ms)]
        visible += _assign_detections(visible, frame)
    yield from (each.ended(end_ms) for each in visible)


def _assign_detections(visible: Sequence[_VisibleText], frame: ReadFrame) -> list[_VisibleText]:
    """Assigns each detection to a visible text, the most similar pairs first. Returns the texts that are new."""
    free = dict(enumerate(visible))
    new = dict(enumerate(sorted(frame.detections, key=_detected_order)))  # numbers decide where nothing else does
    for number, detected in _unchanged(free, new):
        free.pop(number).take(new.pop(detected))
    for _, number, detected in sorted(_pairs(free, new)):
        if number in free and detected in new:
            free.pop(number).take(new.pop(detected))
    for each in free.values():
        each.missing_ms = frame.at_ms if each.missing_ms is None else each.missing_ms
    return [_VisibleText(frame.at_ms, each.box, [each]) for each in new.values()]


def _unchanged(free: Mapping[int, _VisibleText], new: Mapping[int, Detection]) -> list[tuple[int, int]]:
    """Most texts are exactly as in the frame before and need no comparison. Of equal ones the oldest continues."""
    known: dict[tuple[str, Box], list[int]] = defaultdict(list)
    for number in sorted(free, key=lambda number: free[number].start_ms, reverse=True):
        known[free[number].last.text, free[number].box].append(number)
    same = ((known.get((each.text, each.box)), detected) for detected, each in new.items())
    return [(numbers.pop(), detected) for numbers, detected in same if numbers]


def _pairs(free: Mapping[int, _VisibleText], new: Mapping[int, Detection]) -> Iterator[tuple[_Rank, int, int]]:
    """Pairs that may be the same text, with a rank that does not depend on the order of the regions."""
    if not new:
        return
    near = _Neighbours(free)
    for detected, detection in new.items():
        for number in near.of(detection):
            other = free[number]
            place = _overlap(other.box, detection.box)
            alike = similarity(other.last.text, detection.text) if place >= MIN_OVERLAP else 0.0
            if alike:
                yield (-alike * place, other.start_ms, detection.text, astuple(detection.box)), number, detected


class _Neighbours:
    """Texts by the cells of a grid that they touch, so that ten thousand in one frame, even on top of each other, are
    not all compared.
    """

    def __init__(self, free: Mapping[int, _VisibleText]) -> None:
        self._cells: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._alike: dict[tuple[tuple[int, int], str], list[int]] = defaultdict(list)
        for number in sorted(free, key=lambda number: _visible_order(free[number])):
            for cell in _cells(free[number].box):
                self._cells[cell].append(number)
        for cell, numbers in self._cells.items():
            for number in numbers if len(numbers) > CROWDED_CELL else ():
                self._alike[cell, ocr_form(free[number].last.text)].append(number)

    def of(self, detection: Detection) -> set[int]:
        return {number for cell in _cells(detection.box) for number in self._in(cell, detection.text)}

    def _in(self, cell: tuple[int, int], text: str) -> Sequence[int]:
        numbers = self._cells.get(cell, ())
        return numbers if len(numbers) <= CROWDED_CELL else self._alike.get((cell, ocr_form(text)), ())[:MAX_COMPARED]


def _detected_order(detection: Detection) -> tuple[Any, ...]:
    """Everything that distinguishes two detections."""
    return detection.text, astuple(detection.box), detection.confidence, detection.language or ""


def _visible_order(visible: _VisibleText) -> tuple[Any, ...]:
    """Independent of the order in which they were listed."""
    return visible.start_ms, astuple(visible.box), visible.last.text


def _cells(box: Box) -> Iterator[tuple[int, int]]:
    for x in range(box.x // CELL, (box.x + box.width) // CELL + 1):
        for y in range(box.y // CELL, (box.y + box.height) // CELL + 1):
            yield x, y


def _overlap(one: Box, other: Box) -> float:
    """The share of the smaller box that is inside the other."""
    return one.shared(other) / max(1, min(one.pixels, other.pixels))


MAX_GAP_MS = 1000  # how long OCR may miss a text that is still shown
# The shorter a text, the longer it must be visible to be credible: a player's legs look like an 11 for a moment.
LAST_LATIN = 0x24F
MIN_VISIBLE_MS = {0: 3000, 1: 3000, 2: 500}  # by the number of letters and digits


@dataclass(frozen=True, slots=True)
class IndexedSegment:
    id: UUID
    segment: TextSegment


@dataclass(frozen=True, slots=True)
class IndexedEntity:
    id: UUID
    segment_id: UUID
    t_start: int
    entity: Entity


@dataclass(frozen=True, slots=True)
class SegmentIndex:
    segments: tuple[IndexedSegment, ...]
    entities: tuple[IndexedEntity, ...]


def build_index(video_id: UUID, frames: Iterable[ReadFrame], end_ms: int) -> SegmentIndex:
    believed = (each for each in merge_frames(frames, end_ms, MAX_GAP_MS) if is_credible(each, end_ms))
    merged = sorted(believed, key=lambda each: (each.start_ms, each.box.y, each.box.x, each.text))
    seen: Counter[str] = Counter()
    segments: list[IndexedSegment] = []
    for segment in merged:
        name = f"{segment.start_ms} {segment.end_ms} {astuple(segment.box)} {segment.text}"
        segments.append(IndexedSegment(uuid5(video_id, f"{name} {seen[name]}"), segment))
        seen[name] += 1
    entities = [entity for each in segments for entity in _entities(each)]
    return SegmentIndex(tuple(segments), tuple(entities))


def is_credible(segment: TextSegment, end_ms: int) -> bool:
    """In a video that is shorter than required, a text that stays until the end."""
    needed_ms = MIN_VISIBLE_MS.get(len(ocr_form(segment.text)), 0)
    # A single ideogram or emoji is meaningful.
    has_symbol = any(ord(each) > LAST_LATIN and category(each) in ("Lo", "So") for each in segment.text)
    return has_symbol or segment.end_ms - segment.start_ms >= needed_ms or segment.end_ms == end_ms < needed_ms


def _entities(indexed: IndexedSegment) -> Iterable[IndexedEntity]:
    for entity in find_entities(indexed.segment.text):
        yield IndexedEntity(uuid5(indexed.id, str(entity.start)), indexed.id, indexed.segment.start_ms, entity)
