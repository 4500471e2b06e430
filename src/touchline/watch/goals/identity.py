"""Which entry of the feed is which stored goal, of one side and one type.

Invariant: the place in the list means nothing. A goal is known again by its scorer, minute, extra minute and running
score; an entry that the totals do not count, beside one that says the same, is that goal listed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations
from typing import TypeAlias

from touchline.watch.fixtures.feed_documents import FeedGoal

from .model import Moment, StoredGoal, distance, identity, is_near, is_same, moment, nothing_between, same_player

Cost: TypeAlias = tuple[int, bool]  # how far off its minute is, and whether the running score is another


class Sighting(Enum):
    LISTED = 1
    GLIMPSED = 2  # an entry without a name stands in its place
    MISSING = 3


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A goal of this poll: stored, listed, or both."""

    reported: FeedGoal  # now, or when it was last listed
    sight: Sighting
    stored: StoredGoal | None = None

    @property
    def is_seen(self) -> bool:
        return self.sight is not Sighting.MISSING

    @property
    def moment(self) -> Moment:
        return moment(self.reported)


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
        return Item(stored.reported, Sighting.MISSING, stored)
    if identity(entry) is None and identity(stored.reported) is not None:
        return Item(stored.reported, Sighting.GLIMPSED, stored)
    return Item(entry, Sighting.LISTED, stored)


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
    return 0 if is_same(moment(entry), moment(stored.reported)) and same_player(entry, stored.reported) else None


def _nearly(entry: FeedGoal, stored: StoredGoal, _: Side) -> int | None:
    """The feed has corrected the minute."""
    off = distance(moment(entry), moment(stored.reported))
    return off if is_near(moment(entry), moment(stored.reported)) and same_player(entry, stored.reported) else None


def _namelessly(entry: FeedGoal, stored: StoredGoal, _: Side) -> int | None:
    if identity(entry) is not None or identity(stored.reported) is not None:
        return None
    off = distance(moment(entry), moment(stored.reported))
    return off if is_near(moment(entry), moment(stored.reported)) else None


def _in_its_place(entry: FeedGoal, stored: StoredGoal, side: Side) -> int | None:
    """The feed has forgotten who scored."""
    there, here = moment(entry), moment(stored.reported)
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
    if not is_counted and any(_says_the_same(entry, item.reported) for item in seen):
        return items
    new = Item(entry, Sighting.LISTED)
    if is_counted or side.total is None or any(not item.is_seen and _may_follow(entry, item, side) for item in items):
        return [*items, new]
    near = [item for item in seen if is_near(moment(entry), item.moment)]
    if any(identity(entry) is None or same_player(entry, item.reported) for item in near):
        return items
    return [*_without_nameless(items, entry), new]


def _says_the_same(entry: FeedGoal, reported: FeedGoal) -> bool:
    is_same_scorer = same_player(entry, reported) or identity(entry) is None
    return is_same_scorer and is_same(moment(entry), moment(reported))


def _may_follow(entry: FeedGoal, item: Item, side: Side) -> bool:
    near = is_near(moment(entry), item.moment)
    return near and nothing_between(moment(entry), item.moment, side.moments)


def _without_nameless(items: list[Item], entry: FeedGoal) -> list[Item]:
    """Listed with and without a name at once, and counted once: the one with the name stands for both."""
    nameless = [
        item
        for item in items
        if item.stored and item.is_seen and identity(item.reported) is None and is_near(item.moment, moment(entry))
    ]
    if not nameless:
        return items
    gone = min(nameless, key=lambda item: distance(item.moment, moment(entry)))
    return [Item(gone.reported, Sighting.MISSING, gone.stored), *(item for item in items if item is not gone)]


# The running score: what is one goal, though several scorers are or were named for it, and which number it has.
# Invariant: two goals that had different numbers are not taken for one again. A goal that is not listed keeps its
# number until it is dropped, so that a gap in the list changes nobody else's.

Group: TypeAlias = list[Item]  # one goal


def group(items: Sequence[Item], side: Side) -> list[Group]:
    """In the order in which they were scored: the place is the side's part of the running score."""
    groups: list[Group] = [[item] for item in items]
    pairs = _possible_pairs(items, side)
    for one, other in pairs:
        if not (one.is_seen and other.is_seen):
            _join(groups, one, other, side, most_seen=1)
    for one, other in pairs:
        if one.is_seen and other.is_seen and _is_one_too_many(groups, one, other, side):
            _join(groups, one, other, side, most_seen=len(items))
    return sorted(groups, key=lambda each: _order(each, side))


def _possible_pairs(items: Sequence[Item], side: Side) -> list[tuple[Item, Item]]:
    """The same side, nearly the same minute, nobody scored between, and another scorer. First those that were one
    before, then the nearest."""
    pairs = [
        (one, other)
        for one, other in combinations(sorted(items, key=_place), 2)
        if is_near(one.moment, other.moment)
        and nothing_between(one.moment, other.moment, side.moments)
        and not same_player(one.reported, other.reported)
    ]
    return sorted(pairs, key=lambda pair: (not _were_one(*pair, side), distance(pair[0].moment, pair[1].moment)))


def _place(item: Item) -> tuple[Moment, str]:
    return item.moment, str(identity(item.reported))


def _were_one(one: Item, other: Item, side: Side) -> bool:
    return bool(one.stored and other.stored and side.rank(one.stored) == side.rank(other.stored))


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
    return when, min(ranks, default=len(side.moments) + 1), str(each[0].reported.player_id)


def scored_before(groups: Sequence[Group], when: Moment) -> int:
    """How many of them the other side had then."""
    return sum(min(item.moment for item in each) < when for each in groups)
