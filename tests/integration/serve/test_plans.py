"""The statements that must stay quick, as the application role runs them on a table that is full."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from psycopg import AsyncConnection

from tests.support.postgres import PostgresServer
from touchline.contracts.registry import ClipFilter, ClipMode, RowKey, RowWindow, Span
from touchline.kernel import ArtifactHash, TenantId
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database, Transaction
from touchline.serve.clips.rules import CheckedClip
from touchline.serve.clips.store import ClipStore
from touchline.serve.context import WITHOUT_TENANT
from touchline.serve.recordings.store import RecordingStore
from touchline.serve.registry.rules import Kind
from touchline.serve.registry.store import (
    Place,
    RegistryStore,
    find_artifact,
    find_internal_name,
    find_playback_id,
    unplaced,
)
from touchline.serve.retention.store import RetentionReader
from touchline.serve.streams.store import StreamStore, find_key

LOAD = """
SELECT set_config('request.jwt.claims', '{"tenant_id": "00000000-0000-7000-8000-000000000001"}', true);
INSERT INTO serve.identities (tenant_id, artifact_hash, playback_id, internal_name, kind, user_id, created_at)
SELECT platform.current_tenant(), md5('h' || n), left(md5('p' || n), 16), md5('i' || n), 'upload', md5('u')::uuid,
       '2026-01-01'::timestamptz + n * interval '1 s'
  FROM generate_series(1, 20000) AS n;
INSERT INTO serve.uploads (tenant_id, artifact_hash, id, title, file_name, size_bytes, created_at, placed_at,
                           retention_ms)
SELECT tenant_id, artifact_hash, artifact_hash::uuid, 'x', 'x.mp4', 1, created_at, created_at, 1 FROM serve.identities;
INSERT INTO serve.idempotency_keys (tenant_id, kind, key, artifact_hash, request)
SELECT tenant_id, 'upload', artifact_hash, artifact_hash, '{}' FROM serve.identities;
INSERT INTO serve.artifacts (tenant_id, artifact_hash, artifact_type, internal_name, user_id, status, original_key,
                             content_type, size_bytes, created_at, reported_at,
                             retention_ms)
SELECT tenant_id, artifact_hash, 'upload', internal_name, user_id,
       CASE WHEN created_at < '2026-01-01 00:01' THEN 'uploading' ELSE 'failed' END, 'k', 'video/mp4', 1, created_at,
       created_at, 1
  FROM serve.identities;
INSERT INTO serve.identities (tenant_id, artifact_hash, playback_id, internal_name, kind, user_id, created_at)
SELECT platform.current_tenant(), md5('c' || n), left(md5('q' || n), 16), md5('j' || n), 'clip', md5('u')::uuid,
       '2026-01-01'::timestamptz + n * interval '1 s'
  FROM generate_series(1, 2000) AS n;
INSERT INTO serve.clips (tenant_id, artifact_hash, id, source_hash, title, description, start_ms, end_ms, padding_ms,
                         shown_start_ms, shown_end_ms, requested_params, created_at, retention_until, clip_mode,
                         retention_ms, placed_at)
SELECT tenant_id, artifact_hash, artifact_hash::uuid, md5('h' || 1 + row_number() OVER () % 40), 'x', '',
       row_number() OVER (), 10000, 0, 0, 1, '{}', created_at, created_at, 'absolute', 1, created_at
  FROM serve.identities WHERE kind = 'clip';
INSERT INTO serve.artifacts (tenant_id, artifact_hash, artifact_type, internal_name, user_id, status, original_key,
                             content_type, size_bytes, created_at, retention_until, retention_ms,
                             reported_at)
SELECT tenant_id, artifact_hash, 'clip', internal_name, user_id, 'failed', 'k', 'video/mp4', 1, created_at, created_at,
       1, created_at
  FROM serve.identities WHERE kind = 'clip';
INSERT INTO serve.identities (tenant_id, artifact_hash, playback_id, internal_name, kind, user_id, created_at)
SELECT platform.current_tenant(), md5(kind || n), left(md5('r' || kind || n), 16), md5('k' || kind || n), kind,
       md5('u')::uuid, '2026-01-01'::timestamptz + n * interval '1 s'
  FROM generate_series(1, 2000) AS n, (VALUES ('stream'), ('dvr')) AS kinds (kind);
INSERT INTO serve.streams (tenant_id, id, title, description, record, key_hash, key_rotated_at, created_at)
SELECT tenant_id, artifact_hash::uuid, 'x', '', false, sha256(artifact_hash::bytea), created_at, created_at
  FROM serve.identities WHERE kind = 'stream';
INSERT INTO serve.dvr_recordings (tenant_id, artifact_hash, id, stream_id, internal_name, title, description,
                                  created_at, placed_at, ended_at, retention_ms)
SELECT tenant_id, artifact_hash, artifact_hash::uuid, md5('stream' || 1 + row_number() OVER () % 40)::uuid, 'n', 'x',
       '', created_at, created_at, created_at, 1
  FROM serve.identities WHERE kind = 'dvr';
"""
EXPIRING = """
-- Ten each: over their time, silent, deleted long ago, being purged, purged, asked to be forgotten, forgotten.
UPDATE serve.artifacts AS a
   SET retention_until = CASE WHEN n <= 10 THEN '2026-01-02'::timestamptz END,
       status = CASE WHEN n <= 10 THEN status WHEN n <= 20 THEN 'processing' ELSE 'deleted' END,
       reported_at = CASE WHEN n BETWEEN 11 AND 20 THEN '2025-01-01' ELSE reported_at END,
       deleted_at = CASE WHEN n > 20 THEN '2026-01-02'::timestamptz END,
       purge_due_at = CASE WHEN n > 30 THEN '2026-01-03'::timestamptz END,
       purge_next_at = CASE WHEN n BETWEEN 31 AND 40 THEN '2026-01-04'::timestamptz END,
       purged_at = CASE WHEN n > 40 THEN '2026-01-05'::timestamptz END
  FROM generate_series(1, 70) AS n
 WHERE a.artifact_hash = md5('h' || 100 + n);
UPDATE serve.identities AS i
   SET forget_due_at = '2026-01-06', forget_asked_at = '2026-01-06',
       forgotten_at = CASE WHEN n > 60 THEN '2026-01-07'::timestamptz END
  FROM generate_series(51, 70) AS n
 WHERE i.artifact_hash = md5('h' || 100 + n);
UPDATE serve.uploads AS u
   SET placed_at = NULL, error_code = 'broken', error_message = 'it is', retention_until = '2026-01-02'
  FROM generate_series(1, 10) AS n
 WHERE u.artifact_hash = md5('h' || 200 + n)
"""
TENANT = TenantId(UUID("00000000-0000-7000-8000-000000000001"))
FULL = {"identities", "uploads", "artifacts", "clips"}
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
            await connection.execute(
                "VACUUM ANALYZE serve.identities, serve.uploads, serve.artifacts, serve.clips"
                ", serve.streams, serve.dvr_recordings, serve.idempotency_keys"
            )
        yield endpoint


async def rows_read(transaction: Transaction) -> dict[str, int]:
    """By this transaction so far. Nothing may be read from one end to the other."""
    found = await (await transaction.connection.execute(SCANS)).fetchall()
    assert [table for table, sequential, _ in found if sequential and table in FULL] == []
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


async def test_streams_recordings_and_keys_are_found_by_their_indexes(full: PostgresEndpoint) -> None:
    one = UUID(md5("stream7"))
    async with Database(full.app_url) as database:
        async with database.transaction(WITHOUT_TENANT) as transaction:
            key_hash = hashlib.sha256(one.hex.encode()).digest()
            assert await find_key(transaction.connection, key_hash) == (TENANT, one)
            assert (await find_artifact(transaction.connection, ArtifactHash(md5("dvr7")))) is not None
            read = await rows_read(transaction)
            assert read["streams"] <= 2
            assert read["identities"] <= 2
        async with database.transaction(TENANT) as transaction:
            registry, recordings = RegistryStore(transaction), RecordingStore(transaction)
            page = await StreamStore(transaction).window(RowWindow(size=50))
            place = RowKey(page[-1].created_at, page[-1].artifact_hash)
            assert len(await StreamStore(transaction).window(RowWindow(size=50, after=place))) == 50
            assert len(await recordings.window(RowWindow(size=20), one)) == 20
            assert await recordings.going_on(one) is None
            assert await registry.claim_key(Kind.UPLOAD, md5("h7")) is not None
            assert await registry.identity(ArtifactHash(md5("dvr7"))) is not None
            assert (await registry.words(ArtifactHash(md5("h7")))) is not None
            read = await rows_read(transaction)
            assert read["streams"] <= 150
            assert read["dvr_recordings"] <= 3 * 60
        async with database.system("test: find records without an artifact") as transaction:
            await unplaced(transaction.connection, datetime(2027, 1, 1, tzinfo=UTC), 10)
            await rows_read(transaction)


async def test_the_quota_is_answered_from_the_index(full: PostgresEndpoint) -> None:
    async with Database(full.app_url) as database, database.transaction(TENANT) as transaction:
        usage = await RegistryStore(transaction).usage()
        assert (usage.open_uploads, usage.stored_bytes) == (59, 69)
        read = await rows_read(transaction)
        assert read["artifacts"] + read.get("uploads", 0) <= 100


async def test_clips_are_listed_and_found_again_by_their_indexes(full: PostgresEndpoint) -> None:
    source, span = ArtifactHash(md5("h7")), Span(6, 10000)
    clip = CheckedClip(source, None, ClipMode.ABSOLUTE, span, 0, span, "x", "", {})
    async with Database(full.app_url) as database, database.transaction(TENANT) as transaction:
        store = ClipStore(transaction)
        assert len(await store.window(RowWindow(size=50), ClipFilter())) == 50
        assert len(await store.window(RowWindow(size=50), ClipFilter(source))) == 50
        assert await store.same(clip)
        assert (await rows_read(transaction))["clips"] <= 150


async def test_passes_of_retention_use_their_indexes(full: PostgresEndpoint) -> None:
    late = datetime(2026, 2, 1, tzinfo=UTC)
    passes: list[tuple[Callable[[RetentionReader], Awaitable[Sequence[Any]]], int]] = [
        (lambda reader: reader.expired(late, 50), 50),
        (lambda reader: reader.expired_records(late, 50), 10),
        (lambda reader: reader.silent(datetime(2025, 2, 1, tzinfo=UTC), 50), 10),
        (lambda reader: reader.to_purge(late, 50), 10),
        (lambda reader: reader.purging(late, 50), 10),
        (lambda reader: reader.to_forget(late, 50), 10),
        (lambda reader: reader.unanswered(late, 50), 10),
        (lambda reader: reader.forgotten(50), 10),
    ]
    async with Database(full.app_url) as database:
        for find, found in passes:
            async with database.system("test: find what is over") as transaction:
                assert len(await find(RetentionReader(transaction.connection))) == found
                read = await rows_read(transaction)
                assert sum(read.values()) <= 250, read


def md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
