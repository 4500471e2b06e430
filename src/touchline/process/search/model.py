"""A question, and what was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class Sort(StrEnum):
    RELEVANCE = "relevance"
    RECENCY = "recency"
    CONFIDENCE = "confidence"


class Where(StrEnum):
    """Where a text stands."""

    PICTURE = "picture"  # it was read in the video
    TITLE = "title"
    MATCH = "match"  # of the goal that the video shows: teams, score, scorer


@dataclass(frozen=True, slots=True)
class Term:
    """One word that must be there."""

    word: str
    prefix: bool = False  # or one that begins so
    near: bool = False  # or one that is one slip away


@dataclass(frozen=True, slots=True)
class Filters:
    videos: tuple[UUID, ...] = ()  # one of them
    languages: tuple[str, ...] = ()  # one of them
    entities: tuple[str, ...] = ()  # all of them: a type, a kind, or a type with its value
    labels: tuple[tuple[str, str], ...] = ()  # all of them: kind and value, of the video
    after: datetime | None = None  # when the video came
    before: datetime | None = None
    min_confidence: float | None = None
    where: tuple[Where, ...] = ()  # one of them


@dataclass(frozen=True, slots=True)
class Query:
    terms: tuple[Term, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    without: tuple[Term, ...] = ()
    without_phrases: tuple[tuple[str, ...], ...] = ()
    filters: Filters = field(default_factory=Filters)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page ends. The words that were read as others stay so on the pages that follow."""

    rank: int
    segment_id: UUID
    corrected: int = 0  # the terms that were, by their number in the query: one bit each

    def to_bytes(self) -> bytes:
        return self.rank.to_bytes(8) + self.segment_id.bytes + self.corrected.to_bytes(4)

    @classmethod
    def from_bytes(cls, place: bytes) -> Place:
        return cls(int.from_bytes(place[:8]), UUID(bytes=place[8:24]), int.from_bytes(place[24:28]))


@dataclass(frozen=True, slots=True)
class Correction:
    """A word that nobody has written here, and those that it was read as."""

    word: str
    read_as: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """In pixels of the sampled pictures."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Fragment:
    text: str
    matched: bool


@dataclass(frozen=True, slots=True)
class Hit:
    segment_id: UUID
    video_id: UUID
    text: str
    fragments: tuple[Fragment, ...]  # the text, cut where matches begin and end
    where: Where
    box: Box | None  # None: no picture shows it
    start_ms: int  # the picture that shows it first: where to jump to
    end_ms: int
    confidence: float
    language: str | None
    video_created_at: datetime
    picture_width: int | None  # of the pictures that the box is in, where they are known
    picture_height: int | None
    rank: int


@dataclass(frozen=True, slots=True)
class Page:
    hits: tuple[Hit, ...]
    next: Place | None  # None: there is no more
    corrections: tuple[Correction, ...] = ()


@dataclass(frozen=True, slots=True)
class Suggestion:
    text: str  # what was typed, with its last word completed
    segments: int  # that have the word
