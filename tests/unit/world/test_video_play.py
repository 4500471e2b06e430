"""How attacks run: whatever the seed, the ball ends in the net at the moment of the goal, and nobody jumps."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from touchline.world.videos.drawing.goals import HALF, HIGH
from touchline.world.videos.drawing.ground import LENGTH, MIDDLE
from touchline.world.videos.drawing.play import RATE, run_play

FASTEST = 15.0  # metres a second, of most people; the drawn ones may be a little quicker than real ones
JUMP = 2.0  # metres from one picture to the next
SEEDS = st.integers(0, (1 << 31) - 1)


@settings(max_examples=25)
@given(SEEDS, st.sampled_from([2.0, 4.3, 6.0]))
def test_the_ball_crosses_the_line_between_the_posts(seed: int, goal_s: float) -> None:
    play = run_play(seed, goal_s + 4, goal_s)
    _, ball, _, _ = play.state(goal_s)
    line = 0 if play.is_left else LENGTH
    assert abs(ball[0] - line) < 1.2
    assert abs(ball[1] - MIDDLE) < HALF
    assert ball[2] < HIGH
    _, later, _, _ = play.state(goal_s + 1)
    assert later[0] < 0 if play.is_left else later[0] > LENGTH


@settings(max_examples=25)
@given(SEEDS)
def test_nobody_jumps(seed: int) -> None:
    play = run_play(seed, 9.0, 4.0)
    steps = np.linalg.norm(np.diff(play.people, axis=0), axis=2) * RATE
    assert float(np.median(steps.max(axis=0))) < FASTEST
    assert float(steps.max()) / RATE < JUMP
    assert np.isfinite(play.people).all()


@settings(max_examples=25)
@given(SEEDS)
def test_without_a_goal_the_ball_never_goes_in(seed: int) -> None:
    play = run_play(seed, 9.0, None)
    x, y, z = play.ball.T
    behind = (x < 0) | (x > LENGTH)
    assert not (behind & (np.abs(y - MIDDLE) < HALF) & (z < HIGH)).any()
