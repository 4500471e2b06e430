"""What a poll means for the goals of a match. Pure, and the same answer again when asked twice with one run.

Invariant: a goal is searched for after enough answered runs in a row have seen it with a known scorer, once; every
goal that is not listed either waits, goes, or is another one now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from touchline.watch.feed.model import FeedFixture, FeedGoal
from touchline.watch.model import GoalRef
from touchline.watch.settings import WatchSettings

from .counting import Group, group, scored_before
from .matching import Item, Side, Sight, match
from .model import GOAL_TYPE, Decision, Said, Score, StoredGoal, Triggered, Written
from .moments import moment
from .naming import identity, is_known, label, next_name, workflow_id
from .removal import Going, going


@dataclass(frozen=True, slots=True)
class Poll:
    fixture: FeedFixture
    run_id: str
    now: datetime
    polls_to_trust: int


@dataclass(frozen=True, slots=True)
class Counted:
    """A goal of this poll with its running score."""

    item: Item
    score: Score


def decide(
    stored: Sequence[StoredGoal], fixture: FeedFixture, run_id: str, now: datetime, settings: WatchSettings
) -> Decision:
    """`stored` are all goals of the match, also those that went: their ids are not given twice."""
    if fixture.goals is None:
        return Decision()
    poll = Poll(fixture, run_id, now, settings.polls_to_trust)
    counted, leaving = _compared(stored, fixture, poll)
    kept = [_kept(each.item.stored, each, poll) for each in counted if each.item.stored]
    goners = [_gone(each, now) for each in leaving]
    names, added = _added((each for each in counted if not each.item.stored), [*stored, *goners], poll)
    moved = [_moved(gone, each, names) for gone, each in zip(goners, leaving, strict=True)]
    changed = [each for each in kept if each is not None]
    written = (*moved, *added, *changed)
    after = {each.goal.ref: each.goal for each in written}
    seen = [after.get(each.item.stored.ref, each.item.stored) for each in counted if each.item.stored]
    return Decision(written, tuple(_triggered([*seen, *(each.goal for each in added)])))


def _compared(stored: Sequence[StoredGoal], fixture: FeedFixture, poll: Poll) -> tuple[list[Counted], list[Going]]:
    living = [each for each in stored if each.lives]
    of_match = {fixture.home.id, fixture.away.id}
    entries = [each for each in fixture.goals or () if each.team.id in of_match]
    types = sorted({each.type for each in entries} | {each.told.type for each in living})
    counted, leaving = list[Counted](), list[Going]()
    for event_type in types:
        sides = [_side(fixture, is_home, event_type, living, entries) for is_home in (True, False)]
        groups = [group(match(side), side) for side in sides]
        for side, each in zip(sides, groups, strict=True):
            leaving += going(each, side, event_type, poll.run_id, poll.polls_to_trust)
        gone = {each.goal.ref for each in leaving}
        home, away = ([_staying(each, gone) for each in of_side if _staying(each, gone)] for of_side in groups)
        counted += [Counted(item, Score(*score)) for item, score in _scores(home, away)]
    return counted, leaving


def _side(
    fixture: FeedFixture, is_home: bool, event_type: str, living: Sequence[StoredGoal], entries: Sequence[FeedGoal]
) -> Side:
    team = fixture.home if is_home else fixture.away
    total = fixture.home_goals if is_home else fixture.away_goals
    return Side(
        team.id,
        is_home,
        [each for each in living if each.told.type == event_type and each.told.team.id == team.id],
        [each for each in entries if each.type == event_type and each.team.id == team.id],
        total if event_type == GOAL_TYPE else None,
        [*(moment(each.told) for each in living), *(moment(each) for each in entries)],
    )


def _staying(of_one_goal: Group, gone: set[GoalRef]) -> Group:
    return [item for item in of_one_goal if not item.stored or item.stored.ref not in gone]


def _scores(home: Sequence[Group], away: Sequence[Group]) -> Iterable[tuple[Item, tuple[int, int]]]:
    for place, each in enumerate(home, 1):
        yield from ((item, (place, scored_before(away, item.moment))) for item in each)
    for place, each in enumerate(away, 1):
        yield from ((item, (scored_before(home, item.moment), place)) for item in each)


def _kept(before: StoredGoal, counted: Counted, poll: Poll) -> Written | None:
    """A stored goal that stays; None when nothing about it has changed."""
    after = before if before.score == counted.score else replace(before, score=counted.score)
    after = _seen(after, counted.item, poll) if counted.item.is_seen else _missed(after, poll)
    if after is before or after == before:
        return None
    if after.stable_at and not before.stable_at:
        return Written(after, Said.STABLE, reopened=before.download_complete)
    is_visible = replace(after, absent_workflows=before.absent_workflows) != before
    return Written(after, Said.SEEN if is_visible else None)


def _seen(goal: StoredGoal, item: Item, poll: Poll) -> StoredGoal:
    told = _merged(goal.told, item.told)
    if told != goal.told or goal.absent_workflows:
        goal = replace(goal, told=told, absent_workflows=())
    return _trusted(goal, poll) if item.sight is Sight.LISTED else goal


def _merged(before: FeedGoal, entry: FeedGoal) -> FeedGoal:
    """What the feed forgets of a scorer is still known."""
    if entry.player_id and is_known(entry.player_name):
        return entry
    player_id = entry.player_id or before.player_id
    name = entry.player_name if is_known(entry.player_name) else before.player_name
    return replace(entry, player_id=player_id, player_name=name)


def _trusted(goal: StoredGoal, poll: Poll) -> StoredGoal:
    """One more run that saw it. An unknown scorer is not counted, and what is stable needs no more."""
    if goal.stable_at or not is_known(goal.told.player_name):
        return goal
    if poll.run_id not in goal.monitor_workflows:
        goal = replace(goal, monitor_workflows=(*goal.monitor_workflows, poll.run_id))
    if len(goal.monitor_workflows) < poll.polls_to_trust:
        return goal
    return replace(
        goal,
        stable_at=poll.now,
        workflow_id=workflow_id(goal.ref, goal.told),
        label=label(goal.told),
        download_complete=False,
        outcome=None,
    )


def _missed(goal: StoredGoal, poll: Poll) -> StoredGoal:
    runs = goal.absent_workflows
    if poll.run_id not in runs and len(runs) < poll.polls_to_trust:  # it may stay away long, while the totals count it
        goal = replace(goal, absent_workflows=(*runs, poll.run_id))
    return replace(goal, monitor_workflows=()) if goal.monitor_workflows and not goal.stable_at else goal


def _gone(leaving: Going, now: datetime) -> StoredGoal:
    return replace(leaving.goal, removed_at=now, removal=leaving.removal)


def _moved(gone: StoredGoal, leaving: Going, names: dict[Item, GoalRef]) -> Written:
    successor = leaving.successor
    if successor is None:
        return Written(gone, Said.REMOVED)
    moved_to = successor.stored.ref if successor.stored else names[successor]
    return Written(replace(gone, moved_to=moved_to), Said.MOVED)


def _added(
    counted: Iterable[Counted], stored: list[StoredGoal], poll: Poll
) -> tuple[dict[Item, GoalRef], list[Written]]:
    """New goals, each with an id that no living one has; and those ids by what they were given to."""
    known = {each.ref: each for each in stored}  # the later of two is the one that goes
    names, added = dict[Item, GoalRef](), list[Written]()
    order = sorted(counted, key=lambda each: (each.item.moment, str(identity(each.item.told))))
    for each in order:
        told = each.item.told
        ref, sequence = next_name(told, poll.fixture.id, list(known.values()))
        goal = _trusted(StoredGoal(ref, sequence, told, each.score, poll.now), poll)
        known[ref] = goal
        names[each.item] = ref
        added.append(Written(goal, Said.STABLE if goal.stable_at else Said.SEEN, is_new=True))
    return names, added


def _triggered(seen: Iterable[StoredGoal]) -> Iterable[Triggered]:
    """Also those whose search was to start after an earlier poll, and did not."""
    for goal in seen:
        is_open = goal.lives and not goal.monitor_complete and not goal.download_complete
        if is_open and not goal.absent_workflows and goal.workflow_id and goal.label:
            yield Triggered(goal.ref, goal.workflow_id, goal.label)
