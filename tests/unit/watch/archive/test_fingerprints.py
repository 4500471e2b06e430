"""Stored fingerprints: what is the same, and which of two kinds says so."""

from __future__ import annotations

from random import Random

import pytest

from touchline.media.errors import InvalidFingerprint
from touchline.media.fingerprint.formats import to_text
from touchline.media.fingerprint.model import Fingerprint, Style
from touchline.watch.archive.rules import alike, checked


def hashes(scene: str, count: int = 8) -> list[int]:
    return [Random(f"{scene}{place}").getrandbits(64) | 1 for place in range(count)]


def dense(*samples: int) -> str:
    return to_text(Fingerprint.of(samples))


def careful(scene: str, moves: str) -> str:
    return to_text(Fingerprint.of(hashes(scene), Style.CAREFUL, hashes(moves)))


def with_bits(samples: list[int], count: int) -> list[int]:
    """Each with so many bits changed, but not the last: it stays a picture with information."""
    return [sample ^ (((1 << count) - 1) << 1) for sample in samples]


GOAL = hashes("goal")


@pytest.mark.parametrize(
    ("second", "same"),
    [
        (GOAL, True),
        ([*hashes("before", 5), *GOAL[:3]], True),  # three in a row, at another offset
        ([*hashes("before", 5), *GOAL[:2], *hashes("after", 5)], False),  # two are chance
        (with_bits(GOAL, 10), True),
        (with_bits(GOAL, 11), False),
        ([GOAL[0], 0, GOAL[2], 0, 0, GOAL[5]], True),  # black ones neither match nor break
        ([0] * 8, False),  # nor do black ones alone make strangers twins
        ([GOAL[0], *hashes("cut", 1), *GOAL[1:3]], False),  # not at one constant offset
    ],
)
def test_dense(second: list[int], *, same: bool) -> None:
    assert alike(dense(*GOAL), dense(*second)) is same
    assert alike(dense(*second), dense(*GOAL)) is same


def test_two_goals_before_one_camera_are_told_apart_by_what_moves() -> None:
    first, second, copied = (f"{dense(*GOAL)}\n{careful(*each)}" for each in (("a", "a"), ("b", "b"), ("a", "a")))
    assert not alike(first, second)
    assert alike(first, copied)


def test_without_a_careful_one_on_both_sides_the_dense_ones_decide() -> None:
    still = to_text(Fingerprint.of([0] * 8, Style.CAREFUL, [0] * 8))
    first = f"{dense(*GOAL)}\n{careful('a', 'a')}"
    assert alike(first, dense(*GOAL))
    assert alike(first, f"{dense(*GOAL)}\n{still}")  # nothing moves in it


@pytest.mark.parametrize("text", ["", "dense:0.25:nonsense", "a" * 100, careful("a", "a")])
def test_what_cannot_be_compared_is_refused(text: str) -> None:
    with pytest.raises(InvalidFingerprint):
        checked(text)


def test_what_can_be_compared_is_left_as_it_is() -> None:
    text = f"{dense(*GOAL)}\n{careful('a', 'a')}"
    assert checked(text) == text
