from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from touchline.watch.fixtures import rules
from touchline.watch.fixtures.rules import Completion, FailureCount, Fixture, Followed, GoalFacts, HeldUp, Stage
from touchline.watch.goals.workflow import name_of_run
from touchline.watch.settings import FixtureSettings

SETTINGS = FixtureSettings()
KICK_OFF = datetime(2026, 3, 14, 15, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
STATUSES = st.sampled_from([*sorted(rules.KNOWN), "WAT"])
MOMENTS = st.datetimes(datetime(2026, 3, 1), datetime(2026, 4, 1), timezones=st.just(UTC))  # noqa: DTZ001


def followed(status: str, stage: Stage = Stage.STAGING, held_up: HeldUp | None = None) -> Followed:
    return Followed(1, stage, status, KICK_OFF, held_up)


def postponed(after_kick_off: timedelta, before: timedelta = 0 * HOUR) -> HeldUp:
    """When it was, counted from the kick-off that it has now, and how much earlier the kick-off was then."""
    return HeldUp(KICK_OFF + after_kick_off, KICK_OFF - before)


@pytest.mark.parametrize(
    ("statuses", "stage"),
    [
        ("TBD NS WAT", Stage.STAGING),
        ("1H HT 2H ET BT P SUSP INT LIVE PST", Stage.ACTIVE),
        ("FT AET PEN CANC ABD AWD WO", Stage.COMPLETED),
    ],
)
def test_the_stage_by_status(statuses: str, stage: Stage) -> None:
    assert {rules.stage_by_status(status) for status in statuses.split()} == {stage}


@pytest.mark.parametrize(
    ("case", "status", "after_kick_off", "active"),
    [
        ("long before", "NS", -3 * HOUR, False),
        ("a minute too early", "NS", -31 * MINUTE, False),
        ("half an hour before", "NS", -30 * MINUTE, True),
        ("the feed says it is live", "1H", -3 * HOUR, True),
        ("nobody looked while it was played", "FT", 3 * HOUR, True),
        ("an unknown status, in time", "WAT", MINUTE, True),
        ("postponed, for now", "PST", HOUR, True),
        ("postponed for too long", "PST", 48 * HOUR, False),
        ("never begun", "NS", 48 * HOUR, False),
        ("suspended for days, then played", "2H", 72 * HOUR, True),
    ],
)
def test_activation(case: str, status: str, after_kick_off: timedelta, active: bool) -> None:
    assert rules.activates(followed(status), KICK_OFF + after_kick_off, SETTINGS) is active, case


@pytest.mark.parametrize(
    ("case", "status", "after_kick_off", "stage"),
    [
        ("played", "2H", HOUR, Stage.ACTIVE),
        ("postponed, for now", "PST", 47 * HOUR, Stage.ACTIVE),
        ("postponed for too long", "PST", 48 * HOUR, Stage.STAGING),
        ("it has another date", "NS", -5 * DAY, Stage.STAGING),
        ("about to begin", "NS", -10 * MINUTE, Stage.ACTIVE),
        ("over: completing it is another matter", "FT", 80 * HOUR, Stage.ACTIVE),
        ("suspended for days", "SUSP", 49 * HOUR, Stage.STAGING),
    ],
)
def test_where_an_active_match_goes(case: str, status: str, after_kick_off: timedelta, stage: Stage) -> None:
    assert rules.next_stage(followed(status, Stage.ACTIVE), KICK_OFF + after_kick_off, SETTINGS) is stage, case


@pytest.mark.parametrize(
    ("case", "held_up", "after_kick_off", "stage"),
    [
        ("a new date, days away", postponed(-5 * DAY, 5 * DAY), -5 * DAY, Stage.STAGING),
        ("just told", postponed(-5 * DAY, 5 * DAY), -5 * DAY + MINUTE, Stage.STAGING),
        ("a new date, the day after", postponed(-DAY, DAY), -DAY + MINUTE, Stage.ACTIVE),
        ("postponed a day before, on its old date", postponed(-DAY), 23 * HOUR, Stage.ACTIVE),
        ("two days after it was", postponed(-DAY), 24 * HOUR, Stage.STAGING),
        ("broken off, and two days are not over", HeldUp(KICK_OFF + HOUR, KICK_OFF), 48 * HOUR, Stage.ACTIVE),
        ("broken off, and they are", HeldUp(KICK_OFF + HOUR, KICK_OFF), 49 * HOUR, Stage.STAGING),
        ("the new date has come", postponed(-5 * DAY, 5 * DAY), -30 * MINUTE, Stage.ACTIVE),
        ("and nobody plays", postponed(-5 * DAY, 5 * DAY), 47 * HOUR, Stage.ACTIVE),
        ("not for two days", postponed(-5 * DAY, 5 * DAY), 48 * HOUR, Stage.STAGING),
        ("two days between the telling and the new date", postponed(-72 * HOUR, DAY), -24 * HOUR, Stage.STAGING),
    ],
)
def test_where_a_postponed_match_goes(case: str, held_up: HeldUp, after_kick_off: timedelta, stage: Stage) -> None:
    """From either stage to the same one: it is not sent back and forth."""
    now = KICK_OFF + after_kick_off
    assert rules.next_stage(followed("PST", Stage.ACTIVE, held_up), now, SETTINGS) is stage, case
    has_come = now >= KICK_OFF - SETTINGS.activation_lead
    if has_come or stage is Stage.STAGING:
        assert rules.next_stage(followed("PST", Stage.STAGING, held_up), now, SETTINGS) is stage, case


@pytest.mark.parametrize(
    ("after_kick_off", "stage"),
    [(-5 * DAY, Stage.STAGING), (-47 * HOUR, Stage.ACTIVE), (HOUR, Stage.ACTIVE), (48 * HOUR, Stage.STAGING)],
)
def test_a_match_that_is_first_heard_of_when_it_is_postponed(after_kick_off: timedelta, stage: Stage) -> None:
    assert rules.first_stage("PST", KICK_OFF, KICK_OFF + after_kick_off, SETTINGS) is stage


@given(MOMENTS, MOMENTS, MOMENTS)
def test_a_postponed_match_is_not_polled_closely_for_longer_than_it_may(
    since: datetime, old_kick_off: datetime, now: datetime
) -> None:
    """Two days from the postponement, or around its new date; far from both it waits."""
    held_up = HeldUp(since, old_kick_off)
    match = followed("PST", Stage.ACTIVE, held_up)
    is_active = rules.next_stage(match, now, SETTINGS) is Stage.ACTIVE
    if is_active:
        assert now < since + 2 * DAY or KICK_OFF - 30 * MINUTE <= now < KICK_OFF + 2 * DAY
        assert now + 2 * DAY >= KICK_OFF
    moved = rules.next_stage(followed("PST", Stage.STAGING, held_up), now, SETTINGS)
    assert is_active or moved is Stage.STAGING, "else it would go back and forth"


def test_a_called_off_match_with_another_date_comes_back() -> None:
    again = followed("NS", Stage.COMPLETED)
    assert rules.next_stage(again, KICK_OFF - DAY, SETTINGS) is Stage.STAGING
    assert rules.next_stage(again, KICK_OFF + DAY, SETTINGS) is Stage.COMPLETED


@given(STATUSES, st.sampled_from(Stage), MOMENTS)
def test_a_match_that_moved_stays_where_it_is(status: str, stage: Stage, now: datetime) -> None:
    """The same answer of the feed at the same time never sends it back and forth."""
    moved = rules.next_stage(followed(status, stage), now, SETTINGS)
    again = rules.next_stage(followed(status, moved), now, SETTINGS)
    assert again is rules.next_stage(followed(status, again), now, SETTINGS)
    if stage is not Stage.COMPLETED:
        assert moved is not Stage.COMPLETED
        assert again is moved


@given(STATUSES, MOMENTS)
def test_a_new_match_is_put_where_it_can_stay_or_move_on_once(status: str, now: datetime) -> None:
    first = rules.first_stage(status, KICK_OFF, now, SETTINGS)
    assert rules.next_stage(followed(status, first), now, SETTINGS) in (first, Stage.ACTIVE)


@pytest.mark.parametrize(
    ("case", "last", "due"),
    [
        ("never looked at", None, True),
        ("in this quarter", datetime(2026, 3, 14, 12, 15, tzinfo=UTC), False),
        ("in the last one", datetime(2026, 3, 14, 12, 14, 59, tzinfo=UTC), True),
        ("in this quarter of another day", datetime(2026, 3, 13, 12, 16, tzinfo=UTC), True),
    ],
)
def test_staging_is_looked_at_once_a_quarter(case: str, last: datetime | None, due: bool) -> None:
    assert rules.is_due(last, datetime(2026, 3, 14, 12, 29, 59, tzinfo=UTC), SETTINGS) is due, case


def test_home_or_away_is_enough() -> None:
    assert rules.is_tracked(1, 2, {1})
    assert rules.is_tracked(1, 2, {2})
    assert not rules.is_tracked(1, 2, {3})


def goal(
    *,
    team_id: int = 40,
    complete: bool = True,
    absences: int = 0,
    wait_s: float | None = 60,
    outcome: str = "found",
) -> GoalFacts:
    seen = KICK_OFF + 20 * MINUTE
    first = seen + timedelta(seconds=wait_s) if wait_s is not None else None
    return GoalFacts("1_2_3_Goal_1", team_id, complete, absences, seen, first, int(wait_s is not None), outcome)


@pytest.mark.parametrize(
    ("case", "status", "goals", "verdict"),
    [
        ("nothing happened", "FT", [], Completion.COUNTS),
        ("all is done", "PEN", [goal(), goal()], Completion.COUNTS),
        ("called off", "CANC", [], Completion.COUNTS),
        ("still played", "2H", [goal()], Completion.NOT_YET),
        ("postponed", "PST", [], Completion.NOT_YET),
        ("a goal is searched for", "FT", [goal(), goal(complete=False)], Completion.NOT_YET),
        ("a goal may be taken away", "FT", [goal(absences=2)], Completion.WAITS),
        ("the score says that it stays", "FT", [goal(absences=3)], Completion.COUNTS),
    ],
)
def test_completion(case: str, status: str, goals: list[GoalFacts], verdict: Completion) -> None:
    is_over = rules.is_over(status, KICK_OFF, KICK_OFF + 2 * HOUR, SETTINGS)
    assert rules.completion(is_over, goals, 3, is_goal_unlisted=False) is verdict, case
    if verdict is Completion.COUNTS:
        assert rules.completion(is_over, goals, 3, is_goal_unlisted=True) is Completion.WAITS, case


@pytest.mark.parametrize(
    ("case", "status", "totals", "goals", "over_for", "waits"),
    [
        ("all are listed", "FT", (1, 1), [goal(), goal(team_id=41)], MINUTE, False),
        ("one is not", "FT", (2, 1), [goal(), goal(team_id=41)], MINUTE, True),
        ("one of the other side", "FT", (1, 2), [goal(), goal(team_id=41)], MINUTE, True),
        ("more are listed than counted", "FT", (0, 1), [goal(), goal(team_id=41)], MINUTE, False),
        ("none is", "AET", (1, 0), [], 29 * MINUTE, True),
        ("nobody waits for ever", "FT", (2, 1), [goal()], 30 * MINUTE, False),
        ("the totals are not told", "FT", (None, None), [], MINUTE, False),
        ("decided at a desk", "AWD", (3, 0), [], MINUTE, False),
        ("nobody came", "WO", (3, 0), [], MINUTE, False),
        ("still played", "2H", (1, 0), [], None, False),
    ],
)
def test_a_finished_match_waits_for_a_goal_that_is_not_listed(
    case: str,
    status: str,
    totals: tuple[int | None, int | None],
    goals: list[GoalFacts],
    over_for: timedelta | None,
    waits: bool,
) -> None:
    now = KICK_OFF + 2 * HOUR
    fixture = Fixture(
        id=1, stage="active", status=status, kick_off=KICK_OFF, home_id=40, home_name="", away_id=41, away_name="",
        home_goals=totals[0], away_goals=totals[1], winner_id=None, last_monitor=None, activated_at=None,
        completion_runs=[], failure=None, revision=1, held_up_since=None, held_up_kick_off=None,
        over_since=now - over_for if over_for else None,
    )  # fmt: skip
    assert rules.is_goal_unlisted(fixture, goals, now, SETTINGS) is waits, case


@pytest.mark.parametrize(
    ("case", "status", "active_for", "over"),
    [
        ("played", "2H", 2 * HOUR, False),
        ("held up for two days, then played", "2H", 53 * HOUR, False),
        ("left in play by the feed", "2H", 54 * HOUR, True),
        ("nobody has followed it yet", "2H", None, False),
        ("held up", "SUSP", 72 * HOUR, False),
        ("finished", "FT", 2 * HOUR, True),
    ],
)
def test_a_match_is_not_played_for_days(case: str, status: str, active_for: timedelta | None, over: bool) -> None:
    since = KICK_OFF - active_for if active_for else None
    assert rules.is_over(status, since, KICK_OFF, SETTINGS) is over, case


@pytest.mark.parametrize(
    ("runs", "winner", "complete"),
    [
        ([], 40, False),
        (["a"], 40, True),
        (["a", "b"], None, False),
        (["a", "b", "b"], None, False),
        ("abc", None, True),
    ],
)
def test_enough_looks_or_a_winner(runs: str, winner: int | None, complete: bool) -> None:
    assert rules.is_complete(runs, winner, SETTINGS) is complete


def test_matches_are_kept_from_midnight() -> None:
    now = datetime(2026, 3, 31, 18, 30, tzinfo=UTC)
    assert rules.kept_from(now, 14 * DAY) == datetime(2026, 3, 17, tzinfo=UTC)


def test_days() -> None:
    today = date(2026, 2, 28)
    assert rules.days_to_ingest(today) == (today, date(2026, 3, 1))
    ahead = rules.days_ahead(today, 30)
    assert (ahead[0], ahead[-1], len(ahead)) == (date(2026, 3, 2), date(2026, 3, 30), 29)


def test_the_summary_of_a_match() -> None:
    goals = [goal(wait_s=30), goal(wait_s=90), goal(wait_s=None, outcome="unidentified")]
    told = rules.summary(goals, [FailureCount("gone", 2), FailureCount("forbidden", 2), FailureCount("slow", 1)])
    assert told.document() == {
        "goals": 3,
        "goals_with_video": 2,
        "first_video_p50_s": 30.0,
        "first_video_p95_s": 90.0,
        "top_failure": "forbidden",
    }
    assert rules.summary([], []).document() == {
        "goals": 0,
        "goals_with_video": 0,
        "first_video_p50_s": None,
        "first_video_p95_s": None,
        "top_failure": None,
    }


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_a_percentile_was_measured_and_grows(values: list[float]) -> None:
    ascending = sorted(values)
    found = [rules.percentile(ascending, percent) or 0.0 for percent in (0, 50, 95, 100)]
    assert all(each in ascending for each in found)
    assert found == sorted(found)
    assert (found[0], found[-1]) == (ascending[0], ascending[-1])


@pytest.mark.parametrize(
    ("workflow_id", "scheduled", "name"),
    [
        ("monitor-2024-12-05T15:23:30Z", datetime(2024, 12, 5, 15, 23, 30, tzinfo=UTC), "monitor-05_12_2024-15:23:30"),
        ("monitor-05_12_2024-15:00:00", None, "monitor-05_12_2024-15:00:00"),
        ("by-hand", None, "monitor-06_12_2024-00:00:01"),
    ],
)
def test_the_readable_id_of_a_run(workflow_id: str, scheduled: datetime | None, name: str) -> None:
    assert name_of_run(workflow_id, scheduled, datetime(2024, 12, 6, 0, 0, 1, 999, tzinfo=UTC)) == name
