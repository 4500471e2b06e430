"""Who scored, and how goals and their searches are called, whatever the feed wrote."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from tests.support.goals import AWAY, HOME, Memory, entry, match
from touchline.watch.fixtures.feed_documents import FeedGoal, Team
from touchline.watch.goals.model import Moment, distance, identity, is_known, is_near, label, same_player, workflow_id
from touchline.watch.model import GoalRef

GOAL = GoalRef(5000, "5000_40_306_Goal_1")
SAFE = re.compile(r"[A-Za-z0-9+_-]+")


@pytest.mark.parametrize(
    ("team", "player", "expected"),
    [
        ("Liverpool", "M. Salah", "Liverpool-Salah"),
        ("Manchester United", "Bruno Fernandes", "ManchesterUnited-Fernandes"),
        ("Bodø/Glimt", "O. Sørensen", "BodoGlimt-Sorensen"),
        ("Śląsk Wrocław", "Łukasz Đurić", "SlaskWroclaw-Duric"),
        ("1. FC Köln", "T. Alexander-Arnold", "1FCKoln-AlexanderArnold"),
        ("Grêmio", "Vinícius Jr.", "Gremio-Vinicius"),
        ("İstanbul", "Arda Güler", "Istanbul-Guler"),
        ("Alavés", "K.", "Alaves-K"),
        ("الأهلي", "محمد صلاح", "Team40-Player306"),
        ("Groß-Gerau", "Weiß", "GrossGerau-Weiss"),
    ],
)
def test_label(team: str, player: str, expected: str) -> None:
    assert label(entry(10, team=Team(40, team), player_name=player)) == expected


@pytest.mark.parametrize(("minute", "expected"), [(23, "23min"), ("45+3", "45+3min"), ("90+12", "90+12min")])
def test_workflow_id(minute: int | str, expected: str) -> None:
    reported = entry(minute)
    assert workflow_id(GOAL, reported) == f"twitter-Liverpool-Salah-{expected}-5000_40_306_Goal_1"
    again = GoalRef(GOAL.fixture_id, GOAL.event_id, 2)
    assert workflow_id(again, reported) == f"twitter-Liverpool-Salah-{expected}-5000_40_306_Goal_1-g2"


@given(st.text(), st.text(), st.none() | st.integers(), st.sampled_from(["Goal", "Card", "Übung 1", ""]))
def test_names_are_safe_and_never_empty(team: str, player: str, number: int | None, event_type: str) -> None:
    memory = Memory()
    listed = entry(10, number, Team(HOME.id, team), player_name=player, type=event_type)
    memory.polls(match(listed, home=1))
    [goal] = memory.living
    assert SAFE.fullmatch(goal.ref.event_id)
    assert goal.ref.event_id.count("_") == 4, "no part of it looks like two"
    if goal.workflow_id:
        assert SAFE.fullmatch(goal.workflow_id)
        assert len(goal.workflow_id) < 200
    assert (goal.workflow_id is not None) is is_known(player)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (entry(1, 306), entry(1, 306, player_name="Mo Salah"), True),
        (entry(1, 306), entry(1, 234, player_name="M. Salah"), False),
        (entry(1, None, player_name="M. SALAH"), entry(1, 306), True),
        (entry(1, None, player_name="محمد"), entry(1, None, player_name="محمد "), True),
        (entry(1, None, player_name="محمد"), entry(1, None, player_name="علي"), False),
        (entry(1, None), entry(1, None), False),
        (entry(1, 0), entry(1, 0), False),
    ],
)
def test_same_player(one: FeedGoal, other: FeedGoal, is_same: bool) -> None:
    assert same_player(one, other) is same_player(other, one) is is_same


def test_players_without_a_number_are_told_apart() -> None:
    memory = Memory()
    names = ["Ali", "ALİ B", "12", "علي", "محمد", "Müller", "Muller"]
    memory.poll(match(*(entry(10 * n + 5, None, AWAY, player_name=name) for n, name in enumerate(names)), away=7))
    assert len({goal.ref.event_id for goal in memory.living}) == len(names)
    assert identity(entry(1, None, player_name="Unknown")) is None


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ((10, 0), (12, 0), True),
        ((10, 0), (13, 0), False),
        ((45, 0), (45, 2), True),
        ((45, 1), (46, 0), True),
        ((45, 5), (50, 0), False),
        ((45, 5), (46, 0), False),
        ((90, 1), (90, 4), False),
        ((90, 3), (93, 0), True),
        ((90, 3), (94, 0), True),
        ((90, 3), (96, 0), False),
        ((120, 2), (122, 0), True),
        ((105, 2), (107, 0), True),
        ((90, 5), (91, 0), False),
    ],
)
def test_minutes_that_may_be_one(one: Moment, other: Moment, near: bool) -> None:
    assert is_near(one, other) is is_near(other, one) is near
    assert distance(one, other) == distance(other, one)
