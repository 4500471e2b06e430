"""Each ruling about goals, as a match that a person can follow."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from tests.support.goals import AWAY, HOME, NOW, POLL, SETTINGS, Memory, entry, goal_of, match, names
from touchline.watch.fixtures.feed_documents import FeedFixture, FeedGoal
from touchline.watch.goals.model import Decision, Removal, Score
from touchline.watch.goals.rules import decide, overdue
from touchline.watch.model import GoalRef

SALAH, OTHER, HAALAND, KEEPER = 306, 234, 1100, 617
NOBODY = entry(10, None)


@pytest.fixture
def memory() -> Memory:
    return Memory()


def triggered(decision: Decision) -> list[str]:
    return [each.goal.name for each in decision.triggered]


class TestDebounce:
    def test_three_runs_in_a_row_make_a_goal_stable(self, memory: Memory) -> None:
        listed = match(entry(23))
        assert [triggered(memory.poll(listed)) for _ in range(3)] == [[], [], ["5000_40_306_Goal_1"]]
        goal = goal_of(memory, "5000_40_306_Goal_1")
        assert goal.monitor_workflows == ("run-1", "run-2", "run-3")
        assert goal.stable_at == memory.now
        assert goal.workflow_id == "twitter-Liverpool-Salah-23min-5000_40_306_Goal_1"
        assert goal.label == "Liverpool-Salah"

    def test_one_run_counts_once(self, memory: Memory) -> None:
        decisions = [memory.poll(match(entry(23)), "one run") for _ in range(5)]
        assert not decisions[-1].written
        assert len(memory.living[0].monitor_workflows) == 1

    def test_a_poll_without_it_begins_anew(self, memory: Memory) -> None:
        memory.polls(match(entry(23)), 2)
        memory.poll(match())
        assert memory.living[0].monitor_workflows == ()
        assert not memory.polls(match(entry(23)), 2).triggered
        assert memory.poll(match(entry(23))).triggered

    def test_a_lost_start_is_asked_for_again_until_it_began(self, memory: Memory) -> None:
        memory.polls(match(entry(23)))
        again = memory.poll(match(entry(23)))
        assert triggered(again) == ["5000_40_306_Goal_1"]
        assert not again.written
        memory.change(memory.living[0].ref, monitor_complete=True)
        assert not memory.poll(match(entry(23))).triggered

    def test_a_goal_that_is_not_listed_now_is_not_searched_for(self, memory: Memory) -> None:
        memory.polls(match(entry(23)))
        assert not memory.poll(match(home=1)).triggered

    def test_the_id_of_the_search_stays_when_the_feed_changes_its_mind(self, memory: Memory) -> None:
        memory.polls(match(entry(23)))
        before = memory.living[0]
        memory.poll(match(entry(24, player_name="Mohamed Salah Ghaly")))
        after = memory.living[0]
        assert (after.reported.minute, after.reported.player_name) == (24, "Mohamed Salah Ghaly")
        assert (after.ref, after.workflow_id, after.label) == (before.ref, before.workflow_id, before.label)

    def test_without_events_nothing_is_decided(self, memory: Memory) -> None:
        memory.polls(match(entry(23)))
        assert not memory.polls(match(goals=None, home=0), 5).written
        assert memory.ids() == ["5000_40_306_Goal_1"]

    def test_an_entry_of_neither_side_is_left_alone(self, memory: Memory) -> None:
        memory.poll(match(replace(entry(23), team=replace(HOME, id=99)), home=0))
        assert not memory.goals


class TestRunningScore:
    def test_it_counts_both_sides(self, memory: Memory) -> None:
        own_goal = entry(60, KEEPER, HOME, detail="Own Goal")
        memory.poll(match(own_goal, entry(10), entry("45+2", HAALAND, AWAY), entry(80)))
        scores = {goal.reported.minute: goal.score for goal in memory.living}
        assert scores == {10: Score(1, 0), 45: Score(1, 1), 60: Score(2, 1), 80: Score(3, 1)}

    def test_it_is_counted_anew_when_a_goal_was_annulled(self, memory: Memory) -> None:
        memory.polls(match(entry(10), entry(30)))
        memory.polls(match(entry(30)))
        assert [goal.score for goal in memory.living] == [Score(1, 0)]

    def test_a_gap_in_the_list_changes_nobody_elses(self, memory: Memory) -> None:
        memory.polls(match(entry(10), entry(30)))
        memory.polls(match(entry(30), home=2), 9)
        assert goal_of(memory, "5000_40_306_Goal_2").score == Score(2, 0)


class TestIdentity:
    def test_the_second_goal_keeps_its_id_when_the_first_is_annulled(self, memory: Memory) -> None:
        memory.polls(match(entry(10), entry(70)))
        second = goal_of(memory, "5000_40_306_Goal_2").ref
        memory.videos = {"a": second}
        memory.polls(match(entry(70)))
        assert memory.ids() == ["5000_40_306_Goal_2"]
        assert memory.videos == {"a": second}

    def test_a_freed_sequence_is_a_new_generation(self, memory: Memory) -> None:
        memory.polls(match(entry(10), entry(70)))
        memory.polls(match(entry(70)))
        decision = memory.polls(match(entry(70), entry(80)))
        assert memory.ids() == ["5000_40_306_Goal_1-g2", "5000_40_306_Goal_2"]
        assert "twitter-Liverpool-Salah-80min-5000_40_306_Goal_1-g2" in {
            each.workflow_id for each in decision.triggered
        }

    def test_an_own_goal_goes_on_with_the_players_sequence(self, memory: Memory) -> None:
        memory.poll(match(entry(10), entry(50, SALAH, AWAY, detail="Own Goal")))
        assert memory.ids() == ["5000_40_306_Goal_1", "5000_50_306_Goal_2"]

    def test_the_unknown_of_both_teams_share_no_sequence(self, memory: Memory) -> None:
        memory.poll(match(entry(10, None), entry(10, None, AWAY)))
        assert memory.ids() == ["5000_40_unknown_Goal_1", "5000_50_unknown_Goal_1"]

    def test_two_unknown_ones_of_a_team_have_two(self, memory: Memory) -> None:
        memory.polls(match(entry(10, None), entry(40, None)))
        assert memory.ids() == ["5000_40_unknown_Goal_1", "5000_40_unknown_Goal_2"]

    def test_the_minute_may_be_corrected(self, memory: Memory) -> None:
        memory.polls(match(entry(45)))
        memory.polls(match(entry("45+2")))
        assert memory.ids() == ["5000_40_306_Goal_1"]
        assert goal_of(memory, "5000_40_306_Goal_1").reported.extra == 2

    @pytest.mark.parametrize(
        ("before", "after"),
        [("93", "90+3"), ("90+3", "93"), ("97", "90+7"), ("48", "45+3"), ("107", "105+2"), ("123", "120+3")],
    )
    def test_stoppage_time_may_be_rewritten(self, memory: Memory, before: str, after: str) -> None:
        memory.polls(match(entry(10), entry(before)))
        second = goal_of(memory, "5000_40_306_Goal_2").ref
        memory.videos = {"a": second}
        for _ in range(5):
            decision = memory.poll(match(entry(10), entry(after)))
            assert not [*decision.removed, *decision.moved]
        assert memory.ids() == ["5000_40_306_Goal_1", "5000_40_306_Goal_2"]
        assert memory.videos == {"a": second}
        assert goal_of(memory, second.name).reported.minute == entry(after).minute

    def test_both_spellings_at_once_are_one_goal_when_one_is_counted(self, memory: Memory) -> None:
        memory.polls(match(entry("93"), entry("90+3"), home=1))
        assert memory.ids() == ["5000_40_306_Goal_1"]

    @pytest.mark.parametrize(("before", "after"), [("93", "90+3"), ("90+3", "93")])
    def test_rewritten_with_another_scorer_it_keeps_its_videos(self, memory: Memory, before: str, after: str) -> None:
        memory.polls(match(entry(before)))
        memory.videos = {"a": memory.living[0].ref}
        memory.polls(match(entry(after, OTHER)), 4)
        assert memory.ids() == ["5000_40_234_Goal_1"]
        assert memory.videos == {"a": memory.living[0].ref}

    def test_rewritten_without_a_name_it_is_still_known(self, memory: Memory) -> None:
        memory.polls(match(entry("93")))
        memory.polls(match(entry("90+3", None)), 4)
        assert memory.ids() == ["5000_40_306_Goal_1"]

    @given(
        st.lists(st.tuples(st.sampled_from([90, 105, 120]), st.integers(1, 9)), min_size=1, max_size=4, unique=True),
        st.lists(st.booleans(), min_size=4, max_size=4),
        st.booleans(),
    )
    def test_any_rewriting_keeps_all_goals(
        self, goals: list[tuple[int, int]], rewritten: list[bool], starts_rewritten: bool
    ) -> None:
        """All by one scorer, in any mixture of spellings."""
        memory = Memory()
        totals = {end + extra for end, extra in goals}
        if len(totals) < len(goals):  # then nobody can tell
            return

        def reported(which: list[bool]) -> FeedFixture:
            both = zip(goals, which, strict=False)
            return match(*(entry(str(end + more) if is_sum else f"{end}+{more}") for (end, more), is_sum in both))

        memory.polls(reported([starts_rewritten] * 4))
        before = memory.ids()
        memory.videos = {name: goal_of(memory, name).ref for name in before}
        for which in (rewritten, [not starts_rewritten] * 4):
            memory.polls(reported(which), 4)
            assert memory.ids() == before
        assert {name: ref.name for name, ref in memory.videos.items()} == {name: name for name in before}

    def test_a_number_may_come_after_the_name(self, memory: Memory) -> None:
        memory.polls(match(entry(10, None, player_name="M. Salah")), 2)
        memory.poll(match(entry(10)))
        [goal] = memory.living
        assert goal.reported.player_id == SALAH
        assert len(goal.monitor_workflows) == 3

    def test_two_goals_of_one_minute_are_two_when_the_totals_count_both(self, memory: Memory) -> None:
        memory.poll(match(entry(10), entry(10)))
        assert memory.ids() == ["5000_40_306_Goal_1", "5000_40_306_Goal_2"]

    def test_an_entry_that_is_listed_twice_is_one_goal(self, memory: Memory) -> None:
        memory.polls(match(entry(10), entry(10), home=1))
        memory.polls(match(entry(10), entry(11), home=1))
        assert memory.ids() == ["5000_40_306_Goal_1"]

    def test_what_was_taken_for_two_becomes_one_with_all_its_videos(self, memory: Memory) -> None:
        memory.polls(match(entry(10), entry(10), home=2))  # the totals are ahead of the list
        first, second = sorted(memory.goals, key=lambda ref: ref.event_id)
        memory.videos = {"a": first, "b": second}
        memory.polls(match(entry(10), entry(80, OTHER), home=2))
        assert memory.goals[second].removal is Removal.DOUBLED
        assert memory.videos == {"a": first, "b": first}


class TestUnknownScorer:
    @pytest.mark.parametrize("name", [None, "", " ", "Unknown", "TBD", "n/a", "N/A "])
    def test_it_is_stored_and_not_debounced(self, memory: Memory, name: str | None) -> None:
        assert not memory.polls(match(entry(10, None, player_name=name)), 5).triggered
        [goal] = memory.living
        assert (goal.ref.event_id, goal.monitor_workflows, goal.stable_at) == ("5000_40_unknown_Goal_1", (), None)

    def test_a_named_entry_takes_its_place_at_once(self, memory: Memory) -> None:
        memory.polls(match(NOBODY), 2)
        decision = memory.poll(match(entry(11)))
        assert memory.ids() == ["5000_40_306_Goal_1"]
        unknown, named = GoalRef(5000, "5000_40_unknown_Goal_1"), GoalRef(5000, "5000_40_306_Goal_1")
        assert list(decision.moved) == [(unknown, named)]
        assert memory.goals[unknown].removal is Removal.IDENTIFIED
        assert len(goal_of(memory, named.name).monitor_workflows) == 1

    def test_also_when_both_are_listed_and_one_is_counted(self, memory: Memory) -> None:
        memory.poll(match(NOBODY))
        memory.poll(match(NOBODY, entry(10), home=1))
        assert memory.ids() == ["5000_40_306_Goal_1"]

    def test_two_that_are_counted_are_two(self, memory: Memory) -> None:
        memory.poll(match(NOBODY))
        memory.poll(match(NOBODY, entry(10)))
        assert memory.ids() == ["5000_40_306_Goal_1", "5000_40_unknown_Goal_1"]

    def test_a_name_that_the_feed_forgets_is_still_known(self, memory: Memory) -> None:
        memory.polls(match(entry(10)), 2)
        assert not memory.polls(match(NOBODY), 5).triggered, "nor is it counted as a run that saw him"
        assert memory.ids() == ["5000_40_306_Goal_1"]
        assert memory.poll(match(entry(10))).triggered

    def test_a_number_without_a_name_waits_for_it(self, memory: Memory) -> None:
        assert not memory.polls(match(entry(10, player_name=None)), 4).triggered
        memory.polls(match(entry(10)))
        assert goal_of(memory, "5000_40_306_Goal_1").label == "Liverpool-Salah"


class TestRemoval:
    def test_a_goal_goes_when_three_runs_neither_list_nor_count_it(self, memory: Memory) -> None:
        memory.polls(match(entry(10)))
        memory.videos = {"a": memory.living[0].ref}
        assert [names(memory.poll(match()).removed) for _ in range(3)] == [[], [], ["5000_40_306_Goal_1"]]
        [goal] = memory.goals.values()
        assert (goal.removal, goal.removed_at, memory.videos) == (Removal.ANNULLED, memory.now, {})

    def test_one_run_misses_it_once(self, memory: Memory) -> None:
        memory.polls(match(entry(10)))
        for _ in range(5):
            memory.poll(match(), "one run")
        assert memory.living[0].absent_workflows == ("one run",)

    def test_any_sight_clears_the_count(self, memory: Memory) -> None:
        memory.polls(match(entry(10)))
        for _ in range(4):
            memory.polls(match(), 2)
            memory.poll(match(entry(10)))
        assert memory.living[0].absent_workflows == ()

    @pytest.mark.parametrize("home", [1, 2, None])
    def test_nothing_is_dropped_while_the_totals_count_it(self, memory: Memory, home: int | None) -> None:
        memory.polls(match(entry(10)))
        memory.polls(match(home_goals=home), 20)
        assert memory.ids() == ["5000_40_306_Goal_1"]
        assert not memory.poll(match(entry(10))).written, "it comes back as it was"

    def test_the_totals_of_the_other_side_do_not_matter(self, memory: Memory) -> None:
        memory.polls(match(entry(10)))
        memory.polls(match(away=3))
        assert memory.ids() == []

    def test_a_goal_that_went_has_no_say_any_more(self, memory: Memory) -> None:
        memory.polls(match(entry(10)))
        memory.polls(match())
        before = dict(memory.goals)
        assert not memory.polls(match(), 4).written
        assert memory.goals == before


class TestReattribution:
    @pytest.mark.parametrize("together", [0, 1, 4])
    @pytest.mark.parametrize("minute", [10, 11, 12, 8])
    def test_videos_move_when_another_scorer_is_named(self, memory: Memory, together: int, minute: int) -> None:
        memory.polls(match(entry(10)))
        old, new = memory.living[0].ref, GoalRef(5000, "5000_40_234_Goal_1")
        memory.videos = {"a": old}
        if together:
            memory.polls(match(entry(10), entry(minute, OTHER), home=1), together)
        memory.polls(match(entry(minute, OTHER)))
        assert memory.ids() == [new.name]
        assert memory.goals[old].removal is Removal.REATTRIBUTED
        assert memory.living_goal(old) is memory.goals[new]
        assert memory.videos == {"a": new}

    def test_the_old_one_may_go_long_before_the_new_one_comes(self, memory: Memory) -> None:
        memory.polls(match(entry(10)))
        old = memory.living[0].ref
        memory.videos = {"a": old}
        memory.polls(match(home=1), 7)
        memory.polls(match(entry(10, OTHER)))
        assert memory.videos == {"a": GoalRef(5000, "5000_40_234_Goal_1")}

    def test_back_and_forth_nothing_is_lost(self, memory: Memory) -> None:
        memory.polls(match(entry(10)))
        memory.videos = {"a": memory.living[0].ref}
        memory.polls(match(entry(10, OTHER)))
        memory.polls(match(entry(10)))
        [goal] = memory.living
        assert goal.ref.name == "5000_40_306_Goal_1-g2"
        assert memory.videos == {"a": goal.ref}
        assert memory.living_goal(GoalRef(5000, "5000_40_306_Goal_1")) is goal

    @pytest.mark.parametrize(
        ("case", "other"),
        [
            ("three minutes off", entry(13, OTHER)),
            ("the other side", entry(10, HAALAND, AWAY)),
            ("another half", entry("45+5", OTHER)),
        ],
    )
    def test_another_goal_inherits_nothing(self, memory: Memory, case: str, other: FeedGoal) -> None:
        first = entry(50) if case == "another half" else entry(10)
        memory.polls(match(first))
        memory.videos = {"a": memory.living[0].ref}
        memory.polls(match(other))
        assert memory.videos == {}, case
        assert len(memory.living) == 1

    def test_two_goals_of_neighbouring_minutes_stay_two(self, memory: Memory) -> None:
        memory.polls(match(entry(10), entry(11, OTHER)))
        memory.videos = {"a": goal_of(memory, "5000_40_306_Goal_1").ref}
        memory.polls(match(entry(11, OTHER)))
        assert memory.videos == {}
        assert memory.ids() == ["5000_40_234_Goal_1"]

    def test_a_goal_between_them_is_another_running_score(self, memory: Memory) -> None:
        memory.polls(match(entry(10), entry(11, HAALAND, AWAY)))
        memory.videos = {"a": goal_of(memory, "5000_40_306_Goal_1").ref}
        memory.polls(match(entry(11, HAALAND, AWAY), entry(12, OTHER)))
        assert memory.videos == {}

    def test_a_new_goal_beside_one_that_the_list_lost_waits(self, memory: Memory) -> None:
        memory.polls(match(entry(10)))
        memory.videos = {"a": memory.living[0].ref}
        memory.polls(match(entry(12, OTHER), home=2), 9)
        memory.polls(match(entry(10), entry(12, OTHER)))
        assert memory.videos == {"a": GoalRef(5000, "5000_40_306_Goal_1")}
        assert [goal.score for goal in memory.living] == [Score(1, 0), Score(2, 0)]


class TestDeadlines:
    AFTER = NOW + timedelta(days=2)

    @pytest.mark.parametrize(
        ("case", "listed", "ours", "waited", "outcome"),
        [
            ("nobody was named", NOBODY, {}, SETTINGS.unidentified_after, "unidentified"),
            ("it never stayed", entry(10), {}, SETTINGS.unidentified_after, "search_unavailable"),
            ("its search never began", entry(10), {"stable_at": NOW}, SETTINGS.unsearched_after, "search_unavailable"),
            (
                "its workflow was lost",
                entry(10),
                {"stable_at": NOW, "monitor_complete": True, "search_started_at": NOW},
                SETTINGS.lost_after,
                "lost",
            ),
        ],
    )
    def test_every_goal_ends(
        self, memory: Memory, case: str, listed: FeedGoal, ours: dict[str, object], waited: timedelta, outcome: str
    ) -> None:
        memory.poll(match(listed))
        [goal] = memory.living
        memory.change(goal.ref, first_seen=NOW, **ours)
        assert not list(overdue(memory.living, NOW + waited - POLL, SETTINGS)), case
        [ended] = overdue(memory.living, NOW + waited, SETTINGS)
        assert (ended.outcome, ended.download_complete) == (outcome, True), case

    def test_what_has_ended_or_gone_is_left_alone(self, memory: Memory) -> None:
        memory.polls(match(entry(10), entry(40)))
        memory.polls(match(entry(40)))
        memory.change(memory.living[0].ref, download_complete=True, outcome="found")
        assert not list(overdue(memory.goals.values(), self.AFTER, SETTINGS))

    def test_a_goal_that_ended_without_a_name_is_searched_for_when_it_gets_one(self, memory: Memory) -> None:
        memory.poll(match(entry(10, player_name=None)))
        memory.change(memory.living[0].ref, download_complete=True, outcome="unidentified")
        decision = memory.polls(match(entry(10)))
        assert decision.triggered
        assert [written.reopened for written in decision.written] == [True]
        assert (memory.living[0].download_complete, memory.living[0].outcome) == (False, None)

    def test_one_that_ended_is_not_started_again(self, memory: Memory) -> None:
        memory.polls(match(entry(10)))
        memory.change(memory.living[0].ref, download_complete=True, outcome="search_unavailable")
        assert not memory.poll(match(entry(10))).triggered


moments = st.sampled_from([10, 11, 12, 45, "45+1", "45+3", 46, 90])
entries = st.builds(entry, moments, st.sampled_from([None, SALAH, OTHER, HAALAND]), st.sampled_from([HOME, AWAY]))
totals = st.none() | st.integers(0, 4)
fixtures = st.lists(entries, max_size=5).flatmap(
    lambda listed: st.builds(lambda home, away: match(*listed, home_goals=home, away_goals=away), totals, totals)
)


@settings(max_examples=50)
@given(st.lists(fixtures, max_size=8), st.randoms(use_true_random=False))
def test_whatever_the_feed_says(polls: list[FeedFixture], dice: Random) -> None:
    memory = Memory()
    for number, fixture in enumerate(polls):
        listed = fixture.goals or ()
        shuffled = replace(fixture, goals=tuple(dice.sample(listed, len(listed))))
        stored, run_id = list(memory.goals.values()), f"run {number}"
        decision = decide(stored, fixture, run_id, memory.now, SETTINGS)
        assert decide(stored, shuffled, run_id, memory.now, SETTINGS) == decision, "the order means nothing"
        assert decide(stored[::-1], fixture, run_id, memory.now, SETTINGS) == decision
        memory.apply(decision)
        for old, new in decision.moved:
            assert memory.living_goal(old) is memory.goals[new]
