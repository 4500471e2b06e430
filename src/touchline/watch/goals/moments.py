"""When in a match a goal was scored, as far as goals are compared by it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from touchline.watch.feed.model import FeedGoal
from touchline.watch.model import MATCH_ENDS

Moment: TypeAlias = tuple[int, int]  # minute and extra minute: sorts as it was played

SECOND_END = MATCH_ENDS[1]
NEAR = 2  # minutes that the feed may be off when it changes its mind


def moment(goal: FeedGoal) -> Moment:
    return goal.minute, goal.extra or 0


def is_same(one: Moment, other: Moment) -> bool:
    """Feeds write 93 and later 90+3, or the other way round."""
    return one == other or (sum(one) == sum(other) and _is_rewritten(one, other))


def distance(one: Moment, other: Moment) -> int:
    """45+1 and 46 are neighbours; 45+5 and 50 are not: they lie in different halves. After the 90th minute nobody can
    tell."""
    minutes, total = abs(one[0] - other[0]), abs(sum(one) - sum(other))
    return total if _is_rewritten(one, other) and min(one, other)[0] >= SECOND_END else max(minutes, total)


def is_near(one: Moment, other: Moment) -> bool:
    return distance(one, other) <= NEAR


def nothing_between(one: Moment, other: Moment, all_goals: Iterable[Moment]) -> bool:
    """Whether two entries can have the same running score: nobody scored between them."""
    first, last = min(one, other), max(one, other)
    return is_same(one, other) or not any(first < each < last for each in all_goals)


def _is_rewritten(one: Moment, other: Moment) -> bool:
    """Whether one is written as stoppage time, and the other, after the end of that half, is not."""
    first, last = min(one, other), max(one, other)
    return first[0] in MATCH_ENDS and first[1] > 0 and last[1] == 0 and last[0] > first[0]
