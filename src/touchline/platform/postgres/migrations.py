"""The database roles, made once by a superuser, and the migrations: numbered SQL files, each applied once under a lock.

    touchline_owner     owns the schemas and runs migrations; row-level security holds for it as well
    touchline_app       the product's processes; sees one tenant at a time
    touchline_worker    job workers; as the application, without the access tables
    touchline_readonly  reports; reads one tenant at a time
    touchline_system    cannot log in; the application and workers switch to it with a stated reason
    touchline_definer   cannot log in; owns the functions that read across tenants

Invariants: no role is a superuser or bypasses row-level security, and none inherits. What was applied is never
changed: a file that is missing, altered or out of order stops everything before the first statement runs. Each file
and its entry in the history are one transaction.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import AsyncConnection, sql

import touchline
from touchline.kernel.errors import Defect, HistoryDiffers, SetupError, Unavailable

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
_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")

_BOOTSTRAP = """
CREATE SCHEMA IF NOT EXISTS platform;
CREATE TABLE IF NOT EXISTS platform.migrations (
  schema_name text NOT NULL,
  number      integer NOT NULL,
  name        text NOT NULL,
  sha256      text NOT NULL,
  applied_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (schema_name, number)
);
"""
_HISTORY = "SELECT schema_name, number, name, sha256 FROM platform.migrations ORDER BY schema_name, number"
_RECORD = "INSERT INTO platform.migrations (schema_name, number, name, sha256) VALUES (%s, %s, %s, %s)"
_TABLES_WITHOUT_POLICY = "SELECT table_name::text FROM platform.unwalled_tables ORDER BY 1"


@dataclass(frozen=True, slots=True, order=True)
class Migration:
    schema: str
    number: int
    name: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.schema}/{self.number:04}_{self.name}"


@dataclass(frozen=True, slots=True)
class MigrationFile:
    migration: Migration
    text: str


def migrations_folder() -> Path:
    """Inside the installed package, or at the top of a checkout."""
    package = Path(touchline.__file__).parent
    carried = package / "migrations"
    return carried if carried.is_dir() else package.parents[1] / "migrations"


def read_migrations(root: Path, schemas: Sequence[str] = SCHEMAS) -> list[MigrationFile]:
    return [found for schema in schemas for found in _read_schema(root / schema)]


def _read_schema(directory: Path) -> Iterator[MigrationFile]:
    for number, path in enumerate(sorted(directory.glob("*.sql")), start=1):
        match = _NAME.fullmatch(path.name)
        if not match or int(match[1]) != number:
            raise Defect(f"{directory.name}/{path.name} is out of order", why=f"number {number:04} comes next")
        text = path.read_text(encoding="utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        yield MigrationFile(Migration(directory.name, number, match[2], digest), text)


def pending_migrations(files: Sequence[MigrationFile], applied: Sequence[Migration]) -> list[MigrationFile]:
    """The files that are still to be applied. Pure; refuses a history that these files did not write."""
    known = {(file.migration.schema, file.migration.number): file.migration for file in files}
    for entry in applied:
        ours = known.get((entry.schema, entry.number))
        if ours is None:
            raise HistoryDiffers(f"the database has {entry}", why="this version does not know it")
        if ours != entry:
            raise HistoryDiffers(f"{ours} is not what was applied", why="the file was changed afterwards")
    done = {(entry.schema, entry.number) for entry in applied}
    return [file for file in files if (file.migration.schema, file.migration.number) not in done]


async def migrate(owner_url: str, files: Sequence[MigrationFile] | None = None) -> list[Migration]:
    """Brings the database up to date and returns what was applied. Safe to call from many machines at once."""
    files = read_migrations(migrations_folder()) if files is None else files
    async with await _connect(owner_url) as connection:
        await connection.execute("SELECT pg_advisory_lock(%s)", (LOCK_KEY,))
        await connection.execute(_BOOTSTRAP)
        cursor = await connection.execute(_HISTORY)
        applied = [Migration(*row) for row in await cursor.fetchall()]
        todo = pending_migrations(files, applied)
        for file in todo:
            await _apply(connection, file)
        await _require_row_level_security(connection)
    return [file.migration for file in todo]


async def _connect(owner_url: str) -> AsyncConnection:
    try:
        return await AsyncConnection.connect(owner_url, autocommit=True, connect_timeout=CONNECT_SECONDS)
    except psycopg.OperationalError as error:
        raise Unavailable("the database did not answer", why=str(error).strip()) from error


async def _apply(connection: AsyncConnection, file: MigrationFile) -> None:
    migration = file.migration
    try:
        async with connection.transaction():
            schema = sql.Identifier(migration.schema)
            await connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
            await connection.execute(file.text.encode())
            await connection.execute(_RECORD, (migration.schema, migration.number, migration.name, migration.sha256))
    except psycopg.Error as error:
        reason = str(error).strip()
        raise SetupError(f"migration {migration} failed", why=reason, hint="It was rolled back.") from error


async def _require_row_level_security(connection: AsyncConnection) -> None:
    cursor = await connection.execute(_TABLES_WITHOUT_POLICY)
    tables = [str(row[0]) for row in await cursor.fetchall()]
    if tables:
        raise Defect("a table with a tenant has no row-level security", why=", ".join(tables))
