"""What is known of a video, folded from events; and the labels and texts that search has of it. Pure.

Invariant: whatever order events come in, and however often, the same is known in the end: of each teller the highest
revision counts, and a video that was dropped shows no goal any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID, uuid5

from touchline.process.search.model import Where
from touchline.process.search.words import split

LONGEST_TEXT = 500


@dataclass(frozen=True, slots=True)
class GoalShown:
    """What a video shows, in the names of the feed."""

    title: str
    fixture_id: int
    home_team: str
    away_team: str
    player: str | None


@dataclass(frozen=True, slots=True)
class Subject:
    title: str | None = None
    title_revision: int = 0
    goal: GoalShown | None = None
    goal_revision: int = 0
    is_dropped: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    kind: str
    value: str  # its words as they are compared, with blanks between them


def titled(subject: Subject, title: str, revision: int) -> Subject:
    if revision <= subject.title_revision:
        return subject
    return replace(subject, title=title[:LONGEST_TEXT], title_revision=revision)


def labeled(subject: Subject, goal: GoalShown, revision: int) -> Subject:
    if subject.is_dropped or revision <= subject.goal_revision:
        return subject
    return replace(subject, goal=goal, goal_revision=revision)


def dropped(subject: Subject) -> Subject:
    return replace(subject, goal=None, goal_revision=0, is_dropped=True)


def texts(subject: Subject) -> dict[Where, str]:
    """By where they stand. The title of a goal's video is made of its match: it is not found twice."""
    if subject.goal is not None:
        return {Where.MATCH: subject.goal.title[:LONGEST_TEXT]}
    return {Where.TITLE: subject.title} if subject.title else {}


def labels(subject: Subject) -> set[Label]:
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
    found = ((kind, " ".join(split(name[:LONGEST_TEXT]))) for kind, name in named)
    return {Label(kind, value) for kind, value in found if value}


def text_id(video_id: UUID, where: Where) -> UUID:
    """The same text has the same id, whenever it is written."""
    return uuid5(video_id, where)
