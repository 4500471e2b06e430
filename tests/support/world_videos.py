"""Small takes and copies of drawn videos: quick to make, and told apart."""

from __future__ import annotations

from touchline_world.videos.model import BugStyle, Copy, Look, Recipe, Side, Take, TakeKind

HOME = Side("Northport United", "NOR", (200, 30, 40), (240, 240, 240))
AWAY = Side("Valle Azul", "VAZ", (40, 90, 200), (30, 40, 90))
LOOK = Look(HOME, AWAY, BugStyle.BAR, 5)
GOAL = Take(
    TakeKind.GOAL,
    seed=11,
    length_ms=5_000,
    look=LOOK,
    clock_ms=(62 * 60 + 58) * 1000,
    goal_ms=2_000,
    score_before=(0, 1),
    score_after=(1, 1),
    caption="Sørensen 63'",
    hashtag="#NORVAZ",
)
PLAIN = Copy(height=240, quality=26)


def another_goal(seed: int) -> Take:
    """Of the same match."""
    return Take(TakeKind.GOAL, seed, 3_500, LOOK, clock_ms=1_500_000, goal_ms=2_000)


def small(seed: int, quality: int = 30) -> Recipe:
    """Made in a moment: a second of an advert."""
    return Recipe(Take(TakeKind.ADVERT, seed, 1_000), Copy(height=90, quality=quality))
