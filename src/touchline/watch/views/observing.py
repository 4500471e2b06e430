"""Brings the gauges of watching up to date, from the tables alone: any process may do it, as often as it likes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import nan

from touchline.platform.postgres.database import Database
from touchline.watch.queries import goals_since
from touchline.watch.settings import WatchSettings

from . import metrics
from .model import FoundGroup, Goal, GoalState, ViewLimits
from .rules import first_video_s, percentile, state_of

SPAN = timedelta(days=1)
QUANTILES = {"0.5": 50, "0.95": 95}
OUTCOMES = ("seen", "selected", "waiting", "downloaded", "rejected", "failed")


async def observe(database: Database, settings: WatchSettings, now: datetime) -> None:
    async with database.system("observe watched goals") as transaction:
        goals = await goals_since(transaction, now - SPAN)
    show(goals, ViewLimits(settings.polls_to_trust, settings.search_attempts))


def show(goals: Sequence[Goal], limits: ViewLimits) -> None:
    states = Counter(state_of(goal, limits) for goal in goals)
    for state in GoalState:
        metrics.GOALS.labels(state).set(states[state])
    metrics.COVERED.set(sum(1 for goal in goals if goal.videos))
    ended = [goal for goal in goals if goal.download_complete]
    metrics.COVERAGE.set(sum(1 for goal in ended if goal.videos) / len(ended) if ended else nan)
    times = sorted(time for goal in goals if (time := first_video_s(goal)) is not None)
    for name, percent in QUANTILES.items():
        value = percentile(times, percent)
        metrics.FIRST_VIDEO.labels(name).set(nan if value is None else value)
    outcomes: Counter[str] = Counter()
    for goal in goals:
        for group in goal.found:
            outcomes[_outcome(group)] += group.count
    for outcome in OUTCOMES:
        metrics.FOUND.labels(outcome).set(outcomes[outcome])


def _outcome(group: FoundGroup) -> str:
    return "waiting" if group.waits else group.state
