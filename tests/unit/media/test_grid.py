from __future__ import annotations

from fractions import Fraction
from math import floor

import pytest
from hypothesis import given, strategies as st

from touchline.media.child.survey import Grid

QUARTER = Fraction(1, 4)
TICKS = st.fractions(Fraction(1, 10**6), Fraction(1), max_denominator=10**6)


@pytest.mark.parametrize(
    ("time_ms", "number"), [(-1000, 0), (0, 0), (249, 0), (250, 1), (499, 1), (500, 2), (10_000, 40)]
)
def test_points_that_are_not_later(time_ms: int, number: int) -> None:
    assert Grid.of(Fraction(1, 1000), Fraction(0), QUARTER).number(time_ms) == number
    assert Grid.of(Fraction(1, 1000), Fraction(7), QUARTER).number(time_ms + 7000) == number


@given(TICKS, st.fractions(-100, 100, max_denominator=10**6), st.integers(-(10**9), 10**9))
def test_whole_numbers_say_what_fractions_say(tick: Fraction, start: Fraction, time: int) -> None:
    assert Grid.of(tick, start, QUARTER).number(time) == max(0, floor((time * tick - start) / QUARTER))
