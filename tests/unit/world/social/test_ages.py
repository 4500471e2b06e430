"""Times and counts as the network writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from touchline.world.social.ages import age, count, iso

NOW = datetime(2026, 3, 14, 13, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (timedelta(0), "now"),
        (timedelta(seconds=12), "12s"),
        (timedelta(seconds=60), "1m"),
        (timedelta(minutes=59, seconds=59), "59m"),
        (timedelta(hours=1), "1h"),
        (timedelta(hours=23, minutes=59), "23h"),
        (timedelta(hours=24), "Mar 13"),
        (timedelta(days=90), "Dec 14, 2025"),
    ],
)
def test_ages(before: timedelta, text: str) -> None:
    assert age(NOW - before, NOW) == text


def test_moments() -> None:
    assert iso(NOW + timedelta(milliseconds=7)) == "2026-03-14T13:00:00.007Z"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1234, "1,234"),
        (10_000, "10K"),
        (12_345, "12.3K"),
        (999_999, "999.9K"),
        (4_500_000, "4.5M"),
    ],
)
def test_counts(number: int, text: str) -> None:
    assert count(number) == text
