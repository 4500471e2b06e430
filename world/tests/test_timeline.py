"""When a match is played, and what the feed reports of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.days import KICK_OFF, a_day, after, goal, names, score
from touchline.kernel import InvalidInput
from touchline_world.days.model import Outcome
from touchline_world.days.timeline import feed_state
from touchline_world.days.values import HOUR, MINUTE, SECOND

SHAPES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "as usual": ({}, ["NS", "1H", "HT", "2H", "FT"]),
    "extra time": ({"extra_time": True}, ["NS", "1H", "HT", "2H", "BT", "ET", "BT", "ET", "AET"]),
    "penalties at once": ({"shoot_out": {}}, ["NS", "1H", "HT", "2H", "BT", "P", "PEN"]),
    "everything": (
        {"extra_time": True, "shoot_out": {}},
        ["NS", "1H", "HT", "2H", "BT", "ET", "BT", "ET", "BT", "P", "PEN"],
    ),
    "interrupted": ({"interruptions": [{"minute": 30}]}, ["NS", "1H", "INT", "1H", "HT", "2H", "FT"]),
    "suspended": (
        {"interruptions": [{"minute": 70, "status": "SUSP"}]},
        ["NS", "1H", "HT", "2H", "SUSP", "2H", "FT"],
    ),
    "abandoned": ({"abandoned": {"minute": 60}}, ["NS", "1H", "HT", "2H", "SUSP", "ABD"]),
    "abandoned early": ({"abandoned": {"minute": 20}}, ["NS", "1H", "SUSP", "ABD"]),
    "postponed": ({"postponed": {}}, ["NS", "PST"]),
    "postponed, and played after all": (
        {"postponed": {}, "late_kick_off": "1h"},
        ["NS", "PST", "1H", "HT", "2H", "FT"],
    ),
    "cancelled": ({"cancelled": {"before": "3h"}}, ["NS", "CANC"]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_statuses_of_a_match(shape: str) -> None:
    match, statuses = SHAPES[shape]
    fixture = a_day(**match).fixtures[0]
    assert [phase.status for phase in fixture.phases] == statuses
    assert sorted(phase.from_ms for phase in fixture.phases) == [phase.from_ms for phase in fixture.phases]


@pytest.mark.parametrize(
    ("minutes", "status", "elapsed", "extra"),
    [
        (-1, "NS", None, None),
        (0, "1H", 1, None),
        (44, "1H", 45, None),
        (45, "1H", 45, 1),
        (46, "1H", 45, 2),
        (47, "HT", 45, None),
        (61, "HT", 45, None),
        (62, "2H", 46, None),
        (62 + 45, "2H", 90, 1),
        (62 + 50, "FT", 90, None),
    ],
)
def test_the_minute_shown(minutes: int, status: str, elapsed: int | None, extra: int | None) -> None:
    """Two minutes are added to the first half, four to the second; the break takes fifteen."""
    shown = feed_state(a_day().fixtures[0], KICK_OFF + minutes * MINUTE)
    assert (shown.status, shown.elapsed, shown.extra) == (status, elapsed, extra)


def test_no_score_before_it_begins_nor_when_it_is_not_played() -> None:
    assert feed_state(a_day().fixtures[0], KICK_OFF - 1).home is None
    assert feed_state(a_day(postponed={}).fixtures[0], KICK_OFF + HOUR).home is None


def test_an_interruption_moves_what_comes_after_it() -> None:
    goals = (goal(29), goal(31))
    plain = a_day(*goals).goals
    moved = a_day(*goals, interruptions=[{"minute": 30, "lasts": "7m"}]).goals
    assert [late.at_ms - usual.at_ms for usual, late in zip(plain, moved, strict=True)] == [0, 7 * MINUTE]


def test_a_late_kick_off_moves_everything_but_the_date() -> None:
    plain, late = a_day(goal(10)), a_day(goal(10), late_kick_off="6m")
    assert late.goals[0].at_ms - plain.goals[0].at_ms == 6 * MINUTE
    assert late.fixtures[0].kick_off_ms == KICK_OFF
    assert feed_state(late.fixtures[0], KICK_OFF + 5 * MINUTE).status == "NS"


def test_a_quick_match_shows_the_same_minutes() -> None:
    quick = a_day(goal(60), minute_lasts="10s").fixtures[0]
    assert quick.phases[1].minute_ms == 10_000
    shown = feed_state(quick, quick.entries[0].from_ms)
    assert shown.status == "2H"
    assert shown.elapsed == 62  # the feed tells it twenty seconds later: two minutes of this match
    assert shown.home == 1


def test_the_referee_adds_what_the_incidents_need() -> None:
    day = a_day(goal("45+7"), goal("90+9"))
    assert [(each.elapsed, each.extra) for each in day.goals] == [(45, 7), (90, 9)]
    assert feed_state(day.fixtures[0], day.goals[0].at_ms).status == "1H"
    assert feed_state(day.fixtures[0], day.goals[1].at_ms).status == "2H"


@pytest.mark.parametrize(
    ("incident", "match"),
    [
        (goal(95), {}),
        (goal("30+2"), {}),
        (goal(70), {"abandoned": {"minute": 60}}),
        (goal(10), {"postponed": {}}),
        (goal(10), {"cancelled": {}}),
    ],
)
def test_what_cannot_happen_is_refused(incident: dict[str, Any], match: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        a_day(incident, **match)
    assert refused.value.field.startswith("matches[0].incidents")


@pytest.mark.parametrize(
    ("minutes", "wrong"),
    [([45], 0), (["45+1"], 0), ([30, 90], 1), ([100], 0), ([30, 30], 1)],
)
def test_interruptions_that_cannot_be_are_refused(minutes: list[int | str], wrong: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        a_day(interruptions=[{"minute": minute} for minute in minutes])
    assert refused.value.field == f"matches[0].interruptions[{wrong}].minute"


@pytest.mark.parametrize(
    ("minutes", "status"),
    [(-31, "NS"), (-30, "TBD"), (-21, "TBD"), (-20, "NS"), (10, "LIVE"), (11, "1H"), (20, "AWD"), (500, "AWD")],
)
def test_the_feed_shows_a_status_of_its_own(minutes: int, status: str) -> None:
    said = [{"at": "14:30", "status": "TBD", "lasts": "10m"}, {"at": "15:10", "status": "LIVE", "lasts": "1m"}]
    fixture = a_day(statuses=[*said, {"at": "15:20", "status": "AWD"}]).fixtures[0]
    assert feed_state(fixture, KICK_OFF + minutes * MINUTE).status == status


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
    turned = feed_state(fixture, KICK_OFF + 19 * MINUTE + 30 * SECOND).entries
    usual = feed_state(fixture, KICK_OFF + 20 * MINUTE + 30 * SECOND).entries
    assert [each.elapsed for each in usual] == [2, 4, 6, 8, 10]
    assert turned != usual
    assert set(turned) == set(usual)


def test_a_shoot_out_counts_for_no_goal() -> None:
    day = a_day(goal(10), goal(20, "away"), shoot_out={"home": "gmg", "away": "ggm"})
    fixture = day.fixtures[0]
    shown = feed_state(fixture, day.length_ms)
    kicks = [each for each in shown.entries if each.comments == "Penalty Shootout"]
    assert [each.detail for each in kicks].count("Missed Penalty") == 2
    assert [each.extra for each in kicks] == [1, 2, 3, 4, 5, 6]
    assert (score(shown), len(day.goals)) == ((1, 1), 2)
    assert (fixture.shoot_out[-1].home, fixture.shoot_out[-1].away) == (2, 2)
