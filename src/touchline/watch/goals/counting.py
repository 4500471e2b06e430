"""The running score: what is one goal, though several scorers are or were named for it, and which number it has.

Invariant: two goals that had different numbers are not taken for one again. A goal that is not listed keeps its number
until it is dropped, so that a gap in the list changes nobody else's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from .matching import Item, Side
from .moments import Moment, distance, is_near, nothing_between
from .naming import same_player

Group: TypeAlias = list[Item]  # one goal


def group(items: Sequence[Item], side: Side) -> list[Group]:
    """In the order in which they were scored: the place is the side's part of the running score."""
    groups: list[Group] = [[item] for item in items]
    pairs = list(_possible_pairs(items, side))
    for one, other in pairs:
        if not (one.is_seen and other.is_seen):
            _join(groups, one, other, side, most_seen=1)
    for one, other in pairs:
        if one.is_seen and other.is_seen and _is_one_too_many(groups, one, other, side):
            _join(groups, one, other, side, most_seen=len(items))
    return sorted(groups, key=lambda each: _order(each, side))


def _possible_pairs(items: Sequence[Item], side: Side) -> Iterator[tuple[Item, Item]]:
    """Nearest first: the same side, nearly the same minute, nobody scored between, and another scorer."""
    pairs = [
        (distance(one.moment, other.moment), place, one, other)
        for place, one in enumerate(items)
        for other in items[place + 1 :]
        if is_near(one.moment, other.moment)
        and nothing_between(one.moment, other.moment, side.moments)
        and not same_player(one.told, other.told)
    ]
    return ((one, other) for _, _, one, other in sorted(pairs, key=lambda pair: pair[:2]))


def _is_one_too_many(groups: Sequence[Group], one: Item, other: Item, side: Side) -> bool:
    if side.total is not None:
        return len(groups) > side.total
    known = {side.rank(item.stored) for item in (one, other) if item.stored}
    return len(known) < 2  # nothing is told: what was one stays one, and what is new may be


def _join(groups: list[Group], one: Item, other: Item, side: Side, most_seen: int) -> None:
    mine = next(each for each in groups if one in each)
    theirs = next(each for each in groups if other in each)
    joined = mine + theirs
    if mine is not theirs and sum(item.is_seen for item in joined) <= most_seen and not _are_apart(joined, side):
        groups.remove(theirs)
        mine += theirs


def _are_apart(joined: Group, side: Side) -> bool:
    """Whether they were counted one by one before. Of two that are listed, and one too many, that says nothing as long
    as one is new: the totals may have been ahead of the list."""
    sure = [item.stored for item in joined if item.stored and (item.stored.stable_at or not _all_seen(joined))]
    return len({side.rank(stored) for stored in sure}) > 1


def _all_seen(items: Group) -> bool:
    return all(item.is_seen for item in items)


def _order(each: Group, side: Side) -> tuple[Moment, int, str]:
    """Goals of one minute stay in the order that they had."""
    ranks = [side.rank(item.stored) for item in each if item.stored]
    when = min((item.moment for item in each if item.is_seen), default=each[0].moment)
    return when, min(ranks, default=len(side.moments) + 1), str(each[0].told.player_id)


def scored_before(groups: Sequence[Group], when: Moment) -> int:
    """How many of them the other side had then."""
    return sum(min(item.moment for item in each) < when for each in groups)
