"""Asks Wikidata which item a team is, and reads its names.

Invariant: an error document, which comes with status 200, is a failure and never "nothing found".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import httpx

from touchline import __version__
from touchline.kernel import RateLimited, Unavailable
from touchline.watch.http_request import OutgoingRequest, ServiceReply, ask
from touchline.watch.settings import AliasSettings
from touchline.watch.words import tokens

from .rules import OTHER_TEAMS, AliasTeam, Place, TeamDetails, WikidataItem

# Which of the things that bear a team's name is the team: not its city, its women, its youth or its basketball side.
# Invariant: an item that says it is of another country is never taken; when nothing fits, nothing is.

FOOTBALL = "Q2736"
CLUBS = frozenset({"Q476028", "Q15944511", "Q103229495"})  # football club, football team, men's football team
NATIONAL_TEAMS = frozenset({"Q6979593", "Q1194951"})  # national football team, national sports team
OTHERS = frozenset({"Q28140340", "Q13393265"})  # women's football team, basketball team
BRITISH = frozenset({"england", "scotland", "wales", "northern ireland"})
BRITAIN = frozenset({"united kingdom", "great britain"})
Places = Mapping[str, Place]


def search_terms(team: AliasTeam) -> list[str]:
    """How it may be called there, the likeliest first."""
    country = team.facts.country
    if team.facts.national:
        names = [team.name, *([country.replace("-", " ")] if country else [])]
        return list(dict.fromkeys([*(f"{name} national football team" for name in names), team.name]))
    return list(dict.fromkeys([team.name, f"{team.name} FC", f"FC {team.name}", _without_affixes(team.name)]))


def could_be(item: WikidataItem, team: AliasTeam) -> bool:
    """By what it is; where it lies is asked later. Kinds are many over there, so its description counts as well."""
    words = {*tokens(item.description), *tokens(item.label)} - {*tokens(team.name)}
    if words & OTHER_TEAMS or item.kinds & OTHERS or (item.sports and FOOTBALL not in item.sports):
        return False
    if team.facts.national:
        return bool(item.kinds & NATIONAL_TEAMS) or {"national", "team"} <= words
    is_team = bool(item.kinds & CLUBS) or (bool(words & {"football", "soccer"}) and bool(words & {"club", "team"}))
    return is_team and not item.kinds & NATIONAL_TEAMS and "national" not in words


def choose(items: Sequence[WikidataItem], team: AliasTeam, places: Places) -> WikidataItem | None:
    """Among those that could be it, in the order in which they were found."""
    fitting = [item for item in items if could_be(item, team) and not _is_elsewhere(item, team, places)]
    return min(fitting, key=lambda item: _distance(item, team, places), default=None)


def _distance(item: WikidataItem, team: AliasTeam, places: Places) -> tuple[bool, bool, bool]:
    is_there = _is_among(team.facts.country, item.countries, places)
    is_in_city = _is_among(team.facts.city, item.places, places) or _names_city(item, team)
    is_called_so = tokens(team.name) in {tokens(name) for name in (item.label, *item.names)}
    return not is_there, not is_in_city, not is_called_so


def _is_elsewhere(item: WikidataItem, team: AliasTeam, places: Places) -> bool:
    known = [place for place in item.countries if place in places]
    return bool(team.facts.country and known) and not _is_among(team.facts.country, known, places)


def _is_among(name: str | None, ids: Iterable[str], places: Places) -> bool:
    if not name:
        return False
    wanted = " ".join(tokens(name))
    names = frozenset[str]().union(*(places[each].names for each in ids if each in places))
    return wanted in names or (wanted in BRITISH and bool(names & BRITAIN))


def _names_city(item: WikidataItem, team: AliasTeam) -> bool:
    return bool(team.facts.city) and {*tokens(team.facts.city or "")} <= {*tokens(item.description)}


def _without_affixes(name: str) -> str:
    kept = [word for word in name.split() if not (word.isupper() and len(word) <= 4) and not word[0].isdigit()]
    return " ".join(kept) or name


# The documents of Wikidata and of the feed as values. Pure, and forgiving: a field that is missing or odd is left
# out.
# Invariant: what is not an item's document gives nothing.

MOST_NAMES = 200
LANGUAGE = "en"
_ID = re.compile(r"Q[1-9][0-9]{0,11}", re.ASCII)


def facts_of(document: Any) -> TeamDetails:
    """Of the feed's document of a team."""
    team, venue = _mapping(_mapping(document).get("team")), _mapping(_mapping(document).get("venue"))
    country, city = team.get("country"), venue.get("city")
    return TeamDetails(
        national=team.get("national") is True,
        country=country if isinstance(country, str) and country else None,
        city=city if isinstance(city, str) and city else None,
    )


def hit_ids(document: Any) -> list[str]:
    """Of a search, in its order."""
    hits = _list(_mapping(document).get("search"))
    ids = (_mapping(hit).get("id") for hit in hits)
    return [each for each in ids if isinstance(each, str) and _ID.fullmatch(each)]


def items(document: Any) -> dict[str, WikidataItem]:
    """Those that are there."""
    entities = _mapping(_mapping(document).get("entities"))
    return {name: _item(name, _mapping(each)) for name, each in entities.items() if "missing" not in _mapping(each)}


def place_of(item: WikidataItem) -> Place:
    return Place(frozenset(" ".join(tokens(name)) for name in (item.label, *item.names)))


def _item(name: str, entity: Mapping[str, Any]) -> WikidataItem:
    labels, claims = _mapping(entity.get("labels")), _mapping(entity.get("claims"))
    aliases = _mapping(entity.get("aliases")).values()
    names = [*_texts(labels.values()), *(text for each in aliases for text in _texts(_list(each)))]
    return WikidataItem(
        id=name,
        label=_text(labels.get(LANGUAGE)) or next(_texts(labels.values()), ""),
        description=_text(_mapping(entity.get("descriptions")).get(LANGUAGE)) or "",
        names=tuple(dict.fromkeys(names))[:MOST_NAMES],
        kinds=frozenset(_targets(claims, "P31")),
        sports=frozenset(_targets(claims, "P641")),
        countries=tuple(_targets(claims, "P17", "P1532")),
        places=tuple(_targets(claims, "P159", "P131")),
    )


def _targets(claims: Mapping[str, Any], *properties: str) -> Iterator[str]:
    for name in properties:
        for statement in _list(claims.get(name)):
            value = _mapping(_mapping(_mapping(_mapping(statement).get("mainsnak")).get("datavalue")).get("value"))
            target = value.get("id")
            if isinstance(target, str) and _ID.fullmatch(target):
                yield target


def _texts(values: Iterable[Any]) -> Iterator[str]:
    return (text for value in values if (text := _text(value)))


def _text(value: Any) -> str | None:
    text = _mapping(value).get("value")
    return text if isinstance(text, str) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


SERVICE = "Wikidata"
LANGUAGES = "en|es|de|fr|it|pt"
MOST_HITS = 20
MOST_IDS = 50  # that one question may name
MAX_LAG_S = 5  # a database further behind than this is left alone, as its people ask for
PROPS = "labels|descriptions|aliases|claims"


class WikidataClient:
    def __init__(self, settings: AliasSettings, http: httpx.AsyncClient) -> None:
        self._settings = settings
        self._http = http
        self._headers = {"User-Agent": f"Touchline/{__version__} ({settings.contact})"}

    @property
    def is_set(self) -> bool:
        return bool(self._settings.wikidata_url)

    async def find(self, team: AliasTeam) -> WikidataItem | None:
        """None: it answered, and knows no such team. Raises Unavailable when it did not answer."""
        for term in search_terms(team):
            if found := await self._find_called(term, team):
                return found
        return None

    async def _find_called(self, term: str, team: AliasTeam) -> WikidataItem | None:
        asked = {"action": "wbsearchentities", "search": term, "language": "en", "limit": str(MOST_HITS)}
        ids = hit_ids(await self._ask(asked))
        known = await self._items(ids, PROPS, LANGUAGES)
        fitting = [known[each] for each in ids if each in known and could_be(known[each], team)]
        wanted = dict.fromkeys(place for item in fitting for place in (*item.countries, *item.places))
        places = await self._items(wanted, "labels|aliases", "en")
        return choose(fitting, team, {name: place_of(each) for name, each in places.items()})

    async def _items(self, ids: Iterable[str], props: str, languages: str) -> dict[str, WikidataItem]:
        wanted = list(ids)[:MOST_IDS]
        if not wanted:
            return {}
        asked = {"action": "wbgetentities", "ids": "|".join(wanted), "props": props, "languages": languages}
        return items(await self._ask(asked))

    async def _ask(self, asked: dict[str, str]) -> Any:
        if not self.is_set:
            raise Unavailable("Wikidata is not configured", hint="Set `aliases.wikidata_url`.")
        parameters = {"format": "json", "formatversion": "2", "maxlag": str(MAX_LAG_S), **asked}
        request = self._http.build_request(
            "GET", f"{self._settings.wikidata_url}/w/api.php", params=parameters, headers=self._headers
        )
        return _read(await ask(self._http, OutgoingRequest(SERVICE, request, self._settings.wikidata_timeout)))


def _read(reply: ServiceReply) -> Any:
    if reply.status == 429:
        raise RateLimited("Wikidata limits the number of requests")
    if reply.status != 200:
        raise Unavailable("Wikidata is unavailable", why=f"status {reply.status}")
    try:
        document = reply.document()
    except ValueError as error:
        raise Unavailable("the response of Wikidata is malformed") from error
    if not isinstance(document, dict) or "error" in document:
        raise Unavailable("Wikidata rejected the request", why=_code(document))
    return cast("Any", document)


def _code(document: Any) -> str:
    error = cast("dict[str, Any]", document).get("error") if isinstance(document, dict) else None
    return str(cast("dict[str, Any]", error).get("code")) if isinstance(error, dict) else "an unexpected response"
