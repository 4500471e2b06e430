"""The documents of Wikidata and of the feed as values. Pure, and forgiving: a field that is missing or odd is left out.

Invariant: what is not an item's document gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from touchline.watch.words import tokens

from .model import Facts, Item, Place

MOST_NAMES = 200
LANGUAGE = "en"

_ID = re.compile(r"Q[1-9][0-9]{0,11}", re.ASCII)


def facts_of(document: Any) -> Facts:
    """Of the feed's document of a team."""
    team, venue = _mapping(_mapping(document).get("team")), _mapping(_mapping(document).get("venue"))
    country, city = team.get("country"), venue.get("city")
    return Facts(
        national=team.get("national") is True,
        country=country if isinstance(country, str) and country else None,
        city=city if isinstance(city, str) and city else None,
    )


def hit_ids(document: Any) -> list[str]:
    """Of a search, in its order."""
    hits = _list(_mapping(document).get("search"))
    ids = (_mapping(hit).get("id") for hit in hits)
    return [each for each in ids if isinstance(each, str) and _ID.fullmatch(each)]


def items(document: Any) -> dict[str, Item]:
    """Those that are there."""
    entities = _mapping(_mapping(document).get("entities"))
    return {name: _item(name, _mapping(each)) for name, each in entities.items() if "missing" not in _mapping(each)}


def place_of(item: Item) -> Place:
    return Place(frozenset(" ".join(tokens(name)) for name in (item.label, *item.names)))


def _item(name: str, entity: Mapping[str, Any]) -> Item:
    labels, claims = _mapping(entity.get("labels")), _mapping(entity.get("claims"))
    aliases = _mapping(entity.get("aliases")).values()
    names = [*_texts(labels.values()), *(text for each in aliases for text in _texts(_list(each)))]
    return Item(
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
