"""The functions that look over the wall: by index, for the application alone, and none that is not tested here."""

from __future__ import annotations

import hashlib
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection

from touchline.gateway.auth.model import NOBODY
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres import Database

LOAD = """
SET LOCAL ROLE touchline_system;
INSERT INTO access.tenants (tenant_id, slug, name, created_at)
VALUES ('00000000-0000-7000-8000-000000000001', 'many', 'Many', now());
SET LOCAL ROLE touchline_app;
SELECT set_config('request.jwt.claims', '{"tenant_id": "00000000-0000-7000-8000-000000000001"}', true);
INSERT INTO access.users (tenant_id, id, email, name, role, created_at)
SELECT platform.current_tenant(), md5('u' || n)::uuid, 'User' || n || '@example.org', 'User', 'viewer', now()
  FROM generate_series(1, 20000) AS n;
INSERT INTO access.api_tokens (tenant_id, id, user_id, name, secret_hash, scopes, created_at)
SELECT platform.current_tenant(), md5('t' || n)::uuid, md5('u' || n)::uuid, 'x', sha256(n::text::bytea), '{read}',
       now()
  FROM generate_series(1, 20000) AS n;
INSERT INTO access.sign_in_links (tenant_id, id, user_id, secret_hash, created_at, expires_at)
SELECT platform.current_tenant(), md5('l' || n)::uuid, md5('u' || n)::uuid, sha256(n::text::bytea), now(), now()
  FROM generate_series(1, 20000) AS n;
INSERT INTO access.sessions (tenant_id, id, user_id, method, opened_at, expires_at)
SELECT platform.current_tenant(), md5('s' || n)::uuid, md5('u' || n)::uuid, 'link', now(), now()
  FROM generate_series(1, 20000) AS n;
INSERT INTO access.session_secrets (tenant_id, session_id, secret_hash)
SELECT platform.current_tenant(), md5('s' || n)::uuid, sha256(n::text::bytea)
  FROM generate_series(1, 20000) AS n;
"""
HASH = hashlib.sha256(b"777").digest()

# Every SECURITY DEFINER function of the product, what to ask it, and the big tables that it reads.
CASES: dict[str, tuple[Any, set[str]]] = {
    "access.find_user": ("uSER777@example.ORG", {"users"}),
    "access.find_api_token": (HASH, {"api_tokens", "users"}),
    "access.find_sign_in_link": (HASH, {"sign_in_links"}),
    "access.find_session": (HASH, {"session_secrets"}),
}
DEFINERS = """
SELECT p.oid::regproc::text, p.proowner::regrole::text, p.proconfig,
       has_function_privilege('touchline_app', p.oid, 'EXECUTE'),
       has_function_privilege('touchline_worker', p.oid, 'EXECUTE')
         OR has_function_privilege('touchline_readonly', p.oid, 'EXECUTE')
         OR has_function_privilege('touchline_system', p.oid, 'EXECUTE')
  FROM pg_proc AS p
 WHERE p.prosecdef AND p.pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
"""
SCANS = """
SELECT relname, seq_scan, idx_scan FROM pg_stat_xact_user_tables WHERE schemaname = 'access' AND seq_scan + idx_scan > 0
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
    assert {name for name, *_ in found} == set(CASES)
    for name, owner, configuration, application, others in found:
        assert owner == "touchline_definer", name
        assert configuration == ["search_path=pg_catalog, pg_temp"], name
        assert application, name
        assert not others, name


async def test_lookups_use_their_index_as_the_application(any_postgres: PostgresEndpoint) -> None:
    await execute(any_postgres.app_url, LOAD)
    await execute(any_postgres.owner_url, "ANALYZE access.users, access.api_tokens, access.session_secrets")
    await execute(any_postgres.owner_url, "ANALYZE access.sign_in_links, access.sessions, access.tenants")
    async with Database(any_postgres.app_url) as database:
        for function, (question, tables) in CASES.items():
            async with database.transaction(NOBODY) as transaction:
                before = await scans(transaction.connection)
                statement = f"SELECT * FROM {function}(%s)".encode()  # noqa: S608  a name from CASES
                rows = await (await transaction.connection.execute(statement, (question,))).fetchall()
                after = await scans(transaction.connection)
            assert len(rows) == 1, function
            for table in tables:
                assert after[table][0] == before.get(table, (0, 0))[0], f"{function} reads all of {table}"
                assert after[table][1] > before.get(table, (0, 0))[1], f"{function} does not use an index of {table}"


async def scans(connection: AsyncConnection[Any]) -> dict[str, tuple[int, int]]:
    rows = await (await connection.execute(SCANS.encode())).fetchall()
    return {table: (sequential, by_index) for table, sequential, by_index in rows}


async def test_the_definer_reads_and_does_nothing_else(any_postgres: PostgresEndpoint) -> None:
    rights = await execute(
        any_postgres.app_url,
        "SELECT bool_or(has_table_privilege('touchline_definer', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))"
        " FROM pg_class AS c WHERE relnamespace = 'access'::regnamespace AND relkind = 'r'",
    )
    assert rights == [(False,)]
    policies = await execute(
        any_postgres.app_url, "SELECT DISTINCT polcmd FROM pg_policy WHERE polname = 'definer_door'"
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
