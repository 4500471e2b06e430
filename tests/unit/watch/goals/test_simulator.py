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
from touchline.watch.feed.model import FeedFixture
from touchline.watch.goals.deadlines import overdue
from touchline.watch.goals.model import Decision, StoredGoal
from touchline.watch.goals.rules import decide
from touchline.watch.model import GoalRef

PARTS = 4
DAYS = 50_000 if os.environ.get("TOUCHLINE_CHAOS") == "full" else 500  # of each part
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
    answered: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def play(self) -> None:
        for poll in range(POLLS):
            answer = self.day.answer(poll)
            if answer is not None:
                run_id = f"monitor-{poll}"
                self.answered.append((run_id, poll))
                decision = self.memory.poll(answer, run_id)
                self.check_debounce(decision)
                self.search(decision)
                if self.dice.random() < 0.25:
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
        for goal in self.memory.living:
            if goal.monitor_complete and self.dice.random() < 0.3:
                name = f"video-{len(self.videos)}"
                self.videos[name] = Video(truth_of(goal), goal.ref, poll + self.dice.randint(0, 6))
            if goal.monitor_complete and self.dice.random() < 0.05:
                self.memory.change(goal.ref, download_complete=True, outcome="found")
        for name, video in self.videos.items():
            living = self.memory.living_goal(video.searched_for)
            if video.lands == poll and living:
                self.memory.videos[name] = living.ref
                video.has_landed = True

    def check_debounce(self, decision: Decision) -> None:
        for goal in (written.goal for written in decision.written if written.said == "stable"):
            polls = [poll for run_id, poll in self.answered if run_id in goal.monitor_workflows]
            assert len(polls) == self.memory.settings.polls_to_trust
            real = self.day.goals[truth_of(goal)]
            between = [poll for _, poll in self.answered if polls[0] <= poll]
            assert all(self.day.is_listed(real, poll) for poll in between), "it was seen in every run"

    def check_videos(self) -> None:
        for name, ref in self.memory.videos.items():
            assert self.memory.goals[ref].lives, f"{name} is public, its goal is not"


def truth_of(goal: StoredGoal) -> int:
    return goal.told.raw["truth"]


def check_end(simulation: Simulation) -> None:
    memory, real = simulation.memory, simulation.day.goals
    events = Counter(truth_of(goal) for goal in memory.living)
    assert events == Counter(goal.key for goal in real if goal.stands()), "one real goal is one event"
    for name, ref in memory.videos.items():
        video = simulation.videos[name]
        assert truth_of(memory.goals[ref]) == video.truth, "a video is with the goal that it shows"
    for name, video in simulation.videos.items():
        if video.has_landed and real[video.truth].stands():
            assert name in memory.videos, "no goal loses a video to another one's removal"
    workflows = [goal.workflow_id for goal in memory.goals.values() if goal.workflow_id]
    assert len(workflows) == len(set(workflows)), "no two goals share a search"
    for goal in overdue(memory.living, memory.now + timedelta(days=2), memory.settings):
        memory.change(goal.ref, download_complete=True, outcome=goal.outcome)
    assert all(goal.download_complete and goal.outcome for goal in memory.living), "every goal ends"


@pytest.mark.parametrize("part", range(PARTS))
def test_random_match_days(part: int) -> None:
    for seed in range(FIRST_SEED + part, FIRST_SEED + part + PARTS * DAYS, PARTS):
        simulation = Simulation(random_day(seed), Random(seed))
        try:
            simulation.play()
            check_end(simulation)
        except AssertionError as error:
            pytest.fail(f"seed {seed}: {error}")
