"""Goals and matches as the feed tells them, and a memory that applies what the rules decide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from touchline.watch.fixtures.feed_documents import FeedFixture, FeedGoal, Team
from touchline.watch.goals.model import Decision, StoredGoal
from touchline.watch.goals.rules import decide
from touchline.watch.model import GoalRef
from touchline.watch.settings import WatchSettings

NOW = datetime(2026, 3, 14, 15, 0, tzinfo=UTC)
FIXTURE_ID = 5000
HOME, AWAY = Team(40, "Liverpool"), Team(50, "Manchester City")
SETTINGS = WatchSettings()
POLL = timedelta(seconds=30)
NAMES = {306: "M. Salah", 234: "D. Szoboszlai", 1100: "E. Haaland", 617: "Ederson"}


def entry(minute: int | str, player: int | None = 306, team: Team = HOME, **more: Any) -> FeedGoal:
    """`minute` as it is written: 45, "45+3"."""
    elapsed, _, extra = str(minute).partition("+")
    values: dict[str, Any] = {
        "team": team,
        "player_id": player,
        "player_name": NAMES.get(player, f"P. Number{player}") if player else None,
        "type": "Goal",
        "detail": "Normal Goal",
        "minute": int(elapsed),
        "extra": int(extra) if extra else None,
        "raw": {},
    }
    return FeedGoal(**(values | more))


def match(*goals: FeedGoal, home: int | None = None, away: int | None = None, **more: Any) -> FeedFixture:
    """Without totals: what is listed."""
    values: dict[str, Any] = {
        "id": FIXTURE_ID,
        "status": "1H",
        "elapsed": 30,
        "kick_off": NOW,
        "league_id": 39,
        "league_name": "Premier League",
        "season": 2025,
        "home": HOME,
        "away": AWAY,
        "home_goals": sum(goal.team == HOME for goal in goals) if home is None else home,
        "away_goals": sum(goal.team == AWAY for goal in goals) if away is None else away,
        "winner_id": None,
        "goals": goals,
        "raw": {},
    }
    return FeedFixture(**(values | more))


@dataclass(slots=True)
class Memory:
    """What the tables would hold: goals, and the videos of each by name."""

    goals: dict[GoalRef, StoredGoal] = field(default_factory=dict[GoalRef, StoredGoal])
    videos: dict[str, GoalRef] = field(default_factory=dict[str, GoalRef])
    runs: int = 0
    settings: WatchSettings = SETTINGS

    @property
    def now(self) -> datetime:
        return NOW + self.runs * POLL

    @property
    def living(self) -> list[StoredGoal]:
        return [goal for goal in self.goals.values() if goal.lives]

    def poll(self, fixture: FeedFixture, run_id: str | None = None) -> Decision:
        """One answered poll, in a run of its own unless it has a name."""
        self.runs += 1
        run_id = run_id or f"run-{self.runs}"
        decision = decide(list(self.goals.values()), fixture, run_id, self.now, self.settings)
        self.apply(decision)
        return decision

    def polls(self, fixture: FeedFixture, count: int = 3) -> Decision:
        return [self.poll(fixture) for _ in range(count)][-1]

    def apply(self, decision: Decision) -> None:
        for written in decision.written:
            assert written.is_new is (written.goal.ref not in self.goals), "ids collide"
            self.goals[written.goal.ref] = written.goal
        if decision.written:
            ids = [goal.ref.event_id for goal in self.living]
            assert len(ids) == len(set(ids)), "two living goals share an id"
        gone = {goal.ref for goal in decision.removed}
        moved = dict(decision.moved)
        kept = {name: moved.get(ref, ref) for name, ref in self.videos.items() if ref not in gone}
        self.videos = kept

    def change(self, ref: GoalRef, **values: Any) -> None:
        self.goals[ref] = replace(self.goals[ref], **values)

    def living_goal(self, ref: GoalRef | None) -> StoredGoal | None:
        """As the tables follow a goal that has moved."""
        while ref is not None and not self.goals[ref].lives:
            ref = self.goals[ref].moved_to
        return self.goals[ref] if ref else None

    def ids(self) -> list[str]:
        return sorted(goal.ref.name for goal in self.living)


def goal_of(memory: Memory, name: str) -> StoredGoal:
    return next(goal for goal in memory.living if goal.ref.name == name)


def names(goals: Iterable[StoredGoal]) -> list[str]:
    return sorted(goal.ref.name for goal in goals)
