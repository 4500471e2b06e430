"""Which entry of the feed is which stored goal, of one side and one type.

Invariant: the place in the list means nothing. A goal is known again by its scorer, minute, extra minute and running
score; an entry that the totals do not count, beside one that says the same, is that goal listed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from touchline.watch.feed.model import FeedGoal

from .model import StoredGoal
from .moments import Moment, distance, is_near, is_same, moment, nothing_between
from .naming import identity, same_player

Cost: TypeAlias = tuple[int, bool]  # how far off its minute is, and whether the running score is another


class Sight(Enum):
    LISTED = 1
    GLIMPSED = 2  # an entry without a name stands in its place
    MISSING = 3


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A goal of this poll: stored, listed, or both."""

    told: FeedGoal  # now, or when it was last listed
    sight: Sight
    stored: StoredGoal | None = None

    @property
    def is_seen(self) -> bool:
        return self.sight is not Sight.MISSING

    @property
    def moment(self) -> Moment:
        return moment(self.told)


@dataclass(frozen=True, slots=True)
class Side:
    """What is known of one side's goals before they are matched."""

    team_id: int
    is_home: bool
    stored: Sequence[StoredGoal]
    entries: Sequence[FeedGoal]
    total: int | None  # the feed's; None: it does not say
    moments: Sequence[Moment]  # of all goals of the match, of both sides

    def rank(self, stored: StoredGoal) -> int:
        """Its side's part of the running score."""
        return stored.score.home if self.is_home else stored.score.away


def match(side: Side) -> list[Item]:
    if not side.stored and not side.entries:
        return []
    matched, left = _paired(side)
    items = [_known_again(stored, matched.get(stored.ref.event_id)) for stored in side.stored]
    for entry in sorted(left, key=lambda each: (_doubt(each, side), identity(each) is None, moment(each))):
        items = _with(items, entry, side)
    return items


def _doubt(entry: FeedGoal, side: Side) -> int:
    """Whether it may be a goal that is listed twice. Those that may come last, when the others are counted."""
    others = [other for other in side.entries if other is not entry]
    if any(_says_the_same(entry, other) for other in others):
        return 2
    return int(any(is_near(moment(entry), moment(other)) for other in others))


def _known_again(stored: StoredGoal, entry: FeedGoal | None) -> Item:
    if entry is None:
        return Item(stored.told, Sight.MISSING, stored)
    if identity(entry) is None and identity(stored.told) is not None:
        return Item(stored.told, Sight.GLIMPSED, stored)
    return Item(entry, Sight.LISTED, stored)


def _paired(side: Side) -> tuple[dict[str, FeedGoal], list[FeedGoal]]:
    """The entry of each stored goal by its id, and the entries of none. What fits best is paired first."""
    ranks = _feed_ranks(side.entries)
    entries, stored = dict(enumerate(side.entries)), {each.ref.event_id: each for each in side.stored}
    matched = dict[str, FeedGoal]()
    for fits in (_exactly, _nearly, _namelessly, _in_its_place):
        if not entries or not stored:
            break
        for number, event_id in _best_pairs(entries, stored, fits, side, ranks):
            matched[event_id] = entries.pop(number)
            del stored[event_id]
    return matched, list(entries.values())


Fits: TypeAlias = Callable[[FeedGoal, StoredGoal, Side], int | None]


def _best_pairs(
    entries: dict[int, FeedGoal], stored: dict[str, StoredGoal], fits: Fits, side: Side, ranks: Sequence[int]
) -> Iterator[tuple[int, str]]:
    costs = list[tuple[Cost, int, str]]()
    for number, entry in entries.items():
        for event_id, goal in stored.items():
            if (off := fits(entry, goal, side)) is not None:
                # Of one scorer at one moment no score tells two apart: the older one is meant, today and tomorrow.
                costs.append(((off, off > 0 and ranks[number] != side.rank(goal)), number, event_id))
    used_entries, used_goals = set[int](), set[str]()
    for _, number, event_id in sorted(costs):
        if number not in used_entries and event_id not in used_goals:
            used_entries.add(number)
            used_goals.add(event_id)
            yield number, event_id


def _exactly(entry: FeedGoal, stored: StoredGoal, _: Side) -> int | None:
    return 0 if is_same(moment(entry), moment(stored.told)) and same_player(entry, stored.told) else None


def _nearly(entry: FeedGoal, stored: StoredGoal, _: Side) -> int | None:
    """The feed has corrected the minute."""
    off = distance(moment(entry), moment(stored.told))
    return off if is_near(moment(entry), moment(stored.told)) and same_player(entry, stored.told) else None


def _namelessly(entry: FeedGoal, stored: StoredGoal, _: Side) -> int | None:
    if identity(entry) is not None or identity(stored.told) is not None:
        return None
    off = distance(moment(entry), moment(stored.told))
    return off if is_near(moment(entry), moment(stored.told)) else None


def _in_its_place(entry: FeedGoal, stored: StoredGoal, side: Side) -> int | None:
    """The feed has forgotten who scored."""
    there, here = moment(entry), moment(stored.told)
    is_one = is_near(there, here) and nothing_between(there, here, side.moments)
    return distance(there, here) if is_one and identity(entry) is None else None


def _feed_ranks(entries: Sequence[FeedGoal]) -> list[int]:
    """The running score of each, counted in the list alone; entries that say the same count once."""
    keys = [(moment(entry), str(identity(entry))) for entry in entries]
    order = {key: place for place, key in enumerate(sorted(set(keys)), 1)}
    return [order[key] for key in keys]


def _with(items: list[Item], entry: FeedGoal, side: Side) -> list[Item]:
    """The goals with an entry that belongs to none of the stored ones: a new goal, or one that is there already."""
    seen = [item for item in items if item.is_seen]
    is_counted = side.total is not None and len(items) + 1 <= side.total
    if not is_counted and any(_says_the_same(entry, item.told) for item in seen):
        return items
    new = Item(entry, Sight.LISTED)
    if is_counted or side.total is None or any(not item.is_seen and _may_follow(entry, item, side) for item in items):
        return [*items, new]
    near = [item for item in seen if is_near(moment(entry), item.moment)]
    if any(identity(entry) is None or same_player(entry, item.told) for item in near):
        return items
    return [*_without_nameless(items, entry), new]


def _says_the_same(entry: FeedGoal, told: FeedGoal) -> bool:
    is_same_scorer = same_player(entry, told) or identity(entry) is None
    return is_same_scorer and is_same(moment(entry), moment(told))


def _may_follow(entry: FeedGoal, item: Item, side: Side) -> bool:
    near = is_near(moment(entry), item.moment)
    return near and nothing_between(moment(entry), item.moment, side.moments)


def _without_nameless(items: list[Item], entry: FeedGoal) -> list[Item]:
    """Listed with and without a name at once, and counted once: the one with the name stands for both."""
    nameless = [
        item
        for item in items
        if item.stored and item.is_seen and identity(item.told) is None and is_near(item.moment, moment(entry))
    ]
    if not nameless:
        return items
    gone = min(nameless, key=lambda item: distance(item.moment, moment(entry)))
    return [Item(gone.told, Sight.MISSING, gone.stored), *(item for item in items if item is not gone)]
