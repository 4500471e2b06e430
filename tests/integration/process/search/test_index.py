"""The index: what it says is what the texts say, whatever happened to them."""

# ruff: noqa: RUF001  letters that look alike are what this is about

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Jsonb

from tests.support.events import new_tenant
from tests.support.postgres import PostgresServer
from touchline.media.engines.model import Box
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database
from touchline.process.search.model import SearchQuery, Sort, Term, TextPlace
from touchline.process.search.rules import adjacent_words, index_request, parse_query
from touchline.process.search.service import hide_video, unhide_video
from touchline.process.search.store import SearchStore
from touchline.process.segments.rules import Detection, ReadFrame, SegmentIndex, build_index
from touchline.process.segments.store import SegmentStore
from touchline.process.text import normalize, split_words

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


def meets(query: SearchQuery, text: str, known: set[str]) -> bool:
    """What search means, said plainly. Every word that is asked for is one that somebody wrote."""
    words = split_words(text)

    def has(word: str, *, prefix: bool) -> bool:
        return any(one.startswith(word) if prefix else one == word for one in words)

    def has_phrase(phrase: tuple[str, ...]) -> bool:
        return any(words[at : at + len(phrase)] == phrase for at in range(len(words)))

    def is_two(word: str) -> bool:
        halves = ((word[:at], word[at:]) for at in range(2, len(word) - 1))
        return not word.isdigit() and any(has_phrase(pair) for pair in halves)

    joined = {
        word: one + other for one, other in adjacent_words(query) if one + other in words for word in (one, other)
    }

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
    known = {word for text in corpus for word in split_words(text)}
    for one in asked:
        query = parse_query(one)
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
    assert [tuple(words) for (words,) in found] == [split_words(text) for text in normalized]


def typos(word: str) -> Iterator[str]:
    """All words one typo away, with letters that stand for any."""
    for at in range(len(word) + 1):
        yield word[:at] + "q" + word[at:]
        yield word[: at - 1] + word[at:] if at else word[1:]
        yield word[:at] + "q" + word[at + 1 :]
        yield word[:at] + word[at : at + 2][::-1] + word[at + 2 :]


async def test_every_typo_is_forgiven_and_two_are_not(library: Library) -> None:
    await library.video("manchester")
    wrong = sorted(set(typos("manchester")) - {"manchester"})
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
        await hide_video(transaction, video)
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
            await hide_video(transaction, video)
        if rebuilt:
            await library.execute("SELECT process.refresh_search_materialized()")
        assert await library.found("secret") == []
        for tenant in (new_tenant(), library.tenant_id, library.tenant_id):
            async with library.database.transaction(tenant) as transaction:
                await unhide_video(transaction, video)
            assert (await library.found("secret") == []) == (tenant != library.tenant_id)
        assert await library.everything(connection) == before
        await library.execute("SELECT process.refresh_search_materialized()")
        assert await library.everything(connection) == before


async def test_another_tenants_video_cannot_be_forgotten(library: Library) -> None:
    video = await library.video("goal")
    async with library.database.transaction(new_tenant()) as transaction:
        await hide_video(transaction, video)
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


TITLES = """
WITH mark AS (
  INSERT INTO process.search_words (tenant_id, word, segments, shown)
  VALUES (%(tenant)s, ':where:title', 40, ':where:title')
  RETURNING word_id
)
UPDATE process.search_entries AS e SET words = e.words || m.word_id
  FROM mark AS m WHERE e.tenant_id = %(tenant)s AND e.recency %% 500 = 250
"""


async def test_counting_places_reads_no_more_than_it_counts(
    library: Library, postgres: PostgresEndpoint, postgres_server: PostgresServer
) -> None:
    async with superuser(postgres_server, postgres) as connection:
        await connection.execute(FORGOTTEN)
        for statement in (LARGE, ENTRIES, TITLES):
            await connection.execute(statement.encode(), {"tenant": library.tenant_id})
    requests = {
        TextPlace.PICTURE: {"all": [["common"]], "none": [":where:title", ":where:match"]},
        TextPlace.TITLE: {"all": [["common"], [":where:title"]]},
        TextPlace.MATCH: {"all": [["common"], [":where:match"]]},
    }
    async with library.database.transaction(library.tenant_id) as transaction:
        [before] = await (await transaction.connection.execute(FETCHED)).fetchall()
        counted = await SearchStore(transaction.connection).counts(
            index_request(SearchQuery(), (), None), requests, 1000
        )
        [after] = await (await transaction.connection.execute(FETCHED)).fetchall()
    assert counted == {TextPlace.PICTURE: 1000, TextPlace.TITLE: 40, TextPlace.MATCH: 0}
    scans, *_, rows = (now - then for now, then in zip(after, before, strict=True))
    assert scans == 0
    assert 1040 <= rows < 2500  # of 20,000: every second has the word, and these 40 are titles


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


STEP_MS = 2000
TEXTS = ("GOAL 1-0 67:12", "#COYG by @saka", "no entity at all", "two for 5 € and 7 €")
WRITTEN = """
SELECT pg_stat_get_xact_tuples_inserted(t.id)::integer, pg_stat_get_xact_tuples_updated(t.id)::integer,
       pg_stat_get_xact_tuples_deleted(t.id)::integer
  FROM (SELECT 'process.search_entries'::regclass) AS t (id)
"""
# Rows that were read, by whichever way.
READ = """
SELECT t.id::text, (SELECT sum(pg_stat_get_xact_tuples_returned(i.id))::integer
                      FROM (SELECT t.id UNION SELECT x.indexrelid FROM pg_index AS x WHERE x.indrelid = t.id) AS i (id))
  FROM unnest(ARRAY['process.search_words', 'process.search_entries', 'process.segments']::regclass[]) AS t (id)
"""
OTHER_WORDS = """
INSERT INTO process.search_words (tenant_id, word, segments, shown)
SELECT %(tenant)s, 'other' || i, 1, 'x' FROM generate_series(1, 5000) AS i
"""
OTHER_SEGMENTS = """
INSERT INTO process.segments (tenant_id, id, video_id, text, normalized_text, text_hash, t_start, t_end, confidence,
                              bounding_box)
SELECT %(tenant)s, gen_random_uuid(), %(video)s, 'x', 'x', 'x', i, i, 1, '{}' FROM generate_series(1, 5000) AS i
"""


def made_from(video: UUID, texts: Sequence[str], confidence: float = 0.9) -> SegmentIndex:
    frames = [ReadFrame(n * STEP_MS, [Detection(text, Box(1, 2, 30, 4), confidence)]) for n, text in enumerate(texts)]
    return build_index(video, frames, len(texts) * STEP_MS)


async def written(library: Library, video: UUID, made: SegmentIndex) -> tuple[int, ...]:
    """How many entries it inserts, changes, and deletes."""
    async with library.database.transaction(library.tenant_id) as transaction:
        [before] = await (await transaction.connection.execute(WRITTEN)).fetchall()
        await SegmentStore(transaction.connection).replace(video, made)
        [after] = await (await transaction.connection.execute(WRITTEN)).fetchall()
        return tuple(now - then for now, then in zip(after, before, strict=True))


async def test_a_segment_is_entered_once(
    library: Library, postgres: PostgresEndpoint, postgres_server: PostgresServer
) -> None:
    """With its entities; and what was read alike is not entered anew."""
    video = await library.video()
    made = made_from(video, TEXTS)
    assert len({entity.segment_id for entity in made.entities}) == 3
    assert await written(library, video, made) == (4, 0, 0)
    assert await library.found("goal") == [TEXTS[0]]
    assert await library.found("#coyg") == [TEXTS[1]]
    assert await written(library, video, made) == (0, 0, 0)
    assert await written(library, video, made_from(video, (*TEXTS[:2], "another 3-3", TEXTS[3]))) == (1, 0, 1)
    assert await written(library, video, made_from(video, TEXTS)) == (1, 0, 1)
    async with superuser(postgres_server, postgres) as connection:
        before = await library.everything(connection)
        await library.execute("SELECT process.refresh_search_materialized()")
        assert await library.everything(connection) == before


async def test_all_that_differs_is_written_anew(library: Library) -> None:
    """The id tells time, place and text; the rest may change with the reader, the rules or the owner."""
    video = await library.video()
    made = made_from(video, TEXTS)
    await written(library, video, made)
    assert await written(library, video, made_from(video, TEXTS, confidence=0.7)) == (4, 0, 4)
    await written(library, video, made)
    fewer = replace(made, entities=made.entities[1:])
    assert await written(library, video, fewer) == (1, 0, 1)
    assert await library.execute("SELECT count(*)::integer FROM process.entities") == [(len(fewer.entities),)]
    await library.execute("UPDATE process.segments SET normalized_text = 'by older rules' WHERE t_start = 0")
    assert await written(library, video, fewer) == (1, 0, 1)
    await library.execute("UPDATE process.videos SET owner_id = gen_random_uuid()")
    assert await written(library, video, fewer) == (4, 0, 4)
    owners = "SELECT count(*)::integer FROM process.segments AS s JOIN process.videos AS v USING (video_id, owner_id)"
    assert await library.execute(owners) == [(4,)]
    assert await written(library, video, SegmentIndex((), ())) == (0, 0, 4)
    assert await library.execute("SELECT id FROM process.segments UNION ALL SELECT id FROM process.entities") == []


async def reads(library: Library, video: UUID, made: SegmentIndex) -> dict[str, int]:
    """How many rows of each table it reads."""
    async with library.database.transaction(library.tenant_id) as transaction:
        connection = transaction.connection
        before: dict[str, int] = dict(await (await connection.execute(READ)).fetchall())
        await SegmentStore(connection).replace(video, made)
        after: dict[str, int] = dict(await (await connection.execute(READ)).fetchall())
        return {table: after[table] - before[table] for table in after}


@pytest.mark.parametrize("statistics", [FORGOTTEN, "ANALYZE"], ids=["none", "of another tenant"])
async def test_a_change_reads_what_it_changes(
    library: Library, postgres: PostgresEndpoint, postgres_server: PostgresServer, statistics: str
) -> None:
    """Whatever statistics say: the words, entries and segments of other videos stay unread."""
    video, other_video, ours = uuid4(), uuid4(), {"tenant": library.tenant_id}
    async with superuser(postgres_server, postgres) as connection:
        if statistics == "ANALYZE":
            other = {"tenant": new_tenant()}
            await connection.execute(LARGE, other)
            await connection.execute(ENTRIES, other)
        await connection.execute(statistics.encode())
        await connection.execute(LARGE, ours)
        await connection.execute(ENTRIES, ours)
        await connection.execute(OTHER_WORDS, ours)
        for one in (video, other_video):
            await library.video(video_id=one)
        await connection.execute("SET session_replication_role = replica")  # as triggers would have no part in it
        await connection.execute(OTHER_SEGMENTS, {**ours, "video": other_video})
    texts = [f"text {number} of {number}:00 #tag{number}" for number in range(20)]
    for made in (made_from(video, texts), made_from(video, texts, confidence=0.5), SegmentIndex((), ())):
        read = await reads(library, video, made)
        assert max(read.values()) < 1000, read
