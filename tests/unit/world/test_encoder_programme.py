"""The match that is streamed: the same at the same moment, and its score follows its goals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from touchline.world.encoder.programme import GOAL_EVERY, TAKE_MS, Programme
from touchline.world.videos.model import Kind
from touchline.world.videos.sound import SOUND_HZ

SIZE = (160, 90)


def test_any_moment_can_be_asked_for() -> None:
    one, other = Programme(3, SIZE), Programme(3, SIZE)
    late = TAKE_MS + 40
    one.picture(0)
    assert np.array_equal(one.picture(late), other.picture(late))
    assert not np.array_equal(one.picture(late), one.picture(0))


def test_clock_and_score_go_on_from_take_to_take() -> None:
    takes = [Programme(3, SIZE).take(number) for number in range(3 * GOAL_EVERY)]
    assert [take.clock_ms for take in takes] == [number * TAKE_MS for number in range(3 * GOAL_EVERY)]
    assert all(one.score_after == other.score_before for one, other in pairwise(takes))
    for take in takes:
        scored = sum(take.score_after) - sum(take.score_before)
        assert scored == (1 if take.kind is Kind.GOAL else 0)


def test_sound_has_no_gap_between_takes() -> None:
    programme, edge = Programme(3, SIZE), TAKE_MS * SOUND_HZ // 1000
    part = programme.sound(edge - 100, 1024)
    assert part.shape == (2, 1024)
    assert np.array_equal(part[:, 100:], programme.sound(edge, 924))
