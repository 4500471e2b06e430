"""Which goals go, and where what was found of them goes.

Invariant: a goal goes only when enough distinct runs have neither listed nor counted it: one that the feed's totals
still count was lost by the list alone. When another scorer takes its place, what was found of it moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .counting import Group
from .matching import Item, Side
from .model import GOAL_TYPE, Removal, StoredGoal
from .moments import distance, is_same, moment
from .naming import identity, same_player


@dataclass(frozen=True, slots=True)
class Going:
    goal: StoredGoal
    removal: Removal
    successor: Item | None = None


@dataclass(frozen=True, slots=True)
class Unseen:
    """The goals that are not listed, told apart by what the totals say."""

    missed: Sequence[Item]  # the poll speaks against them
    counted: Sequence[Item]  # or one of them is: the list alone has lost it


def unseen(groups: Sequence[Group], side: Side, event_type: str) -> Unseen:
    listed = [each for each in groups if any(item.is_seen for item in each)]
    unlisted = [each for each in groups if each not in listed]
    hidden = _hidden(side, event_type, len(listed))
    if hidden is None:
        return Unseen(_absent(listed), ())
    replaced, kept = (_absent(listed), []) if hidden <= len(unlisted) else ([], _absent(listed))
    lost = _absent(unlisted)
    return Unseen([*replaced, *lost], kept) if hidden == 0 else Unseen(replaced, [*kept, *lost])


def _hidden(side: Side, event_type: str, listed: int) -> int | None:
    """How many goals the totals count that are not listed; None when they are not told."""
    if event_type != GOAL_TYPE:
        return 0
    return None if side.total is None else max(side.total - listed, 0)


def _absent(groups: Sequence[Group]) -> list[Item]:
    return [item for each in groups for item in each if not item.is_seen]


def going(groups: Sequence[Group], missed: Sequence[Item], run_id: str, polls: int) -> Iterator[Going]:
    """Of those that were missed now, the ones that were missed often enough."""
    due = [item for item in missed if item.stored and len({*item.stored.absent_workflows, run_id}) >= polls]
    staying = [item for each in groups for item in each if item not in due]
    for each in groups:
        is_listed = any(item.is_seen for item in each)
        may_return = any(item in staying for item in each)  # as long as one does, it is this goal
        for item in each:
            if item.stored and is_listed and item in missed and (item in due or identity(item.told) is None):
                yield _replaced(item.stored, each)
            elif item.stored and not is_listed and not may_return:
                yield _dropped(item.stored, staying)


def _replaced(goal: StoredGoal, of_one_goal: Group) -> Going:
    """A scorer without a name has no videos, and nobody waits for it to come back."""
    there = [other for other in of_one_goal if other.is_seen]
    successor = min(there, key=lambda other: distance(other.moment, moment(goal.told)))
    return Going(goal, Removal.IDENTIFIED if identity(goal.told) is None else Removal.REATTRIBUTED, successor)


def _dropped(goal: StoredGoal, staying: Sequence[Item]) -> Going:
    """Of one scorer at one moment nobody can tell two goals apart: what was found shows the one that stays."""
    for item in staying:
        if is_same(item.moment, moment(goal.told)) and same_player(item.told, goal.told):
            return Going(goal, Removal.DOUBLED, item)
    return Going(goal, Removal.ANNULLED)
