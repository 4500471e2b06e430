"""Ranges, buckets and bars: what may be asked, and how answers are cut."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.support.sessions import NOON, fact_of, trace
from touchline.kernel import InvalidInput
from touchline.measure.analytics import rules
from touchline.measure.analytics.rules import Filter, TimeRange
from touchline.measure.settings import AnalyticsSettings

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
DAY_MS = 86_400_000
ranges = st.builds(
    lambda since, length: TimeRange(since, since + length), st.integers(0, 10**14), st.integers(1, 400 * DAY_MS)
)


def test_without_a_range_the_last_days_count() -> None:
    covered = rules.range_of(Filter(), NOW, AnalyticsSettings())
    assert covered.until_ms - covered.since_ms == 7 * DAY_MS


@given(st.datetimes(timezones=st.just(UTC)), st.timedeltas(timedelta(microseconds=1), timedelta(days=400)))
def test_a_range_leaves_nothing_out(since: datetime, length: timedelta) -> None:
    if datetime.max.replace(tzinfo=UTC) - since <= length + timedelta(seconds=1):
        return
    covered = rules.range_of(Filter(since=since, until=since + length), NOW, AnalyticsSettings())
    assert covered.since_ms < covered.until_ms


@given(ranges)
def test_buckets_cover_the_range_and_a_chart_can_show_them(covered: TimeRange) -> None:
    seconds = rules.bucket_seconds(covered, None)
    starts = rules.bucket_starts(covered, seconds)
    assert starts[0] <= covered.since_ms < covered.until_ms <= starts[-1] + seconds * 1_000
    assert len(starts) <= rules.MOST_BUCKETS
    assert all(start % (seconds * 1_000) == 0 for start in starts[:3])


EXCUSED = {"startup_unexcused": 0, "startup_excused": 1, "startup_outcome": "excused"}


@pytest.mark.parametrize("wanted", [0, -1, 1, 10**9])
def test_buckets_that_cannot_be(wanted: int) -> None:
    with pytest.raises(InvalidInput):
        rules.bucket_seconds(TimeRange(0, 7 * DAY_MS), wanted)


@given(st.dictionaries(st.sampled_from(rules.BAR_EDGES), st.integers(1, 1000), min_size=1))
def test_bars_lose_nothing_and_have_no_gaps(counts: dict[float, int]) -> None:
    bars = rules.bars_of(counts)
    assert {bar.from_ms: bar.count for bar in bars if bar.count} == counts
    assert all(one.to_ms == other.from_ms for one, other in pairwise(bars))
    assert all(bar.from_ms < bar.to_ms for bar in bars)
    assert bars[0].count > 0 < bars[-1].count


@pytest.mark.parametrize(
    ("given", "stands"),
    [
        ({}, "running"),
        ({"is_final": 1}, "unexcused"),
        ({"closed_ts": 1}, "unexcused"),
        ({"error_count": 1}, "unexcused"),
        ({"error_count": 1, "gateway": "touchline"}, "running"),  # its next attempt follows
        ({"error_count": 1, "gateway": "touchline", "closed_ts": 1}, "unexcused"),
        ({**EXCUSED, "excusable_patterns": ("cancelled:",)}, "cancelled"),
        ({**EXCUSED, "excusable_patterns": ("cancelled:",), "is_final": 1}, "excused"),
        ({**EXCUSED, "excusable_patterns": ("whip disconnected",)}, "excused"),
        ({"startup_unexcused": 0, "startup_success": 1, "startup_outcome": "success"}, "success"),
        ({"startup_unexcused": 0, "known_stream": 0, "startup_outcome": "not_in_denominator"}, "not_in_denominator"),
    ],
)
def test_what_is_not_decided_yet_is_neither_a_success_nor_a_failure(given: dict[str, Any], stands: str) -> None:
    row = replace(fact_of(trace("a", NOON, "gateway_receive_stream_request")).session, is_final=0)
    assert row.startup_outcome == "unexcused"
    assert rules.progress_of(replace(row, **given)) == stands
