"""What a person reads of a goal: tables a person can check, then properties."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as some

from touchline.watch.views.rules import (
    FoundGroup,
    Goal,
    GoalState,
    Video,
    ViewLimits,
    class_words,
    group_of,
    is_named,
    percentile,
    search_words,
    show,
    summary,
    telemetry,
)

LIMITS = ViewLimits(polls_to_trust=3, search_attempts=10)
SEEN_AT = datetime(2026, 11, 15, 20, 23, tzinfo=UTC)
VIDEO = Video("a" * 32, 1, True, "22:41", 3, "https://x.com/a/status/1", SEEN_AT, 1, 1, 1, 1, 1)
GOAL = Goal(
    event_id="100_42_1465_Goal_1",
    generation=1,
    fixture_id=100,
    team_id=42,
    team_name="Arsenal",
    player_id=1465,
    player_name="B. Saka",
    type="Goal",
    detail="Normal Goal",
    minute=23,
    extra=None,
    home_score=1,
    away_score=0,
    first_seen=SEEN_AT,
    seen=1,
    stable_at=None,
    monitor_complete=False,
    twitter_attempt=0,
    searched_at=None,
    search_failure=None,
    attempts_ended=0,
    download_complete=False,
    completed_at=None,
    outcome=None,
    first_archived_at=None,
    batches_waiting=0,
    downloaded=0,
    validated=0,
    archived=0,
    revision=1,
)
SEARCHING = replace(GOAL, seen=3, stable_at=SEEN_AT, monitor_complete=True, twitter_attempt=4)
SEARCHED = replace(SEARCHING, twitter_attempt=10)
ENDED = replace(SEARCHED, download_complete=True, outcome="nothing_found")
WAITING = FoundGroup("downloaded", None, True, 2)


def rejected(why: str, count: int) -> FoundGroup:
    return FoundGroup("rejected", why, False, count)


def failed(why: str | None, count: int) -> FoundGroup:
    return FoundGroup("failed", why, False, count)


@pytest.mark.parametrize(
    ("goal", "state", "words"),
    [
        (replace(GOAL, player_name=None), "unidentified", "Scorer not identified"),
        (replace(GOAL, player_name=" N/A "), "unidentified", "Scorer not identified"),
        (replace(GOAL, seen=2), "seen", "Seen 2 of 3"),
        (replace(GOAL, seen=7), "seen", "Seen 3 of 3"),
        (replace(GOAL, stable_at=SEEN_AT), "stable", "Search starts soon"),
        (replace(SEARCHING, twitter_attempt=0), "searching", "Searching, attempt 1 of 10"),
        (SEARCHING, "searching", "Searching, attempt 4 of 10"),
        (SEARCHED, "searching", "Searching, attempt 10 of 10"),
        (replace(SEARCHED, found=(WAITING,)), "validating", "Waiting for validation"),
        (replace(SEARCHED, batches_waiting=1), "archiving", "Waiting to be archived"),
        (ENDED, "complete", "No video"),
        (replace(ENDED, videos=(VIDEO,)), "complete", "Complete, 1 video"),
        (replace(ENDED, videos=(VIDEO, VIDEO)), "complete", "Complete, 2 videos"),
        (replace(ENDED, player_name=None, outcome="unidentified"), "complete", "No video"),
    ],
)
def test_a_state_in_words(goal: Goal, state: str, words: str) -> None:
    shown = show(goal, LIMITS)
    assert (shown.state, shown.words) == (state, words)


@pytest.mark.parametrize(
    ("goal", "why"),
    [
        (GOAL, ""),
        (SEARCHING, ""),
        (replace(ENDED, videos=(VIDEO,), found=(rejected("not_football", 3),)), ""),
        (ENDED, "Nothing was found"),
        (replace(ENDED, outcome="unidentified"), "The scorer was never identified"),
        (replace(ENDED, outcome="search_unavailable"), "Search unavailable"),
        (replace(ENDED, outcome="lost"), "Its search was lost"),
        (
            replace(ENDED, found=(rejected("another_minute", 2), rejected("not_football", 3))),
            "Not football \u00d73, clock shows another minute \u00d72",
        ),
        (replace(SEARCHING, search_failure="login_expired: sign in again"), "Search unavailable: login expired"),
        (replace(ENDED, search_failure="internal: the page is empty"), "Search unavailable: the page is empty"),
        (replace(ENDED, found=(failed("forbidden", 2),)), "Download failed: 403 \u00d72"),
        (replace(ENDED, found=(failed("validator unavailable", 1),)), "Validator unavailable"),
        (replace(SEARCHED, found=(WAITING,)), "Waiting for validation \u00d72"),
        (replace(ENDED, found=(failed("some_new_code", 1),)), "Download failed: some new code"),
    ],
)
def test_why_there_is_no_video(goal: Goal, why: str) -> None:
    assert show(goal, LIMITS).summary == why


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        ("failed", None, "download failed"),
        ("failed", "http_403", "download failed: 403"),
        ("failed", "forbidden", "download failed: 403"),
        ("rejected", "no_video", "download failed: the post has no video"),
        ("rejected", "something_new", "something new"),
        ("failed", "not_comparable", "could not be compared"),
        ("rejected", None, "rejected"),
        ("rejected", "another_minute", "clock shows another minute"),
    ],
)
def test_a_class_in_words(state: str, code: str | None, words: str) -> None:
    assert class_words(state, code) == words


def test_only_the_code_of_a_reason_tells_classes_apart() -> None:
    assert group_of("rejected", "another_minute: 44", False, 1) == rejected("another_minute", 1)
    assert group_of("failed", "", False, 1) == failed(None, 1)


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ("rate_limited: 429", "too many searches"),
        ("unavailable: the session of the network has expired: it asks for a login. Sign in.", "login expired"),
        ("unavailable: no account is signed in to the network", "login expired"),
        ("unavailable: the browser role does not answer", "no response"),
        ("TimeoutError: no time is left. Try again.", "no time is left"),
        ("odd_code", "odd code"),
    ],
)
def test_why_a_search_failed(failure: str, words: str) -> None:
    assert search_words(failure) == f"search unavailable: {words}"


def test_a_search_that_says_nothing_is_unavailable() -> None:
    assert search_words(None) == search_words("") == "search unavailable"


def test_telemetry_counts_by_class() -> None:
    goal = replace(
        ENDED, search_failure="unavailable", found=(rejected("not_football", 3), failed("forbidden", 2), WAITING)
    )
    said = telemetry(replace(goal, first_archived_at=SEEN_AT + timedelta(seconds=48)))
    assert (said.attempts, said.found, said.first_video_s) == (10, 7, 48)
    assert said.failures == {"not_football": 3, "forbidden": 2, "search_unavailable": 1}
    assert telemetry(replace(goal, first_archived_at=SEEN_AT - timedelta(seconds=1))).first_video_s == 0


def test_a_match_in_figures() -> None:
    with_video = [
        replace(ENDED, videos=(VIDEO,), first_archived_at=SEEN_AT + timedelta(seconds=after)) for after in (30, 90, 60)
    ]
    said = summary([*with_video, replace(ENDED, found=(rejected("not_football", 2),))])
    assert (said.goals, said.covered, said.coverage) == (4, 3, 0.75)
    assert (said.first_video_p50_s, said.first_video_p95_s) == (60, 90)
    assert said.top_failure
    assert (said.top_failure.words, said.top_failure.count) == ("not football", 2)
    nothing = summary([])
    assert (nothing.goals, nothing.coverage, nothing.first_video_p50_s, nothing.top_failure) == (0, None, None, None)


groups = some.builds(
    FoundGroup,
    some.sampled_from(["seen", "selected", "downloaded", "rejected", "failed"]),
    some.none() | some.text(max_size=12),
    some.booleans(),
    some.integers(1, 50),
)
goals: Any = some.builds(
    replace,
    some.just(GOAL),
    player_name=some.none() | some.text(max_size=8),
    seen=some.integers(0, 9),
    stable_at=some.none() | some.just(SEEN_AT),
    monitor_complete=some.booleans(),
    twitter_attempt=some.integers(0, 60),
    search_failure=some.none() | some.text(max_size=20),
    download_complete=some.booleans(),
    outcome=some.none() | some.sampled_from(["found", "nothing_found", "unidentified", "search_unavailable", "lost"]),
    batches_waiting=some.integers(0, 3),
    found=some.lists(groups, max_size=4).map(tuple),
    videos=some.lists(some.just(VIDEO), max_size=2).map(tuple),
)


@given(goals)
def test_every_goal_has_words_and_one_that_ended_without_a_video_says_why(goal: Goal) -> None:
    shown = show(goal, LIMITS)
    assert shown.words
    assert (shown.state is GoalState.COMPLETE) == goal.download_complete
    assert not (goal.videos and shown.why)
    if goal.download_complete and not goal.videos:
        assert shown.summary
    assert sum(telemetry(goal).failures.values()) >= sum(reason.count for reason in shown.why if reason.count) - sum(
        group.count for group in goal.found if group.waits
    )


@given(some.lists(some.floats(0, 1e6), min_size=1).map(sorted), some.integers(1, 100))
def test_a_percentile_is_one_of_the_values_and_reaches_that_many(ordered: list[float], percent: int) -> None:
    found = percentile(ordered, percent)
    assert found in ordered
    assert sum(value <= found for value in ordered) * 100 >= percent * len(ordered)


@pytest.mark.parametrize(
    ("query", "names", "found"),
    [
        ("gomez", "Arsenal Liverpool Premier League J. Gómez", True),
        ("ARS liver", "Arsenal Liverpool", True),
        ("arsenal saka", "Arsenal Liverpool J. Gómez", False),
        ("senal", "Arsenal", False),
        ("sorensen", "E. Sørensen", True),
        ("", "Arsenal", False),
        ("!?", "Arsenal", False),
    ],
)
def test_a_match_is_named_by_the_beginnings_of_words(query: str, names: str, found: bool) -> None:
    assert is_named(query, names) is found
