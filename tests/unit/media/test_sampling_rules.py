from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from touchline.media import rules

HASH = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize(
    ("time", "every", "expected"),
    [("0", "1/2", "1/2"), ("0.52", "1/2", "1"), ("1", "1/2", "3/2"), ("7.3", "1/10", "7.4")],
)
def test_the_next_point_of_the_grid(time: str, every: str, expected: str) -> None:
    assert rules.next_wanted(Fraction(time), Fraction(every)) == Fraction(expected)


@given(st.fractions(0, 10_000), st.fractions(Fraction(1, 100), 100))
def test_it_lies_ahead_and_at_most_one_step(time: Fraction, every: Fraction) -> None:
    assert 0 < rules.next_wanted(time, every) - time <= every


def test_the_hash_has_a_bit_for_each_pixel_that_is_brighter_than_the_next() -> None:
    falling, rising = bytes(range(9, 0, -1)), bytes(range(9))
    assert rules.difference_hash(falling * 8) == 2**64 - 1
    assert rules.difference_hash(rising * 8) == 0
    assert rules.difference_hash(falling + rising * 7) == 0xFF << 56


@pytest.mark.parametrize(("bits", "similar"), [(0, True), (3, True), (4, False), (64, False)])
def test_similar_is_more_than_the_threshold(bits: int, similar: bool) -> None:
    """3 of 64 bits are 0.953, 4 are 0.9375."""
    assert rules.is_similar(0, 2**bits - 1, 0.95) is similar


@given(HASH, HASH, st.floats(0, 1))
def test_similarity_has_no_direction(one: int, other: int, threshold: float) -> None:
    assert rules.is_similar(one, other, threshold) == rules.is_similar(other, one, threshold)


@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_the_examined_picture_is_bounded(width: int, height: int) -> None:
    assert all(rules.TILE <= side <= rules.LONGEST_SIDE for side in rules.examined_size(width, height))
