"""Incidents for a match whose script has none, so that five lines make a lively day.

Invariant: a match draws from dice that its seed and its teams name, and from nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from .chance import dice
from .model import Delivery
from .moments import Minute
from .recipes import LAST_MINUTES
from .resolving import find_team
from .script import AnyIncident, GoalIncident, Match, OtherIncident, Substitution, Transform, Which

KINDS = (*["goal"] * 8, *["penalty"] * 2, "own_goal")
SIDES = (Which.HOME, Which.AWAY)
USUAL_GOALS = 3
SHORTEST = 12  # minutes of a match in which something happens
TROUBLES = ("late_scorer", "annulled", "other_scorer", "vanishes", "doubled", "score_lags", "minute")
LARGE = (Transform.LARGE, Transform.PLAIN, Transform.SMALL, Transform.LOGO, Transform.FILMED)
DELIVERIES = (Delivery.GONE, Delivery.SLOW, Delivery.CUT_OFF, Delivery.BUSY, Delivery.FORBIDDEN, Delivery.BROKEN)


@dataclass(frozen=True, slots=True)
class Mood:
    """How much happens in a match: for each goal, the trouble that the feed has with it, if any."""

    troubles: tuple[str | None, ...] = (None,) * USUAL_GOALS
    deliveries: tuple[Delivery, ...] = ()
    has_large: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Of a goal."""

    minute: Minute
    side: Which
    trouble: str | None


def lively(seed: int, match: Match, mood: Mood | None = None, field: str = "match") -> Match:
    """The same match, with incidents; as it is if the script has some, or if it is not played."""
    is_called_off = match.cancelled or (match.postponed and not match.late_kick_off)
    if match.incidents is not None or is_called_off:
        return match
    home, away = find_team(match.home, f"{field}.home"), find_team(match.away, f"{field}.away")
    draw = dice(seed, home.id, away.id, "lively")
    until = match.abandoned.minute.elapsed - 1 if match.abandoned else 90
    if until < SHORTEST:
        return match.model_copy(update={"incidents": ()})
    goals = _goals(draw, mood or Mood(), match, until)
    incidents = sorted([*goals, *_others(draw, until)], key=lambda each: each.minute)
    return match.model_copy(update={"incidents": tuple(incidents)})


def _goals(draw: Random, mood: Mood, match: Match, until: int) -> list[AnyIncident]:
    plans = [
        Plan(minute, draw.choice(SIDES), trouble)
        for minute, trouble in zip(_minutes(draw, len(mood.troubles), until), mood.troubles, strict=True)
    ]
    if match.extra_time or match.shoot_out:
        plans = _level(draw, match, plans)
    return [_goal(draw, plan, _posts(draw, n, mood)) for n, plan in enumerate(plans)]


def _level(draw: Random, match: Match, plans: list[Plan]) -> list[Plan]:
    """Nobody leads after ninety minutes; a last goal comes in extra time, and is answered if penalties follow."""
    standing = [n for n, plan in enumerate(plans) if plan.trouble != "annulled"]
    first = draw.randrange(2)
    for turn, n in enumerate(standing):
        plans[n] = replace(plans[n], side=SIDES[(first + turn) % 2])
    if len(standing) % 2 == 0:
        return plans
    last = standing[-1]
    if match.extra_time:
        plans[last] = replace(plans[last], minute=Minute(draw.randrange(94, 104)))
    if match.shoot_out:
        answered = Minute(draw.randrange(108, 118)) if match.extra_time else Minute(90, 6)
        plans.append(Plan(answered, SIDES[(first + len(standing)) % 2], None))
    return plans


def _minutes(draw: Random, many: int, until: int) -> list[Minute]:
    """Apart from each other, so that a clock on the screen tells one goal from the next; one in stoppage time."""
    width = (until - 2) / max(many, 1)
    minutes = [Minute(2 + int(n * width) + draw.randrange(max(int(width) - 4, 1))) for n in range(many)]
    if many > 2 and until == 90 and draw.random() < 0.5:
        minutes[-1] = Minute(90, draw.randrange(1, 5))
    return minutes


def _goal(draw: Random, plan: Plan, posts: dict[str, Any]) -> GoalIncident:
    """In the words of a script, where a bare number is seconds."""
    goal = {
        "minute": plan.minute,
        "second": draw.randrange(8, 56),
        "side": plan.side,
        "kind": draw.choice(KINDS),
        "told_after": draw.randrange(10, 46),
        "posts": posts,
    }
    return GoalIncident.model_validate(goal | _trouble(draw, plan.trouble, plan.minute))


def _trouble(draw: Random, trouble: str | None, minute: Minute) -> dict[str, Any]:
    after, soon = draw.randrange(120, 300), draw.randrange(30, 120)
    can_be_later = not minute.extra and minute.elapsed not in LAST_MINUTES
    troubles: dict[str | None, dict[str, Any]] = {
        "late_scorer": {"scorer_after": after},
        "annulled": {"annulled_after": after},
        "other_scorer": {"corrected": {"after": after}, "kind": "goal"},
        "vanishes": {"vanishes": {"after": after, "lasts": 120}},
        "doubled": {"doubled": {"after": soon, "lasts": 180}},
        "score_lags": {"score_after": soon},
        "minute": {"corrected": {"after": after, "minute": minute.elapsed + 1}} if can_be_later else {},
    }
    return troubles.get(trouble, {})


def _posts(draw: Random, n: int, mood: Mood) -> dict[str, Any]:
    return {
        "copies": draw.randrange(3, 6),
        "takes": 1 + (n == 0 and draw.random() < 0.7),
        "transforms": LARGE if mood.has_large and n == 0 else (),
        "deliveries": mood.deliveries[n : n + 1],
        "look_alikes": draw.randrange(2),
        "unrelated": int(draw.random() < 0.3),
        "promoted": int(draw.random() < 0.15),
        "quotes": int(draw.random() < 0.4),
        "several_videos": int(draw.random() < 0.2),
        "misspelt": int(draw.random() < 0.2),
    }


def _others(draw: Random, until: int) -> list[AnyIncident]:
    found = list[AnyIncident]()
    for _ in range(draw.randrange(2, 5)):
        minute, side = Minute(draw.randrange(10, max(until, 11))), draw.choice(SIDES)
        found.append(OtherIncident(minute=minute, side=side, kind="yellow_card"))
    if draw.random() < 0.25:
        minute = Minute(draw.randrange(5, max(until, 6)))
        found.append(OtherIncident(minute=minute, side=draw.choice(SIDES), kind="missed_penalty"))
    late = range(56, until) if until > 60 else range(1, max(until, 2))
    for _ in range(draw.randrange(2, 6)):
        minute = Minute(draw.choice(late))
        found.append(Substitution(minute=minute, side=draw.choice(SIDES), kind="substitution"))
    return found
