"""The items: every team of the day, and what one may take for it: its city, its country, its women, its basketball.

Invariant: ids follow from the team's own or from names, so that one day has one Wikidata.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from touchline.world.days.model import Day, Team

Texts: TypeAlias = dict[str, str]  # by language

LANGUAGES = ("en", "de", "es", "fr", "it", "pt")
COUNTRY, CITY, STADIUM = "Q6256", "Q515", "Q483110"
FOOTBALL, BASKETBALL = "Q2736", "Q5372"
CLUB, NATIONAL_TEAM = "Q476028", "Q6979593"
WOMEN, BASKETBALL_TEAM = "Q28140340", "Q13393265"
# Where the real Wikidata has them; other countries get an id of their own.
COUNTRIES = {
    "Argentina": "Q414", "Belgium": "Q31", "Brazil": "Q155", "Denmark": "Q35", "England": "Q21", "France": "Q142",
    "Germany": "Q183", "Italy": "Q38", "Netherlands": "Q55", "Norway": "Q20", "Portugal": "Q45", "Scotland": "Q22",
    "Spain": "Q29", "Sweden": "Q34", "Wales": "Q25",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Item:
    id: str
    label: str
    description: str
    weight: int  # what is better known is found first
    aliases: tuple[str, ...] = ()
    claims: tuple[tuple[str, str], ...] = ()  # property and item
    founded: int | None = None
    labels: Texts = field(default_factory=dict[str, str])  # in other languages, where they differ


def items_of(day: Day) -> dict[str, Item]:
    teams = {team.id: team for _, team in day.teams}
    teams |= {team.id: team for fixture in day.fixtures for team in (fixture.home, fixture.away)}
    items = [*_kinds(), *(item for team in teams.values() for item in _around(team))]
    return {item.id: item for item in items}


def _around(team: Team) -> Iterable[Item]:
    yield Item(country_id(team.country), team.country, "country", 90, claims=(("P31", COUNTRY),))
    yield _city(team)
    yield _venue(team)
    if team.is_national:
        yield _national_team(team)
        yield _women(team, f"{team.country} women's national football team")
        return
    yield _club(team)
    yield _women(team, f"{team.name} Women")
    yield _basketball(team)


def _club(team: Team) -> Item:
    return Item(
        id=team.item,
        label=team.name,
        description=f"association football club in {team.city}, {team.country}",
        weight=70,
        aliases=_aliases(team),
        claims=(*_claims(team, CLUB), ("P159", city_id(team))),
        founded=team.founded,
    )


def _national_team(team: Team) -> Item:
    return Item(
        id=team.item,
        label=f"{team.country} national football team",
        description=f"men's national association football team representing {team.country}",
        weight=70,
        aliases=(team.name, *_aliases(team)),
        claims=_claims(team, NATIONAL_TEAM),
        founded=team.founded,
        labels={
            "de": f"Fußballnationalmannschaft ({team.country})",
            "es": f"Selección de fútbol de {team.country}",
            "fr": f"équipe de {team.country} de football",
        },
    )


def _claims(team: Team, kind: str) -> tuple[tuple[str, str], ...]:
    return ("P31", kind), ("P641", FOOTBALL), ("P17", country_id(team.country)), ("P115", venue_id(team))


def _aliases(team: Team) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*team.words, team.code)))


def _women(team: Team, label: str) -> Item:
    claims = (("P31", WOMEN), ("P641", FOOTBALL), ("P17", country_id(team.country)))
    return Item(near(team, 1), label, f"women's association football team in {team.country}", 40, (team.name,), claims)


def _basketball(team: Team) -> Item:
    claims = (("P31", BASKETBALL_TEAM), ("P641", BASKETBALL), ("P17", country_id(team.country)))
    return Item(near(team, 2), f"{team.name} (basketball)", f"basketball club in {team.city}", 30, (team.name,), claims)


def _city(team: Team) -> Item:
    claims = (("P31", CITY), ("P17", country_id(team.country)))
    return Item(city_id(team), team.city, f"city in {team.country}", 80, claims=claims)


def _venue(team: Team) -> Item:
    claims = (("P31", STADIUM), ("P17", country_id(team.country)))
    return Item(venue_id(team), team.venue, f"football stadium in {team.city}", 20, claims=claims)


def _kinds() -> Iterable[Item]:
    """What the claims point at."""
    kinds = {
        COUNTRY: "country", CITY: "city", STADIUM: "stadium", FOOTBALL: "association football",
        BASKETBALL: "basketball", CLUB: "association football club",
        NATIONAL_TEAM: "national association football team", WOMEN: "women's association football team",
        BASKETBALL_TEAM: "basketball team",
    }  # fmt: skip
    return [Item(name, label, "class of items", 10) for name, label in kinds.items()]


def country_id(country: str) -> str:
    return COUNTRIES.get(country) or _named("country", country)


def city_id(team: Team) -> str:
    return _named("city", f"{team.city}, {team.country}")


def venue_id(team: Team) -> str:
    return _named("venue", f"{team.venue}, {team.city}")


def near(team: Team, number: int) -> str:
    """Beside the team's own."""
    return _named(str(number), team.item)


def _named(kind: str, name: str) -> str:
    number = int.from_bytes(hashlib.blake2b(f"{kind}/{name}".encode(), digest_size=4).digest())
    return f"Q{200_000_000 + number % 700_000_000}"
