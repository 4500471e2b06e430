"""The statements that must stay quick, as the application role runs them on a table that is full."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from uuid import UUID

import pytest
from psycopg import AsyncConnection

from tests.support.postgres import PostgresServer
from touchline.contracts.registry import ClipFilter, NewClip, RowKey, RowWindow
from touchline.kernel import TenantId
from touchline.kernel.ids import ArtifactHash
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database, Transaction
from touchline.serve.clips.store import ClipStore, overdue
from touchline.serve.context import WITHOUT_TENANT
from touchline.serve.registry.store import Place, RegistryStore, find_internal_name, find_playback_id
from touchline.serve.retention.store import originals_to_purge, overdue_uploads, to_purge

LOAD = """
SELECT set_config('request.jwt.claims', '{"tenant_id": "00000000-0000-7000-8000-000000000001"}', true);
INSERT INTO serve.identities (tenant_id, artifact_hash, playback_id, internal_name, artifact_type, user_id, created_at)
SELECT platform.current_tenant(), md5('h' || n), left(md5('p' || n), 16), md5('i' || n), 'upload', md5('u')::uuid,
       '2026-01-01'::timestamptz + n * interval '1 s'
  FROM generate_series(1, 20000) AS n;
INSERT INTO serve.uploads (tenant_id, artifact_hash, id, title, file_name, size_bytes, idempotency_key, created_at,
                           placed_at)
SELECT tenant_id, artifact_hash, artifact_hash::uuid, 'x', 'x.mp4', 1, artifact_hash, created_at, created_at
  FROM serve.identities;
INSERT INTO serve.artifacts (tenant_id, artifact_hash, artifact_type, internal_name, user_id, status, original_key,
                             content_type, size_bytes, created_at)
SELECT tenant_id, artifact_hash, 'upload', internal_name, user_id,
       CASE WHEN created_at < '2026-01-01 00:01' THEN 'uploading' ELSE 'failed' END, 'k', 'video/mp4', 1, created_at
  FROM serve.identities;
INSERT INTO serve.identities (tenant_id, artifact_hash, playback_id, internal_name, artifact_type, user_id, created_at)
SELECT platform.current_tenant(), md5('c' || n), left(md5('q' || n), 16), md5('j' || n), 'clip', md5('u')::uuid,
       '2026-01-01'::timestamptz + n * interval '1 s'
  FROM generate_series(1, 2000) AS n;
INSERT INTO serve.clips (tenant_id, artifact_hash, id, source_hash, title, description, start_ms, end_ms, padding_ms,
                         shown_start_ms, shown_end_ms, requested_params, created_at, retention_until)
SELECT tenant_id, artifact_hash, artifact_hash::uuid, md5('h' || 1 + row_number() OVER () % 40), 'x', '',
       row_number() OVER (), 10000, 0, 0, 1, '{}', created_at, created_at
  FROM serve.identities WHERE artifact_type = 'clip';
INSERT INTO serve.artifacts (tenant_id, artifact_hash, artifact_type, internal_name, user_id, status, original_key,
                             content_type, size_bytes, created_at, retention_until)
SELECT tenant_id, artifact_hash, 'clip', internal_name, user_id, 'failed', 'k', 'video/mp4', 1, created_at, created_at
  FROM serve.identities WHERE artifact_type = 'clip';
"""
EXPIRING = """
-- Ten are over their time, ten were deleted for good, ten are known to be held by nobody else.
UPDATE serve.artifacts AS a
   SET retention_until = CASE WHEN n <= 10 THEN '2026-01-02'::timestamptz END,
       status = CASE WHEN n <= 10 THEN status ELSE 'deleted' END, is_final = n > 10,
       deleted_at = CASE WHEN n > 10 THEN '2026-01-02'::timestamptz END,
       purge_due_at = CASE WHEN n > 20 THEN '2026-01-03'::timestamptz END,
       others_gone_at = CASE WHEN n > 20 THEN '2026-01-04'::timestamptz END
  FROM generate_series(1, 30) AS n
 WHERE a.artifact_hash = md5('h' || 100 + n)
"""
TENANT = TenantId(UUID("00000000-0000-7000-8000-000000000001"))
SCANS = """
SELECT relname, seq_scan, seq_tup_read + coalesce(idx_tup_fetch, 0)
  FROM pg_stat_xact_user_tables WHERE schemaname = 'serve' AND seq_scan + idx_scan > 0
"""


@pytest.fixture(scope="module")
async def full(any_server: PostgresServer) -> AsyncGenerator[PostgresEndpoint]:
    """Filled once for all that follows: nobody here changes anything."""
    async with any_server.migrated_database() as endpoint:
        async with await AsyncConnection.connect(endpoint.app_url) as connection:
            await connection.execute(LOAD)
            await connection.execute(EXPIRING)
        async with await AsyncConnection.connect(endpoint.owner_url, autocommit=True) as connection:
            await connection.execute("VACUUM ANALYZE serve.identities, serve.uploads, serve.artifacts, serve.clips")
        yield endpoint


async def rows_read(transaction: Transaction) -> dict[str, int]:
    """By this transaction so far. Nothing may be read from one end to the other."""
    found = await (await transaction.connection.execute(SCANS)).fetchall()
    assert [table for table, sequential, _ in found if sequential] == []
    return {table: int(read) for table, _, read in found}


async def test_functions_over_the_wall_use_their_index(full: PostgresEndpoint) -> None:
    async with Database(full.app_url) as database, database.transaction(WITHOUT_TENANT) as transaction:
        by_id = await find_playback_id(transaction.connection, md5("p777")[:16].upper())
        by_name = await find_internal_name(transaction.connection, md5("i777"))
        assert by_id == by_name == Place(TENANT, ArtifactHash(md5("h777")))
        assert (await rows_read(transaction))["identities"] <= 2


async def test_a_page_reads_its_rows_and_no_more(full: PostgresEndpoint) -> None:
    async with Database(full.app_url) as database, database.transaction(TENANT) as transaction:
        store = RegistryStore(transaction)
        first = (await store.window(RowWindow(size=50)))[-1].upload
        page = await store.window(RowWindow(size=50, after=RowKey(first.created_at, first.artifact_hash)))
        last = page[0].upload
        back = RowWindow(size=50, before=RowKey(last.created_at, last.artifact_hash), from_the_end=True)
        assert len(await store.window(back)) == 50
        assert (await rows_read(transaction))["uploads"] <= 3 * 60


async def test_the_quota_is_answered_from_the_index(full: PostgresEndpoint) -> None:
    async with Database(full.app_url) as database, database.transaction(TENANT) as transaction:
        usage = await RegistryStore(transaction).usage()
        assert usage.open_uploads == usage.stored_bytes == 59
        read = await rows_read(transaction)
        assert read["artifacts"] + read.get("uploads", 0) <= 100


async def test_clips_are_listed_found_again_and_expired_by_their_indexes(full: PostgresEndpoint) -> None:
    source = ArtifactHash(md5("h7"))
    async with Database(full.app_url) as database:
        async with database.transaction(TENANT) as transaction:
            store = ClipStore(transaction)
            assert len(await store.window(RowWindow(size=50), ClipFilter())) == 50
            assert len(await store.window(RowWindow(size=50), ClipFilter(source))) == 50
            assert await store.same(NewClip(source, 6, 10000, 0))
            assert (await rows_read(transaction))["clips"] <= 150
        async with database.system("test: find expired clips") as transaction:
            soon = datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC)
            assert len(await overdue(transaction.connection, soon, 100)) == 30
            assert (await rows_read(transaction))["artifacts"] <= 60


async def test_passes_over_uploads_use_their_indexes(full: PostgresEndpoint) -> None:
    async with Database(full.app_url) as database, database.system("test: find what is over") as transaction:
        late = datetime(2026, 2, 1, tzinfo=UTC)
        assert len(await overdue_uploads(transaction.connection, late, 100)) == 10
        assert len(await to_purge(transaction.connection, datetime(2026, 1, 1, tzinfo=UTC), 100)) == 10
        assert len(await originals_to_purge(transaction.connection, 100)) == 10
        assert (await rows_read(transaction))["artifacts"] <= 60


def md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
