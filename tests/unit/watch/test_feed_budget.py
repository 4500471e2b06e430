"""How soon a feed that failed is asked again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import Misconfigured, QuotaExceeded, RateLimited, TouchlineError, Unavailable
from touchline.watch.fixtures.feed_budget import FIRST_PAUSE, LONGEST_PAUSE, next_try_after

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("attempt", "error", "seconds"),
    [
        (1, Unavailable("away"), 2),
        (2, Unavailable("away"), 4),
        (5, Unavailable("away"), 32),
        (6, Unavailable("away"), 60),
        (500, Misconfigured("no key"), 60),
        (1, QuotaExceeded("spent"), 2),
        (9, RateLimited("busy", retry_after=timedelta(seconds=17)), 17),
        (1, RateLimited("busy", retry_after=timedelta(minutes=30)), 1800),
        (1, RateLimited("busy", retry_after=timedelta(0)), 2),
        (3, RateLimited("busy"), 8),
    ],
)
def test_seconds_at_first_and_a_minute_at_most(attempt: int, error: TouchlineError, seconds: int) -> None:
    assert next_try_after(attempt, error) == seconds * SECOND


@given(st.integers(min_value=1, max_value=10**9))
def test_it_never_waits_for_longer_than_a_minute_nor_asks_without_a_pause(attempt: int) -> None:
    wait = next_try_after(attempt, Unavailable("away"))
    assert FIRST_PAUSE <= wait <= LONGEST_PAUSE
    assert next_try_after(attempt + 1, Unavailable("away")) >= wait
