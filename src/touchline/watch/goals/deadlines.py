"""When nobody waits for a goal any longer, and why. Pure.

Invariant: every goal that lives ends, whatever was lost on the way; one that has ended is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from touchline.watch.settings import WatchSettings

from .model import Outcome, StoredGoal
from .naming import is_known


def overdue(stored: Iterable[StoredGoal], now: datetime, settings: WatchSettings) -> Iterator[StoredGoal]:
    """The goals that end now, with the outcome that each is shown with."""
    for goal in stored:
        if goal.lives and not goal.download_complete:
            outcome, since, patience = _waiting(goal, settings)
            if now - since >= patience:
                yield replace(goal, download_complete=True, outcome=outcome)


def _waiting(goal: StoredGoal, settings: WatchSettings) -> tuple[Outcome, datetime, timedelta]:
    """What it would end as, since when it waits, and how long it may."""
    if goal.monitor_complete:
        return Outcome.LOST, goal.search_started_at or goal.stable_at or goal.first_seen, settings.lost_after
    if goal.stable_at:
        return Outcome.SEARCH_UNAVAILABLE, goal.stable_at, settings.unsearched_after
    is_named = is_known(goal.told.player_name)
    outcome = Outcome.SEARCH_UNAVAILABLE if is_named else Outcome.UNIDENTIFIED
    return outcome, goal.first_seen, settings.unidentified_after
