"""What is written on a drawn match: the strings that its pictures tell are those that its take says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.world_videos import GOAL, LOOK
from touchline.world.videos.drawing.football import Broadcast, cuts_of
from touchline.world.videos.drawing.graphics import SCORE_AFTER_MS, clock_text, score_text
from touchline.world.videos.model import BugStyle, Kind, Take

SIZE = (480, 270)


@pytest.mark.parametrize(
    ("clock_ms", "added_ms", "at_ms", "told"),
    [
        (0, 0, 0, ("00:00", "")),
        (3_778_000, 0, 1_999, ("62:59", "")),
        (3_778_000, 0, 2_000, ("63:00", "")),
        (2_700_000, 133_000, 0, ("45:00", "+2:13")),
        (5_400_000, 59_500, 500, ("90:00", "+1:00")),
        (6_000_000, 0, 0, ("100:00", "")),
    ],
)
def test_the_clock_runs_and_stands_still_in_stoppage_time(
    clock_ms: int, added_ms: int, at_ms: int, told: tuple[str, str]
) -> None:
    assert clock_text(replace(GOAL, clock_ms=clock_ms, added_ms=added_ms), at_ms) == told


def test_the_score_changes_after_the_goal() -> None:
    assert GOAL.goal_ms is not None
    changes = GOAL.goal_ms + SCORE_AFTER_MS
    assert [score_text(GOAL, at_ms) for at_ms in (0, changes - 1, changes)] == ["0-1", "0-1", "1-1"]


@pytest.mark.parametrize(
    ("style", "told"),
    [
        (BugStyle.BAR, {"NOR 0-1 VAZ", "45:00", "+2:13"}),
        (BugStyle.STACKED, {"NOR", "VAZ", "0", "1", "45:00", "+2:13"}),
        (BugStyle.PILL, {"NOR 0-1 VAZ", "45:00+2:13"}),
    ],
)
def test_every_style_tells_what_it_shows_and_where(style: BugStyle, told: set[str]) -> None:
    take = replace(GOAL, look=replace(LOOK, style=style), clock_ms=2_700_000, added_ms=133_000, hashtag=None)
    picture, texts = Broadcast(take, SIZE).picture(0)
    assert told < {each.text for each in texts}
    for each in texts:
        x, y, width, height = each.box
        part = picture[y : y + height, x : x + width]
        assert part.shape[:2] == (height, width), "it is inside of the picture"
        assert np.ptp(part.max(axis=2)) > 60, "and there is something to read"


def test_without_a_bug_nothing_is_laid_over_it_and_nothing_is_cut() -> None:
    take = replace(GOAL, look=replace(LOOK, style=BugStyle.NONE), length_ms=9_000, has_replay=True)
    assert not Broadcast(take, SIZE).picture(4_500)[1]
    assert cuts_of(take).cheer_s == cuts_of(take).replay_s == 9


def test_a_replay_has_no_clock() -> None:
    take = replace(GOAL, length_ms=10_000, has_replay=True)
    texts = {each.text for each in Broadcast(take, SIZE).picture(9_000)[1]}
    assert "REPLAY" in texts
    assert not any(":" in text for text in texts)


def test_the_same_take_is_the_same_picture_and_another_is_another() -> None:
    first, again, other = (Broadcast(take, SIZE).picture(1_000)[0] for take in (GOAL, GOAL, replace(GOAL, seed=12)))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_football_needs_a_look() -> None:
    with pytest.raises(ValueError, match="look"):
        Broadcast(Take(Kind.PLAY, 1, 1_000), SIZE)
