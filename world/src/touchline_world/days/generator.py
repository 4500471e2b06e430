"""Match days by their seed: a script, as a person could have written it, and incidents for a match that has none.

Invariant: a day of five matches has the four matches of the day of four, unchanged; a match draws from a generator
that its seed and its teams name, and from nothing else.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from .catalogue import FIRST_LEAGUES, find_team, get_catalogue
from .model import Delivery, Service, Team, Trouble
from .recipes import LAST_MINUTES
from .script import (
    AnyIncident,
    GoalIncident,
    Match,
    MatchSide,
    OtherIncident,
    Script,
    ScriptedFault,
    Substitution,
    Transform,
)
from .values import HOUR, MINUTE, Minute, seeded_random, write_time

KINDS = (*["goal"] * 8, *["penalty"] * 2, "own_goal")
SIDES = (MatchSide.HOME, MatchSide.AWAY)
USUAL_GOALS = 3
SHORTEST = 12  # minutes of a match in which something happens
TROUBLES = ("late_scorer", "annulled", "other_scorer", "vanishes", "doubled", "score_lags", "minute")
LARGE = (Transform.LARGE, Transform.PLAIN, Transform.SMALL, Transform.LOGO, Transform.FILMED)
DELIVERIES = (Delivery.GONE, Delivery.SLOW, Delivery.CUT_OFF, Delivery.BUSY, Delivery.FORBIDDEN, Delivery.BROKEN)


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """How much happens in a match: for each goal, the trouble that the feed has with it, if any."""

    troubles: tuple[str | None, ...] = (None,) * USUAL_GOALS
    deliveries: tuple[Delivery, ...] = ()
    has_large: bool = False


@dataclass(frozen=True, slots=True)
class GoalPlan:
    """Of a goal."""

    minute: Minute
    side: MatchSide
    trouble: str | None


def add_incidents(seed: int, match: Match, mood: MatchPlan | None = None, field: str = "match") -> Match:
    """The same match, with incidents; as it is if the script has some, or if it is not played."""
    is_called_off = match.cancelled or (match.postponed and not match.late_kick_off)
    if match.incidents is not None or is_called_off:
        return match
    home, away = find_team(match.home, f"{field}.home"), find_team(match.away, f"{field}.away")
    draw = seeded_random(seed, home.id, away.id, "lively")
    until = match.abandoned.minute.elapsed - 1 if match.abandoned else 90
    if until < SHORTEST:
        return match.model_copy(update={"incidents": ()})
    goals = _goals(draw, mood or MatchPlan(), match, until)
    incidents = sorted([*goals, *_others(draw, until)], key=lambda each: each.minute)
    return match.model_copy(update={"incidents": tuple(incidents)})


def _goals(draw: Random, mood: MatchPlan, match: Match, until: int) -> list[AnyIncident]:
    plans = [
        GoalPlan(minute, draw.choice(SIDES), trouble)
        for minute, trouble in zip(_minutes(draw, len(mood.troubles), until), mood.troubles, strict=True)
    ]
    if match.extra_time or match.shoot_out:
        plans = _level(draw, match, plans)
    return [_goal(draw, plan, _posts(draw, n, mood)) for n, plan in enumerate(plans)]


def _level(draw: Random, match: Match, plans: list[GoalPlan]) -> list[GoalPlan]:
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
        plans.append(GoalPlan(answered, SIDES[(first + len(standing)) % 2], None))
    return plans


def _minutes(draw: Random, many: int, until: int) -> list[Minute]:
    """Apart from each other, so that a clock on the screen tells one goal from the next; one in stoppage time."""
    width = (until - 2) / max(many, 1)
    minutes = [Minute(2 + int(n * width) + draw.randrange(max(int(width) - 4, 1))) for n in range(many)]
    if many > 2 and until == 90 and draw.random() < 0.5:
        minutes[-1] = Minute(90, draw.randrange(1, 5))
    return minutes


def _goal(draw: Random, plan: GoalPlan, posts: dict[str, Any]) -> GoalIncident:
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


def _posts(draw: Random, n: int, mood: MatchPlan) -> dict[str, Any]:
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


SHAPES = ("plain", "late", "shoot_out", "interrupted", "plain", "postponed", "abandoned", "extra_time", "cancelled")
SHAPED: dict[str, dict[str, Any]] = {
    "plain": {"reordered": [{"minute": 60}]},
    "late": {"late_kick_off": "6m"},
    "shoot_out": {"extra_time": True, "shoot_out": {}, "round": "Play-offs"},
    "extra_time": {"extra_time": True, "round": "Play-offs"},
    "interrupted": {"interruptions": [{"minute": 31, "lasts": "6m"}]},
    "postponed": {"postponed": {}},
    "cancelled": {"cancelled": {}},
    "abandoned": {"abandoned": {"minute": 71}},
}
FAULTS = (
    (Service.FEED, Trouble.ERRORS),
    (Service.SEARCH, Trouble.LOGIN),
    (Service.FEED, Trouble.OUTAGE),
    (Service.MODEL, Trouble.ODD),
    (Service.MEDIA, Trouble.LIMITED),
    (Service.SYNDICATION, Trouble.RESETS),
    (Service.WIKIDATA, Trouble.HANGS),
    (Service.FEED, Trouble.EMPTY),
)


@dataclass(frozen=True, slots=True)
class GeneratorOptions:
    seed: int = 1
    matches: int = 4
    goals_per_match: float = 2.75
    troubled: float = 0.65  # how many goals, matches and hours go wrong: from none (0) to all (1)
    date: dt.date = dt.date(2026, 3, 14)
    first_kick_off_ms: int = 15 * HOUR
    apart_ms: int = 15 * MINUTE


def generate(knobs: GeneratorOptions) -> Script:
    teams, matches = _pairs(knobs), list[Match]()
    for number, (home, away) in enumerate(teams):
        match = _shaped(knobs, number, home, away)
        goals = _share(number + 1, knobs.goals_per_match) - _share(number, knobs.goals_per_match)
        matches.append(add_incidents(knobs.seed, match, _match_plan(knobs, number, goals)))
    return Script(
        name=f"Match day {knobs.seed}",
        date=knobs.date,
        seed=knobs.seed,
        matches=tuple(matches),
        faults=_faults(knobs),
    )


def _share(number: int, each: float) -> int:
    """Whole ones of `each` a time, spread evenly: what one match gets does not depend on how many follow."""
    return int(number * each + 1e-9)


def _pairs(knobs: GeneratorOptions) -> list[tuple[Team, Team]]:
    """Of one league each; most leagues come round before one comes again."""
    order = [league for league, _, _ in FIRST_LEAGUES]
    seeded_random(knobs.seed, "leagues").shuffle(order)
    used, pairs = set[int](), list[tuple[Team, Team]]()
    for number in range(knobs.matches):
        league = order[number % len(order)]
        free = [team for each, team in get_catalogue().teams if each == league and team.id not in used]
        free = free if len(free) > 1 else [team for _, team in get_catalogue().teams if team.id not in used]
        home, away = seeded_random(knobs.seed, "pair", number).sample(free, 2)
        used |= {home.id, away.id}
        pairs.append((home, away))
    return pairs


def _shaped(knobs: GeneratorOptions, number: int, home: Team, away: Team) -> Match:
    draw = seeded_random(knobs.seed, "shape", number)
    base = {
        "home": home.name,
        "away": away.name,
        "kick_off": write_time(knobs.first_kick_off_ms + (number % 6) * knobs.apart_ms),
        "round": f"Regular Season - {draw.randrange(20, 36)}",
        "added": (draw.randrange(1, 4), draw.randrange(3, 7)),
    }
    is_odd = _share(number + 1, knobs.troubled * 1.5) > _share(number, knobs.troubled * 1.5)
    turn = number + seeded_random(knobs.seed, "turn").randrange(4)
    shape = SHAPES[turn % 4] if number < 4 else SHAPES[number % len(SHAPES)]
    return Match.model_validate(base | SHAPED[shape] if is_odd else base)


def _match_plan(knobs: GeneratorOptions, number: int, goals: int) -> MatchPlan:
    first = _share(number, knobs.goals_per_match)
    turn = seeded_random(knobs.seed, "troubles").randrange(len(TROUBLES))

    def trouble(goal: int) -> str | None:
        before, after = _share(goal, knobs.troubled), _share(goal + 1, knobs.troubled)
        return TROUBLES[(before + turn) % len(TROUBLES)] if after > before else None

    deliveries = tuple(DELIVERIES[(first + n + turn) % len(DELIVERIES)] for n in range(goals)) if knobs.troubled else ()
    return MatchPlan(
        tuple(trouble(first + n) for n in range(goals)), deliveries[: goals - 1], has_large=number % 4 == 0
    )


def _faults(knobs: GeneratorOptions) -> tuple[ScriptedFault, ...]:
    many, draw = round(knobs.troubled * 4), seeded_random(knobs.seed, "faults")
    turn = draw.randrange(len(FAULTS))
    faults = list[ScriptedFault]()
    for n in range(many):
        service, trouble = FAULTS[(turn + n) % len(FAULTS)]
        at = knobs.first_kick_off_ms + (12 + 23 * n) * MINUTE + draw.randrange(10) * MINUTE
        faults.append(ScriptedFault.model_validate({"service": service, "trouble": trouble, "at": write_time(at)}))
    return tuple(faults)
