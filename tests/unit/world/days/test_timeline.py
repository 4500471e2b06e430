"""What status and minute the feed shows, whatever befalls the match."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.days import KICK_OFF, a_day, goal
from touchline.kernel.errors import InvalidInput
from touchline.world.days.moments import HOUR, MINUTE
from touchline.world.days.showing import showing

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
    shown = showing(a_day().fixtures[0], KICK_OFF + minutes * MINUTE)
    assert (shown.status, shown.elapsed, shown.extra) == (status, elapsed, extra)


def test_no_score_before_it_begins_nor_when_it_is_not_played() -> None:
    assert showing(a_day().fixtures[0], KICK_OFF - 1).home is None
    assert showing(a_day(postponed={}).fixtures[0], KICK_OFF + HOUR).home is None


def test_an_interruption_moves_what_comes_after_it() -> None:
    goals = (goal(29), goal(31))
    plain = a_day(*goals).goals
    moved = a_day(*goals, interruptions=[{"minute": 30, "lasts": "7m"}]).goals
    assert [late.at_ms - usual.at_ms for usual, late in zip(plain, moved, strict=True)] == [0, 7 * MINUTE]


def test_a_late_kick_off_moves_everything_but_the_date() -> None:
    plain, late = a_day(goal(10)), a_day(goal(10), late_kick_off="6m")
    assert late.goals[0].at_ms - plain.goals[0].at_ms == 6 * MINUTE
    assert late.fixtures[0].kick_off_ms == KICK_OFF
    assert showing(late.fixtures[0], KICK_OFF + 5 * MINUTE).status == "NS"


def test_a_quick_match_shows_the_same_minutes() -> None:
    quick = a_day(goal(60), minute_lasts="10s").fixtures[0]
    assert quick.phases[1].minute_ms == 10_000
    shown = showing(quick, quick.entries[0].from_ms)
    assert shown.status == "2H"
    assert shown.elapsed == 62  # the feed tells it twenty seconds later: two minutes of this match
    assert shown.home == 1


def test_the_referee_adds_what_the_incidents_need() -> None:
    day = a_day(goal("45+7"), goal("90+9"))
    assert [(each.elapsed, each.extra) for each in day.goals] == [(45, 7), (90, 9)]
    assert showing(day.fixtures[0], day.goals[0].at_ms).status == "1H"
    assert showing(day.fixtures[0], day.goals[1].at_ms).status == "2H"


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
    assert showing(fixture, KICK_OFF + minutes * MINUTE).status == status
