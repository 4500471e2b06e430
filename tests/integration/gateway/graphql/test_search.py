"""Search over GraphQL, as the page asks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.process.search.conftest import Library, Read
from touchline.kernel import video_id
from touchline.process.search.model import TextPlace
from touchline.process.search.store import VideoSubjectStore

from .site import Person, Site

SEARCH = """
query ($query: String!, $filters: SearchFilters, $sort: SearchSort! = RELEVANCE, $first: Int! = 10, $after: String) {
  search(query: $query, filters: $filters, sort: $sort, first: $first, after: $after) {
    __typename
    ... on ValidationError { code field message }
    ... on SearchPage {
      edges { cursor node {
        segmentId videoId artifactHash where text startMs endMs confidence language videoCreatedAt
        fragments { text matched } box { x y width height frameWidth frameHeight } vod { title playbackId }
      } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      corrections { word readAs }
      places { where count hasMore }
    }
  }
}
"""
SUGGEST = "query ($prefix: String!) { searchSuggestions(prefix: $prefix) { text segments } }"


async def ask(site: Site, person: Person, query: str, **more: Any) -> dict[str, Any]:
    return (await site.data(person, SEARCH, query=query, **more))["search"]


async def texts(site: Site, person: Person, query: str, **variables: Any) -> list[str]:
    return [edge["node"]["text"] for edge in (await ask(site, person, query, **variables))["edges"]]


async def test_a_hit_has_all_that_the_page_shows(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada, "The final")
    library = Library(site.world.database, ada.principal.tenant_id)
    video = await library.video("before", Read("GOAL! Saka", 0.75, "eng"), video_id=video_id(upload.artifact_hash))
    await library.execute(
        "INSERT INTO process.samplings VALUES (platform.current_tenant(), %(video)s, 1, 100, 1280, 720, 60000, 2)",
        video=video,
    )
    found = await ask(site, ada, "goai", sort="RECENCY", filters={"languages": ["ENG"], "minConfidence": 0.7})
    [edge] = found["edges"]
    assert edge["node"] == {
        "segmentId": edge["node"]["segmentId"],
        "videoId": str(video),
        "artifactHash": upload.artifact_hash,
        "where": "PICTURE",
        "text": "GOAL! Saka",
        "startMs": 1000.0,
        "endMs": 1900.0,
        "confidence": 0.75,
        "language": "eng",
        "videoCreatedAt": "2026-01-01T00:00:00+00:00",
        "fragments": [{"text": "GOAL", "matched": True}, {"text": "! Saka", "matched": False}],
        "box": {"x": 1, "y": 2, "width": 30, "height": 4, "frameWidth": 1280, "frameHeight": 720},
        "vod": {"title": "The final", "playbackId": upload.playback_id},
    }
    assert found["pageInfo"]["hasNextPage"] is False
    assert (await site.data(ada, SUGGEST, prefix="SA"))["searchSuggestions"] == [{"text": "saka", "segments": 1}]


async def test_a_title_is_a_hit_without_a_picture(site: Site) -> None:
    ada = await site.person()
    library = Library(site.world.database, ada.principal.tenant_id)
    video = await library.video("the final whistle")
    async with site.world.database.transaction(ada.principal) as transaction:
        await VideoSubjectStore(transaction.connection).save_texts(video, {TextPlace.TITLE: "The final"})
    found = {edge["node"]["where"]: edge["node"] for edge in (await ask(site, ada, "final"))["edges"]}
    assert set(found) == {"TITLE", "PICTURE"}
    title = found["TITLE"]
    assert (title["text"], title["box"], title["startMs"]) == ("The final", None, 0.0)
    assert await texts(site, ada, "final", filters={"where": ["TITLE", "MATCH"]}) == ["The final"]
    assert await texts(site, ada, "final", filters={"where": ["PICTURE"]}) == ["the final whistle"]
    counts = [("PICTURE", 1), ("TITLE", 1), ("MATCH", 0)]
    for filters in ({}, {"where": ["PICTURE"]}):  # what another place would show is counted too
        places = (await ask(site, ada, "final", filters=filters))["places"]
        assert places == [{"where": where, "count": count, "hasMore": False} for where, count in counts]


async def test_pages_go_on_where_they_ended(site: Site) -> None:
    ada = await site.person()
    await Library(site.world.database, ada.principal.tenant_id).video(*(f"chelsea {number}" for number in range(5)))
    found = await ask(site, ada, "chelsae", first=2)
    assert found["corrections"] == [{"word": "chelsae", "readAs": ["chelsea"]}]
    rest = await texts(site, ada, "chelsae", first=3, after=found["pageInfo"]["endCursor"])
    assert [edge["node"]["text"] for edge in found["edges"]] + rest == [f"chelsea {number}" for number in range(5)]


async def test_a_cursor_is_of_one_question(site: Site) -> None:
    ada = await site.person()
    await Library(site.world.database, ada.principal.tenant_id).video("goal one", "goal two")
    cursor = (await ask(site, ada, "goal", first=1))["pageInfo"]["endCursor"]
    for other in ({"query": "one"}, {"query": "goal", "sort": "RECENCY"}):
        answer = await ask(site, ada, **other, after=cursor)
        assert (answer["__typename"], answer["field"]) == ("ValidationError", "after")


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "min:7"}, "query"),
        ({"query": "x", "first": 0}, "first"),
        ({"query": "x", "filters": {"videos": ["1"]}}, "filters.videos"),
        ({"query": "x", "filters": {"minConfidence": 2}}, "filters.minConfidence"),
        ({"query": "x", "filters": {"languages": ["x"] * 101}}, "filters"),
        ({"query": "x", "after": "x"}, "after"),
    ],
)
async def test_what_cannot_be_asked_names_the_field(site: Site, asked: dict[str, Any], field: str) -> None:
    answer = await ask(site, await site.person(), **asked)
    assert (answer["__typename"], answer["code"], answer["field"]) == ("ValidationError", "invalid_input", field)
