"""Which goals go, and where what was found of them goes.

Invariant: a goal goes only when it was missed by enough distinct runs and the feed's totals do not count it any more.
One whose place another scorer has taken loses nothing: what was found of it moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .counting import Group
from .matching import Item, Side
from .model import GOAL_TYPE, Removal, StoredGoal
from .moments import distance, moment
from .naming import identity, same_player


@dataclass(frozen=True, slots=True)
class Going:
    goal: StoredGoal
    removal: Removal
    successor: Item | None = None


def going(groups: Sequence[Group], side: Side, event_type: str, run_id: str, polls: int) -> Iterator[Going]:
    seen = [each for each in groups if any(item.is_seen for item in each)]
    missing = _missing(side, event_type, len(seen))
    for each in groups:
        absent = [item.stored for item in each if item.stored and not item.is_seen]
        due = [goal for goal in absent if len({*goal.absent_workflows, run_id}) >= polls]
        if each in seen:
            if missing <= len(groups) - len(seen):  # else it may be a goal of its own that is counted and not listed
                yield from (_replaced(goal, each) for goal in absent if goal in due or identity(goal.told) is None)
        elif missing == 0 and due == absent:  # as long as one of them may come back, it is this goal
            yield from (_dropped(goal, seen) for goal in absent)


def _missing(side: Side, event_type: str, seen: int) -> int:
    """How many goals the totals count that are not listed. Totals that are not told could count any."""
    if event_type != GOAL_TYPE:
        return 0
    return 1 if side.total is None else max(side.total - seen, 0)


def _replaced(goal: StoredGoal, of_one_goal: Group) -> Going:
    """A scorer without a name has no videos, and nobody waits for it to come back."""
    there = [other for other in of_one_goal if other.is_seen]
    successor = min(there, key=lambda other: distance(other.moment, moment(goal.told)))
    return Going(goal, Removal.IDENTIFIED if identity(goal.told) is None else Removal.REATTRIBUTED, successor)


def _dropped(goal: StoredGoal, seen: Sequence[Group]) -> Going:
    """Of one scorer at one moment nobody can tell two goals apart: what was found shows the one that stays."""
    for each in seen:
        for item in each:
            told = item.told
            is_same_moment = (told.minute, told.extra) == (goal.told.minute, goal.told.extra)
            if item.is_seen and is_same_moment and same_player(told, goal.told):
                return Going(goal, Removal.DOUBLED, item)
    return Going(goal, Removal.ANNULLED)
