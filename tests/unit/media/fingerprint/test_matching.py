from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.media.fingerprint.hashes import fingerprints
from touchline.kernel.errors import InvalidInput
from touchline.media.fingerprint import matching
from touchline.media.fingerprint.matching import CAREFUL_RULE, SEED_RULE, Rule, compare
from touchline.media.fingerprint.model import NO_MATCH, Comparison, Fingerprint, Style

A, B, C, D, E = (
    0x0123456789ABCDEF,
    0xFEDCBA9876543210 ^ 0xFF00FF,
    0xFFFF0000FFFF0000,
    0x0F0F0F0FF0F0F0F0,
    0xAAAA5555AAAA5555,
)
FAR = 0x3333CCCC33333333


def by_loops(first: list[int], second: list[int], rule: Rule) -> Comparison:
    """One offset after the other, one pair after the other."""
    best = None
    for offset in range(-len(second), len(first) + 1):
        run, runs, alike, pairs = 0, [], 0, 0
        for place in range(max(0, offset), min(len(first), len(second) + offset)):
            one, other = first[place], second[place - offset]
            if not one or not other:
                continue
            pairs += 1
            distance = (one ^ other).bit_count()
            alike += distance <= max(rule.near, rule.alike)
            if distance <= rule.near:
                run += 1
            else:
                runs, run = [*runs, run], 0
        rows = [each for each in [*runs, run] if each >= rule.least_run]
        if rows and alike >= max(rule.least_alike, rule.least_share * pairs):
            best = max(best or (), (max(rows), sum(rows), -abs(offset), offset))
    if not best:
        return NO_MATCH
    shares = [best[1] / sum(1 for value in values if value) for values in (first, second)]
    return Comparison(True, best[3] * 250, best[0], best[1], *shares)


@given(
    fingerprints(),
    fingerprints(),
    st.sampled_from([SEED_RULE, CAREFUL_RULE, Rule(6, 2), Rule(10, 5), Rule(8, 3, 12, 5, 0.3)]),
)
def test_same_as_plain_loops(first: Fingerprint, second: Fingerprint, rule: Rule) -> None:
    assert compare(first, second, rule) == by_loops(first.hashes.tolist(), second.hashes.tolist(), rule)


@given(fingerprints(), fingerprints())
def test_same_for_long_ones(first: Fingerprint, second: Fingerprint) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MOST_CELLS", 0)
        assert compare(first, second) == by_loops(first.hashes.tolist(), second.hashes.tolist(), SEED_RULE)


@given(fingerprints(), fingerprints())
def test_the_other_way_round(first: Fingerprint, second: Fingerprint) -> None:
    there, back = compare(first, second), compare(second, first)
    assert (there.match, there.run, there.matched) == (back.match, back.run, back.matched)
    assert abs(there.offset_ms) == abs(back.offset_ms)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([A, B, C], [A, B, C], Comparison(True, 0, 3, 3, 1.0, 1.0)),
        ([A, B, C], [A, B, FAR], NO_MATCH),
        ([FAR, E, A, B, C], [A, B, C], Comparison(True, 500, 3, 3, 0.6, 1.0)),
        ([A, B, C], [FAR, A, B, C], Comparison(True, -250, 3, 3, 1.0, 0.75)),
        ([A, B, C], [A ^ 0x3FF, B, C], Comparison(True, 0, 3, 3, 1.0, 1.0)),
        ([A, B, C], [A ^ 0x7FF, B, C], NO_MATCH),
        ([A, B, FAR, C, D], [A, B, E, C, D], NO_MATCH),
        ([A, B, 0, C, D], [A, B, E, C, D], Comparison(True, 0, 4, 4, 1.0, 0.8)),
        ([0] * 9, [0] * 9, NO_MATCH),
        ([0, 0, 0, A, B], [0, 0, 0, C, D], NO_MATCH),
        ([], [A, B, C], NO_MATCH),
    ],
)
def test_table(first: list[int], second: list[int], expected: Comparison) -> None:
    assert compare(Fingerprint.of(first), Fingerprint.of(second)) == expected


def test_a_video_that_stands_still() -> None:
    still = Fingerprint.of([A] * 60)
    assert compare(still, still) == Comparison(True, 0, 60, 60, 1.0, 1.0)


def test_alike_for_a_moment_is_not_enough_for_careful_ones() -> None:
    first = [A, B, C, D, *[FAR] * 20]
    second = [A, B, C, D, *[E] * 20]
    assert compare(Fingerprint.of(first), Fingerprint.of(second)).run == 4
    assert compare(Fingerprint.of(first, Style.CAREFUL), Fingerprint.of(second, Style.CAREFUL)) == NO_MATCH


def test_styles_are_not_mixed() -> None:
    with pytest.raises(InvalidInput, match="styles"):
        compare(Fingerprint.of([A]), Fingerprint.of([A], Style.CAREFUL))
