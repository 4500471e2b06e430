"""Random match days as a feed tells them: late, doubled, reordered, retracted, forgotten, corrected, or not at all.

What truly happened is known beforehand, and in the end the feed says just that. Invariant: one seed, one day.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from touchline.watch.fixtures.feed_documents import FeedFixture, FeedGoal

from .goals import AWAY, HOME, match

LAST_QUIRK = 21  # polls; from then on the feed is right
POLLS = LAST_QUIRK + 5
TRUSTED = 3
SQUAD = 4
FIRST_MINUTES = ((3, 0), (12, 0), (21, 0), (30, 0), (39, 0), (45, 2), (54, 0), (63, 0), (72, 0), (81, 0), (90, 1))


@dataclass(frozen=True, slots=True)
class Span:
    first: int = POLLS
    last: int = 0

    def __contains__(self, poll: int) -> bool:
        return self.first <= poll <= self.last


NEVER = Span()


@dataclass(slots=True)
class RealGoal:
    """A goal, and what the feed makes of it."""

    key: int
    is_home: bool
    scorer: int
    minute: int
    extra: int
    reported: int  # the poll that lists it first
    annulled: int | None = None  # the first poll that does not list it any more
    totals_lag: int = 0  # polls by which the totals are late; before zero: early
    named: int = 0  # the first poll that names the scorer
    vanished: Span = NEVER  # the totals still count it
    blinked: Span = NEVER  # not even they do, but not for long
    doubled: Span = NEVER
    forgotten: Span = NEVER  # who scored
    corrected: int | None = None  # the first poll that names another one
    wrong_scorer: int = 0  # who was named before
    wrong_until: int = 0  # and how long, beside or before the right one
    minute_off: int = 0  # before the correction
    returned: Span = NEVER  # the wrong one once more

    def stands(self) -> bool:
        return self.annulled is None

    def is_listed(self, poll: int) -> bool:
        is_there = self.reported <= poll and (self.annulled is None or poll < self.annulled)
        return is_there and poll not in self.vanished and poll not in self.blinked

    def is_counted(self, poll: int) -> bool:
        if poll in self.blinked:
            return False
        return self.reported + self.totals_lag <= poll and (self.annulled is None or poll < self.annulled)

    def entries(self, poll: int) -> Iterator[FeedGoal]:
        if not self.is_listed(poll):
            return
        is_wrong = poll < self.wrong_until or poll in self.returned
        is_right = self.corrected is None or poll >= self.corrected
        if is_wrong:
            yield self._entry(poll, self.wrong_scorer, self.minute_off)
        if is_right and poll not in self.returned:
            yield self._entry(poll, self.scorer, 0)
            if poll in self.doubled:
                yield self._entry(poll, self.scorer, 0)

    def _entry(self, poll: int, scorer: int, off: int) -> FeedGoal:
        is_named = poll >= self.named and poll not in self.forgotten
        team = HOME if self.is_home else AWAY
        minute, extra = (self.minute, self.extra + off) if self.extra else (self.minute + off, 0)
        who = (scorer, f"P. Number{scorer}") if is_named else (None, None)
        return FeedGoal(team, *who, "Goal", "Normal Goal", minute, extra or None, {"truth": self.key})


@dataclass(slots=True)
class Day:
    goals: list[RealGoal]
    unanswered: set[int] = field(default_factory=set[int])
    empty: Span = NEVER  # no events at all, and the totals as they are
    uncounted: Span = NEVER  # no totals at all
    order: Random = field(default_factory=Random)

    def answer(self, poll: int) -> FeedFixture | None:
        if poll in self.unanswered:
            return None
        listed = [each for goal in self.goals for each in goal.entries(poll)]
        self.order.shuffle(listed)
        counted = [sum(goal.is_counted(poll) for goal in self.goals if goal.is_home is side) for side in (True, False)]
        totals = {"home_goals": counted[0], "away_goals": counted[1]}
        if poll in self.uncounted:
            totals = dict.fromkeys(totals)
        return match(*([] if poll in self.empty else listed), **totals)

    def is_listed(self, goal: RealGoal, poll: int) -> bool:
        return goal.is_listed(poll) and poll not in self.empty


def random_day(seed: int) -> Day:
    dice = Random(seed)
    slots = sorted(dice.sample(range(len(FIRST_MINUTES)), dice.choice((0, 1, 2, 3, 3, 4, 5))))
    goals = [_goal(dice, key, slot) for key, slot in enumerate(slots)]
    day = Day(goals, order=Random(seed))
    if dice.random() < 0.3:
        day.unanswered = set(dice.sample(range(LAST_QUIRK), dice.randint(1, 6)))
    if dice.random() < 0.15:
        day.empty = _span(dice, 0, 6)
    if dice.random() < 0.1:
        day.uncounted = _span(dice, 0, 4)
    if dice.random() < 0.5:
        _add_close_pair(dice, day)
    if any(goal.wrong_until > (goal.corrected or POLLS) for goal in goals):
        _keep_totals_behind(day)
    return day


def _keep_totals_behind(day: Day) -> None:
    """Totals that are ahead of the list count both scorers of one goal, when both are listed: nobody could tell."""
    for goal in day.goals:
        first_seen = range(goal.reported, goal.reported + TRUSTED)
        goal.totals_lag = max(goal.totals_lag, 0)
        if goal.vanished.first in first_seen:
            goal.vanished = NEVER
        if any(poll in day.empty for poll in first_seen):
            day.empty = NEVER


def _goal(dice: Random, key: int, slot: int) -> RealGoal:
    minute, extra = FIRST_MINUTES[slot]
    is_home = dice.random() < 0.6
    scorer = (100 if is_home else 200) + dice.randrange(SQUAD)
    reported = 1 + slot + dice.randint(0, 2)
    goal = RealGoal(key, is_home, scorer, minute, extra, reported)
    for quirk in dice.sample(QUIRKS, dice.choice((0, 0, 1, 1, 2))):
        quirk(dice, goal)
    return goal


def _late_totals(dice: Random, goal: RealGoal) -> None:
    """Late for less than what makes a goal go: longer, and one that the list has lost looks annulled."""
    goal.totals_lag = dice.randint(-3, TRUSTED - 1)


def _late_name(dice: Random, goal: RealGoal) -> None:
    goal.named = goal.reported + dice.choice((1, 2, 3, 5, 8, POLLS))


def _annulled(dice: Random, goal: RealGoal) -> None:
    goal.annulled = goal.reported + dice.randint(1, 9)


def _vanishes(dice: Random, goal: RealGoal) -> None:
    goal.vanished = _span(dice, goal.reported, 8)


def _blinks(dice: Random, goal: RealGoal) -> None:
    goal.blinked = _span(dice, goal.reported + 1, TRUSTED - 1)


def _doubles(dice: Random, goal: RealGoal) -> None:
    goal.doubled = _span(dice, goal.reported, 6)


def _forgets(dice: Random, goal: RealGoal) -> None:
    goal.forgotten = _span(dice, goal.reported, 5)


def _corrected(dice: Random, goal: RealGoal) -> None:
    """One scorer instead of another: at once, side by side for a while, or with a gap between."""
    goal.corrected = goal.reported + dice.randint(1, 8)
    goal.wrong_scorer = goal.scorer // 100 * 100 + 50 + dice.randrange(SQUAD)
    overlap = dice.choice((0, 0, -2, -1, 2, 5))
    goal.wrong_until = min(max(goal.corrected + overlap, goal.reported + 1), LAST_QUIRK)
    goal.minute_off = dice.choice((0, 0, 1, 2))
    if dice.random() < 0.2:
        goal.returned = _span(dice, max(goal.corrected, goal.wrong_until), 5)


def _moves(dice: Random, goal: RealGoal) -> None:
    """Only the minute was wrong."""
    goal.corrected = goal.wrong_until = goal.reported + dice.randint(1, 8)
    goal.wrong_scorer, goal.minute_off = goal.scorer, dice.choice((1, 2))


QUIRKS = (_late_totals, _late_name, _annulled, _vanishes, _blinks, _doubles, _forgets, _corrected, _moves)


def _span(dice: Random, earliest: int, longest: int) -> Span:
    first = dice.randint(earliest, max(earliest, LAST_QUIRK - longest))
    return Span(first, min(first + dice.randint(1, longest), LAST_QUIRK) - 1)


def _add_close_pair(dice: Random, day: Day) -> None:
    """Two real goals of one side in neighbouring minutes, of which one does not stand."""
    reported = dice.randint(2, 10)
    minute = dice.choice((7, 16, 25))
    if any(goal.is_home for goal in day.goals):
        return
    key = len(day.goals)
    first = RealGoal(key, True, 100, minute, 0, reported)
    second = RealGoal(key + 1, True, 101, minute + dice.randint(0, 2), 0, reported + dice.randint(0, 3))
    dice.choice((first, second)).annulled = second.reported + dice.randint(1, 6)
    day.goals += [first, second]
    day.unanswered -= {second.reported}
    if second.reported in day.empty or second.reported in day.uncounted:
        day.empty = day.uncounted = NEVER
