from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from touchline.kernel import InvalidInput
from touchline.media.fingerprint import comparison
from touchline.media.fingerprint.comparison import CAREFUL_RULE, SEED_RULE, MatchRule, compare, evidence
from touchline.media.fingerprint.model import NO_MATCH, Comparison, Fingerprint, Style
from touchline.media.fingerprint.waves import mirrored

from .hashes import careful_fingerprints, fingerprints

A, B, C, D, E = (
    0x0123456789ABCDEF,
    0xFEDCBA9876543210 ^ 0xFF00FF,
    0xFFFF0000FFFF0000,
    0x0F0F0F0FF0F0F0F0,
    0xAAAA5555AAAA5555,
)
FAR = 0x3333CCCC33333333


def by_loops(first: Fingerprint, second: Fingerprint, rule: MatchRule) -> Comparison:
    """One offset after the other, one pair after the other."""
    best = None
    ones, others = first.hashes.tolist(), second.hashes.tolist()
    for offset in range(-len(second), len(first) + 1):
        run, runs, score, most = 0, [], 0, 0
        for place in range(max(0, offset), min(len(first), len(second) + offset)):
            if not ones[place] or not others[place - offset]:
                continue
            if (ones[place] ^ others[place - offset]).bit_count() <= rule.near:
                run += 1
            else:
                runs, run = [*runs, run], 0
            if rule.least_evidence:
                differing = int(first.details[place] ^ second.details[place - offset]).bit_count()
                score = max(0, score + rule.undecided - differing)
                most = max(most, score)
        rows = [each for each in [*runs, run] if each >= rule.least_run]
        if rows and most >= rule.least_evidence:
            best = max(best or (), (max(rows), sum(rows), -abs(offset), offset))
    if not best:
        return NO_MATCH
    share, share_of_other = (best[1] / sum(1 for value in values if value) for values in (ones, others))
    return Comparison(True, best[3] * 250, best[0], best[1], share, share_of_other)


@given(fingerprints(), fingerprints(), st.sampled_from([SEED_RULE, MatchRule(6, 2), MatchRule(10, 5)]))
def test_same_as_plain_loops(first: Fingerprint, second: Fingerprint, rule: MatchRule) -> None:
    assert compare(first, second, rule) == by_loops(first, second, rule)


@settings(max_examples=60)
@given(
    careful_fingerprints(),
    careful_fingerprints(),
    st.sampled_from([CAREFUL_RULE, MatchRule(undecided=20, least_evidence=30), MatchRule(8, 4, 30, 200)]),
)
def test_careful_ones_as_plain_loops(first: Fingerprint, second: Fingerprint, rule: MatchRule) -> None:
    straight, turned = by_loops(first, second, rule), by_loops(first, mirrored(second), rule)
    expected = straight if straight[2:4] >= turned[2:4] else turned._replace(mirrored=True)
    assert compare(first, second, rule) == expected


@given(fingerprints(), fingerprints())
def test_same_for_long_ones(first: Fingerprint, second: Fingerprint) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "MOST_CELLS", 0)
        assert compare(first, second) == by_loops(first, second, SEED_RULE)


PAIRS = st.one_of(st.tuples(fingerprints(), fingerprints()), st.tuples(careful_fingerprints(), careful_fingerprints()))


@settings(max_examples=60)
@given(PAIRS)
def test_the_other_way_round(pair: tuple[Fingerprint, Fingerprint]) -> None:
    first, second = pair
    there, back = compare(first, second), compare(second, first)
    assert (there.match, there.run, there.matched) == (back.match, back.run, back.matched)
    assert (abs(there.offset_ms), there.mirrored) == (abs(back.offset_ms), back.mirrored)


def later(fingerprint: Fingerprint, count: int, place: int = 0) -> Fingerprint:
    """With pictures without information in between."""
    values = (np.insert(each, place, np.zeros(count, np.uint64)) for each in (fingerprint.hashes, fingerprint.details))
    hashes, details = values
    return Fingerprint(hashes, Style.CAREFUL, details)


@settings(max_examples=60)
@given(careful_fingerprints(), careful_fingerprints(), st.integers(0, 9))
def test_a_black_leader_changes_nothing(first: Fingerprint, second: Fingerprint, leader: int) -> None:
    plain, delayed = compare(first, second), compare(first, later(second, leader))
    assert (plain.match, plain.run, plain.matched) == (delayed.match, delayed.run, delayed.matched)
    assert plain[4:] == delayed[4:]
    for offset in range(min(0, 1 - len(second)), len(first)):
        assert evidence(first, later(second, leader), offset - leader, 27) == evidence(first, second, offset, 27)


@settings(max_examples=60)
@given(careful_fingerprints(), careful_fingerprints(), st.integers(0, 24))
def test_pictures_without_information_are_no_evidence(first: Fingerprint, second: Fingerprint, place: int) -> None:
    place = min(place, len(first), len(second))
    both = later(first, 2, place), later(second, 2, place)
    assert evidence(*both, 0, 27) == evidence(first, second, 0, 27)


@settings(max_examples=60)
@given(careful_fingerprints(), careful_fingerprints())
def test_mirroring_both_changes_nothing(first: Fingerprint, second: Fingerprint) -> None:
    assert mirrored(mirrored(first)) == first
    assert compare(mirrored(first), mirrored(second)) == compare(first, second)


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


@pytest.mark.parametrize(
    ("count", "differing", "found"),
    [(4, 7, True), (4, 8, False), (12, 20, True), (11, 20, False), (79, 26, False), (80, 26, True), (200, 27, False)],
)
def test_the_details_must_convince(count: int, differing: int, found: bool) -> None:
    """Few pictures that are the same, or many that are a little more alike than chance."""
    hashes = [A, B, C, D] * (count // 4) + [A] * (count % 4)
    first = Fingerprint.of(hashes, Style.CAREFUL, [E] * count)
    second = Fingerprint.of(hashes, Style.CAREFUL, [E ^ ((1 << differing) - 1)] * count)
    assert compare(first, second, replace(CAREFUL_RULE, near=0)).match is found
    assert compare(Fingerprint.of(hashes), Fingerprint.of(hashes)).run == count


def test_one_stretch_must_convince_whatever_is_around_it() -> None:
    """As in a copy from which something was cut out."""
    alike, first, second = [A, B, C, D, A, B], [B, C, B, C] * 5, [FAR] * 20
    details = [E] * 6, [E] * 20, [E ^ 0xFFFFFFFFFF] * 20
    one = Fingerprint.of([*alike, *first], Style.CAREFUL, [*details[0], *details[1]])
    other = Fingerprint.of([*alike, *second], Style.CAREFUL, [*details[0], *details[2]])
    assert compare(one, other)[:4] == (True, 0, 6, 6)


def test_a_mirrored_one_says_so() -> None:
    fingerprint = Fingerprint.of([A, B, C, D, E, FAR], Style.CAREFUL, [E, D, C, B, A, FAR])
    assert compare(fingerprint, mirrored(fingerprint)) == Comparison(True, 0, 6, 6, 1.0, 1.0, mirrored=True)


def test_styles_are_not_mixed() -> None:
    with pytest.raises(InvalidInput, match="styles"):
        compare(Fingerprint.of([A]), Fingerprint.of([A], Style.CAREFUL, [B]))
    with pytest.raises(ValueError, match="details"):
        Fingerprint.of([A], Style.CAREFUL)
