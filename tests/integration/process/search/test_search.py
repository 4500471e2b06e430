"""What a query finds, in which order, and what it shows."""

# ruff: noqa: RUF001  letters that look alike are what this is about

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from tests.support.events import new_tenant
from tests.support.postgres import PostgresServer
from touchline.kernel import InvalidInput
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database
from touchline.process.search.model import QueryFilters, Sort, TextBox, TextPlace
from touchline.process.search.service import LARGEST_PAGE, VideoSearch

from .conftest import EPOCH, Library, Read

CORPUS = (
    "GOAL! Bukayo Saka",
    "Saka goal, what a goal",
    "Arsenal 2-1 Chelsea",
    "ARSENAI v Chelsea",
    "Full time: Arsenal 2",
    "time is full",
    "Müller Straße São Paulo",
    "東京ヴェルディ 3-0",
    "Спартак Москва",
    "نادي الهلال",
    "ทีมชาติไทย",
    "⚽ #COYG @arsenal 45:12",
    "zürich__x zero\u200dwidth",
    "TVNORD live",
    "TV NORD sport",
    "nord, not tv",
    "sport1",
)
# Which of the texts above each query finds, in any order.
FINDS: list[tuple[str, set[int]]] = [
    ("goal", {0, 1}),
    ("saka GOAL", {0, 1}),
    ("arsenal", {2, 3, 4, 11}),
    ("ar5enal", {2, 3, 4, 11}),  # nobody has written it
    ('"arsenal 2"', {2, 4}),
    ('"2 arsenal"', set()),
    ("full time", {4, 5}),
    ('"full time"', {4}),
    ("ars*", {2, 3, 4, 11}),
    ("arsenal -chelsea", {4, 11}),
    ('full -"full time"', {5}),
    ("arsenal -chel*", {4, 11}),
    ("chelsae", {2, 3}),
    ("chlsea", {2, 3}),
    ("chhelsea", {2, 3}),
    ("chlsae", set()),
    ("saka~ goal", {0, 1}),
    ("muller", {6}),
    ("sao paulo", {6}),
    ("STRASSE", {6}),
    ("東京", {7}),
    ("京東", set()),
    ("ヴェルディ", {7}),
    ("москва", {8}),
    ("моск*", {8}),
    ("الهلال", {9}),
    ("ทีม", {10}),
    ("⚽", {11}),
    ("#coyg", {11}),
    ("#arsenal", set()),
    ("@Arsenal", {11}),
    ("entity:score", {2, 7}),
    ("entity:clock", {11}),
    ("entity:hashtag", {11}),
    ("-entity goal", {0, 1}),
    ("zurich", {12}),
    ("width", {12}),
    ("2-1", {2}),
    ("nothing", set()),
    ("TV NORD", {13, 14, 15}),  # read without its space, too
    ("tv nord live", {13}),
    ("tvnord", {13, 14}),  # and with one that nobody typed, where the two stand beside each other
    ("tvnord sport", {14}),
    ('"tv nord"', {13, 14}),
    ("tv-nord", {13, 14}),
    ("nord tv", {14, 15}),
    ("tvsport", set()),
    ("tvnord -sport", {13}),
    ("full-time", {4}),
    ("fulltime", {4}),
]


@pytest.fixture
async def corpus(library: Library) -> Library:
    await library.video(*CORPUS)
    return library


async def test_what_is_found(postgres_server: PostgresServer, any_postgres: PostgresEndpoint) -> None:
    async with Database(any_postgres.app_url) as database:
        library = Library(database, new_tenant())
        await library.video(*CORPUS)
        found = {query: {CORPUS.index(text) for text in await library.found(query)} for query, _ in FINDS}
    assert found == dict(FINDS)


async def test_a_hit_shows_where_it_stands(corpus: Library) -> None:
    [hit] = (await corpus.page("москва")).hits
    assert (hit.box, hit.start_ms, hit.end_ms) == (TextBox(1, 2, 30, 4), 8000, 8900)
    assert [(part.text, part.matched) for part in hit.fragments] == [("Спартак ", False), ("Москва", True)]


async def test_a_correction_is_told(corpus: Library) -> None:
    page = await corpus.page("chelsae")
    assert [(one.word, one.read_as) for one in page.corrections] == [("chelsae", ("chelsea",))]
    assert [part.text for part in page.hits[0].fragments if part.matched] == ["Chelsea"]
    assert (await corpus.page("chelsea")).corrections == ()


async def test_orders(library: Library) -> None:
    old = Read("a goal in a longer text", 0.99), Read("goal", 0.5), Read("goal now", 0.8)
    await library.video(*old, day=1)
    await library.video("goal again", day=2)
    assert await library.found("goal", sort=Sort.RELEVANCE) == [
        "goal again",
        "goal now",
        "goal",
        "a goal in a longer text",
    ]
    assert await library.found("goal", sort=Sort.RECENCY) == [
        "goal again",
        "a goal in a longer text",
        "goal",
        "goal now",
    ]
    assert await library.found("goal", sort=Sort.CONFIDENCE) == [
        "a goal in a longer text",
        "goal again",
        "goal now",
        "goal",
    ]


@pytest.mark.parametrize("sort", Sort)
async def test_filters(library: Library, sort: Sort) -> None:
    first = await library.video(Read("goal one", 0.7, "eng"), day=1)
    second = await library.video(Read("goal two", 0.9, "deu"), Read("goal three", 0.9), day=2)
    await library.execute(
        """
        INSERT INTO process.video_labels (tenant_id, video_id, kind, value, word)
        SELECT platform.current_tenant(), %(video)s, 'team', l.value, w.word
          FROM (VALUES ('man utd'), ('1eeds city')) AS l (value), regexp_split_to_table(l.value, ' ') AS w (word)
        """,
        video=first,
    )
    found = {
        query: set(await library.found(query, sort=sort))
        for query in (
            "goal lang:eng",
            "lang:eng lang:deu",
            "goal min:0.8",
            "after:2026-01-03",
            "goal before:2026-01-03",
            f"video:{second}",
            f"goal video:{first} video:{uuid4()}",
            'team:"Man Utd"',
            "goal team:utd",
            'team:"man city"',
            "goal team:other",
            "-goal",
            "-two",
        )
    }
    assert list(found.values()) == [
        {"goal one"},
        {"goal one", "goal two"},
        {"goal two", "goal three"},
        {"goal two", "goal three"},
        {"goal one"},
        {"goal two", "goal three"},
        {"goal one"},
        {"goal one"},
        {"goal one"},
        set(),  # of two labels
        set(),
        set(),
        {"goal one", "goal three"},
    ]
    apart = QueryFilters(after=EPOCH + timedelta(days=2), min_confidence=0.8)
    assert set(await library.found("two", filters=apart, sort=sort)) == {"goal two"}


TEXTS = """
INSERT INTO process.video_texts (tenant_id, id, video_id, place, text, normalized_text)
SELECT platform.current_tenant(), gen_random_uuid(), %(video)s, place, text, lower(text)
  FROM (VALUES ('title', %(title)s), ('match', %(match)s)) AS t (place, text)
"""


async def test_places_are_counted_as_they_would_be_found(library: Library) -> None:
    rovers = await library.video("Rovers 1-0", "ROVERS TV", "corner")
    city = await library.video("City 2-0", day=1)
    other = library.of(new_tenant())
    for home, video, title in (
        (library, rovers, "Rovers all goals"),
        (library, city, "City"),
        (other, await other.video("Rovers"), "Rovers"),
    ):
        await home.execute(TEXTS, video=video, title=title, match=f"{title} v United")
    asked = ("rovers", "rovers -corner", "where:title rovers", "rovrs", "city 2", "united", "where:match", "nobody")
    for text in (*asked, f"video:{rovers}", "entity:score", "player:nobody rovers"):
        counted = await library.places(text)
        rest = text.replace("where:title", "").replace("where:match", "")
        found = {place: len(await library.found(f"{rest} where:{place}")) for place in ("picture", "title", "match")}
        assert counted == found, text
    assert await library.places("rovers") == {"picture": 2, "title": 1, "match": 1}
    assert await library.places("rovers", filters=QueryFilters(where=(TextPlace.TITLE,))) == await library.places(
        "rovers"
    )
    assert await library.places("nobody") == await library.places("player:nobody") == dict.fromkeys(TextPlace, 0)


async def test_counting_stops_at_its_limit(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchline.process.search.service.MOST_COUNTED", 2)
    await library.video("goal", "goal", "goal", "corner", "corner")
    assert await library.places("goal") == {"picture": -2, "title": 0, "match": 0}
    assert await library.places("corner") == {"picture": 2, "title": 0, "match": 0}


async def test_a_page_has_a_size(library: Library) -> None:
    for wrong in (0, LARGEST_PAGE + 1):
        with pytest.raises(InvalidInput, match="page size"):
            await library.page("goal", first=wrong)


async def test_suggestions(corpus: Library) -> None:
    async def suggested(text: str) -> list[str]:
        return [one.text for one in await VideoSearch(corpus.database).suggestions(corpus.tenant_id, text, most=3)]

    assert await suggested("ars") == ["arsenal"]  # as it is written most often; it stands for all that look like it
    assert (await suggested("goal c"))[0] == "goal chelsea"
    assert await suggested("МОСК") == ["москва"]
    assert await suggested("") == await suggested("lang:d") == await suggested("東京") == []
    with pytest.raises(InvalidInput):
        await VideoSearch(corpus.database).suggestions(corpus.tenant_id, "a", most=100)


async def test_two_tenants_know_nothing_of_each_other(corpus: Library) -> None:
    other = corpus.of(new_tenant())
    await other.video("Arsenal secret", "chelsaa secret")
    assert await other.found("goal") == await corpus.found("secret") == []
    assert await other.found("arsenal") == ["Arsenal secret"]
    assert (await corpus.page("secrte")).corrections == ()
    assert [one.read_as for one in (await corpus.page("chelsae")).corrections] == [("chelsea",)]
    assert [one.text for one in await VideoSearch(corpus.database).suggestions(corpus.tenant_id, "sec")] == []
    [count] = [one.segments for one in await VideoSearch(corpus.database).suggestions(other.tenant_id, "ars")]
    assert count == 1
    assert await other.execute("SELECT text FROM process.search_materialized ORDER BY text") == [
        ("Arsenal secret",),
        ("chelsaa secret",),
    ]
