"""What the feed shows of each kind of incident, before and after."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.days import KICK_OFF, a_day, after, goal, names, score
from touchline.world.days.model import Outcome
from touchline.world.days.moments import MINUTE, SECOND
from touchline.world.days.showing import showing

SOERENSEN, ADEYEMI, ADAMS = "M. Sørensen", "K. Adeyemi-Cole", "T. Adams"

# An incident of minute 10; then, for seconds since the feed first told it: who is named, and the score.
CASES: dict[str, tuple[dict[str, Any], list[tuple[int, list[str | None], tuple[int, int]]]]] = {
    "a goal": (
        goal(player="Sørensen"),
        [(-1, [], (0, 0)), (0, [SOERENSEN], (1, 0)), (5400, [SOERENSEN], (1, 0))],
    ),
    "a goal of the visitors": (
        goal(side="away", player="Tyrone Adams"),
        [(0, [ADAMS], (0, 1))],
    ),
    "a penalty": (goal(kind="penalty", player="Sørensen"), [(0, [SOERENSEN], (1, 0))]),
    "an own goal counts for those who did not score it": (
        goal(kind="own_goal", player="Tyrone Adams"),
        [(0, [ADAMS], (1, 0))],
    ),
    "a missed penalty": (
        {"kind": "missed_penalty", "minute": 10, "side": "home", "player": "Sørensen"},
        [(0, [SOERENSEN], (0, 0))],
    ),
    "the scorer is known late": (
        goal(player="Sørensen", scorer_after="90s"),
        [(0, [None], (1, 0)), (89, [None], (1, 0)), (90, [SOERENSEN], (1, 0))],
    ),
    "another scorer": (
        goal(player="Sørensen", corrected={"after": "2m", "player": "Adeyemi-Cole"}),
        [(119, [SOERENSEN], (1, 0)), (120, [ADEYEMI], (1, 0))],
    ),
    "annulled": (
        goal(player="Sørensen", annulled_after="3m"),
        [(179, [SOERENSEN], (1, 0)), (180, [], (0, 0)), (5400, [], (0, 0))],
    ),
    "annulled before anybody knew who scored": (
        goal(player="Sørensen", scorer_after="5m", annulled_after="3m"),
        [(179, [None], (1, 0)), (180, [], (0, 0)), (400, [], (0, 0))],
    ),
    "gone for a while, and the score keeps it": (
        goal(player="Sørensen", vanishes={"after": "60s", "lasts": "45s"}),
        [(59, [SOERENSEN], (1, 0)), (60, [], (1, 0)), (104, [], (1, 0)), (105, [SOERENSEN], (1, 0))],
    ),
    "twice in the list for a while": (
        goal(player="Sørensen", doubled={"after": "30s", "lasts": "60s"}),
        [(29, [SOERENSEN], (1, 0)), (30, [SOERENSEN] * 2, (1, 0)), (90, [SOERENSEN], (1, 0))],
    ),
    "the double goes with the annulled goal": (
        goal(player="Sørensen", doubled={"after": "30s", "lasts": "10m"}, annulled_after="60s"),
        [(59, [SOERENSEN] * 2, (1, 0)), (60, [], (0, 0))],
    ),
    "the score lags": (
        goal(player="Sørensen", score_after="40s"),
        [(0, [SOERENSEN], (0, 0)), (39, [SOERENSEN], (0, 0)), (40, [SOERENSEN], (1, 0))],
    ),
    "a score that never came, for the goal was annulled before": (
        goal(player="Sørensen", score_after="10m", annulled_after="60s"),
        [(59, [SOERENSEN], (0, 0)), (60, [], (0, 0)), (900, [], (0, 0))],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_incident(case: str) -> None:
    incident, moments = CASES[case]
    fixture = a_day(incident).fixtures[0]
    for seconds, scorers, expected in moments:
        shown = after(fixture, 10, seconds)
        assert (names(shown), score(shown)) == (scorers, expected), f"{seconds} s after it was told"


def test_a_corrected_minute() -> None:
    fixture = a_day(goal(corrected={"after": "2m", "minute": 11})).fixtures[0]
    assert [after(fixture, 10, each).entries[0].elapsed for each in (119, 120)] == [10, 11]
    assert len({entry.player for entry in fixture.entries}) == 1


def test_an_annulled_goal_leaves_a_note() -> None:
    day = a_day(goal(player="Sørensen", annulled_after="3m"))
    notes = [(each.type, each.detail) for each in after(day.fixtures[0], 10, 180).entries]
    assert notes == [("Var", "Goal cancelled")]
    assert day.goals[0].outcome is Outcome.ANNULLED


def test_a_second_goal_keeps_its_place_when_the_first_is_annulled() -> None:
    day = a_day(goal(10, player="Sørensen", annulled_after="10m"), goal(14, player="Sørensen"))
    assert [each.score for each in day.goals] == [(1, 0), (1, 0)]
    assert names(after(day.fixtures[0], 14, 0)) == [SOERENSEN, SOERENSEN]
    assert names(after(day.fixtures[0], 10, 600)) == [SOERENSEN]
    assert score(after(day.fixtures[0], 10, 600)) == (1, 0)


def test_cards_and_substitutions() -> None:
    fixture = a_day(
        {"kind": "yellow_card", "minute": 10, "side": "away", "player": "Tyrone Adams"},
        {"kind": "red_card", "minute": 12, "side": "away", "player": "Tyrone Adams"},
        {"kind": "substitution", "minute": 14, "side": "home", "player": "Sørensen", "replaced_by": "Zezinho"},
    ).fixtures[0]
    shown = after(fixture, 14, 0).entries
    assert [(each.type, each.detail) for each in shown] == [
        ("Card", "Yellow Card"),
        ("Card", "Red Card"),
        ("subst", "Substitution 1"),
    ]
    assert shown[2].assist is not None
    assert shown[2].assist.name == "Zezinho"


def test_the_list_in_another_order() -> None:
    goals = [goal(minute) for minute in (2, 4, 6, 8, 10)]
    fixture = a_day(*goals, reordered=[{"minute": 20, "lasts": "1m"}]).fixtures[0]
    turned = showing(fixture, KICK_OFF + 19 * MINUTE + 30 * SECOND).entries
    usual = showing(fixture, KICK_OFF + 20 * MINUTE + 30 * SECOND).entries
    assert [each.elapsed for each in usual] == [2, 4, 6, 8, 10]
    assert turned != usual
    assert set(turned) == set(usual)


def test_a_shoot_out_counts_for_no_goal() -> None:
    day = a_day(goal(10), goal(20, "away"), shoot_out={"home": "gmg", "away": "ggm"})
    fixture = day.fixtures[0]
    shown = showing(fixture, day.length_ms)
    kicks = [each for each in shown.entries if each.comments == "Penalty Shootout"]
    assert [each.detail for each in kicks].count("Missed Penalty") == 2
    assert [each.extra for each in kicks] == [1, 2, 3, 4, 5, 6]
    assert (score(shown), len(day.goals)) == ((1, 1), 2)
    assert (fixture.shoot_out[-1].home, fixture.shoot_out[-1].away) == (2, 2)
