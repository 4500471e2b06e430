"""What the demo says of a day: right only where the best video truly shows the goal."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from touchline.apps.demonstration import compare, ended
from touchline.watch.views.rules import Goal, Match, Video

NOW = datetime(2026, 3, 14, 15, tzinfo=UTC)


def true_goal(key: str = "1/1", outcome: str = "stands", player: int = 7, minute: int = 3) -> dict[str, Any]:
    return {
        "key": key,
        "match": 1,
        "team": 10,
        "player": {"id": player, "name": "A. Scorer"},
        "elapsed": minute,
        "extra": None,
        "outcome": outcome,
        "groups": [{"posts": ["111", "112"]}],
    }


def truth(*goals: dict[str, Any]) -> dict[str, Any]:
    posts = [{"id": "111", "clips": [{"shows": "1/1"}]}, {"id": "999", "clips": [{"shows": "1/2"}]}]
    match = {"id": 1, "home": {"name": "Home"}, "away": {"name": "Away"}}
    return {"matches": [match], "goals": list(goals), "posts": posts}


def video(post: str) -> Video:
    url = f"http://network/somebody/status/{post}"
    return Video("ab" * 16, 1, True, "2:31", 2, url, NOW, 1000, 8000, 640, 360, 1)


GOAL = Goal(
    "1_10_7_Goal_1", 1, 1, 10, "Home", 7, "A. Scorer", "Goal", "Normal Goal", 3, None, 1, 0, NOW, 3, NOW, True, 2, NOW,
    None, 2, True, NOW, "found", NOW, 0, 2, 2, 2, 1, (), (video("111"),),
)  # fmt: skip
MATCH = Match(1, "completed", "FT", 90, NOW, 39, "League", 10, "Home", 11, "Away", 1, 0, NOW, NOW, None, 1)


def test_a_goal_is_right_when_its_best_video_shows_it() -> None:
    [told] = compare(truth(true_goal()), {1: [GOAL]})
    assert (told.right, told.found) == (True, "640x360, verified, found 2 times")


def test_another_goals_video_no_video_and_no_goal_are_wrong() -> None:
    for found in ([replace(GOAL, videos=(video("999"),))], [replace(GOAL, videos=())], []):
        [told] = compare(truth(true_goal()), {1: found})
        assert not told.right


def test_an_annulled_goal_is_right_when_it_is_gone() -> None:
    annulled = truth(true_goal(outcome="annulled"))
    [told] = compare(annulled, {1: []})
    assert (told.right, told.found) == (True, "gone")
    [told] = compare(annulled, {1: [GOAL]})
    assert not told.right, "it is told once, and wrong"


def test_a_goal_that_never_was_is_told_too() -> None:
    told = compare(truth(true_goal()), {1: [GOAL, replace(GOAL, player_id=8, event_id="1_10_8_Goal_1")]})
    assert [(each.truth, each.right) for each in told] == [("2 posts of 1 video", True), ("no such goal", False)]


def test_the_day_has_ended_when_matches_and_searches_have_and_nothing_else_is_there() -> None:
    day = truth(true_goal(), true_goal("1/2", "annulled", player=9))
    over = {1: MATCH}
    assert ended(day, {1: [GOAL]}, over)
    assert not ended(day, {1: [replace(GOAL, download_complete=False)]}, over)
    assert not ended(day, {1: [GOAL, replace(GOAL, player_id=9)]}, over)
    assert not ended(day, {}, over)
    assert not ended(day, {1: [GOAL]}, {1: replace(MATCH, completed_at=None)})
    assert not ended(day, {1: [GOAL]}, {})
