from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from touchline.platform.stack.supervisor import LivenessPolicy, RestartPolicy, failures_in_a_row, is_hung, restart_delay

SECOND = timedelta(seconds=1)
POLICY = RestartPolicy(first=SECOND / 5, longest=30 * SECOND, stable_after=60 * SECOND)


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(1, 0.2), (2, 0.4), (3, 0.8), (8, 25.6), (9, 30.0), (10_000, 30.0)],
)
def test_each_delay_is_twice_the_one_before_up_to_the_longest(failures: int, seconds: float) -> None:
    assert restart_delay(failures, POLICY, luck=0).total_seconds() == seconds


@pytest.mark.parametrize(
    ("case", "before", "ready_for", "failures"),
    [
        ("the first time", 0, timedelta(0), 1),
        ("never came up", 4, timedelta(0), 5),
        ("fell before it was stable", 4, 59 * SECOND, 5),
        ("stood long enough", 4, 60 * SECOND, 1),
    ],
)
def test_failures_in_a_row(case: str, before: int, ready_for: timedelta, failures: int) -> None:
    assert failures_in_a_row(before, ready_for, POLICY) == failures, case


@pytest.mark.parametrize(
    ("case", "unanswered", "silent_s", "hung"),
    [
        ("it answers", 0, 0, False),
        ("busy for a while", 2, 119, False),
        ("the machine slept for a day between two questions", 1, 86_400, False),
        ("refused quickly, many times", 100, 5, False),
        ("just before the time", 50, 119.9, False),
        ("asked several times, for long enough", 3, 120, True),
    ],
)
def test_what_counts_as_hung(case: str, unanswered: int, silent_s: float, hung: bool) -> None:
    policy = LivenessPolicy(every=10 * SECOND, hung_after=120 * SECOND)
    assert is_hung(unanswered, silent_s * SECOND, policy) is hung, case


@given(st.integers(1, 1_000_000), st.floats(0, 1, exclude_max=True))
def test_a_delay_is_never_shorter_than_the_first_nor_much_longer_than_the_longest(failures: int, luck: float) -> None:
    assert POLICY.first <= restart_delay(failures, POLICY, luck) <= POLICY.longest * 1.25
