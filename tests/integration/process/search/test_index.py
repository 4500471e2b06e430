"""The index: what it says is what the texts say, whatever happened to them."""

# ruff: noqa: RUF001  letters that look alike are what this is about

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Jsonb

from tests.support.events import new_tenant
from tests.support.postgres import PostgresServer
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database
from touchline.process.search.model import Query, Sort, Term
from touchline.process.search.query import parse
from touchline.process.search.rules import pairs
from touchline.process.search.service import forget, remember
from touchline.process.search.words import split
from touchline.process.segments.folding import normalize

from .conftest import Library, Read

FEW = settings(
    max_examples=15,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
WORDS = (
    "goal",
    "goals",
    "goaltime",
    "time goal",
    "gaol",
    "Saka",
    "sàka",
    "time",
    "Tlme",
    "東京",
    "x1",
    "xl",
    "о",
    "⚽",
)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
positive = st.sampled_from(WORDS) | texts.map('"{}"'.format) | st.sampled_from(["go*", "s*", "t*", "東*"])
negative = positive.map("-{}".format)
queries = st.tuples(st.lists(positive, min_size=1, max_size=2), st.lists(negative, max_size=1)).map(
    lambda parts: " ".join(parts[0] + parts[1])
)


def meets(query: Query, text: str, known: set[str]) -> bool:
    """What search means, said plainly. Every word that is asked for is one that somebody wrote."""
    words = split(text)

    def has(word: str, *, prefix: bool) -> bool:
        return any(one.startswith(word) if prefix else one == word for one in words)

    def has_phrase(phrase: tuple[str, ...]) -> bool:
        return any(words[at : at + len(phrase)] == phrase for at in range(len(words)))

    def is_two(word: str) -> bool:
        halves = ((word[:at], word[at:]) for at in range(2, len(word) - 1))
        return not word.isdigit() and any(has_phrase(pair) for pair in halves)

    joined = {word: one + other for one, other in pairs(query) if one + other in words for word in (one, other)}

    def is_met(term: Term) -> bool:
        if term.prefix:
            return has(term.word, prefix=True)
        return has(term.word, prefix=False) or term.word in joined or is_two(term.word)

    return (
        all(is_met(term) for term in query.terms)
        and all(has_phrase(phrase) or "".join(phrase) in words for phrase in query.phrases)
        and not any(has(term.word, prefix=term.prefix) for term in query.without)
        and not any(has_phrase(phrase) for phrase in query.without_phrases)
        and all(term.prefix or term.word in known for term in query.terms)
    )


@FEW
@given(st.lists(st.lists(texts, max_size=8), min_size=1, max_size=3), st.lists(queries, min_size=4, max_size=8))
async def test_search_finds_what_a_plain_look_finds(
    library: Library, videos: list[list[str]], asked: list[str]
) -> None:
    library = library.of(new_tenant())
    for day, video in enumerate(videos):
        await library.video(*video, day=day)
    corpus = [text for video in videos for text in video]
    known = {word for text in corpus for word in split(text)}
    for one in asked:
        query = parse(one)
        if all(term.prefix or term.word in known for term in query.terms):
            expected = sorted(text for text in corpus if meets(query, text, known))
            assert sorted(await library.walk(one, first=3)) == expected, one


@FEW
@given(st.lists(st.text(max_size=30), min_size=1, max_size=20))
async def test_sql_and_python_split_alike(library: Library, written: list[str]) -> None:
    normalized = [text for text in map(normalize, written) if "\0" not in text]
    found = await library.execute(
        "SELECT ARRAY(SELECT w.word FROM process.search_split(t.text) AS w ORDER BY w.place)"
        "  FROM unnest(%(texts)s::text[]) WITH ORDINALITY AS t (text, place) ORDER BY t.place",
        texts=normalized,
    )
    assert [tuple(words) for (words,) in found] == [split(text) for text in normalized]


def slips(word: str) -> Iterator[str]:
    """All words one slip away, with letters that stand for any."""
    for at in range(len(word) + 1):
        yield word[:at] + "q" + word[at:]
        yield word[: at - 1] + word[at:] if at else word[1:]
        yield word[:at] + "q" + word[at + 1 :]
        yield word[:at] + word[at : at + 2][::-1] + word[at + 2 :]


async def test_every_slip_is_forgiven_and_two_are_not(library: Library) -> None:
    await library.video("manchester")
    wrong = sorted(set(slips("manchester")) - {"manchester"})
    found = await library.execute(
        "SELECT wanted FROM process.search_spelling(%(words)s, '{}') WHERE word = 'manchester'", words=wrong
    )
    assert sorted(word for (word,) in found) == wrong
    twice = ["maqchesqer", "anmchesetr", "mncheste", "mmanchesterr", "amnchesterx"]
    assert await library.execute("SELECT 1 FROM process.search_spelling(%(words)s, '{}')", words=twice) == []


# --- whatever happens to the texts


@asynccontextmanager
async def superuser(server: PostgresServer, postgres: PostgresEndpoint) -> AsyncGenerator[AsyncConnection[Any]]:
    name = str(conninfo_to_dict(postgres.app_url)["dbname"])
    async with await AsyncConnection.connect(server.superuser(name), autocommit=True) as connection:
        yield connection


async def test_the_index_follows_the_texts(
    library: Library, postgres: PostgresEndpoint, postgres_server: PostgresServer
) -> None:
    """However it came about, it is what a rebuild makes of the texts."""
    first = await library.video("one two two", Read("three #tag", language="eng"))
    second = await library.video("two four", "five")
    await library.execute("UPDATE process.segments SET normalized_text = 'two six' WHERE text = 'five'")
    await library.execute("DELETE FROM process.segments WHERE text = 'three #tag'")
    await library.execute("DELETE FROM process.segments WHERE video_id = %(video)s AND t_start > 5000", video=second)
    await library.video("seven")
    async with superuser(postgres_server, postgres) as connection:
        words, entries = await library.everything(connection)
        assert {word: count for word, count, *_ in words} == {
            "": 4,
            "0ne": 1,
            "tw0": 3,
            "f0ur": 1,
            "s1x": 1,
            "seven": 1,
        }
        await library.execute("SELECT process.refresh_search_materialized()")
        assert await library.everything(connection) == (words, entries)
        await connection.execute("SELECT process.refresh_search_materialized()")
        assert await library.everything(connection) == (words, entries)
        await library.execute("DELETE FROM process.segments WHERE video_id = %(video)s", video=first)
        assert await library.found("one") == []


async def test_a_deleted_video_is_found_no_more(
    library: Library, postgres: PostgresEndpoint, postgres_server: PostgresServer
) -> None:
    video = await library.video("secret goal")
    await library.video("goal")
    async with library.database.transaction(library.tenant_id) as transaction:
        await forget(transaction, video)
    assert await library.found("goal") == ["goal"]
    assert await library.found("secret") == await library.found("secre*") == []
    await library.execute("UPDATE process.segments SET confidence = 1 WHERE video_id = %(video)s", video=video)
    assert await library.found("secret") == []
    async with superuser(postgres_server, postgres) as connection:
        words, entries = await library.everything(connection)
        assert ([word for word, *_ in words], len(entries)) == (["", "g0a1"], 1)


@pytest.mark.parametrize("rebuilt", [False, True])
async def test_an_undeleted_video_is_found_again(
    library: Library, postgres: PostgresEndpoint, postgres_server: PostgresServer, rebuilt: bool
) -> None:
    """By the index as it was, however often, and whether or not it was made anew in between."""
    video = await library.video("secret goal", Read("by @henrik", language="eng"))
    await library.video("goal")
    async with superuser(postgres_server, postgres) as connection:
        before = await library.everything(connection)
        async with library.database.transaction(library.tenant_id) as transaction:
            await forget(transaction, video)
        if rebuilt:
            await library.execute("SELECT process.refresh_search_materialized()")
        assert await library.found("secret") == []
        for tenant in (new_tenant(), library.tenant_id, library.tenant_id):
            async with library.database.transaction(tenant) as transaction:
                await remember(transaction, video)
            assert (await library.found("secret") == []) == (tenant != library.tenant_id)
        assert await library.everything(connection) == before
        await library.execute("SELECT process.refresh_search_materialized()")
        assert await library.everything(connection) == before


async def test_another_tenants_video_cannot_be_forgotten(library: Library) -> None:
    video = await library.video("goal")
    async with library.database.transaction(new_tenant()) as transaction:
        await forget(transaction, video)
    assert await library.found("goal") == ["goal"]


async def test_only_the_triggers_write(library: Library) -> None:
    await library.video("goal")
    for statement in ("DELETE FROM process.search_entries", "SELECT * FROM process.search_words"):
        with pytest.raises(Exception, match="permission denied"):
            await library.execute(statement)


async def test_videos_of_one_tenant_are_read_at_once(library: Library) -> None:
    """Each has words of the others, in another order: nobody waits in a circle."""
    texts = ["a b c d", "d c b a", "b d a c", "c a d b"]
    await asyncio.gather(*(library.video(text, text[::-1]) for text in texts))
    assert len(await library.found("a b c d")) == 2 * len(texts)


# --- pages


@pytest.mark.parametrize("sort", Sort)
async def test_pages_neither_repeat_nor_hide(library: Library, sort: Sort) -> None:
    for day in range(3):
        await library.video(*(f"goal {'x' * (number % 3)} {day}-{number}" for number in range(7)), day=day)
    whole = await library.found("goal", sort=sort, first=100)
    seen: list[str] = []
    page = await library.page("goal", sort=sort, first=4)
    for day in range(10):
        seen += [hit.text for hit in page.hits]
        assert all((a.rank, a.segment_id) > (b.rank, b.segment_id) for a, b in pairwise(page.hits))
        if page.next is None:
            break
        await library.video("goal between", day=day % 4)  # before and behind the place
        page = await library.page("goal", sort=sort, first=4, after=page.next)
    old = [text for text in seen if text != "goal between"]
    assert old == whole


@pytest.mark.parametrize("sort", Sort)
async def test_equal_ranks_have_an_order_too(library: Library, sort: Sort) -> None:
    """The same moment of videos of one second: only the ids tell them apart, on both ways to a page."""
    for _ in range(9):
        await library.video(*(f"goal n{number % 7}" for number in range(8)))
    for query, count in (("goal", 72), ("n5", 9)):
        page = await library.page(query, sort=sort, first=100)
        keys = [(hit.rank, hit.segment_id) for hit in page.hits]
        assert (len(keys), keys) == (count, sorted(keys, reverse=True)), query
        assert len({rank for rank, _ in keys}) <= count // 9
        assert await library.walk(query, first=4, sort=sort) == [hit.text for hit in page.hits], query


async def test_the_top_of_a_long_list_is_the_top_of_the_whole(library: Library) -> None:
    """Small pages are filled from the highest bands, a large one from all: the order is the same."""
    texts = (f"{'goal ' if number % 13 == 0 else ''}{'x ' * (number % 5)}n{number}" for number in range(600))
    await library.video(*(Read(text, 0.6 + number % 5 / 10) for number, text in enumerate(texts)))
    for query in ("goal", "go*", '"goal x"', "goal -x"):
        assert await library.walk(query, first=3) == await library.found(query, first=200), query


async def test_a_corrected_word_stays_so_on_the_next_page(library: Library) -> None:
    await library.video("chelsea one", "chelsea two", "chelsea three")
    page = await library.page("chelsae", first=1)
    await library.video("chelsae", day=9)
    rest = await library.page("chelsae", first=5, after=page.next)
    assert {hit.text for hit in (*page.hits, *rest.hits)} == {"chelsea one", "chelsea two", "chelsea three"}


# --- as the application, with statistics that lie

LARGE = """
INSERT INTO process.search_words (tenant_id, word, segments, shown)
  SELECT %(tenant)s, word, count, word
    FROM (VALUES ('', 20000), ('common', 10000), ('middle', 500), ('rare', 20)) AS w (word, count);
"""
ENTRIES = """
WITH made AS (
  INSERT INTO process.search_entries
  SELECT %(tenant)s, gen_random_uuid(), gen_random_uuid(), (1::bigint << 61) + (i::bigint << 46), i, i,
         ARRAY[(SELECT word_id FROM process.search_words WHERE tenant_id = %(tenant)s AND word = CASE
           WHEN i %% 1000 = 0 THEN 'rare' WHEN i %% 2 = 0 THEN 'common' WHEN i %% 40 = 1 THEN 'middle' ELSE '' END)]
    FROM generate_series(1, 20000) AS i
  RETURNING relevance
)
UPDATE process.search_words SET bands = process.search_bands(ARRAY(SELECT relevance FROM made))
 WHERE tenant_id = %(tenant)s AND word = ''
"""
FORGOTTEN = "DELETE FROM pg_statistic WHERE starelid = 'process.search_entries'::regclass"
FETCHED = """
SELECT pg_stat_get_xact_numscans('process.search_entries'::regclass),
       pg_stat_get_xact_numscans('process.search_entries_words'::regclass),
       pg_stat_get_xact_numscans('process.search_entries_relevance'::regclass),
       pg_stat_get_xact_tuples_fetched('process.search_entries'::regclass)
         + (SELECT sum(pg_stat_get_xact_tuples_fetched(i.indexrelid))::integer FROM pg_index AS i
             WHERE i.indrelid = 'process.search_entries'::regclass)
"""


async def fetched(
    database: Database, tenant: Any, word: str, *videos: str, sort: Sort = Sort.RELEVANCE
) -> tuple[int, ...]:
    """What a search of the first page touched: scans of the table, of both indexes, and rows."""
    async with database.transaction(tenant) as transaction:
        request = Jsonb({"all": [[word]], **({"videos": videos} if videos else {})})
        [before] = await (await transaction.connection.execute(FETCHED)).fetchall()
        await transaction.connection.execute(
            "SELECT * FROM process.search(%s, %s, 21, 9223372036854775807, %s)",
            (request, sort.value, "f" * 32),
        )
        [after] = await (await transaction.connection.execute(FETCHED)).fetchall()
        return tuple(now - then for now, then in zip(after, before, strict=True))


async def test_the_plan_uses_its_indexes_as_the_application(
    library: Library, postgres: PostgresEndpoint, postgres_server: PostgresServer
) -> None:
    other = new_tenant()
    async with superuser(postgres_server, postgres) as connection:
        await connection.execute("ANALYZE process.search_entries")  # while it is empty: from now on it lies
        await connection.execute(FORGOTTEN)  # what the rows of other tests were like stays there otherwise
        for tenant in (library.tenant_id, other):
            await connection.execute(LARGE, {"tenant": tenant})
            await connection.execute(ENTRIES, {"tenant": tenant})
    table, words, order, rows = await fetched(library.database, library.tenant_id, "rare")
    assert (table, words, order, rows) == (0, 10, 0, 20)  # each band once; the matches of this tenant, and nothing else
    table, words, order, rows = await fetched(library.database, library.tenant_id, "middle")
    assert (table, words, order) == (0, 1, 0)
    assert 21 <= rows < 60  # the highest band alone: a tenth of all that have it
    table, words, order, rows = await fetched(library.database, library.tenant_id, "common")
    assert (table, words, order) == (0, 0, 1)
    assert 42 <= rows < 100  # down the order until the page is full: every second row
    assert await fetched(library.database, new_tenant(), "common") == (0, 0, 0, 0)


@pytest.mark.parametrize("statistics", [FORGOTTEN, "ANALYZE process.search_entries"], ids=["none", "of another tenant"])
async def test_within_a_video_nothing_else_is_read(
    library: Library, postgres: PostgresEndpoint, postgres_server: PostgresServer, statistics: str
) -> None:
    async with superuser(postgres_server, postgres) as connection:
        other = {"tenant": new_tenant()}
        await connection.execute(LARGE, other)
        await connection.execute(ENTRIES, other)
        await connection.execute(statistics.encode())
        ours = {"tenant": library.tenant_id}
        await connection.execute(LARGE, ours)
        await connection.execute(ENTRIES, ours)
    rows = await library.execute("SELECT video_id::text FROM process.search_entries ORDER BY relevance LIMIT 4")
    videos = [video for (video,) in rows]
    for sort in Sort:
        assert await fetched(library.database, library.tenant_id, "common", *videos, sort=sort) == (0, 0, 0, 4)
