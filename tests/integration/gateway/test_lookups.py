"""The functions that look over the wall: by index, for the application alone, and none that is not tested here."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection

from touchline.gateway.auth.rules import WITHOUT_TENANT
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database

LOAD = """
SET LOCAL ROLE touchline_system;
INSERT INTO access.tenants (tenant_id, slug, name, created_at)
VALUES ('00000000-0000-7000-8000-000000000001', 'many', 'Many', now());
SET LOCAL ROLE touchline_app;
SELECT set_config('request.jwt.claims', '{"tenant_id": "00000000-0000-7000-8000-000000000001"}', true);
INSERT INTO access.users (tenant_id, id, email, name, role, created_at)
SELECT platform.current_tenant(), md5('u' || n)::uuid, 'User' || n || '@example.org', 'User', 'viewer', now()
  FROM generate_series(1, 8000) AS n;
INSERT INTO access.api_tokens (tenant_id, id, user_id, name, secret_hash, scopes, created_at)
SELECT platform.current_tenant(), md5('t' || n)::uuid, md5('u' || n)::uuid, 'x', sha256(n::text::bytea), '{read}',
       now()
  FROM generate_series(1, 8000) AS n;
INSERT INTO access.sign_in_links (tenant_id, id, user_id, secret_hash, created_at, expires_at)
SELECT platform.current_tenant(), md5('l' || n)::uuid, md5('u' || n)::uuid, sha256(n::text::bytea), now(), now()
  FROM generate_series(1, 8000) AS n;
INSERT INTO access.sessions (tenant_id, id, user_id, method, opened_at, expires_at)
SELECT platform.current_tenant(), md5('s' || n)::uuid, md5('u' || n)::uuid, 'link', now(), now()
  FROM generate_series(1, 8000) AS n;
INSERT INTO access.session_secrets (tenant_id, session_id, secret_hash)
SELECT platform.current_tenant(), md5('s' || n)::uuid, sha256(n::text::bytea)
  FROM generate_series(1, 8000) AS n;
"""
# Waiting jobs of many videos, and among them a few whose lease is over.
LOAD_JOBS = """
SELECT set_config('request.jwt.claims', '{"tenant_id": "00000000-0000-7000-8000-000000000001"}', true);
INSERT INTO process.videos (tenant_id, video_id, s3_original_path, size_bytes, content_type)
SELECT platform.current_tenant(), md5('v' || n)::uuid, 'x', 1, 'video/mp4' FROM generate_series(1, 8000) AS n;
INSERT INTO process.jobs (tenant_id, video_id, job_type, payload)
SELECT platform.current_tenant(), md5('v' || n)::uuid, 'transcode', jsonb_build_object('video_id', md5('v' || n)::uuid)
  FROM generate_series(1, 8000) AS n;
SELECT process.claim('dead', '{transcode}', 6, interval '-1 second');
SELECT process.claim('living', '{transcode}', 3, interval '1 minute');
"""
HASH = hashlib.sha256(b"777").digest()
APPLICATION = frozenset({"touchline_app"})
WORKERS = frozenset({"touchline_app", "touchline_worker"})
MOST_ROWS = 100  # read on the way to a handful, of 8,000


@dataclass(frozen=True, slots=True)
class Case:
    """What to ask a function, how many rows it answers, the big tables that it reads, and who may call it."""

    question: tuple[Any, ...]
    tables: set[str]
    rows: int = 1
    callers: frozenset[str] = APPLICATION


# Every SECURITY DEFINER function of the product.
CASES = {
    "access.find_user": Case(("uSER777@example.ORG",), {"access.users"}),
    "access.find_api_token": Case((HASH,), {"access.api_tokens", "access.users"}),
    "access.find_sign_in_link": Case((HASH,), {"access.sign_in_links"}),
    "access.find_session": Case((HASH,), {"access.session_secrets"}),
    "process.claim": Case(("worker", "{ocr,transcode}", 5, timedelta(minutes=5)), {"process.jobs"}, 5, WORKERS),
    "process.claim_from_others": Case(
        ("worker", "{ocr,transcode}", "{}", timedelta(minutes=5)), {"process.jobs"}, 1, WORKERS
    ),
    "process.held": Case(("living",), {"process.jobs"}, 3, WORKERS),
    "process.reclaim": Case(("worker", 2), {"process.jobs"}, 2, WORKERS),
}
# They are fired, or called by those that are: nobody may execute them.
TRIGGERS = {
    "process.fail_children_at_commit",
    "process.priority_band_of",
    "process.place_job",
    "process.record_priority",
    "process.record_transitions",
    "process.search_entities",
    "process.search_new_videos",
    "process.search_segments",
    "process.search_video_texts",
}
# A worker's jobs in one statement; tests/integration/process has their cases.
BATCHES = dict.fromkeys(("process.complete_all", "process.heartbeats", "process.wake_due"), WORKERS)
# Those of other planes, for the application as well; their cases are in the tests of these planes.
ELSEWHERE = {
    *("serve.find_artifact", "serve.find_internal_name", "serve.find_playback_id", "serve.find_share_link"),
    "serve.find_stream_key",
}
# They stay in the tenant of the transaction; tests/integration/process/search has their cases.
SEARCH = dict.fromkeys(
    ("process.search", "process.search_spacing", "process.search_spelling", "process.search_suggestions"),
    WORKERS | {"touchline_readonly"},
) | dict.fromkeys(
    ("process.forget_video", "process.refresh_search_materialized", "process.remember_video"),
    WORKERS | {"touchline_system"},
)
WAYS = ("bitmapscan", "hashjoin", "mergejoin", "nestloop", "seqscan", "sort")
PLANS = {"enable_hashjoin=on", "jit=off", "plan_cache_mode=force_generic_plan"} | {f"enable_{way}=off" for way in WAYS}
DEFINERS = """
SELECT p.oid::regproc::text, p.proowner::regrole::text, p.proconfig,
       ARRAY(SELECT r.rolname::text FROM pg_roles AS r
              WHERE r.rolname ~ '^touchline_(app|worker|readonly|system)$'
                AND has_function_privilege(r.oid, p.oid, 'EXECUTE'))
  FROM pg_proc AS p
 WHERE p.prosecdef AND p.pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
"""
SCANS = """
SELECT schemaname || '.' || relname, seq_scan, idx_tup_fetch
  FROM pg_stat_xact_user_tables
 WHERE seq_scan + idx_scan > 0
"""


async def execute(url: str, *statements: str) -> list[tuple[Any, ...]]:
    async with await AsyncConnection.connect(url) as connection:
        rows: list[tuple[Any, ...]] = []
        for statement in statements:
            cursor = await connection.execute(statement.encode())
            rows = await cursor.fetchall() if cursor.description else []
        return rows


async def test_every_function_over_the_wall_has_its_case_here(any_postgres: PostgresEndpoint) -> None:
    found = await execute(any_postgres.app_url, DEFINERS)
    expected = dict.fromkeys(ELSEWHERE, APPLICATION) | dict.fromkeys(TRIGGERS, frozenset[str]())
    expected |= SEARCH | BATCHES | {name: case.callers for name, case in CASES.items()}
    assert {name: frozenset(callers) for name, *_, callers in found} == expected
    for name, owner, configuration, _ in found:
        assert owner == "touchline_definer", name
        assert configuration[0] == "search_path=pg_catalog, pg_temp", name
        assert set(configuration[1:]) <= PLANS, name


async def test_lookups_use_their_index_as_whoever_calls_them(any_postgres: PostgresEndpoint) -> None:
    await execute(any_postgres.app_url, LOAD)
    await execute(any_postgres.app_url, LOAD_JOBS)
    await execute(any_postgres.owner_url, "ANALYZE access.users, access.api_tokens, access.session_secrets")
    await execute(any_postgres.owner_url, "ANALYZE access.sign_in_links, access.sessions, access.tenants")
    await execute(any_postgres.owner_url, "ANALYZE process.jobs, process.videos")
    for caller, url in (("touchline_app", any_postgres.app_url), ("touchline_worker", any_postgres.worker_url)):
        async with Database(url) as database:
            for function, case in CASES.items():
                if caller in case.callers:
                    await check_lookup(database, function, case)


async def check_lookup(database: Database, function: str, case: Case) -> None:
    async with database.transaction(WITHOUT_TENANT) as transaction:
        before = await scans(transaction.connection)
        places = ", ".join(["%s"] * len(case.question))
        statement = f"SELECT * FROM {function}({places})".encode()  # noqa: S608  a name from CASES
        rows = await (await transaction.connection.execute(statement, case.question)).fetchall()
        after = await scans(transaction.connection)
    assert len(rows) == case.rows, function
    for table in case.tables:
        sequential, fetched = (now - was for now, was in zip(after[table], before.get(table, (0, 0)), strict=True))
        assert sequential == 0, f"{function} reads all of {table}"
        assert 0 < fetched <= MOST_ROWS, f"{function} reads {fetched} rows of {table}"


async def scans(connection: AsyncConnection[Any]) -> dict[str, tuple[int, int]]:
    rows = await (await connection.execute(SCANS.encode())).fetchall()
    return {table: (sequential, fetched) for table, sequential, fetched in rows}


async def test_the_definer_reads_who_exists_and_does_nothing_else_with_them(any_postgres: PostgresEndpoint) -> None:
    rights = await execute(
        any_postgres.app_url,
        "SELECT bool_or(has_table_privilege('touchline_definer', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))"
        " FROM pg_class AS c WHERE relnamespace = 'access'::regnamespace AND relkind = 'r'",
    )
    assert rights == [(False,)]
    policies = await execute(
        any_postgres.app_url,
        "SELECT DISTINCT polcmd FROM pg_policy AS p JOIN pg_class AS c ON c.oid = p.polrelid"
        " WHERE polname = 'definer_door' AND c.relnamespace = 'access'::regnamespace",
    )
    assert policies == [("r",)]


SECRET_COLUMNS = ("password_hash", "secret_hash", "sealed_key", "email")


async def test_workers_and_reports_see_no_secret_and_no_hash(any_postgres: PostgresEndpoint) -> None:
    """Neither as themselves nor through the system role that workers may step into."""
    columns = await execute(
        any_postgres.app_url,
        "SELECT c.oid::regclass::text, a.attname, r.rolname"
        "  FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped,"
        "       (VALUES ('touchline_worker'), ('touchline_readonly'), ('touchline_system')) AS r (rolname)"
        " WHERE c.relnamespace = 'access'::regnamespace AND c.relkind = 'r'"
        "   AND has_column_privilege(r.rolname, c.oid, a.attnum, 'SELECT')",
    )
    assert {column for _, column, role in columns if role == "touchline_system"}.isdisjoint(SECRET_COLUMNS)
    readable = {(table, column) for table, column, role in columns if role == "touchline_readonly"}
    assert {column for _, column in readable}.isdisjoint(set(SECRET_COLUMNS) - {"email"})
    assert {table for table, _ in readable} == {"access.tenants", "access.users", "access.api_tokens"}
    assert not [column for column in columns if column[2] == "touchline_worker"]
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await execute(any_postgres.worker_url, "SELECT * FROM access.users")
