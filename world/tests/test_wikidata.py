"""Wikidata's two actions against the forms in its documentation."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.support.world import day_of, served, world_of
from touchline_world.application import build_app
from touchline_world.days.model import Fault, Service, Trouble

from .conftest import Small

API = "/wikidata/w/api.php"
CLUB, NATIONAL_TEAM = "Q8650040", "Q8650041"


async def ask(small: Small, **asked: str) -> dict[str, Any]:
    answer = await small.client.get(API, params={"format": "json", **asked})
    assert answer.status_code == 200
    return answer.json()


async def search(small: Small, text: str, **asked: str) -> dict[str, Any]:
    return await ask(small, action="wbsearchentities", search=text, language="en", **asked)


async def entities(small: Small, ids: str, **asked: str) -> dict[str, Any]:
    return await ask(small, action="wbgetentities", ids=ids, **asked)


async def test_a_hit(small: Small) -> None:
    told = await search(small, "the dock")
    (hit,) = told.pop("search")
    assert told == {"searchinfo": {"search": "the dock"}, "success": 1}
    assert hit == {
        "id": CLUB,
        "title": CLUB,
        "pageid": hit["pageid"],
        "concepturi": f"http://www.wikidata.org/entity/{CLUB}",
        "repository": "wikidata",
        "url": f"//www.wikidata.org/wiki/{CLUB}",
        "display": {
            "label": {"value": "Northport", "language": "en"},
            "description": {"value": "association football club in Northport, England", "language": "en"},
        },
        "label": "Northport",
        "description": "association football club in Northport, England",
        "match": {"type": "alias", "language": "en", "text": "The Dockers"},
        "aliases": ["The Dockers"],
    }


async def test_what_else_bears_the_name(small: Small) -> None:
    """The city is better known than its club; the women and the basketball players come after it."""
    hits = (await search(small, "northport"))["search"]
    kinds = [hit["description"].partition(" in ")[0] for hit in hits]
    assert kinds == ["city", "association football club", "women's association football team", "basketball club"]
    assert "aliases" not in hits[0]
    assert hits[0]["match"] == {"type": "label", "language": "en", "text": "Northport"}


async def test_pages_of_hits(small: Small) -> None:
    first = await search(small, "northport", limit="3")
    assert (len(first["search"]), first["search-continue"]) == (3, 3)
    last = await search(small, "northport", limit="3", **{"continue": "3"})
    assert len(last["search"]) == 1
    assert "search-continue" not in last


async def test_accents_do_not_matter(small: Small) -> None:
    assert NATIONAL_TEAM in [hit["id"] for hit in (await search(small, "goteryd"))["search"]]
    assert (await search(small, "nobody"))["search"] == []


async def test_an_item(small: Small) -> None:
    told = await entities(small, CLUB, props="labels|aliases|claims|descriptions|sitelinks", languages="en|de")
    assert told["success"] == 1
    item = told["entities"][CLUB]
    claims = item.pop("claims")
    assert item == {
        "type": "item",
        "id": CLUB,
        "labels": {each: {"language": each, "value": "Northport"} for each in ("en", "de")},
        "descriptions": {
            "en": {"language": "en", "value": "association football club in Northport, England"},
        },
        "aliases": {
            "en": [
                {"language": "en", "value": each} for each in ("Northport", "Northport FC", "The Dockers", "NFC", "NOR")
            ],
            "de": [{"language": "de", "value": each} for each in ("NFC", "NOR")],
        },
        "sitelinks": {"enwiki": {"site": "enwiki", "title": "Northport", "badges": []}},
    }
    (kind,) = claims["P31"]
    assert {*kind} == {"mainsnak", "type", "id", "rank"}
    assert kind["mainsnak"] == {
        "snaktype": "value",
        "property": "P31",
        "hash": kind["mainsnak"]["hash"],
        "datavalue": {
            "value": {"entity-type": "item", "numeric-id": 476028, "id": "Q476028"},
            "type": "wikibase-entityid",
        },
        "datatype": "wikibase-item",
    }
    assert kind["id"].startswith(f"{CLUB}$")
    assert (kind["type"], kind["rank"]) == ("statement", "normal")
    assert claims["P571"][0]["mainsnak"]["datavalue"]["value"]["time"] == "+1892-00-00T00:00:00Z"


async def test_every_claim_leads_to_an_item(small: Small) -> None:
    item = (await entities(small, CLUB))["entities"][CLUB]
    assert {"pageid", "ns", "title", "lastrevid", "modified"} <= {*item}
    targets = {
        name: item["claims"][name][0]["mainsnak"]["datavalue"]["value"]["id"]
        for name in ("P31", "P641", "P17", "P159", "P115")
    }
    found = (await entities(small, "|".join(targets.values()), props="labels", languages="en"))["entities"]
    assert {name: found[target]["labels"]["en"]["value"] for name, target in targets.items()} == {
        "P31": "association football club",
        "P641": "association football",
        "P17": "England",
        "P159": "Northport",
        "P115": "Harbour Road",
    }


async def test_a_national_team(small: Small) -> None:
    item = (await entities(small, NATIONAL_TEAM, languages="en|es"))["entities"][NATIONAL_TEAM]
    assert item["claims"]["P31"][0]["mainsnak"]["datavalue"]["value"]["id"] == "Q6979593"
    assert item["labels"]["es"]["value"] == "Selección de fútbol de Sweden"


@pytest.mark.parametrize(("version", "mark"), [("1", ""), ("2", True)])
async def test_an_item_that_is_missing(small: Small, version: str, mark: object) -> None:
    told = await entities(small, f"Q999999999|{CLUB}", formatversion=version)
    assert told["entities"]["Q999999999"] == {"id": "Q999999999", "missing": mark}
    assert told["entities"][CLUB]["type"] == "item"


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({}, "missingparam"),
        ({"action": "query"}, "badvalue"),
        ({"action": "wbgetentities"}, "param-missing"),
        ({"action": "wbgetentities", "ids": "|".join(f"Q{n}" for n in range(1, 52))}, "toomanyvalues"),
        ({"action": "wbgetentities", "ids": "Qx"}, "no-such-entity"),
        ({"action": "wbgetentities", "ids": "Q1", "props": "everything"}, "badvalue"),
        ({"action": "wbsearchentities", "language": "en"}, "missingparam"),
        ({"action": "wbsearchentities", "search": "a", "language": "!"}, "badvalue"),
        ({"action": "wbsearchentities", "search": "a", "language": "en", "limit": "many"}, "badinteger"),
        ({"action": "wbsearchentities", "search": "a", "language": "en", "maxlag": "-1"}, "maxlag"),
        ({"action": "wbgetentities", "ids": "Q1", "format": "xml"}, "badvalue"),
    ],
)
async def test_errors_come_with_200(small: Small, asked: dict[str, str], code: str) -> None:
    answer = await small.client.get(API, params=asked)
    assert (answer.status_code, answer.headers["mediawiki-api-error"]) == (200, code)
    told = answer.json()
    assert told["error"]["code"] == code
    assert {"info", "*"} <= {*told["error"]}
    assert "servedby" in told


async def test_posted_forms_are_the_same(small: Small) -> None:
    form = {"action": "wbgetentities", "ids": CLUB, "format": "json"}
    assert (await small.client.post(API, data=form)).json() == await entities(small, CLUB)


async def test_entity_data(small: Small) -> None:
    told = (await small.client.get(f"/wikidata/wiki/Special:EntityData/{CLUB}.json")).json()
    assert told["entities"] == (await entities(small, CLUB))["entities"]
    assert (await small.client.get("/wikidata/wiki/Special:EntityData/Q999999999.json")).status_code == 404


async def test_lagging(tmp_path_factory: pytest.TempPathFactory) -> None:
    day = day_of([], [Fault(Service.WIKIDATA, Trouble.ERRORS, 0, 10**9)])
    world, _ = world_of(day, tmp_path_factory.mktemp("lagging"))
    async with served(build_app(world)) as url, httpx.AsyncClient(base_url=url) as client:
        answer = await client.get(API, params={"action": "wbgetentities", "ids": CLUB, "maxlag": "5"})
    assert (answer.status_code, answer.headers["retry-after"], answer.headers["x-database-lag"]) == (200, "5", "7")
    assert answer.json()["error"]["code"] == "maxlag"
