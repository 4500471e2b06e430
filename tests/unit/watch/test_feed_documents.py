from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.support.feed_documents import GOALS, broken, document, entry
from touchline.watch.fixtures.feed_documents import (
    LARGEST_ID,
    LONGEST_NAME,
    FeedFixture,
    SkipReason,
    Team,
    is_tracked,
    moment,
    parsed,
    read,
    storable,
    whole,
    words,
)

GOOD = document(5001, entry(10))


def one(whole_document: Any) -> FeedFixture:
    [fixture] = read([whole_document], GOALS, with_events=True).fixtures
    return fixture


def test_a_match_as_it_should_be() -> None:
    found = one(document(5000, entry(45, time={"elapsed": 45, "extra": 3})))
    assert (found.id, found.status, found.elapsed) == (5000, "1H", 24)
    assert found.kick_off == datetime(2026, 3, 14, 15, tzinfo=UTC)
    assert (found.home, found.away) == (Team(40, "Liverpool"), Team(42, "Arsenal"))
    assert (found.home_goals, found.away_goals, found.winner_id) == (1, 0, 40)
    assert found.goals is not None
    [goal] = found.goals
    assert (goal.team.id, goal.player_id, goal.player_name, goal.minute, goal.extra) == (40, 306, "M. Salah", 45, 3)
    assert "lineups" not in found.raw


@pytest.mark.parametrize(
    ("case", "entries", "kept"),
    [
        ("all three kinds", [entry(1), entry(2, detail="Penalty"), entry(3, detail="Own Goal")], [1, 2, 3]),
        ("a missed penalty is none", [entry(1, detail="Missed Penalty")], []),
        ("a card is none", [entry(1, type="Card", detail="Red Card")], []),
        ("the shoot-out is none", [entry(120, detail="Penalty", comments="Penalty Shootout")], []),
        ("however it is written", [entry(120, detail="Penalty", comments="in the PENALTY SHOOT-OUT")], []),
        ("a comment changes nothing", [entry(5, comments="Foul")], [5]),
        ("an unknown scorer is one", [entry(6, player=None)], [6]),
        ("a bad one spares the others", [entry(None), None, entry(7), entry(8, team=None)], [7]),
        ("another team's is none", [entry(9, team={"id": 99, "name": "Else"})], []),
        ("a minute as text", [entry("12")], [12]),
    ],
)
def test_which_entries_are_goals(case: str, entries: list[Any], kept: list[int]) -> None:
    assert [goal.minute for goal in one(document(5000, *entries)).goals or ()] == kept, case


@given(
    st.sampled_from(["penalty ", "Penalties ", "in the penalty-", "", "Scored in the "]),
    st.sampled_from(["shoot", "SHOOT", "Shoot", "ｓｈｏｏｔ"]),  # noqa: RUF001
    st.sampled_from(["", " ", "-", "  ", "\u2011", "\u2013", "_", "\u00a0", ". "]),
    st.sampled_from(["out", "OUT", "Out", "outs"]),
    st.sampled_from(["", ".", " (4-3)", ", 5th kick", "1", " 2"]),
)
def test_a_shoot_out_in_any_spelling_has_no_goals(before: str, shoot: str, between: str, out: str, after: str) -> None:
    comments = f"{before}{shoot}{between}{out}{after}"
    assert not is_tracked(entry(120, detail="Penalty", comments=comments), GOALS), comments


@pytest.mark.parametrize("comments", ["Penalty shot-out", "penalty shotouts", "Penalty shooting", "Penalty Shooot-out"])
def test_a_misspelled_shoot_out_has_none_either(comments: str) -> None:
    assert not is_tracked(entry(120, detail="Penalty", comments=comments), GOALS)


@pytest.mark.parametrize(
    "comments",
    [
        "Shoots outside the box",
        "shoot outside",
        "Penalty",
        "Penalty shot",
        "Shot out of reach",
        "Outstanding shot",
        None,
    ],
)
def test_other_comments_change_nothing(comments: str | None) -> None:
    assert is_tracked(entry(5, comments=comments), GOALS)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (None, SkipReason.NOT_AN_OBJECT),
        ([], SkipReason.NOT_AN_OBJECT),
        ({}, SkipReason.NO_ID),
        (document(None), SkipReason.NO_ID),
        (document(True), SkipReason.NO_ID),
        (document(LARGEST_ID + 1), SkipReason.NO_ID),
        (document(status=None), SkipReason.NO_STATUS),
        (document(status=" "), SkipReason.NO_STATUS),
        (document(fixture={"id": 5000, "status": {"short": "NS"}, "date": "soon"}), SkipReason.NO_KICK_OFF),
        (document(teams={"home": {"id": 40, "name": "A"}, "away": None}), SkipReason.NO_TEAMS),
        (document(teams={"home": {"id": 40, "name": "A"}, "away": {"id": 40, "name": "B"}}), SkipReason.NO_TEAMS),
        (document(5001), SkipReason.DOUBLED),
    ],
)
def test_a_bad_match_is_left_out_and_stops_nobody(bad: Any, reason: SkipReason) -> None:
    found = read([GOOD, bad, document(5002)], GOALS, with_events=True)
    assert [each.id for each in found.fixtures] == [5001, 5002]
    assert [each.reason for each in found.left_out] == [reason]


def test_no_events_is_not_no_goals() -> None:
    asked = read([document(events=None)], GOALS, with_events=True)
    assert asked.fixtures[0].goals is None
    assert [each.reason for each in asked.left_out] == [SkipReason.NO_EVENTS]
    assert one(document()).goals == ()
    assert read([document(events=None)], GOALS, with_events=False).left_out == ()


def test_too_deep_is_left_out() -> None:
    deep: Any = []
    for _ in range(3000):
        deep = [deep]
    assert [each.reason for each in read([document(odd=deep)], GOALS, with_events=True).left_out] == [
        SkipReason.TOO_DEEP
    ]
    with pytest.raises(ValueError, match="deeply"):
        parsed(b"[" * 200_000)


@given(broken([GOOD, document(5000, entry(), entry(30, detail="Own Goal"))]))
def test_whatever_is_broken_reading_ends_and_gives_what_can_be_stored(response: Any) -> None:
    found = read(response, GOALS, with_events=True)
    assert len({each.id for each in found.fixtures}) == len(found.fixtures)
    for fixture in found.fixtures:
        text = json.dumps(fixture.raw, ensure_ascii=False, allow_nan=False)
        assert "\\u0000" not in text
        text.encode()
        assert 0 < fixture.id <= LARGEST_ID
        assert fixture.home.id != fixture.away.id
        for goal in fixture.goals or ():
            assert goal.team in (fixture.home, fixture.away)
            assert 0 <= goal.minute <= 200


@given(broken(document(5000, entry())))
def test_a_broken_match_never_hides_a_good_one(bad: Any) -> None:
    found = read([GOOD, bad], GOALS, with_events=True)
    assert 5001 in {each.id for each in found.fixtures}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, 7),
        ("7", 7),
        (True, None),
        (7.0, None),
        (-1, None),
        ("\uff17", None),
        ("", None),
        ("7 ", None),
        (10**9, None),
    ],
)
def test_whole_numbers(value: Any, expected: int | None) -> None:
    assert whole(value) == expected


def test_words_are_one_line_that_postgres_takes() -> None:
    assert words(" Göteryd\n FF\t") == "Göteryd FF"
    assert words("a\x00b\ud800") == "a\ufffdb\ufffd"
    assert words("e" * 500) == "e" * LONGEST_NAME
    assert words(3) is None


@pytest.mark.parametrize(
    ("timestamp", "written", "expected"),
    [
        (1_773_500_400, None, datetime(2026, 3, 14, 15, tzinfo=UTC)),
        (None, "2026-03-14T16:00:00+01:00", datetime(2026, 3, 14, 15, tzinfo=UTC)),
        (None, "2026-03-14T15:00:00", datetime(2026, 3, 14, 15, tzinfo=UTC)),
        ("x", "2026-03-14T00:00:00+00:00", datetime(2026, 3, 14, tzinfo=UTC)),
        (0, None, None),
        (None, "0001-01-01T00:00:00+23:00", None),
        (None, "9999-12-31T23:59:59-23:00", None),
        (None, None, None),
    ],
)
def test_moments(timestamp: Any, written: Any, expected: datetime | None) -> None:
    assert moment(timestamp, written) == expected


def test_storable_keeps_what_is_fine() -> None:
    fine = {"a": [1, 1.5, None, True, "ß"], "b": {}}
    assert storable(fine) == fine
    assert storable([float("nan"), float("inf"), {"\x00": "\x00"}]) == [None, None, {"\ufffd": "\ufffd"}]
