"""Who can play: leagues, teams and squads, the same on every day.

Invariant: ids, codes and words never change with the seed of a day, so that a script can name them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache

from . import further
from .chance import dice
from .clubs import CLUBS, COLOURS, LEAGUES, NATIONAL
from .model import League, Player, Team
from .names import ABROAD, FAMILY, GIVEN, KNOWN

SQUAD, NATIONAL_SQUAD = 18, 14  # the longer one needs players from abroad
FIRST_ITEM = 8_650_000
ALL_LEAGUES = (*LEAGUES, *further.LEAGUES)


@dataclass(frozen=True, slots=True)
class Catalogue:
    teams: tuple[tuple[int, Team], ...]  # with the league
    squads: dict[int, tuple[Player, ...]]  # by team

    def league_of(self, team: Team) -> int:
        return next(league for league, each in self.teams if each.id == team.id)


@cache
def catalogue() -> Catalogue:
    first = [(league, row) for league, rows in CLUBS.items() for row in rows.strip().splitlines()]
    rows = [*first, *further.clubs({row.split("|")[2].strip() for _, row in first})]
    teams = tuple((league, _team(league, row, FIRST_ITEM + n)) for n, (league, row) in enumerate(rows, 1))
    return Catalogue(teams, {team.id: _squad(team, n) for n, (_, team) in enumerate(teams, 1)})


def season_of(day: date) -> int:
    """It begins in July."""
    return day.year - (day.month < 7)


def leagues(season: int) -> tuple[League, ...]:
    return tuple(League(league, name, country, season) for league, name, country in ALL_LEAGUES)


def _team(league: int, row: str, item: int) -> Team:
    number, name, code, city, venue, founded, shirt, shorts, called = (cell.strip() for cell in row.split("|"))
    is_national, words = league == NATIONAL, tuple(called.split(", "))
    country = name if is_national else next(country for each, _, country in ALL_LEAGUES if each == league)
    known = words if is_national or city in words else (*words, city.split()[0])
    colours = COLOURS[shirt], COLOURS[shorts]
    return Team(int(number), name, code, country, city, venue, int(founded), is_national, known, f"Q{item}", *colours)


def _squad(team: Team, number: int) -> tuple[Player, ...]:
    """The known players last: attackers, who score most."""
    known = KNOWN.get(team.id, ())
    size = NATIONAL_SQUAD if team.is_national else SQUAD
    names = [*_composed(team, size - len(known), {name.split()[-1] for name in known}), *known]
    return tuple(Player(400_000 + number * 100 + n, _short(name), name) for n, name in enumerate(names, 1))


def _composed(team: Team, many: int, taken: set[str]) -> list[str]:
    draw = dice("squad", team.id)
    names: list[str] = []
    while len(names) < many:
        home = team.country if team.is_national or draw.random() < 0.7 else draw.choice(ABROAD)
        given, family = draw.choice(GIVEN[home].split()), draw.choice(FAMILY[home].split())
        if family not in taken:
            taken.add(family)
            names.append(f"{given} {family}")
    return names


def _short(name: str) -> str:
    """As the feed writes it: the first initial, then the rest."""
    given, _, family = name.partition(" ")
    return f"{given[0]}. {family}" if family else name
