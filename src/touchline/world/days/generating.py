"""Match days by the number: a script, as a person could have written it.

Invariant: a day of five matches has the four matches of the day of four, unchanged.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from .catalogue import catalogue
from .chance import dice
from .clubs import LEAGUES
from .livening import DELIVERIES, TROUBLES, Mood, lively
from .model import Service, Team, Trouble
from .moments import HOUR, MINUTE, write_time
from .script import Match, Script, ScriptedFault

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
class Knobs:
    seed: int = 1
    matches: int = 4
    goals_per_match: float = 2.75
    troubled: float = 0.65  # how many goals, matches and hours go wrong: from none (0) to all (1)
    date: dt.date = dt.date(2026, 3, 14)
    first_kick_off_ms: int = 15 * HOUR
    apart_ms: int = 15 * MINUTE


def generate(knobs: Knobs) -> Script:
    teams, matches = _pairs(knobs), list[Match]()
    for number, (home, away) in enumerate(teams):
        match = _shaped(knobs, number, home, away)
        goals = _share(number + 1, knobs.goals_per_match) - _share(number, knobs.goals_per_match)
        matches.append(lively(knobs.seed, match, _mood(knobs, number, goals)))
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


def _pairs(knobs: Knobs) -> list[tuple[Team, Team]]:
    """Of one league each; most leagues come round before one comes again."""
    order = [league for league, _, _ in LEAGUES]
    dice(knobs.seed, "leagues").shuffle(order)
    used, pairs = set[int](), list[tuple[Team, Team]]()
    for number in range(knobs.matches):
        league = order[number % len(order)]
        free = [team for each, team in catalogue().teams if each == league and team.id not in used]
        free = free if len(free) > 1 else [team for _, team in catalogue().teams if team.id not in used]
        home, away = dice(knobs.seed, "pair", number).sample(free, 2)
        used |= {home.id, away.id}
        pairs.append((home, away))
    return pairs


def _shaped(knobs: Knobs, number: int, home: Team, away: Team) -> Match:
    draw = dice(knobs.seed, "shape", number)
    base = {
        "home": home.name,
        "away": away.name,
        "kick_off": write_time(knobs.first_kick_off_ms + (number % 6) * knobs.apart_ms),
        "round": f"Regular Season - {draw.randrange(20, 36)}",
        "added": (draw.randrange(1, 4), draw.randrange(3, 7)),
    }
    is_odd = _share(number + 1, knobs.troubled * 1.5) > _share(number, knobs.troubled * 1.5)
    turn = number + dice(knobs.seed, "turn").randrange(4)
    shape = SHAPES[turn % 4] if number < 4 else SHAPES[number % len(SHAPES)]
    return Match.model_validate(base | SHAPED[shape] if is_odd else base)


def _mood(knobs: Knobs, number: int, goals: int) -> Mood:
    first = _share(number, knobs.goals_per_match)
    turn = dice(knobs.seed, "troubles").randrange(len(TROUBLES))

    def trouble(goal: int) -> str | None:
        before, after = _share(goal, knobs.troubled), _share(goal + 1, knobs.troubled)
        return TROUBLES[(before + turn) % len(TROUBLES)] if after > before else None

    deliveries = tuple(DELIVERIES[(first + n + turn) % len(DELIVERIES)] for n in range(goals)) if knobs.troubled else ()
    return Mood(tuple(trouble(first + n) for n in range(goals)), deliveries[: goals - 1], has_large=number % 4 == 0)


def _faults(knobs: Knobs) -> tuple[ScriptedFault, ...]:
    many, draw = round(knobs.troubled * 4), dice(knobs.seed, "faults")
    turn = draw.randrange(len(FAULTS))
    faults = list[ScriptedFault]()
    for n in range(many):
        service, trouble = FAULTS[(turn + n) % len(FAULTS)]
        at = knobs.first_kick_off_ms + (12 + 23 * n) * MINUTE + draw.randrange(10) * MINUTE
        faults.append(ScriptedFault.model_validate({"service": service, "trouble": trouble, "at": write_time(at)}))
    return tuple(faults)
