"""When in a match a goal was scored, as far as goals are compared by it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from touchline.watch.feed.model import FeedGoal

Moment: TypeAlias = tuple[int, int]  # minute and extra minute: sorts as it was played

NEAR = 2  # minutes that the feed may be off when it changes its mind


def moment(goal: FeedGoal) -> Moment:
    return goal.minute, goal.extra or 0


def distance(one: Moment, other: Moment) -> int:
    """45+1 and 46 are neighbours; 45+5 and 50 are not: they lie in different halves."""
    minutes = abs(one[0] - other[0])
    return max(minutes, abs(sum(one) - sum(other)))


def is_near(one: Moment, other: Moment) -> bool:
    return distance(one, other) <= NEAR


def nothing_between(one: Moment, other: Moment, all_goals: Iterable[Moment]) -> bool:
    """Whether two entries can have the same running score: nobody scored between them."""
    first, last = min(one, other), max(one, other)
    return not any(first < each < last for each in all_goals)
