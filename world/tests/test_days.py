"""What holds for every day, whatever its seed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from itertools import pairwise
from typing import Any

from hypothesis import given, settings, strategies as st

from tests.support.days import a_day
from touchline_world.days.builder import build
from touchline_world.days.catalogue import get_catalogue
from touchline_world.days.generator import GeneratorOptions, generate
from touchline_world.days.model import Day, Outcome, Relation
from touchline_world.days.script import Script
from touchline_world.days.timeline import feed_state
from touchline_world.days.truth import truth
from touchline_world.days.values import MINUTE
from touchline_world.videos.model import TakeKind

sides = st.sampled_from(["home", "away"])
days = st.builds(
    lambda seed, matches, goals, troubled: build(generate(GeneratorOptions(seed, matches, goals, troubled))),
    seed=st.integers(0, 2**32),
    matches=st.integers(1, 6),
    goals=st.floats(0, 5),
    troubled=st.floats(0, 1),
)
PRINT = """
import hashlib
from touchline_world.days.builder import build
from touchline_world.days.generator import GeneratorOptions, generate
print(hashlib.sha256(repr(build(generate(GeneratorOptions(11, matches=9)))).encode()).hexdigest())
"""


spans = st.fixed_dictionaries({"after": st.integers(0, 600), "lasts": st.integers(0, 600)})
goals = st.fixed_dictionaries(
    {"kind": st.sampled_from(["goal", "penalty", "own_goal"]), "minute": st.integers(1, 90), "side": sides},
    optional={
        "told_after": st.integers(0, 300),
        "score_after": st.integers(0, 600),
        "scorer_after": st.integers(0, 600),
        "annulled_after": st.integers(0, 600),
        "corrected": st.fixed_dictionaries({"after": st.integers(0, 600)}),
        "vanishes": spans,
        "doubled": spans,
        "posts": st.just({"copies": 1, "look_alikes": 0}),
    },
)


@settings(max_examples=20)
@given(days)
def test_the_feed_ends_with_the_truth(day: Day) -> None:
    assert_that_the_feed_ends_with_the_truth(day)


@settings(max_examples=40)
@given(st.lists(goals, max_size=6))
def test_it_does_whatever_goes_wrong_with_goals_at_once(incidents: list[dict[str, Any]]) -> None:
    assert_that_the_feed_ends_with_the_truth(a_day(*incidents))


def assert_that_the_feed_ends_with_the_truth(day: Day) -> None:
    for match, fixture in zip(truth(day)["matches"], day.fixtures, strict=True):
        shown = feed_state(fixture, day.length_ms)
        assert shown.status == match["status"]
        assert (None if shown.home is None else [shown.home, shown.away]) == match["score"]
        standing = [goal for goal in day.goals if goal.fixture_id == fixture.id and goal.outcome is Outcome.STANDS]
        assert [
            (each.goal, each.player, each.elapsed, each.extra, each.team_id) for each in shown.entries if each.goal
        ] == [(goal.key, goal.player, goal.elapsed, goal.extra, goal.team_id) for goal in standing]


@settings(max_examples=20)
@given(days)
def test_posts_are_as_the_network_has_them(day: Day) -> None:
    goals = {goal.key: goal for goal in day.goals}
    for earlier, later in pairwise(day.posts):
        assert (earlier.at_ms, int(earlier.id)) < (later.at_ms, int(later.id))
    for post in day.posts:
        assert post.id.isdigit()
        assert len(post.id) == 19
        assert 0 <= post.at_ms < day.length_ms
        assert post.text.strip()
        if post.about:
            assert 20_000 <= post.at_ms - goals[post.about].at_ms <= 15 * MINUTE
        if post.quoted:
            assert post.quoted in day.posts
            assert post.quoted.at_ms < post.at_ms


@settings(max_examples=20)
@given(days)
def test_a_video_shows_the_clock_of_its_goal(day: Day) -> None:
    """As the product expects it: elapsed + extra - 1, give or take one."""
    goals = {goal.key: goal for goal in day.goals}
    for post in day.posts:
        for clip in post.clips:
            take = clip.recipe.take
            if take.kind is not TakeKind.GOAL:
                assert clip.relation is Relation.UNRELATED
                continue
            shown = (take.clock_ms + take.added_ms) // MINUTE
            assert 4_000 <= (take.goal_ms or 0) <= 6_000
            assert 8_000 <= take.length_ms <= 14_000
            if clip.goal:
                scored = goals[clip.goal]
                assert abs(shown - (scored.elapsed + (scored.extra or 0) - 1)) <= 1
                assert take.added_ms == 0 or (scored.extra and take.clock_ms == scored.elapsed * MINUTE)
                assert sum(take.score_after) == sum(take.score_before) + 1
            if post.about and clip.relation is not Relation.COPY:
                about = goals[post.about]
                assert abs(shown - (about.elapsed + (about.extra or 0) - 1)) > 1


@settings(max_examples=20)
@given(days)
def test_penalties_follow_a_draw(day: Day) -> None:
    for match in truth(day)["matches"]:
        if match["penalties"] is not None:
            assert match["score"][0] == match["score"][1]
            assert match["penalties"][0] != match["penalties"][1]


@settings(max_examples=12)
@given(st.integers(0, 2**32))
def test_a_usual_day_is_drawn_in_two_minutes(seed: int) -> None:
    """Rendering takes longer with more pictures: few takes, small ones most of them."""
    day = build(generate(GeneratorOptions(seed)))
    clips = {clip.recipe for post in day.posts for clip in post.clips}
    heights = sorted(recipe.copy.height for recipe in clips)
    assert 10 <= len(day.goals) <= 12
    assert len(clips) <= 80
    assert len({recipe.take for recipe in clips}) <= 28
    assert heights[len(heights) * 3 // 4] <= 540
    assert heights.count(1080) <= 3


def test_the_same_day_in_another_process() -> None:
    here = hashlib.sha256(repr(build(generate(GeneratorOptions(11, matches=9)))).encode()).hexdigest()
    environment = os.environ | {"PYTHONHASHSEED": "4711"}
    there = subprocess.run([sys.executable, "-c", PRINT], check=True, capture_output=True, text=True, env=environment)
    assert there.stdout.strip() == here


def test_another_match_leaves_the_posts_of_the_others() -> None:
    few, many = (build(generate(GeneratorOptions(3, matches=number))) for number in (2, 5))
    assert set(few.posts) <= set(many.posts)
    assert set(few.goals) <= set(many.goals)


def test_the_catalogue_names_everybody_once() -> None:
    known = get_catalogue()
    teams = [team for _, team in known.teams]
    players = [player.id for squad in known.squads.values() for player in squad]
    for values in ([team.id for team in teams], [team.code for team in teams], [team.item for team in teams], players):
        assert len(values) == len(set(values))
    assert {league for league, _ in known.teams} == {39, 140, 78, 135, 61, 10, 40, 141, 79, 136, 62}
    assert {len(team.code) for team in teams} == {3}
    for team in teams:
        squad = known.squads[team.id]
        assert len({player.name for player in squad}) == len(squad) >= 14
        assert len(team.words) >= 3


def test_a_hundred_matches_on_one_day_and_the_first_are_what_they_were() -> None:
    teams = [team.name for _, team in get_catalogue().teams]
    pairs = zip(teams[::2], teams[1::2], strict=True)
    matches = [{"home": home, "away": away, "incidents": [], "chatter": 0} for home, away in pairs][:100]
    day, first = (build(Script.model_validate({"matches": some})) for some in (matches, matches[:3]))
    assert len({fixture.id for fixture in day.fixtures}) == 100
    assert day.fixtures[:3] == first.fixtures
