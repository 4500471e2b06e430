"""All that is made of the readings of one video. Pure.

Invariant: the same readings give the same rows with the same ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from uuid import UUID, uuid5

from .entities import find_entities
from .merging import merge
from .model import Entity, Frame, Segment

GAP_MS = 1000  # how long a reader may miss a text that stays


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
    merged = sorted(merge(frames, end_ms, GAP_MS), key=lambda each: (each.start_ms, each.box.y, each.box.x, each.text))
    seen: Counter[str] = Counter()
    segments: list[IndexedSegment] = []
    for segment in merged:
        name = f"{segment.start_ms} {segment.end_ms} {astuple(segment.box)} {segment.text}"
        segments.append(IndexedSegment(uuid5(video_id, f"{name} {seen[name]}"), segment))
        seen[name] += 1
    entities = [entity for each in segments for entity in _entities(each)]
    return Index(tuple(segments), tuple(entities))


def _entities(indexed: IndexedSegment) -> Iterable[IndexedEntity]:
    for entity in find_entities(indexed.segment.text):
        yield IndexedEntity(uuid5(indexed.id, str(entity.start)), indexed.id, indexed.segment.start_ms, entity)
