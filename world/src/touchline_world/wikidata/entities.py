"""The items: every team of the day, and what one may take for it: its city, its country, its women, its basketball.

Invariant: ids follow from the team's own or from names, so that one day has one Wikidata.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from touchline_world.days.model import Day, Team
from touchline_world.social.search import words_of

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


PROPS = ("info", "sitelinks", "aliases", "labels", "descriptions", "claims", "datatype")
MODIFIED = "2026-01-10T08:00:00Z"


def entity(item: Item, props: Collection[str], languages: Collection[str]) -> dict[str, Any]:
    parts = {
        "info": lambda: _info(item),
        "labels": lambda: {"labels": _texts(_labels(item), languages)},
        "descriptions": lambda: {"descriptions": _texts({"en": item.description}, languages)},
        "aliases": lambda: {"aliases": _alias_documents(item, languages)},
        "claims": lambda: {"claims": _claim_documents(item)},
        "sitelinks": lambda: {"sitelinks": _sitelinks(item)},
    }
    document: dict[str, Any] = {"type": "item", "id": item.id}
    for name, make in parts.items():
        if name in props:
            document |= make()
    return document


def page_id(item: Item) -> int:
    return 1_000_000 + int(item.id[1:]) % 100_000_000


def _info(item: Item) -> dict[str, Any]:
    revision = 2_000_000_000 + int(item.id[1:]) % 100_000_000
    return {"pageid": page_id(item), "ns": 0, "title": item.id, "lastrevid": revision, "modified": MODIFIED}


def _labels(item: Item) -> dict[str, str]:
    return dict.fromkeys(LANGUAGES, item.label) | item.labels


def _texts(texts: dict[str, str], languages: Collection[str]) -> dict[str, Any]:
    return {
        each: {"language": each, "value": text} for each, text in texts.items() if not languages or each in languages
    }


def _alias_documents(item: Item, languages: Collection[str]) -> dict[str, Any]:
    """All in English; what has more than plain letters also in the languages where it may come from."""
    shared = [alias for alias in item.aliases if not alias.isascii() or alias.isupper()]
    by_language = {each: (item.aliases if each == "en" else shared) for each in LANGUAGES}
    return {
        language: [{"language": language, "value": alias} for alias in aliases]
        for language, aliases in by_language.items()
        if aliases and (not languages or language in languages)
    }


def _claim_documents(item: Item) -> dict[str, Any]:
    claims = dict[str, list[dict[str, Any]]]()
    for name, target in item.claims:
        claims.setdefault(name, []).append(_statement(item, name, _item_value(target), "wikibase-item"))
    if item.founded:
        claims["P571"] = [_statement(item, "P571", _year_value(item.founded), "time")]
    return claims


def _statement(item: Item, name: str, value: dict[str, Any], datatype: str) -> dict[str, Any]:
    digest = hashlib.sha1(f"{item.id}/{name}/{value}".encode(), usedforsecurity=False).hexdigest()
    number = "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32])).upper()
    snak = {"snaktype": "value", "property": name, "hash": digest, "datavalue": value, "datatype": datatype}
    return {"mainsnak": snak, "type": "statement", "id": f"{item.id}${number}", "rank": "normal"}


def _item_value(target: str) -> dict[str, Any]:
    value = {"entity-type": "item", "numeric-id": int(target[1:]), "id": target}
    return {"value": value, "type": "wikibase-entityid"}


def _year_value(year: int) -> dict[str, Any]:
    value = {
        "time": f"+{year:04}-00-00T00:00:00Z",
        "timezone": 0,
        "before": 0,
        "after": 0,
        "precision": 9,
        "calendarmodel": "http://www.wikidata.org/entity/Q1985727",
    }
    return {"value": value, "type": "time"}


def _sitelinks(item: Item) -> dict[str, Any]:
    return {"enwiki": {"site": "enwiki", "title": item.label[:1].upper() + item.label[1:], "badges": []}}


ENTITY = "http://www.wikidata.org/entity"
PAGE = "//www.wikidata.org/wiki"


@dataclass(frozen=True, slots=True)
class SearchHit:
    item: Item
    kind: str  # label or alias
    text: str


def search(items: Iterable[Item], text: str, language: str) -> list[SearchHit]:
    """What is called exactly so comes before what only begins so."""
    wanted = " ".join(words_of(text))
    hits = [hit for item in items if (hit := _hit(item, wanted, language))]
    return sorted(
        hits, key=lambda hit: (_folded(hit.text) != wanted, -hit.item.weight, hit.kind != "label", hit.item.id)
    )


def _hit(item: Item, wanted: str, language: str) -> SearchHit | None:
    if not wanted:
        return None
    label = item.labels.get(language, item.label)
    named = [SearchHit(item, "label", label), *(SearchHit(item, "alias", alias) for alias in item.aliases)]
    found = [hit for hit in named if _folded(hit.text).startswith(wanted)]
    return min(found, key=lambda hit: (_folded(hit.text) != wanted, hit.kind != "label"), default=None)


def _folded(text: str) -> str:
    return " ".join(words_of(text))


def hit_document(hit: SearchHit, language: str) -> dict[str, Any]:
    item = hit.item
    label = item.labels.get(language, item.label)
    document = {
        "id": item.id,
        "title": item.id,
        "pageid": page_id(item),
        "concepturi": f"{ENTITY}/{item.id}",
        "repository": "wikidata",
        "url": f"{PAGE}/{item.id}",
        "display": {
            "label": {"value": label, "language": language},
            "description": {"value": item.description, "language": "en"},
        },
        "label": label,
        "description": item.description,
        "match": {"type": hit.kind, "language": language, "text": hit.text},
    }
    return {**document, "aliases": [hit.text]} if hit.kind == "alias" else document
