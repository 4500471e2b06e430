"""What a poll means for the goals of a match. Pure, and the same answer again when asked twice with one run.

Invariant: a goal is searched for after enough answered runs in a row have seen it with a known scorer, once; every
goal that is not listed either waits, goes, or is another one now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from touchline.watch.fixtures.feed_documents import FeedFixture, FeedGoal
from touchline.watch.model import GoalRef
from touchline.watch.settings import WatchSettings

from . import model
from .identity import Group, Item, Side, Sighting, group, match, scored_before

# Which goals go, and where what was found of them goes.
# Invariant: a goal goes only when enough distinct runs have neither listed nor counted it: one that the feed's totals
# still count was lost by the list alone. When another scorer takes its place, what was found of it moves.


@dataclass(frozen=True, slots=True)
class Going:
    goal: model.StoredGoal
    removal: model.Removal
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
    if event_type != model.GOAL_TYPE:
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
            if item.stored and is_listed and item in missed and (item in due or model.identity(item.reported) is None):
                yield _replaced(item.stored, each)
            elif item.stored and not is_listed and not may_return:
                yield _dropped(item.stored, staying)


def _replaced(goal: model.StoredGoal, of_one_goal: Group) -> Going:
    """A scorer without a name has no videos, and nobody waits for it to come back."""
    there = [other for other in of_one_goal if other.is_seen]
    successor = min(there, key=lambda other: model.distance(other.moment, model.moment(goal.reported)))
    is_named = model.identity(goal.reported) is not None
    return Going(goal, model.Removal.REATTRIBUTED if is_named else model.Removal.IDENTIFIED, successor)


def _dropped(goal: model.StoredGoal, staying: Sequence[Item]) -> Going:
    """Of one scorer at one moment nobody can tell two goals apart: what was found shows the one that stays."""
    for item in staying:
        if model.is_same(item.moment, model.moment(goal.reported)) and model.same_player(item.reported, goal.reported):
            return Going(goal, model.Removal.DOUBLED, item)
    return Going(goal, model.Removal.ANNULLED)


@dataclass(frozen=True, slots=True)
class Poll:
    fixture: FeedFixture
    run_id: str
    now: datetime
    polls_to_trust: int


@dataclass(frozen=True, slots=True)
class CountedGoal:
    """A goal of this poll with its running score."""

    item: Item
    score: model.Score
    is_missed: bool = False
    is_hidden: bool = False  # not listed, and counted all the same


def decide(
    stored: Sequence[model.StoredGoal], fixture: FeedFixture, run_id: str, now: datetime, settings: WatchSettings
) -> model.Decision:
    """`stored` are all goals of the match, also those that went: their ids are not given twice."""
    if fixture.goals is None:
        return model.Decision()
    poll = Poll(fixture, run_id, now, settings.polls_to_trust)
    counted, leaving = _compared(stored, fixture, poll)
    kept = [_kept(each.item.stored, each, poll) for each in counted if each.item.stored]
    goners = [_gone(each, now) for each in leaving]
    names, added = _added((each for each in counted if not each.item.stored), [*stored, *goners], poll)
    moved = [_moved(gone, each, names) for gone, each in zip(goners, leaving, strict=True)]
    changed = [each for each in kept if each is not None]
    written = (*moved, *added, *changed)
    after = {each.goal.ref: each.goal for each in written}
    listed = [each.item.stored for each in counted if each.item.stored and each.item.is_seen]
    now_there = [*(after.get(each.ref, each) for each in listed), *(each.goal for each in added)]
    return model.Decision(written, tuple(to_search(now_there)))


def _compared(
    stored: Sequence[model.StoredGoal], fixture: FeedFixture, poll: Poll
) -> tuple[list[CountedGoal], list[Going]]:
    living = sorted((each for each in stored if each.lives), key=lambda each: each.ref.event_id)
    of_match = {fixture.home.id, fixture.away.id}
    entries = sorted((each for each in fixture.goals or () if each.team.id in of_match), key=_in_no_order)
    types = sorted({each.type for each in entries} | {each.reported.type for each in living})
    counted, leaving = list[CountedGoal](), list[Going]()
    for event_type in types:
        sides = [_side(fixture, is_home, event_type, living, entries) for is_home in (True, False)]
        groups = [group(match(side), side) for side in sides]
        missed, hidden = set[Item](), set[Item]()
        for side, each in zip(sides, groups, strict=True):
            absent = unseen(each, side, event_type)
            leaving += going(each, absent.missed, poll.run_id, poll.polls_to_trust)
            missed |= {*absent.missed}
            hidden |= {*absent.counted}
        gone = {each.goal.ref for each in leaving}
        home, away = ([_staying(each, gone) for each in of_side if _staying(each, gone)] for of_side in groups)
        counted += [
            CountedGoal(item, model.Score(*score), item in missed, item in hidden)
            for item, score in _scores(home, away)
        ]
    return counted, leaving


def _in_no_order(entry: FeedGoal) -> tuple[model.Moment, str, str]:
    """The feed's own order means nothing, so it must not decide anything."""
    return model.moment(entry), str(model.identity(entry)), entry.detail


def _side(
    fixture: FeedFixture,
    is_home: bool,
    event_type: str,
    living: Sequence[model.StoredGoal],
    entries: Sequence[FeedGoal],
) -> Side:
    team = fixture.home if is_home else fixture.away
    total = fixture.home_goals if is_home else fixture.away_goals
    return Side(
        team.id,
        is_home,
        [each for each in living if each.reported.type == event_type and each.reported.team.id == team.id],
        [each for each in entries if each.type == event_type and each.team.id == team.id],
        total if event_type == model.GOAL_TYPE else None,
        [*(model.moment(each.reported) for each in living), *(model.moment(each) for each in entries)],
    )


def _staying(of_one_goal: Group, gone: set[GoalRef]) -> Group:
    return [item for item in of_one_goal if not item.stored or item.stored.ref not in gone]


def _scores(home: Sequence[Group], away: Sequence[Group]) -> Iterable[tuple[Item, tuple[int, int]]]:
    for place, each in enumerate(home, 1):
        yield from ((item, (place, scored_before(away, item.moment))) for item in each)
    for place, each in enumerate(away, 1):
        yield from ((item, (scored_before(home, item.moment), place)) for item in each)


def _kept(before: model.StoredGoal, counted: CountedGoal, poll: Poll) -> model.WrittenGoal | None:
    """A stored goal that stays; None when nothing about it has changed."""
    after = before if before.score == counted.score else replace(before, score=counted.score)
    after = _seen(after, counted.item, poll) if counted.item.is_seen else _unseen(after, counted, poll)
    if after is before or after == before:
        return None
    if after.stable_at and not before.stable_at:
        return model.WrittenGoal(after, model.Said.STABLE, reopened=before.download_complete)
    is_visible = replace(after, absent_workflows=before.absent_workflows) != before
    return model.WrittenGoal(after, model.Said.SEEN if is_visible else None)


def _seen(goal: model.StoredGoal, item: Item, poll: Poll) -> model.StoredGoal:
    reported = _merged(goal.reported, item.reported)
    if reported != goal.reported or goal.absent_workflows:
        goal = replace(goal, reported=reported, absent_workflows=())
    return _trusted(goal, poll) if item.sight is Sighting.LISTED else goal


def _merged(before: FeedGoal, entry: FeedGoal) -> FeedGoal:
    """What the feed forgets of a scorer is still known."""
    if entry.player_id and model.is_known(entry.player_name):
        return entry
    player_id = entry.player_id or before.player_id
    name = entry.player_name if model.is_known(entry.player_name) else before.player_name
    return replace(entry, player_id=player_id, player_name=name)


def _trusted(goal: model.StoredGoal, poll: Poll) -> model.StoredGoal:
    """One more run that saw it. An unknown scorer is not counted, and what is stable needs no more."""
    if goal.stable_at or not model.is_known(goal.reported.player_name):
        return goal
    if poll.run_id not in goal.monitor_workflows:
        goal = replace(goal, monitor_workflows=(*goal.monitor_workflows, poll.run_id))
    if len(goal.monitor_workflows) < poll.polls_to_trust:
        return goal
    return replace(
        goal,
        stable_at=poll.now,
        workflow_id=model.workflow_id(goal.ref, goal.reported),
        label=model.label(goal.reported),
        download_complete=False,
        outcome=None,
    )


def _unseen(goal: model.StoredGoal, counted: CountedGoal, poll: Poll) -> model.StoredGoal:
    if counted.is_hidden and goal.absent_workflows:
        goal = replace(goal, absent_workflows=())
    if counted.is_missed and poll.run_id not in goal.absent_workflows:
        goal = replace(goal, absent_workflows=(*goal.absent_workflows, poll.run_id))
    return replace(goal, monitor_workflows=()) if goal.monitor_workflows and not goal.stable_at else goal


def _gone(leaving: Going, now: datetime) -> model.StoredGoal:
    return replace(leaving.goal, removed_at=now, removal=leaving.removal)


def _moved(gone: model.StoredGoal, leaving: Going, names: dict[Item, GoalRef]) -> model.WrittenGoal:
    successor = leaving.successor
    if successor is None:
        return model.WrittenGoal(gone, model.Said.REMOVED)
    moved_to = successor.stored.ref if successor.stored else names[successor]
    return model.WrittenGoal(replace(gone, moved_to=moved_to), model.Said.MOVED)


def _added(
    counted: Iterable[CountedGoal], stored: list[model.StoredGoal], poll: Poll
) -> tuple[dict[Item, GoalRef], list[model.WrittenGoal]]:
    """New goals, each with an id that no living one has; and those ids by what they were given to."""
    known = {each.ref: each for each in stored}  # the later of two is the one that goes
    names, added = dict[Item, GoalRef](), list[model.WrittenGoal]()
    order = sorted(counted, key=lambda each: (each.item.moment, str(model.identity(each.item.reported))))
    for each in order:
        reported = each.item.reported
        ref, sequence = model.next_name(reported, poll.fixture.id, list(known.values()))
        goal = _trusted(model.StoredGoal(ref, sequence, reported, each.score, poll.now), poll)
        known[ref] = goal
        names[each.item] = ref
        added.append(model.WrittenGoal(goal, model.Said.STABLE if goal.stable_at else model.Said.SEEN, is_new=True))
    return names, added


def to_search(listed: Iterable[model.StoredGoal]) -> Iterable[model.Triggered]:
    """Also those whose search was to start after an earlier poll, and did not."""
    for goal in listed:
        is_open = goal.lives and not goal.monitor_complete and not goal.download_complete
        if is_open and goal.workflow_id and goal.label:
            yield model.Triggered(goal.ref, goal.workflow_id, goal.label)


# When nobody waits for a goal any longer, and why. Pure.
# Invariant: every goal that lives ends, whatever was lost on the way; one that has ended is left alone.


def overdue(stored: Iterable[model.StoredGoal], now: datetime, settings: WatchSettings) -> Iterator[model.StoredGoal]:
    """The goals that end now, with the outcome that each is shown with."""
    for goal in stored:
        if goal.lives and not goal.download_complete:
            outcome, since, longest = _waiting(goal, settings)
            if now - since >= longest:
                yield replace(goal, download_complete=True, outcome=outcome)


def _waiting(goal: model.StoredGoal, settings: WatchSettings) -> tuple[model.GoalOutcome, datetime, timedelta]:
    """What it would end as, since when it waits, and how long it may."""
    if goal.monitor_complete:
        return model.GoalOutcome.LOST, goal.search_started_at or goal.stable_at or goal.first_seen, settings.lost_after
    if goal.stable_at:
        return model.GoalOutcome.SEARCH_UNAVAILABLE, goal.stable_at, settings.unsearched_after
    is_named = model.is_known(goal.reported.player_name)
    outcome = model.GoalOutcome.SEARCH_UNAVAILABLE if is_named else model.GoalOutcome.UNIDENTIFIED
    return outcome, goal.first_seen, settings.unidentified_after
