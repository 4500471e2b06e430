"""`/w/api.php` with its two actions that look for items and read them, and `Special:EntityData`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from touchline.world.context import World
from touchline.world.days.model import Service, Trouble
from touchline.world.reading import TooLarge, read_form
from touchline.world.troubles import answer_in_trouble

from .documents import PROPS, entity
from .errors import Refused, lagging, missing, no_such_entity, too_many, unrecognised
from .items import Item, items_of
from .search import hit_document, search

MOST_IDS, MOST_HITS, DEFAULT_HITS = 50, 50, 7

_ID = re.compile(r"Q[1-9][0-9]{0,9}", re.ASCII | re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*", re.ASCII)

Asked = Mapping[str, str]


def routes(world: World) -> list[BaseRoute]:
    wikidata = _Wikidata(world, items_of(world.day))
    return [
        Route("/w/api.php", wikidata.api, methods=["GET", "POST"]),
        Route("/wiki/Special:EntityData/{id:str}.json", wikidata.data),
    ]


@dataclass(frozen=True, slots=True)
class _Wikidata:
    world: World
    items: dict[str, Item] = field(repr=False)

    async def api(self, request: Request) -> Response:
        trouble = answer_in_trouble(self.world, Service.WIKIDATA)
        if isinstance(trouble, Response):
            return trouble
        try:
            asked = await _asked(request)
        except TooLarge:
            return PlainTextResponse("Request Entity Too Large", 413)
        if trouble is Trouble.ERRORS or asked.get("maxlag", "").startswith("-"):
            return lagging()
        try:
            return JSONResponse(self._act(asked, {} if trouble is Trouble.EMPTY else self.items))
        except Refused as refused:
            return refused.answer()

    def _act(self, asked: Asked, items: Mapping[str, Item]) -> dict[str, Any]:
        if asked.get("format", "json") != "json":
            raise unrecognised("format", asked["format"])
        match asked.get("action"):
            case "wbsearchentities":
                return _search(asked, items)
            case "wbgetentities":
                return _entities(asked, items)
            case None:
                raise missing("action")
            case other:
                raise unrecognised("action", other)

    async def data(self, request: Request) -> Response:
        trouble = answer_in_trouble(self.world, Service.WIKIDATA)
        if isinstance(trouble, Response):
            return trouble
        item = self.items.get(request.path_params["id"].upper())
        if item is None or trouble in {Trouble.EMPTY, Trouble.ERRORS}:
            return PlainTextResponse("No entity with that ID was found.", 404)
        return JSONResponse({"entities": {item.id: entity(item, PROPS, ())}})


async def _asked(request: Request) -> Asked:
    asked = dict(request.query_params)
    if request.method == "POST":
        asked |= await read_form(request)
    return asked


def _search(asked: Asked, items: Mapping[str, Item]) -> dict[str, Any]:
    text, language = _required(asked, "search"), _required(asked, "language")
    if not _LANGUAGE.fullmatch(language):
        raise unrecognised("language", language)
    if asked.get("type", "item") not in {"item", "property", "lexeme", "form", "sense"}:
        raise unrecognised("type", asked["type"])
    limit, start = _number(asked, "limit", DEFAULT_HITS), _number(asked, "continue", 0)
    hits = search(items.values(), text, language) if asked.get("type", "item") == "item" else []
    end = start + max(1, min(limit, MOST_HITS))
    shown = asked.get("uselang", language)
    document: dict[str, Any] = {
        "searchinfo": {"search": text},
        "search": [hit_document(hit, shown) for hit in hits[start:end]],
    }
    if end < len(hits):
        document["search-continue"] = end
    return {**document, "success": 1}


def _entities(asked: Asked, items: Mapping[str, Item]) -> dict[str, Any]:
    ids = _list(asked, "ids", MOST_IDS)
    if not ids:
        what = 'Either provide the item "ids" or pairs of "sites" and "titles" for corresponding pages.'
        raise Refused("param-missing", what)
    props = _list(asked, "props", MOST_IDS) if "props" in asked else list(PROPS)
    if wrong := next((each for each in props if each not in {*PROPS, "sitelinks/urls"}), None):
        raise unrecognised("props", wrong)
    languages = _list(asked, "languages", MOST_IDS)
    if bad := next((each for each in ids if not _ID.fullmatch(each)), None):
        raise no_such_entity(bad)
    gone = True if asked.get("formatversion") == "2" else ""
    found = {each.upper(): items.get(each.upper()) for each in ids}
    entities = {
        each: entity(item, props, languages) if item else {"id": each, "missing": gone} for each, item in found.items()
    }
    return {"entities": entities, "success": 1}


def _required(asked: Asked, name: str) -> str:
    if not asked.get(name):
        raise missing(name)
    return asked[name]


def _list(asked: Asked, name: str, limit: int) -> list[str]:
    values = [value for value in asked.get(name, "").split("|") if value]
    if len(values) > limit:
        raise too_many(name, limit)
    return values


def _number(asked: Asked, name: str, otherwise: int) -> int:
    text = asked.get(name, str(otherwise))
    if text == "max":
        return MOST_HITS
    if not (text.isascii() and text.isdigit()) or len(text) > 6:
        raise Refused("badinteger", f'Invalid value "{text}" for integer parameter "{name}".')
    return int(text)
