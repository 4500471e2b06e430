"""The database roles, created once by a superuser, and the schemas: one baseline each, applied once under a lock.

    touchline_owner     owns the schemas and runs migrations; row-level security holds for it as well
    touchline_app       the product's processes; sees one tenant at a time
    touchline_worker    job workers; as the application, without the access tables
    touchline_readonly  reports; reads one tenant at a time
    touchline_system    cannot log in; the application and workers switch to it with a stated reason
    touchline_definer   cannot log in; owns the functions that read across tenants

Until the first release there are no upgrades: a baseline is edited in place, and a database of another baseline is
refused before anything is written to it. The table platform.migrations holds the checksum of the baseline
that created each schema.

Invariants: no role is a superuser or bypasses row-level security, and none inherits. A baseline and its entry in
platform.migrations are one transaction.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import AsyncConnection, sql

import touchline
from touchline.kernel import Defect, HistoryDiffers, SetupError, Unavailable

LOGIN_ROLES = ("touchline_owner", "touchline_app", "touchline_worker", "touchline_readonly")
NOLOGIN_ROLES = ("touchline_system", "touchline_definer")

_EXISTS = "SELECT 1 FROM pg_roles WHERE rolname = %s"
_CREATE = "CREATE ROLE {} NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOINHERIT"
_GRANTS = """
GRANT touchline_system TO touchline_app, touchline_worker;
GRANT touchline_system, touchline_definer TO touchline_owner;
"""


async def ensure_roles(superuser_url: str, passwords: Mapping[str, str]) -> None:
    """Idempotent: an existing role keeps its rights and takes the given password."""
    async with await AsyncConnection.connect(superuser_url) as connection:
        for role in (*LOGIN_ROLES, *NOLOGIN_ROLES):
            if not await (await connection.execute(_EXISTS, (role,))).fetchone():
                await connection.execute(sql.SQL(_CREATE).format(sql.Identifier(role)))
        for role in LOGIN_ROLES:
            statement = sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}")
            await connection.execute(statement.format(sql.Identifier(role), sql.Literal(passwords[role])))
        await connection.execute(_GRANTS)


async def ensure_database(superuser_url: str, name: str, template: str = "template1") -> bool:
    """Creates a database that only our roles may connect to; returns whether it was created now."""
    async with await AsyncConnection.connect(superuser_url, autocommit=True) as connection:
        exists = await (await connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,))).fetchone()
        if exists:
            return False
        database = sql.Identifier(name)
        create = sql.SQL("CREATE DATABASE {} OWNER touchline_owner TEMPLATE {}")
        await connection.execute(create.format(database, sql.Identifier(template)))
        await connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
        members = sql.SQL(", ").join(map(sql.Identifier, LOGIN_ROLES))
        await connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, members))
        return True


SCHEMAS = ("platform", "access", "process", "serve", "watch", "measure")  # in this order; one folder each
CONNECT_SECONDS = 10
LOCK_KEY = 7_450_521_001  # any number, the same in every version
OTHER_BASELINE_HINT = (
    "Nothing was changed. Use this data with the version that created it, or start this version with a new data folder "
    "(`TOUCHLINE_DATA=/another/folder touchline up`), or an empty database in `postgres.url` and `postgres.owner_url`."
)
_NAME = re.compile(r"(\d{2})_[a-z0-9_]+\.sql")

_BOOTSTRAP = """
CREATE SCHEMA IF NOT EXISTS platform;
CREATE TABLE IF NOT EXISTS platform.migrations (
  schema_name text PRIMARY KEY,
  sha256      text NOT NULL,
  applied_at  timestamptz NOT NULL DEFAULT now()
);
"""
_IS_KNOWN = "SELECT to_regclass('platform.migrations') IS NOT NULL"
_APPLIED = "SELECT schema_name, sha256 FROM platform.migrations ORDER BY schema_name"
_RECORD = "INSERT INTO platform.migrations (schema_name, sha256) VALUES (%s, %s)"
_TABLES_WITHOUT_POLICY = "SELECT table_name::text FROM platform.unsecured_tables ORDER BY 1"


@dataclass(frozen=True, slots=True, order=True)
class Migration:
    """Which baseline a schema was created by, as platform.migrations has it."""

    schema: str
    sha256: str

    def __str__(self) -> str:
        return self.schema


@dataclass(frozen=True, slots=True)
class Baseline:
    """The SQL files of one schema, in their order, and the checksum of all of them."""

    migration: Migration
    files: Mapping[str, str]


def migrations_folder() -> Path:
    """Inside the installed package, or at the top of a checkout."""
    package = Path(touchline.__file__).parent
    carried = package / "migrations"
    return carried if carried.is_dir() else package.parents[1] / "migrations"


def read_baselines(root: Path, schemas: Sequence[str] = SCHEMAS) -> list[Baseline]:
    return [_read_baseline(root / schema) for schema in schemas]


def _read_baseline(directory: Path) -> Baseline:
    files: dict[str, str] = {}
    digest = hashlib.sha256()
    for number, path in enumerate(sorted(directory.glob("*.sql")), start=1):
        match = _NAME.fullmatch(path.name)
        if not match or int(match[1]) != number:
            raise Defect(f"{directory.name}/{path.name} is out of order", why=f"number {number:02} comes next")
        files[path.stem] = path.read_text(encoding="utf-8")
        digest.update(f"{path.name}\0{files[path.stem]}\0".encode())
    return Baseline(Migration(directory.name, digest.hexdigest()), files)


def pending_baselines(baselines: Sequence[Baseline], applied: Sequence[Migration]) -> list[Baseline]:
    """The schemas that are still to be created. Pure; refuses a database that other baselines created."""
    known = {baseline.migration for baseline in baselines}
    if others := sorted({entry.schema for entry in applied if entry not in known}):
        raise HistoryDiffers(
            "the database was created by another version",
            why=f"its schema differs from this version's in {', '.join(others)}",
            hint=OTHER_BASELINE_HINT,
        )
    return [baseline for baseline in baselines if baseline.migration not in set(applied)]


async def migrate(owner_url: str, baselines: Sequence[Baseline] | None = None) -> list[Migration]:
    """Creates the schemas that are missing and returns them. Safe to call from many machines at once."""
    baselines = read_baselines(migrations_folder()) if baselines is None else baselines
    async with await _connect(owner_url) as connection:
        await connection.execute("SELECT pg_advisory_lock(%s)", (LOCK_KEY,))
        pending = pending_baselines(baselines, await _read_applied(connection))
        await connection.execute(_BOOTSTRAP)
        for baseline in pending:
            await _apply(connection, baseline)
        await _require_row_level_security(connection)
    return [baseline.migration for baseline in pending]


async def _connect(owner_url: str) -> AsyncConnection:
    try:
        return await AsyncConnection.connect(owner_url, autocommit=True, connect_timeout=CONNECT_SECONDS)
    except psycopg.OperationalError as error:
        raise Unavailable("the database did not answer", why=str(error).strip()) from error


async def _read_applied(connection: AsyncConnection) -> list[Migration]:
    """Only reads: a database that is refused stays as it is."""
    known = await (await connection.execute(_IS_KNOWN)).fetchone()
    if not known or not known[0]:
        return []
    return [Migration(*row) for row in await (await connection.execute(_APPLIED)).fetchall()]


async def _apply(connection: AsyncConnection, baseline: Baseline) -> None:
    schema = baseline.migration.schema
    async with connection.transaction():
        await connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        for name, text in baseline.files.items():
            try:
                await connection.execute(text.encode())
            except psycopg.Error as error:
                hint = f"The schema {schema} was rolled back."
                raise SetupError(f"migration {schema}/{name} failed", why=str(error).strip(), hint=hint) from error
        await connection.execute(_RECORD, (schema, baseline.migration.sha256))


async def _require_row_level_security(connection: AsyncConnection) -> None:
    cursor = await connection.execute(_TABLES_WITHOUT_POLICY)
    tables = [str(row[0]) for row in await cursor.fetchall()]
    if tables:
        raise Defect("a table with a tenant has no row-level security", why=", ".join(tables))
