"""What people post about a goal, and what a perfect product makes of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.support.days import a_day, goal
from touchline_world.days.model import Delivery, Player, Relation
from touchline_world.days.recipes import family_name, screen_clock
from touchline_world.days.script import Transform
from touchline_world.days.truth import truth
from touchline_world.days.values import MINUTE
from touchline_world.videos.model import BugStyle, TakeKind

QUIET: dict[str, Any] = {"copies": 0, "look_alikes": 0}


def posted(**posts: Any) -> list[dict[str, Any]]:
    """What is true of the posts about the only goal."""
    return truth(a_day(goal(20, player="Sørensen", posts=QUIET | posts)))["posts"]


def verdicts(**posts: Any) -> list[tuple[str, str]]:
    return [(clip["verdict"], clip["why"]) for post in posted(**posts) for clip in post["clips"]]


@pytest.mark.parametrize(
    ("minute", "second", "clock", "added"),
    [
        ((23, 0), 30, "22:25", "0:00"),
        ((1, 0), 2, "0:00", "0:00"),
        ((23, 0), 2, "21:57", "0:00"),
        ((45, 0), 30, "44:25", "0:00"),
        ((45, 1), 2, "44:57", "0:00"),
        ((45, 2), 30, "45:00", "1:25"),
        ((46, 0), 2, "45:00", "0:00"),
        ((90, 4), 50, "90:00", "3:45"),
        ((91, 0), 3, "90:00", "0:00"),
        ((120, 1), 10, "120:00", "0:05"),
    ],
)
def test_the_clock_five_seconds_before_a_goal(minute: tuple[int, int], second: int, clock: str, added: str) -> None:
    found = screen_clock(*minute, second, 5_000)
    assert tuple(f"{each // MINUTE}:{each % MINUTE // 1000:02}" for each in found) == (clock, added)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("M. Sørensen", "Sørensen"),
        ("Zezinho", "Zezinho"),
        ("T. J. O'Connell-Drăgulescu", "O'Connell-Drăgulescu"),
        ("X. Ç. Hoxha", "Hoxha"),
        ("J. van der Westhuizen-Papadimitropoulos", "van der Westhuizen-Papadimitropoulos"),
    ],
)
def test_what_people_call_a_player(name: str, expected: str) -> None:
    assert family_name(Player(1, name, name)) == expected


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (Transform.TOO_SHORT, ("reject", "too short or too long")),
        (Transform.FILMED, ("reject", "filmed from a screen")),
        *((each, ("archive", "verified by its clock")) for each in Transform if each not in {"too_short", "filmed"}),
    ],
)
def test_what_becomes_of_a_copy(transform: Transform, expected: tuple[str, str]) -> None:
    assert verdicts(copies=2, transforms=[transform]) == [expected] * 2


@pytest.mark.parametrize("delivery", Delivery)
def test_what_becomes_of_a_delivery(delivery: Delivery) -> None:
    reached = delivery in {Delivery.WHOLE, Delivery.SLOW, Delivery.BUSY}
    assert Counter(each for each, _ in verdicts(copies=3, transforms=["plain"], deliveries=[delivery])) == (
        {"archive": 3} if reached else {"archive": 2, "fail": 1}
    )


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ({"look_alikes": 2}, ("reject", "shows another match")),
        ({"unrelated": 2}, ("reject", "shows no goal")),
        ({"promoted": 2}, ("ignore", "promoted")),
        ({"copies": 2, "misspelt": 2, "transforms": ["plain"]}, ("ignore", "its words do not find it")),
    ],
)
def test_what_becomes_of_the_rest(plan: dict[str, int], expected: tuple[str, str]) -> None:
    assert verdicts(**plan) == [expected] * 2


def test_copies_of_an_annulled_goal_go() -> None:
    day = a_day(goal(20, player="Sørensen", annulled_after="3m", posts={"copies": 2, "transforms": ["plain"]}))
    found = [clip["verdict"] for post in truth(day)["posts"] for clip in post["clips"] if clip["shows"]]
    assert found == ["delete", "delete"]


def test_one_post_with_two_videos() -> None:
    assert [len(post["clips"]) for post in posted(copies=2, several_videos=1, transforms=["plain"])] == [2, 1]


def test_a_quote_has_no_video_of_its_own() -> None:
    posts = posted(copies=1, quotes=1, transforms=["plain"])
    assert [(bool(post["clips"]), post["quotes"]) for post in posts] == [(True, None), (False, posts[0]["id"])]


def test_the_first_posts_are_removed() -> None:
    day = a_day(goal(20, posts=QUIET | {"copies": 3, "removed": 1}))
    assert [None if post.removed_ms is None else post.removed_ms - post.at_ms for post in day.posts] == [
        2 * MINUTE,
        None,
        None,
    ]


def test_a_take_from_the_stand_has_no_clock() -> None:
    day = a_day(goal(20, player="Sørensen", posts=QUIET | {"copies": 3, "takes": 2, "transforms": ["plain"]}))
    [true] = truth(day)["goals"]
    assert [(group["has_clock"], len(group["clips"])) for group in true["groups"]] == [(True, 2), (False, 1)]
    styles = [clip.recipe.take.look.style for post in day.posts for clip in post.clips if clip.recipe.take.look]
    assert styles.count(BugStyle.NONE) == 1


def test_another_goal_of_the_match_is_a_look_alike() -> None:
    """Which of them an earlier goal is, and which another match, is drawn."""
    day = a_day(goal(20, posts=QUIET), goal(60, posts=QUIET | {"look_alikes": 10}))
    clips = [clip for post in day.posts for clip in post.clips]
    assert {clip.relation for clip in clips} == {Relation.OTHER_GOAL, Relation.LOOK_ALIKE}
    assert {clip.goal for clip in clips if clip.relation is Relation.OTHER_GOAL} == {day.goals[0].key}
    assert {clip.recipe.take.kind for clip in clips} == {TakeKind.GOAL}


def test_people_write_of_both_sides_of_an_own_goal() -> None:
    day = a_day(goal(20, kind="own_goal", player="Tyrone Adams", posts={"copies": 20}))
    home, away = ({word.casefold() for word in team.words} for team in (day.fixtures[0].home, day.fixtures[0].away))
    said = [{word.strip("#.,!").casefold() for word in post.text.split()} for post in day.posts]
    assert any(words & home for words in said)
    assert any(words & away for words in said)
    assert all("adams" in words for words in said)


def test_the_score_on_the_screen_is_the_one_of_then() -> None:
    """An annulled goal still counted when the next one was scored; in the end it does not."""
    day = a_day(goal(20, annulled_after="9m"), goal(25))
    takes = {clip.goal: clip.recipe.take for post in day.posts for clip in post.clips if clip.goal}
    second = takes[day.goals[1].key]
    assert (second.score_before, second.score_after) == ((1, 0), (2, 0))
    assert day.goals[1].score == (1, 0)
