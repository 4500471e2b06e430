"""What the gateway reads of matches, each inside the caller's tenant and in one transaction; a goal as one document;
and the metrics of the last day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from math import nan
from typing import Any

from prometheus_client import Gauge

from touchline.kernel import InvalidInput, Principal, TenantId
from touchline.platform.postgres.database import Database
from touchline.watch import queries
from touchline.watch.fixtures.feed_budget import last_check
from touchline.watch.fixtures.store import FeedCheck
from touchline.watch.settings import WatchSettings

from . import rules

# A goal as one document: the feed's own fields, ours with an underscore before them. Pure.


def document(goal: rules.Goal, rest: rules.GoalDocument, limits: rules.ViewLimits) -> dict[str, object]:
    shown, sets = rules.show(goal, limits), rest.sets
    return {
        **{name: value for name, value in rest.raw.items() if not name.startswith("_")},
        "_event_id": goal.event_id,
        "_generation": goal.generation,
        "_fixture_id": goal.fixture_id,
        "_first_seen": goal.first_seen.isoformat(),
        "_monitor_workflows": sets["monitor_workflows"],
        "_monitor_count": len(sets["monitor_workflows"]),
        "_monitor_complete": goal.monitor_complete,
        "_twitter_aliases": sets["twitter_aliases"],
        "_twitter_attempt": goal.twitter_attempt,
        "_twitter_count": len(sets["download_workflows"]),
        "_twitter_complete": goal.download_complete,
        "_discovered_videos": [_plain(dict(one)) for one in rest.discovered],
        "_download_started": sets["download_started"],
        "_download_workflows": sets["download_workflows"],
        "_download_complete": goal.download_complete,
        "_s3_videos": [_video(goal, video) for video in goal.videos],
        "_removed": False,  # one that was taken away has no document
        "_score": {"home": goal.home_score, "away": goal.away_score},
        "_state": shown.state,
        "_words": shown.words,
        "_why": [asdict(reason) for reason in shown.why],
        "_outcome": goal.outcome,
        "_telemetry": _plain(asdict(rules.telemetry(goal))),
        "_revision": goal.revision,
    }


def video_path(goal: rules.Goal, artifact_hash: str) -> str:
    """Stays the same whatever replaces the video."""
    return f"/goals/{goal.event_id}/videos/{artifact_hash}"


def _video(goal: rules.Goal, video: rules.Video) -> dict[str, Any]:
    shown = _plain(asdict(video))
    return {"url": video_path(goal, video.artifact_hash), "file_size": shown.pop("size_bytes"), **shown}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


LONGEST_QUERY = 200
MOST_NAMED = 100


@dataclass(frozen=True, slots=True)
class MatchReads:
    database: Database
    settings: WatchSettings

    @property
    def limits(self) -> rules.ViewLimits:
        return rules.ViewLimits(self.settings.polls_to_trust, self.settings.search_attempts)

    async def days(self, caller: Principal) -> Sequence[rules.MatchDay]:
        async with self.database.transaction(caller) as transaction:
            return await queries.match_days(transaction)

    async def feed(self, caller: Principal) -> FeedCheck | None:
        """The last time that the feed was asked for matches; None: never."""
        async with self.database.transaction(caller) as transaction:
            return await last_check(transaction)

    async def page(self, caller: Principal, day: date, window: queries.MatchWindow) -> queries.MatchPage:
        async with self.database.transaction(caller) as transaction:
            return await queries.matches_of_day(transaction, day, window)

    async def named(self, caller: Principal | TenantId, query: str, most: int) -> Sequence[rules.Match]:
        """By team, competition or scorer."""
        if not query.strip() or len(query) > LONGEST_QUERY:
            why = f"use 1 to {LONGEST_QUERY} characters"
            raise InvalidInput("this search text is not valid", field="query", why=why)
        async with self.database.transaction(caller) as transaction:
            return await queries.matches_named(transaction, query, min(max(most, 1), MOST_NAMED))

    async def matches(self, caller: Principal, ids: Sequence[int]) -> Mapping[int, rules.Match]:
        async with self.database.transaction(caller) as transaction:
            return await queries.matches(transaction, ids)

    async def goals(self, caller: Principal, match_ids: Sequence[int]) -> Mapping[int, Sequence[rules.Goal]]:
        async with self.database.transaction(caller) as transaction:
            return await queries.goals_of_matches(transaction, match_ids)

    async def goal(self, caller: Principal, event_id: str) -> rules.Goal | None:
        async with self.database.transaction(caller) as transaction:
            return await queries.find_goal(transaction, event_id)

    async def document(self, caller: Principal, event_id: str) -> tuple[rules.Goal, dict[str, object]] | None:
        """The goal, and its document with the fields that the feed's readers know."""
        async with self.database.transaction(caller) as transaction:
            goal = await queries.find_goal(transaction, event_id)
            rest = goal and await queries.goal_document(transaction, goal.key)
        return (goal, document(goal, rest, self.limits)) if goal and rest else None

    async def surviving(self, tenant: Principal | TenantId, artifact_hash: str) -> str | None:
        async with self.database.transaction(tenant) as transaction:
            return await queries.surviving_video(transaction, artifact_hash)


# Metrics: the goals of the last day, of all tenants, as they are now. They come from the tables alone, so any process
# may set them, as often as it likes.

GOALS = Gauge("touchline_watch_goals", "Goals of the last day, by state.", ["state"])
COVERED = Gauge("touchline_watch_goals_covered", "Goals of the last day that have at least one video.")
COVERAGE = Gauge(
    "touchline_watch_coverage_ratio",
    "Share of the last day's goals with a finished search that have at least one video; NaN without goals.",
)
FIRST_VIDEO = Gauge(
    "touchline_watch_first_video_seconds",
    "Time from the first sight of a goal to its first video, over the last day; NaN without goals.",
    ["quantile"],
)
FOUND = Gauge("touchline_watch_found", "Videos that were found for the last day's goals, by state.", ["outcome"])


SPAN = timedelta(days=1)
QUANTILES = {"0.5": 50, "0.95": 95}
OUTCOMES = ("seen", "selected", "waiting", "downloaded", "rejected", "failed")


async def observe(database: Database, settings: WatchSettings, now: datetime) -> None:
    async with database.system("observe watched goals") as transaction:
        goals = await queries.goals_since(transaction, now - SPAN)
    set_gauges(goals, rules.ViewLimits(settings.polls_to_trust, settings.search_attempts))


def set_gauges(goals: Sequence[rules.Goal], limits: rules.ViewLimits) -> None:
    states = Counter(rules.state_of(goal, limits) for goal in goals)
    for state in rules.GoalState:
        GOALS.labels(state).set(states[state])
    COVERED.set(sum(1 for goal in goals if goal.videos))
    ended = [goal for goal in goals if goal.download_complete]
    COVERAGE.set(sum(1 for goal in ended if goal.videos) / len(ended) if ended else nan)
    times = sorted(time for goal in goals if (time := rules.first_video_s(goal)) is not None)
    for name, percent in QUANTILES.items():
        value = rules.percentile(times, percent)
        FIRST_VIDEO.labels(name).set(nan if value is None else value)
    outcomes: Counter[str] = Counter()
    for goal in goals:
        for group in goal.found:
            outcomes[_outcome(group)] += group.count
    for outcome in OUTCOMES:
        FOUND.labels(outcome).set(outcomes[outcome])


def _outcome(group: rules.FoundGroup) -> str:
    return "waiting" if group.waits else group.state
