"""A poll's effect on the goals of a match: what the rules decide, written and announced in the poll's transaction.

Invariant: applied twice with one run, it changes nothing the second time. What is written of a goal and of its videos
commits together: nobody sees a half-removed goal.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

from touchline.contracts.events.watch import GoalChanged
from touchline.kernel.errors import Conflict
from touchline.platform.postgres.database import Transaction
from touchline.watch.archive.service import drop_all, label_all, move_all
from touchline.watch.feed.model import FeedFixture
from touchline.watch.model import GoalRef
from touchline.watch.settings import WatchSettings

from .deadlines import overdue
from .model import Applied, Said, StoredGoal, Triggered, Written
from .rules import decide, to_search
from .store import GoalStore

__all__ = ["apply_poll", "close_overdue", "search_again"]

log = logging.getLogger(__name__)


async def apply_poll(
    transaction: Transaction, fixture: FeedFixture, run_id: str, now: datetime, settings: WatchSettings
) -> Applied:
    """Once for each match and each run that the feed answered."""
    store = GoalStore(transaction.connection)
    held = await store.hold_match(fixture.id)
    if held is None or fixture.goals is None:
        return Applied()
    if held.applied_run == run_id:  # again, after its answer was lost
        return Applied(tuple(to_search(goal for goal in held.goals if not goal.absent_workflows)))
    await store.applied(fixture.id, run_id)
    decision = decide(held.goals, fixture, run_id, now, settings)
    for written in decision.written:
        await _write(transaction, store, written)
    removed, moved = tuple(goal.ref for goal in decision.removed), tuple(decision.moved)
    for goal in removed:
        await drop_all(transaction, goal, now)
    for old, new in moved:
        await move_all(transaction, old, new, now)
    for goal in corrected(held.goals, decision.written):
        await label_all(transaction, goal, now)
    awaited = any(each.goal.lives and each.goal.stable_at is None for each in decision.written)
    return Applied(decision.triggered, removed, moved, awaited)


def corrected(before: Sequence[StoredGoal], written: Sequence[Written]) -> list[GoalRef]:
    """Goals that stay, and of which something is known otherwise that their videos are called by."""
    known = {each.ref: called_by(each) for each in before}
    after = ((each.goal.ref, called_by(each.goal)) for each in written if each.goal.lives)
    return [ref for ref, names in after if ref in known and known[ref] != names]


def called_by(goal: StoredGoal) -> tuple[object, ...]:
    told = goal.told
    return (told.player_name, told.minute, told.extra, goal.score)


async def close_overdue(transaction: Transaction, fixture_id: int, now: datetime, settings: WatchSettings) -> None:
    """Ends the goals that nobody waits for any longer, each with an outcome that says why."""
    store = GoalStore(transaction.connection)
    held = await store.hold_match(fixture_id)
    for goal in overdue(held.goals if held else (), now, settings):
        revision = await store.close(goal, now)
        transaction.announce(_changed(goal, Said.COMPLETE), revision=revision)
        log.warning("[MONITOR] goal ended without its search", extra={"goal": goal.ref.name, "outcome": goal.outcome})


async def search_again(transaction: Transaction, goal: GoalRef) -> Triggered:
    """By hand: all attempts once more. What was kept and found stays."""
    found = await GoalStore(transaction.connection).search_again(goal)
    if found is None:
        raise Conflict("another search of this goal cannot begin", why="its search runs, or its scorer is not known")
    workflow_id, label, revision = found
    changed = GoalChanged(
        event_id=goal.event_id, generation=goal.generation, fixture_id=goal.fixture_id, what=Said.STABLE
    )
    transaction.announce(changed, revision=revision)
    return Triggered(goal, workflow_id, label)


async def _write(transaction: Transaction, store: GoalStore, written: Written) -> None:
    goal = written.goal
    if written.reopened:
        await store.reopen(goal.ref)
    is_visible = written.said is not None
    revision = await (store.add(goal) if written.is_new else store.save(goal, visible=is_visible))
    if written.said:
        transaction.announce(_changed(goal, written.said), revision=revision)
    if written.said and written.said is not Said.SEEN:
        log.info("[MONITOR] goal %s", written.said, extra={"goal": goal.ref.name, "removal": goal.removal})


def _changed(goal: StoredGoal, what: Said) -> GoalChanged:
    return GoalChanged(
        event_id=goal.ref.event_id,
        generation=goal.ref.generation,
        fixture_id=goal.ref.fixture_id,
        what=what,
        outcome=goal.outcome if what is Said.COMPLETE else None,
        moved_to=goal.moved_to.event_id if goal.moved_to else None,
    )
