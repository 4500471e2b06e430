"""Entering segments into the index: each once, and only those that changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from tests.support.events import new_tenant
from tests.support.postgres import PostgresServer
from touchline.media.engines.model import Box
from touchline.platform.endpoints import PostgresEndpoint
from touchline.process.segments.indexing import Index, index
from touchline.process.segments.model import Detection, Frame
from touchline.process.segments.store import SegmentStore

from .conftest import Library
from .test_index import ENTRIES, FORGOTTEN, LARGE, superuser

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


def made_of(video: UUID, texts: Sequence[str], confidence: float = 0.9) -> Index:
    frames = [Frame(n * STEP_MS, [Detection(text, Box(1, 2, 30, 4), confidence)]) for n, text in enumerate(texts)]
    return index(video, frames, len(texts) * STEP_MS)


async def written(library: Library, video: UUID, made: Index) -> tuple[int, ...]:
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
    made = made_of(video, TEXTS)
    assert len({entity.segment_id for entity in made.entities}) == 3
    assert await written(library, video, made) == (4, 0, 0)
    assert await library.found("goal") == [TEXTS[0]]
    assert await library.found("#coyg") == [TEXTS[1]]
    assert await written(library, video, made) == (0, 0, 0)
    assert await written(library, video, made_of(video, (*TEXTS[:2], "another 3-3", TEXTS[3]))) == (1, 0, 1)
    assert await written(library, video, made_of(video, TEXTS)) == (1, 0, 1)
    async with superuser(postgres_server, postgres) as connection:
        before = await library.everything(connection)
        await library.execute("SELECT process.refresh_search_materialized()")
        assert await library.everything(connection) == before


async def test_all_that_differs_is_written_anew(library: Library) -> None:
    """The id tells time, place and text; the rest may change with the reader, the rules or the owner."""
    video = await library.video()
    made = made_of(video, TEXTS)
    await written(library, video, made)
    assert await written(library, video, made_of(video, TEXTS, confidence=0.7)) == (4, 0, 4)
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
    assert await written(library, video, Index((), ())) == (0, 0, 4)
    assert await library.execute("SELECT id FROM process.segments UNION ALL SELECT id FROM process.entities") == []


async def reads(library: Library, video: UUID, made: Index) -> dict[str, int]:
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
    for made in (made_of(video, texts), made_of(video, texts, confidence=0.5), Index((), ())):
        read = await reads(library, video, made)
        assert max(read.values()) < 1000, read
