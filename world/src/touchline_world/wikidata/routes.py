"""`/w/api.php` with the actions that search and read items, and `Special:EntityData`; errors as MediaWiki has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from touchline_world.days.model import Service, Trouble
from touchline_world.http import BodyTooLarge, fault_response, read_form
from touchline_world.world import World

from .entities import PROPS, Item, entity, hit_document, items_of, search

SERVER = "mw-api-ext.world"
SEE = (
    "See https://www.wikidata.org/w/api.php for API usage. Subscribe to the mediawiki-api-announce mailing list at "
    "&lt;https://lists.wikimedia.org/postorius/lists/mediawiki-api-announce.lists.wikimedia.org/&gt; for notice of API "
    "deprecations and breaking changes."
)
LAG_S = 7


class ApiError(Exception):
    def __init__(self, code: str, info: str, **details: Any) -> None:
        super().__init__(info)
        self.code = code
        self.document = {"error": {"code": code, "info": info, **details, "*": SEE}, "servedby": SERVER}

    def answer(self) -> Response:
        return JSONResponse(self.document, headers={"MediaWiki-API-Error": self.code})


def missing(name: str) -> ApiError:
    return ApiError("missingparam", f'The "{name}" parameter must be set.')


def unrecognised(name: str, value: str) -> ApiError:
    return ApiError("badvalue", f'Unrecognized value for parameter "{name}": {value}.')


def too_many(name: str, limit: int) -> ApiError:
    info = f'Too many values supplied for parameter "{name}". The limit is {limit}.'
    return ApiError("toomanyvalues", info, parameter=name, limit=limit, lowlimit=limit, highlimit=500)


def no_such_entity(entity: str) -> ApiError:
    html = {"*": "Could not find such an entity."}
    message: dict[str, Any] = {"name": "wikibase-api-no-such-entity", "parameters": [], "html": html}
    return ApiError(
        "no-such-entity", f'Could not find an entity with the ID "{entity}".', id=entity, messages=[message]
    )


def lagging() -> Response:
    info = f"Waiting for db-world: {LAG_S} seconds lagged."
    refused = ApiError("maxlag", info, host="db-world", lag=LAG_S, type="db")
    answer = refused.answer()
    answer.headers["Retry-After"] = "5"
    answer.headers["X-Database-Lag"] = str(LAG_S)
    return answer


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
        trouble = fault_response(self.world, Service.WIKIDATA)
        if isinstance(trouble, Response):
            return trouble
        try:
            asked = await _asked(request)
        except BodyTooLarge:
            return PlainTextResponse("Request Entity Too Large", 413)
        if trouble is Trouble.ERRORS or asked.get("maxlag", "").startswith("-"):
            return lagging()
        try:
            return JSONResponse(self._act(asked, {} if trouble is Trouble.EMPTY else self.items))
        except ApiError as refused:
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
        trouble = fault_response(self.world, Service.WIKIDATA)
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
        raise ApiError("param-missing", what)
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
        raise ApiError("badinteger", f'Invalid value "{text}" for integer parameter "{name}".')
    return int(text)
