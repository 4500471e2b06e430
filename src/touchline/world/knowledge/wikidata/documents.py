"""Items in the form that the API has for them, field by field."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any

from .items import LANGUAGES, Item

PROPS = ("info", "sitelinks", "aliases", "labels", "descriptions", "claims", "datatype")
MODIFIED = "2026-01-10T08:00:00Z"


def entity(item: Item, props: Collection[str], languages: Collection[str]) -> dict[str, Any]:
    parts = {
        "info": lambda: _info(item),
        "labels": lambda: {"labels": _texts(_labels(item), languages)},
        "descriptions": lambda: {"descriptions": _texts({"en": item.description}, languages)},
        "aliases": lambda: {"aliases": _aliases(item, languages)},
        "claims": lambda: {"claims": _claims(item)},
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


def _aliases(item: Item, languages: Collection[str]) -> dict[str, Any]:
    """All in English; what has more than plain letters also in the languages where it may come from."""
    shared = [alias for alias in item.aliases if not alias.isascii() or alias.isupper()]
    by_language = {each: (item.aliases if each == "en" else shared) for each in LANGUAGES}
    return {
        language: [{"language": language, "value": alias} for alias in aliases]
        for language, aliases in by_language.items()
        if aliases and (not languages or language in languages)
    }


def _claims(item: Item) -> dict[str, Any]:
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
