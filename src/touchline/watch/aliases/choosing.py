"""Which of the things that bear a team's name is the team: not its city, its women, its youth or its basketball side.

Invariant: an item that says it is of another country is never taken; when nothing fits, nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from touchline.watch.words import tokens

from .junk import OTHER_TEAMS
from .model import Item, Place, Team

FOOTBALL = "Q2736"
CLUBS = frozenset({"Q476028", "Q15944511", "Q103229495"})  # football club, football team, men's football team
NATIONAL_TEAMS = frozenset({"Q6979593", "Q1194951"})  # national football team, national sports team
OTHERS = frozenset({"Q28140340", "Q13393265"})  # women's football team, basketball team
BRITISH = frozenset({"england", "scotland", "wales", "northern ireland"})
BRITAIN = frozenset({"united kingdom", "great britain"})

Places = Mapping[str, Place]


def search_terms(team: Team) -> list[str]:
    """How it may be called there, the likeliest first."""
    country = team.facts.country
    if team.facts.national:
        names = [team.name, *([country.replace("-", " ")] if country else [])]
        return list(dict.fromkeys([*(f"{name} national football team" for name in names), team.name]))
    return list(dict.fromkeys([team.name, f"{team.name} FC", f"FC {team.name}", _without_affixes(team.name)]))


def could_be(item: Item, team: Team) -> bool:
    """By what it is; where it lies is asked later. Kinds are many over there, so its description counts as well."""
    told = {*tokens(item.description), *tokens(item.label)} - {*tokens(team.name)}
    if told & OTHER_TEAMS or item.kinds & OTHERS or (item.sports and FOOTBALL not in item.sports):
        return False
    if team.facts.national:
        return bool(item.kinds & NATIONAL_TEAMS) or {"national", "team"} <= told
    is_team = bool(item.kinds & CLUBS) or (bool(told & {"football", "soccer"}) and bool(told & {"club", "team"}))
    return is_team and not item.kinds & NATIONAL_TEAMS and "national" not in told


def choose(items: Sequence[Item], team: Team, places: Places) -> Item | None:
    """Among those that could be it, in the order in which they were found."""
    fitting = [item for item in items if could_be(item, team) and not _is_elsewhere(item, team, places)]
    return min(fitting, key=lambda item: _distance(item, team, places), default=None)


def _distance(item: Item, team: Team, places: Places) -> tuple[bool, bool, bool]:
    is_there = _is_among(team.facts.country, item.countries, places)
    is_in_city = _is_among(team.facts.city, item.places, places) or _names_city(item, team)
    is_called_so = tokens(team.name) in {tokens(name) for name in (item.label, *item.names)}
    return not is_there, not is_in_city, not is_called_so


def _is_elsewhere(item: Item, team: Team, places: Places) -> bool:
    known = [place for place in item.countries if place in places]
    return bool(team.facts.country and known) and not _is_among(team.facts.country, known, places)


def _is_among(name: str | None, ids: Iterable[str], places: Places) -> bool:
    if not name:
        return False
    wanted = " ".join(tokens(name))
    names = frozenset[str]().union(*(places[each].names for each in ids if each in places))
    return wanted in names or (wanted in BRITISH and bool(names & BRITAIN))


def _names_city(item: Item, team: Team) -> bool:
    return bool(team.facts.city) and {*tokens(team.facts.city or "")} <= {*tokens(item.description)}


def _without_affixes(name: str) -> str:
    kept = [word for word in name.split() if not (word.isupper() and len(word) <= 4) and not word[0].isdigit()]
    return " ".join(kept) or name
