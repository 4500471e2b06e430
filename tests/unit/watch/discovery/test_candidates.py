from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings, strategies as st

from touchline.watch.discovery.rules import MOST_TRIES, Aim, Candidate, SearchedGoal, age_minutes, choose, is_free

NOW = datetime(2026, 3, 14, 15, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
AIM = Aim("Sorensen", ["Northport", "NFC"], NOW - 2 * MINUTE)
ENDED = frozenset({"download1-x"})
PLAIN = Candidate(
    "1850000000000000001", 1, "seen", 0, None, None, NOW, NOW - MINUTE, 12.0, "Sørensen! #Northport"
)  # fmt: skip
GOAL = SearchedGoal("9_40_1_Goal_1", 1, 9, "M. Sørensen", NOW - 2 * MINUTE, None, None, None, [], 1)


@pytest.mark.parametrize(
    ("case", "candidate", "free"),
    [
        ("seen", PLAIN, True),
        ("failed, pause over", replace(PLAIN, state="failed", retry_at=NOW), True),
        ("failed, pause not over", replace(PLAIN, state="failed", retry_at=NOW + MINUTE), False),
        ("failed without a pause", replace(PLAIN, state="failed"), True),
        ("somebody is at it", replace(PLAIN, state="selected", last_try="download2-x"), False),
        ("its run ended and left it", replace(PLAIN, state="selected", last_try="download1-x"), True),
        ("rejected", replace(PLAIN, state="rejected"), False),
        ("downloaded", replace(PLAIN, state="downloaded"), False),
        ("tried too often", replace(PLAIN, state="failed", tries=MOST_TRIES), False),
    ],
)
def test_what_may_be_tried(case: str, candidate: Candidate, free: bool) -> None:
    assert is_free(candidate, ENDED, NOW) is free, case


@pytest.mark.parametrize(
    ("case", "better", "worse"),
    [
        ("not tried before", PLAIN, replace(PLAIN, state="failed", tries=1)),
        ("a length that is kept", PLAIN, replace(PLAIN, duration_s=95.0)),
        ("a length that is kept", PLAIN, replace(PLAIN, duration_s=3.0)),
        ("a length that is known", PLAIN, replace(PLAIN, duration_s=None)),
        ("an unknown length may be good", replace(PLAIN, duration_s=None), replace(PLAIN, duration_s=200.0)),
        ("names player and team", PLAIN, replace(PLAIN, post_text="Northport")),
        ("names one of them", replace(PLAIN, post_text="SORENSEN"), replace(PLAIN, post_text="wow")),
        ("not from before the goal", PLAIN, replace(PLAIN, posted_at=NOW - 20 * MINUTE)),
        ("the longer one", replace(PLAIN, duration_s=30.0), PLAIN),
    ],
)
def test_the_better_comes_first(case: str, better: Candidate, worse: Candidate) -> None:
    better, worse = replace(better, post_id="2" * 19), replace(worse, post_id="1" * 19)
    assert choose([worse, better], AIM, ENDED, 1, NOW) == [better], case


candidates = st.builds(
    Candidate,
    post_id=st.integers(10**18, 10**18 + 50).map(str),
    video_index=st.just(1),
    state=st.sampled_from(["seen", "selected", "failed", "rejected", "downloaded"]),
    tries=st.integers(0, 12),
    last_try=st.sampled_from([None, "download1-x", "download2-x"]),
    retry_at=st.none() | st.integers(-5, 5).map(lambda minutes: NOW + minutes * MINUTE),
    found_at=st.just(NOW),
    posted_at=st.none() | st.integers(-30, 0).map(lambda minutes: NOW + minutes * MINUTE),
    duration_s=st.none() | st.floats(0, 300),
    post_text=st.sampled_from(["", "Sørensen", "NFC Sorensen"]),
)
unique = st.lists(candidates, unique_by=lambda each: each.post_id)


@settings(max_examples=30)
@given(unique, st.integers(1, 10))
def test_never_too_many_and_never_one_that_is_not_free(found: list[Candidate], most: int) -> None:
    chosen = choose(found, AIM, ENDED, most, NOW)
    free = [each for each in found if is_free(each, ENDED, NOW)]
    assert len(chosen) == min(most, len(free))
    assert all(is_free(each, ENDED, NOW) for each in chosen)


@settings(max_examples=30)
@given(unique, st.randoms(use_true_random=False))
def test_the_order_they_come_in_does_not_matter(found: list[Candidate], draw: object) -> None:
    shuffled = sorted(found, key=lambda _: draw.random())  # pyright: ignore[reportAttributeAccessIssue]
    assert choose(shuffled, AIM, ENDED, 5, NOW) == choose(found, AIM, ENDED, 5, NOW)


@settings(max_examples=30)
@given(unique)
def test_what_is_not_chosen_now_is_chosen_later(found: list[Candidate]) -> None:
    waiting, taken = list(found), list[Candidate]()
    while chosen := choose(waiting, AIM, ENDED, 5, NOW):
        taken += chosen
        waiting = [each for each in waiting if each not in chosen]
    assert {each.post_id for each in taken} == {each.post_id for each in found if is_free(each, ENDED, NOW)}


@pytest.mark.parametrize(
    ("case", "searched_ago", "first_seen_ago", "minutes"),
    [
        ("the first search, on time", None, 1.5, 3),
        ("every minute", 1.0, 10.0, 3),
        ("two searches failed", 3.0, 10.0, 4),
        ("half an hour without one", 30.0, 40.0, 31),
        ("never one that worked", None, 12.0, 13),
        ("not more than a day", 3000.0, 4000.0, 1440),
        ("a clock that runs ahead", -5.0, 10.0, 3),
    ],
)
def test_how_far_back(case: str, searched_ago: float | None, first_seen_ago: float, minutes: int) -> None:
    searched_at = None if searched_ago is None else NOW - searched_ago * MINUTE
    goal = replace(GOAL, searched_at=searched_at, first_seen=NOW - first_seen_ago * MINUTE)
    assert age_minutes(goal, 3, NOW) == minutes, case


@given(st.floats(0, 1000), st.integers(1, 60))
def test_no_time_is_left_out(minutes_ago: float, base: int) -> None:
    searched_at = NOW - minutes_ago * MINUTE
    age = age_minutes(replace(GOAL, searched_at=searched_at), base, NOW)
    assert NOW - age * MINUTE <= searched_at
    assert age >= base
