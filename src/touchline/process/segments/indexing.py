"""All that is made of the readings of one video. Pure.

Invariant: the same readings give the same rows with the same ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from unicodedata import category
from uuid import UUID, uuid5

from .entities import find_entities
from .folding import shape
from .merging import merge
from .model import Entity, Frame, Segment

GAP_MS = 1000  # how long a reader may miss a text that stays
# The shorter a text, the longer it must stand to be believed: a player's legs look like an 11 for a moment.
LAST_LATIN = 0x24F
LEAST_MS = {0: 3000, 1: 3000, 2: 500}  # by the number of letters and digits


@dataclass(frozen=True, slots=True)
class IndexedSegment:
    id: UUID
    segment: Segment


@dataclass(frozen=True, slots=True)
class IndexedEntity:
    id: UUID
    segment_id: UUID
    t_start: int
    entity: Entity


@dataclass(frozen=True, slots=True)
class Index:
    segments: tuple[IndexedSegment, ...]
    entities: tuple[IndexedEntity, ...]


def index(video_id: UUID, frames: Iterable[Frame], end_ms: int) -> Index:
    believed = (each for each in merge(frames, end_ms, GAP_MS) if is_believed(each, end_ms))
    merged = sorted(believed, key=lambda each: (each.start_ms, each.box.y, each.box.x, each.text))
    seen: Counter[str] = Counter()
    segments: list[IndexedSegment] = []
    for segment in merged:
        name = f"{segment.start_ms} {segment.end_ms} {astuple(segment.box)} {segment.text}"
        segments.append(IndexedSegment(uuid5(video_id, f"{name} {seen[name]}"), segment))
        seen[name] += 1
    entities = [entity for each in segments for entity in _entities(each)]
    return Index(tuple(segments), tuple(entities))


def is_believed(segment: Segment, end_ms: int) -> bool:
    """In a video that is shorter than that, what stands there until the end."""
    needed_ms = LEAST_MS.get(len(shape(segment.text)), 0)
    # One ideogram or emoji says a lot.
    has_symbol = any(ord(each) > LAST_LATIN and category(each) in ("Lo", "So") for each in segment.text)
    return has_symbol or segment.end_ms - segment.start_ms >= needed_ms or segment.end_ms == end_ms < needed_ms


def _entities(indexed: IndexedSegment) -> Iterable[IndexedEntity]:
    for entity in find_entities(indexed.segment.text):
        yield IndexedEntity(uuid5(indexed.id, str(entity.start)), indexed.id, indexed.segment.start_ms, entity)
