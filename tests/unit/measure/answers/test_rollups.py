"""Steps that lengths are put down to, and which part of a question sums of days can answer."""

from __future__ import annotations

from datetime import date, timedelta
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from touchline.measure.analytics.rollups.rules import (
    DAY_MS,
    FEW,
    behind,
    by_weeks,
    grouping,
    part,
    step,
    told,
    weeks,
    whole_days,
)
from touchline.measure.analytics.rules import BAR_EDGES, Dimension, Filter, Metric, Progress, TimeRange
from touchline.measure.facts.rules import LATEST_DAY

MANY = FEW + 1


@given(st.integers(0, 10**15))
def test_a_length_is_told_to_half_a_hundredth(value: int) -> None:
    assert abs(told(value, MANY) - value) <= value / 200
    assert value >= 200 or told(value, MANY) == value
    assert told(value, FEW) == value


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_longer_is_never_told_shorter(one: int, other: int) -> None:
    assert told(min(one, other), MANY) <= told(max(one, other), MANY)


def test_no_bar_begins_within_a_step() -> None:
    for edge in BAR_EDGES:
        assert int(edge) % step(int(edge)) == 0
        assert told(int(edge), MANY) >= edge > told(int(edge) - 1, MANY) or edge == 0


@pytest.mark.parametrize(
    ("wanted", "by", "expected"),
    [
        (Filter(), None, (Dimension.WORKFLOW_TYPE, None)),
        (Filter(), Dimension.HOUR, (Dimension.HOUR, None)),
        (Filter(gateway=""), None, (Dimension.GATEWAY, "")),
        (Filter(orchestrator="0xAB"), Dimension.ORCHESTRATOR, (Dimension.ORCHESTRATOR, "0xab")),
        (Filter(gateway="g"), Dimension.MODEL, None),
        (Filter(gateway="g"), Dimension.HOUR, None),
        (Filter(gateway="g", gpu="h"), None, None),
        (Filter(outcome=Progress.SUCCESS), None, None),
        (Filter(swapped=False), None, None),
        (Filter(failed=False), None, None),
        (Filter(search="x"), None, None),
        (Filter(metric=Metric.E2E), None, None),
    ],
)
def test_sums_answer_what_is_by_one_dimension(wanted: Filter, by: Dimension | None, expected: object) -> None:
    assert grouping(wanted, by) == expected


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        (0, DAY_MS, (date(1970, 1, 1), date(1970, 1, 1))),
        (1, DAY_MS, None),
        (0, DAY_MS - 1, None),
        (-5, 2 * DAY_MS + 1, (date(1970, 1, 1), date(1970, 1, 2))),
        (DAY_MS - 1, 3 * DAY_MS, (date(1970, 1, 2), date(1970, 1, 3))),
    ],
)
def test_days_from_beginning_to_end(since: int, until: int, expected: object) -> None:
    assert whole_days(TimeRange(since, until)) == expected


def test_the_latest_day_holds_what_starts_later() -> None:
    whole = whole_days(TimeRange(0, 10**14))
    assert whole
    assert whole[1] < LATEST_DAY


def test_a_day_is_read_or_summed() -> None:
    known = {date(1970, 1, 2): UUID(int=1)}
    found = part((Dimension.GPU, None), TimeRange(5, 3 * DAY_MS), known)
    assert (found.days, found.others) == (known, [date(1970, 1, 1), date(1970, 1, 3)])


def test_a_week_stands_for_its_days_while_it_is_made_of_them() -> None:
    days = {date(2026, 3, 1) + timedelta(days=at): UUID(int=at + 1) for at in range(9)}  # Sunday to Monday of next week
    [week] = weeks(days)
    assert week.monday == date(2026, 3, 2)
    assert by_weeks(days, {}) == days
    made = {week.name: UUID(int=99)}
    assert by_weeks(days, made) == {
        date(2026, 3, 1): UUID(int=1),
        date(2026, 3, 2): UUID(int=99),
        date(2026, 3, 9): UUID(int=9),
    }
    again = days | {date(2026, 3, 5): UUID(int=50)}
    assert by_weeks(again, made) == again
    del days[date(2026, 3, 5)]
    assert weeks(days) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, (0, date(1970, 1, 2))), (199, (199, date(1970, 1, 2))), (2_019, (2_000, date(1970, 1, 1)))],
)
def test_what_surely_comes_behind_a_place(value: int, expected: object) -> None:
    assert behind(value, DAY_MS) == expected
