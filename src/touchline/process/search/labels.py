"""What is known about a video besides its frames (title; match, teams and player of its goal), folded from events,
and the texts and labels that search has of it. Pure.

Invariant: in whatever order events come, and however often, the result is the same: the highest revision of each
source counts, and a video that was dropped shows no goal any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID, uuid5

from touchline.process.text import split_words

from .model import TextPlace

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
