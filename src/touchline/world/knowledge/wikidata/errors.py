"""Errors of the MediaWiki API: they come with HTTP 200 and say so in a header and in the document."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

SERVER = "mw-api-ext.world"
SEE = (
    "See https://www.wikidata.org/w/api.php for API usage. Subscribe to the mediawiki-api-announce mailing list at "
    "&lt;https://lists.wikimedia.org/postorius/lists/mediawiki-api-announce.lists.wikimedia.org/&gt; for notice of API "
    "deprecations and breaking changes."
)
LAG_S = 7


class Refused(Exception):
    def __init__(self, code: str, info: str, **details: Any) -> None:
        super().__init__(info)
        self.code = code
        self.document = {"error": {"code": code, "info": info, **details, "*": SEE}, "servedby": SERVER}

    def answer(self) -> Response:
        return JSONResponse(self.document, headers={"MediaWiki-API-Error": self.code})


def missing(name: str) -> Refused:
    return Refused("missingparam", f'The "{name}" parameter must be set.')


def unrecognised(name: str, value: str) -> Refused:
    return Refused("badvalue", f'Unrecognized value for parameter "{name}": {value}.')


def too_many(name: str, limit: int) -> Refused:
    info = f'Too many values supplied for parameter "{name}". The limit is {limit}.'
    return Refused("toomanyvalues", info, parameter=name, limit=limit, lowlimit=limit, highlimit=500)


def no_such_entity(entity: str) -> Refused:
    html = {"*": "Could not find such an entity."}
    message: dict[str, Any] = {"name": "wikibase-api-no-such-entity", "parameters": [], "html": html}
    return Refused("no-such-entity", f'Could not find an entity with the ID "{entity}".', id=entity, messages=[message])


def lagging() -> Response:
    info = f"Waiting for db-world: {LAG_S} seconds lagged."
    refused = Refused("maxlag", info, host="db-world", lag=LAG_S, type="db")
    answer = refused.answer()
    answer.headers["Retry-After"] = "5"
    answer.headers["X-Database-Lag"] = str(LAG_S)
    return answer
