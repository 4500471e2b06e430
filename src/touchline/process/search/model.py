"""What can be searched for, and what was found.

What is known about a video besides its frames (title; match, teams and player of its goal), folded from events,
and the texts and labels that search has of it. Pure.

Invariant: in whatever order events come, and however often, the result is the same: the highest revision of each
source counts, and a video that was dropped shows no goal any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid5

from touchline.process.text import split_words


class Sort(StrEnum):
    RELEVANCE = "relevance"
    RECENCY = "recency"
    CONFIDENCE = "confidence"


class TextPlace(StrEnum):
    """Where a text was found."""

    PICTURE = "picture"  # it was read in the video
    TITLE = "title"
    MATCH = "match"  # of the goal that the video shows: teams, score, scorer


@dataclass(frozen=True, slots=True)
class Term:
    """One word that must be there."""

    word: str
    prefix: bool = False  # or one that starts with it
    near: bool = False  # or one that is one typo away


@dataclass(frozen=True, slots=True)
class QueryFilters:
    videos: tuple[UUID, ...] = ()  # one of them
    languages: tuple[str, ...] = ()  # one of them
    entities: tuple[str, ...] = ()  # all of them: a type, a kind, or a type with its value
    labels: tuple[tuple[str, str], ...] = ()  # all of them: kind and value, of the video
    after: datetime | None = None  # when the video was added
    before: datetime | None = None
    min_confidence: float | None = None
    where: tuple[TextPlace, ...] = ()  # one of them


@dataclass(frozen=True, slots=True)
class SearchQuery:
    terms: tuple[Term, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    without: tuple[Term, ...] = ()
    without_phrases: tuple[tuple[str, ...], ...] = ()
    filters: QueryFilters = field(default_factory=QueryFilters)


@dataclass(frozen=True, slots=True)
class SearchCursor:
    """Where a page ends. Words that were corrected stay corrected on the following pages."""

    rank: int
    segment_id: UUID
    corrected: int = 0  # the corrected terms, by their number in the query: one bit each

    def to_bytes(self) -> bytes:
        return self.rank.to_bytes(8) + self.segment_id.bytes + self.corrected.to_bytes(4)

    @classmethod
    def from_bytes(cls, place: bytes) -> SearchCursor:
        return cls(int.from_bytes(place[:8]), UUID(bytes=place[8:24]), int.from_bytes(place[24:28]))


@dataclass(frozen=True, slots=True)
class SpellingCorrection:
    """A word that the index does not have, and the words that were searched instead."""

    word: str
    read_as: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextBox:
    """In pixels of the sampled frames."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Fragment:
    text: str
    matched: bool


@dataclass(frozen=True, slots=True)
class TextHit:
    segment_id: UUID
    video_id: UUID
    text: str
    fragments: tuple[Fragment, ...]  # the text, split where matches begin and end
    where: TextPlace
    box: TextBox | None  # None: no frame shows it
    start_ms: int  # the frame that shows it first: where to jump to
    end_ms: int
    confidence: float
    language: str | None
    video_created_at: datetime
    picture_width: int | None  # of the frames that the box is in, if known
    picture_height: int | None
    rank: int


@dataclass(frozen=True, slots=True)
class HitPage:
    hits: tuple[TextHit, ...]
    next: SearchCursor | None  # None: there is no more
    corrections: tuple[SpellingCorrection, ...] = ()


@dataclass(frozen=True, slots=True)
class PlaceCount:
    """How many texts of one place match."""

    where: TextPlace
    count: int
    has_more: bool  # counting stopped here


@dataclass(frozen=True, slots=True)
class Suggestion:
    text: str  # what was typed, with its last word completed
    segments: int  # that have the word


LONGEST_TEXT = 500


@dataclass(frozen=True, slots=True)
class GoalShown:
    """The goal that a video shows, with the names of the feed."""

    title: str
    fixture_id: int
    home_team: str
    away_team: str
    player: str | None


@dataclass(frozen=True, slots=True)
class VideoSubject:
    title: str | None = None
    title_revision: int = 0
    goal: GoalShown | None = None
    goal_revision: int = 0
    is_dropped: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    kind: str
    value: str  # its words as they are compared, with blanks between them


def with_title(subject: VideoSubject, title: str, revision: int) -> VideoSubject:
    if revision <= subject.title_revision:
        return subject
    return replace(subject, title=title[:LONGEST_TEXT], title_revision=revision)


def with_goal(subject: VideoSubject, goal: GoalShown, revision: int) -> VideoSubject:
    if subject.is_dropped or revision <= subject.goal_revision:
        return subject
    return replace(subject, goal=goal, goal_revision=revision)


def without_goal(subject: VideoSubject) -> VideoSubject:
    return replace(subject, goal=None, goal_revision=0, is_dropped=True)


def texts_of(subject: VideoSubject) -> dict[TextPlace, str]:
    """By place. The title of a goal's video repeats its match, so it is left out."""
    if subject.goal is not None:
        return {TextPlace.MATCH: subject.goal.title[:LONGEST_TEXT]}
    return {TextPlace.TITLE: subject.title} if subject.title else {}


def labels_of(subject: VideoSubject) -> set[Label]:
    """What `match:`, `team:` and `player:` find: any words of one of these."""
    goal = subject.goal
    if goal is None:
        return set()
    named = [
        ("match", f"{goal.home_team} vs {goal.away_team}"),
        ("match", str(goal.fixture_id)),
        ("team", goal.home_team),
        ("team", goal.away_team),
        ("player", goal.player or ""),
    ]
    found = ((kind, " ".join(split_words(name[:LONGEST_TEXT]))) for kind, name in named)
    return {Label(kind, value) for kind, value in found if value}


def text_id(video_id: UUID, where: TextPlace) -> UUID:
    """The same text has the same id, whenever it is written."""
    return uuid5(video_id, where)
