"""Asks Wikidata which item a team is, and reads its names.

Invariant: an error document, which comes with status 200, is a failure and never "nothing found".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import httpx

from touchline import __version__
from touchline.kernel.errors import RateLimited, Unavailable
from touchline.watch.asking import Question, Reply, ask

from .choosing import choose, could_be, search_terms
from .documents import hit_ids, items, place_of
from .model import Item, Team
from .settings import AliasSettings

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

    async def find(self, team: Team) -> Item | None:
        """None: it answered, and knows no such team. Raises Unavailable when it did not answer."""
        for term in search_terms(team):
            if found := await self._find_called(term, team):
                return found
        return None

    async def _find_called(self, term: str, team: Team) -> Item | None:
        asked = {"action": "wbsearchentities", "search": term, "language": "en", "limit": str(MOST_HITS)}
        ids = hit_ids(await self._ask(asked))
        known = await self._items(ids, PROPS, LANGUAGES)
        fitting = [known[each] for each in ids if each in known and could_be(known[each], team)]
        wanted = dict.fromkeys(place for item in fitting for place in (*item.countries, *item.places))
        places = await self._items(wanted, "labels|aliases", "en")
        return choose(fitting, team, {name: place_of(each) for name, each in places.items()})

    async def _items(self, ids: Iterable[str], props: str, languages: str) -> dict[str, Item]:
        wanted = list(ids)[:MOST_IDS]
        if not wanted:
            return {}
        asked = {"action": "wbgetentities", "ids": "|".join(wanted), "props": props, "languages": languages}
        return items(await self._ask(asked))

    async def _ask(self, asked: dict[str, str]) -> Any:
        if not self.is_set:
            raise Unavailable("Wikidata is not set", hint="Set `aliases.wikidata_url` to have it asked.")
        parameters = {"format": "json", "formatversion": "2", "maxlag": str(MAX_LAG_S), **asked}
        request = self._http.build_request(
            "GET", f"{self._settings.wikidata_url}/w/api.php", params=parameters, headers=self._headers
        )
        return _read(await ask(self._http, Question(SERVICE, request, self._settings.wikidata_timeout)))


def _read(reply: Reply) -> Any:
    if reply.status == 429:
        raise RateLimited("Wikidata wants to be left alone")
    if reply.status != 200:
        raise Unavailable("Wikidata does not answer now", why=f"status {reply.status}")
    try:
        document = reply.document()
    except ValueError as error:
        raise Unavailable("Wikidata's answer cannot be read") from error
    if not isinstance(document, dict) or "error" in document:
        raise Unavailable("Wikidata refuses the question", why=_code(document))
    return cast("Any", document)


def _code(document: Any) -> str:
    error = cast("dict[str, Any]", document).get("error") if isinstance(document, dict) else None
    return str(cast("dict[str, Any]", error).get("code")) if isinstance(error, dict) else "an odd answer"
