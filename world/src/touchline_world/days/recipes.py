"""Recipes of the videos that people post: takes of goals and of other things, and what was done to copies.

Invariant: the clock in a take is the one of the minute in which the goal was scored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from random import Random

from touchline_world.videos.model import BugStyle, Copy, Look, Side, Take, TakeKind

from .model import Player, Team
from .script import Transform
from .timeline import ResolvedGoal
from .values import MINUTE, SECOND

STYLES = (BugStyle.BAR, BugStyle.STACKED, BugStyle.PILL)
HEIGHTS, SHARES = (360, 432, 480, 540, 720), (10, 6, 8, 5, 1)
ELSEWHERE = (TakeKind.STUDIO, TakeKind.ADVERT, TakeKind.OTHER_SPORT)
LAST_MINUTES = (45, 90, 105, 120)
USUAL = (
    (Transform.PLAIN, 30),
    (Transform.SMALL, 14),
    (Transform.LOGO, 12),
    (Transform.ROUGH, 8),
    (Transform.LETTERBOX, 8),
    (Transform.CROPPED, 8),
    (Transform.TRIMMED, 8),
    (Transform.BRIGHT, 5),
    (Transform.FASTER, 3),
    (Transform.MIRRORED, 3),
    (Transform.FILMED, 5),
)


@dataclass(frozen=True, slots=True)
class ScoreAround:
    """The score around a goal, as it was shown in the stadium then."""

    before: tuple[int, int]
    after: tuple[int, int]


def match_look(draw: Random, home: Team, away: Team, style: BugStyle | None) -> Look:
    shirts = _side(home), _side(away)
    if _close(home.shirt, away.shirt):
        shirts = shirts[0], replace(shirts[1], shirt=(30, 30, 34) if sum(home.shirt) > 380 else (240, 240, 240))
    return Look(*shirts, style or draw.choice(STYLES), draw.randrange(1 << 31))


def _side(team: Team) -> Side:
    return Side(team.name, team.code, team.shirt, team.shorts)


def _close(one: tuple[int, int, int], two: tuple[int, int, int]) -> bool:
    return sum(abs(a - b) for a, b in zip(one, two, strict=True)) < 130


def goal_takes(draw: Random, match: Look, goal: ResolvedGoal, board: ScoreAround, many: int) -> tuple[Take, ...]:
    """The broadcaster's, then perhaps one from the stand, which shows no score and no clock."""
    takes = [_goal_take(draw, match, goal, board)]
    if many > 1:
        takes.append(_goal_take(draw, replace(match, style=BugStyle.NONE, seed=match.seed ^ 1), goal, board))
    return tuple(takes)


def _goal_take(draw: Random, match: Look, goal: ResolvedGoal, board: ScoreAround) -> Take:
    incident, goal_ms = goal.incident, draw.randrange(4_000, 6_001, 100)
    clock, added = screen_clock(incident.minute.elapsed, incident.minute.extra, goal.second, goal_ms)
    has_replay = draw.random() < 0.3
    return Take(
        TakeKind.GOAL,
        draw.randrange(1 << 31),
        draw.randrange(10_500 if has_replay else 8_000, 12_001, 500),
        match,
        clock,
        added,
        goal_ms,
        board.before,
        board.after,
        by_home=incident.side == "home",
        caption=f"{family_name(goal.player)} {incident.minute}'",
        hashtag=f"#{match.home.code}{match.away.code}",
        has_replay=has_replay,
    )


def screen_clock(elapsed: int, extra: int, second: int, lead_ms: int) -> tuple[int, int]:
    """The clock, and what stands beside it in stoppage time, `lead_ms` before the ball goes in."""
    scored = (elapsed + extra - 1) * MINUTE + second * SECOND
    starts, last = max(scored - lead_ms, _period_start(elapsed)), elapsed * MINUTE
    return (min(starts, last), max(starts - last, 0)) if extra else (starts, 0)


def _period_start(elapsed: int) -> int:
    return max([0, *(last for last in LAST_MINUTES[:3] if last < elapsed)]) * MINUTE


def other_take(draw: Random, kind: TakeKind) -> Take:
    """Few different ones: always the same studio, and the same adverts again and again."""
    seed = 0 if kind is TakeKind.STUDIO else draw.randrange(2)
    return Take(kind, seed, 8_000 + 1_000 * seed)


def play_take(draw: Random, match: Look) -> Take:
    clock = draw.randrange(2, 40) * MINUTE + draw.randrange(60) * SECOND
    return Take(TakeKind.PLAY, draw.randrange(1 << 31), 9_000, match, clock, by_home=draw.random() < 0.5)


def old_take(draw: Random, match: Look, minutes: Collection[int]) -> Take:
    """A goal of another season: the same shirts, but a minute in which nothing of today happened."""
    free = [each for each in range(2, 90) if all(abs(each - minute) > 3 for minute in minutes)]
    minute, score = draw.choice(free), (draw.randrange(3), draw.randrange(3))
    clock, _ = screen_clock(minute, 0, draw.randrange(8, 56), 5_000)
    return Take(
        TakeKind.GOAL,
        draw.randrange(1 << 31),
        9_000,
        replace(match, seed=match.seed ^ 2),
        clock,
        goal_ms=5_000,
        score_before=score,
        score_after=(score[0] + 1, score[1]),
    )


def family_name(player: Player) -> str:
    """Without initials: what people call a player, and what a caption has room for."""
    return " ".join(word for word in player.name.split() if not word.endswith("."))


def usual_transform(draw: Random) -> Transform:
    return draw.choices([each for each, _ in USUAL], [share for _, share in USUAL])[0]


def copy_of(draw: Random, take: Take, transform: Transform) -> Copy:
    plain = Copy(draw.choices(HEIGHTS, SHARES)[0], draw.randrange(21, 28))
    return COPIES[transform](draw, take, plain)


def _too_short(draw: Random, take: Take, plain: Copy) -> Copy:
    middle = take.goal_ms or take.length_ms // 2
    return replace(plain, starts_ms=middle - 1_200, ends_ms=middle + 1_200)


COPIES: dict[Transform, Callable[[Random, Take, Copy], Copy]] = {
    Transform.PLAIN: lambda draw, take, plain: plain,
    Transform.SMALL: lambda draw, take, plain: replace(plain, height=360, quality=28),
    Transform.LARGE: lambda draw, take, plain: replace(plain, height=1080, quality=22),
    Transform.ROUGH: lambda draw, take, plain: replace(plain, height=360, quality=36),
    Transform.LOGO: lambda draw, take, plain: replace(plain, logo=draw.choice(("GOALZONE", "footy.tv", "90min HD"))),
    Transform.LETTERBOX: lambda draw, take, plain: replace(plain, bars_percent=draw.randrange(8, 15)),
    Transform.CROPPED: lambda draw, take, plain: replace(plain, crop_percent=draw.randrange(3, 8)),
    Transform.MIRRORED: lambda draw, take, plain: replace(plain, is_mirrored=True),
    Transform.FASTER: lambda draw, take, plain: replace(plain, speed_percent=draw.randrange(108, 126)),
    Transform.BRIGHT: lambda draw, take, plain: replace(plain, brightness=draw.choice((-24, -16, 18, 28))),
    Transform.TRIMMED: lambda draw, take, plain: replace(
        plain, starts_ms=draw.randrange(600, 2_001, 100), ends_ms=take.length_ms - draw.randrange(0, 1_501, 100)
    ),
    Transform.TOO_SHORT: _too_short,
    Transform.FILMED: lambda draw, take, plain: replace(plain, is_filmed=True),
}
