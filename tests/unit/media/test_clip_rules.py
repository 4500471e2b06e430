from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from touchline.media import rules
from touchline.media.rules import ClipPlan, ClipRange, CutMethod, RangeFindings

TICK = Fraction(1, 12_800)
# Pictures at 10, 20 … 90, decoding can begin at 30 and 60.
FOUND = RangeFindings(first=10, end=100, frames=9, first_key=30, last_key=60, ends_at_key=False)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (FOUND, ClipPlan(CutMethod.EDGES, 30, 60)),
        (replace(FOUND, first=30), ClipPlan(CutMethod.EDGES, 30, 60)),
        (replace(FOUND, ends_at_key=True), ClipPlan(CutMethod.EDGES, 30, 100)),
        (replace(FOUND, first=30, ends_at_key=True), ClipPlan(CutMethod.COPIED, 30, 100)),
        (replace(FOUND, last_key=30), ClipPlan(CutMethod.ENCODED, 100, 100)),
        (replace(FOUND, last_key=30, ends_at_key=True), ClipPlan(CutMethod.EDGES, 30, 100)),
        (replace(FOUND, first_key=None, last_key=None), ClipPlan(CutMethod.ENCODED, 100, 100)),
    ],
    ids=str,
)
def test_only_what_lies_between_keyframes_is_copied(found: RangeFindings, expected: ClipPlan) -> None:
    assert rules.plan_clip(found, may_copy=True) == expected
    assert rules.plan_clip(found, may_copy=False).method is CutMethod.ENCODED


@given(st.integers(0, 10**8), st.fractions(Fraction(1, 90_000), Fraction(1, 1000)))
def test_a_picture_is_found_by_its_own_milliseconds(ticks: int, tick: Fraction) -> None:
    """Whoever reads its time, rounded, and asks for it gets it, and the one before is not in the range."""
    named_ms = round(ticks * tick * 1000)
    first = rules.first_tick(named_ms, tick)
    assert first <= ticks
    assert round((first - 1) * tick * 1000) <= named_ms


@given(st.integers(0, 10**7), st.integers(1, 10**6))
def test_ranges_that_touch_share_no_picture(start_ms: int, length_ms: int) -> None:
    end = rules.first_tick(start_ms + length_ms, TICK)
    assert rules.first_tick(start_ms, TICK) < end


def test_the_padding_ends_at_the_start_of_the_video() -> None:
    padded = ClipRange(1500, 3000, padding_ms=2000)
    assert (padded.padded_start_ms, padded.padded_end_ms) == (0, 5000)
