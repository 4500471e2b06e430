"""Thousands of random match days, played through the rules: what must be true of each, whatever the feed did.

`TOUCHLINE_CHAOS=full` plays many more; `TOUCHLINE_CHAOS_SEED` repeats them. A failure names the seed of its day.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

import pytest

from tests.support.goals import Memory
from tests.support.match_days import POLLS, Day, random_day
from tests.support.properties import FULL
from touchline.watch.fixtures.feed_documents import FeedFixture, Team
from touchline.watch.goals.model import Decision, StoredGoal
from touchline.watch.goals.rules import decide, overdue
from touchline.watch.model import GoalRef

PARTS = 4
DAYS = 50_000 if FULL else 200  # of each part
FIRST_SEED = int(os.environ.get("TOUCHLINE_CHAOS_SEED", "1")) * 1_000_000


@dataclass(slots=True)
class Video:
    truth: int  # the goal that is to be seen in it
    searched_for: GoalRef
    lands: int  # the poll at which it is archived
    has_landed: bool = False


@dataclass(slots=True)
class Simulation:
    """A day, the memory that follows it, and searches that find videos, now and then late or never."""

    day: Day
    dice: Random
    memory: Memory = field(default_factory=Memory)
    videos: dict[str, Video] = field(default_factory=dict[str, Video])
    answered: dict[str, tuple[int, FeedFixture]] = field(default_factory=dict[str, tuple[int, FeedFixture]])

    def play(self) -> None:
        for poll in range(POLLS):
            answer = self.day.answer(poll)
            if answer is not None:
                run_id = f"monitor-{poll}"
                self.answered[run_id] = poll, answer
                decision = self.memory.poll(answer, run_id)
                self.check_debounce(decision)
                self.check_removed(decision, run_id)
                self.search(decision)
                if self.dice.random() < 0.1:
                    self.check_again(answer, run_id)
            self.find_videos(poll)
            self.check_videos()

    def check_again(self, answer: FeedFixture, run_id: str) -> None:
        again = decide(list(self.memory.goals.values()), answer, run_id, self.memory.now, self.memory.settings)
        assert not again.written, "the same run once more changes nothing"

    def search(self, decision: Decision) -> None:
        for triggered in decision.triggered:
            if self.dice.random() < 0.8:  # else the start is lost
                self.memory.change(triggered.goal, monitor_complete=True, search_started_at=self.memory.now)

    def find_videos(self, poll: int) -> None:
        for goal in (goal for goal in self.memory.living if goal.monitor_complete):
            if self.dice.random() < 0.3:
                name = f"video-{len(self.videos)}"
                self.videos[name] = Video(truth_of(goal), goal.ref, poll + self.dice.randint(0, 6))
            if self.dice.random() < 0.05:
                self.memory.change(goal.ref, download_complete=True, outcome="found")
        for name, video in self.videos.items():
            if video.lands == poll and (living := self.memory.living_goal(video.searched_for)):
                self.memory.videos[name] = living.ref
                video.has_landed = True

    def check_debounce(self, decision: Decision) -> None:
        for goal in (written.goal for written in decision.written if written.said == "stable"):
            polls = [poll for run_id, (poll, _) in self.answered.items() if run_id in goal.monitor_workflows]
            assert len(polls) == self.memory.settings.polls_to_trust
            real = self.day.goals[truth_of(goal)]
            between = [poll for poll, _ in self.answered.values() if polls[0] <= poll]
            assert all(self.day.is_listed(real, poll) for poll in between), "it was seen in every run"

    def check_removed(self, decision: Decision, run_id: str) -> None:
        """One that stands goes only when several runs in a row speak against it: totals may be late, while the list has
        lost it."""
        events = Counter(truth_of(goal) for goal in self.memory.living)
        for goal in (written.goal for written in decision.written if written.said == "removed"):
            real = self.day.goals[truth_of(goal)]
            runs = {*goal.absent_workflows, run_id}
            assert len(runs) >= self.memory.settings.polls_to_trust
            if real.stands() and not events[real.key]:  # else it was taken for two
                for poll, answer in (self.answered[run] for run in runs):
                    assert not is_counted(answer, goal.reported.team), "the totals have not counted it"
                    assert not self.day.is_listed(real, poll), "no run has listed it"

    def check_videos(self) -> None:
        for name, ref in self.memory.videos.items():
            assert self.memory.goals[ref].lives, f"{name} is public, its goal is not"


def is_counted(answer: FeedFixture, team: Team) -> bool:
    """Whether the totals count a goal of the team that is not listed."""
    total = answer.home_goals if team == answer.home else answer.away_goals
    return total is None or total > sum(each.team == team for each in answer.goals or ())


def truth_of(goal: StoredGoal) -> int:
    return goal.reported.raw["truth"]


def check_end(simulation: Simulation) -> None:
    memory, real = simulation.memory, simulation.day.goals
    events = Counter(truth_of(goal) for goal in memory.living)
    assert events == Counter(goal.key for goal in real if goal.stands()), "one real goal is one event"
    for name, ref in memory.videos.items():
        video = simulation.videos[name]
        assert truth_of(memory.goals[ref]) == video.truth, "a video is with the goal that it shows"
    for name, video in simulation.videos.items():
        if video.has_landed and memory.living_goal(video.searched_for):
            assert name in memory.videos, "no goal loses a video to another one's removal"
    workflows = [goal.workflow_id for goal in memory.goals.values() if goal.workflow_id]
    assert len(workflows) == len(set(workflows)), "no two goals share a search"
    for goal in overdue(memory.living, memory.now + timedelta(days=2), memory.settings):
        memory.change(goal.ref, download_complete=True, outcome=goal.outcome)
    assert all(goal.download_complete and goal.outcome for goal in memory.living), "every goal ends"


@pytest.mark.chaos
@pytest.mark.parametrize("part", range(PARTS))
def test_random_match_days(part: int) -> None:
    for seed in range(FIRST_SEED + part, FIRST_SEED + part + PARTS * DAYS, PARTS):
        simulation = Simulation(random_day(seed), Random(seed))
        try:
            simulation.play()
            check_end(simulation)
        except AssertionError as error:
            pytest.fail(f"seed {seed}: {error}")
