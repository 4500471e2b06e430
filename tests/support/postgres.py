"""Databases for tests: one migrated template a server, copies of it that one test after another has for itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from secrets import token_hex

from psycopg import AsyncConnection, OperationalError, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import scalar_row

from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.migrations import LOGIN_ROLES, ensure_database, ensure_roles, migrate

TEMPLATE = "touchline_template"
# Whatever a test could have built, dropped or altered, hashed as it lies there: as text it takes twice as long.
SHAPE = """
SELECT concat_ws(' ', count(*), sum(part)) FROM (
  SELECT hash_record_extended(
           ROW(oid, relname, relowner, relacl, relrowsecurity, relforcerowsecurity, reloptions), 1) FROM pg_class
   WHERE oid >= 16384
  UNION ALL SELECT hash_record_extended(ROW(attrelid, attnum, attname, atttypid, attnotnull, attacl), 2)
    FROM pg_attribute WHERE attrelid >= 16384
  UNION ALL SELECT hash_record_extended(ROW(oid, nspname, nspacl), 3) FROM pg_namespace
  UNION ALL SELECT hash_record_extended(ROW(oid, proowner, proacl, proconfig, prosrc), 4) FROM pg_proc
   WHERE oid >= 16384
  UNION ALL SELECT hash_record_extended(ROW(oid, polroles, polqual::text, polwithcheck::text), 5) FROM pg_policy
  UNION ALL SELECT hash_record_extended(ROW(oid, tgenabled), 6) FROM pg_trigger
  UNION ALL SELECT hash_record_extended(ROW(oid, conname, convalidated), 7) FROM pg_constraint WHERE oid >= 16384
  UNION ALL SELECT hash_record_extended(ROW(oid, typname), 8) FROM pg_type WHERE oid >= 16384
  UNION ALL SELECT hash_record_extended(ROW(setrole, setconfig), 9) FROM pg_db_role_setting
   WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
) AS parts (part)
"""
USED = """
SELECT oid::regclass::text FROM pg_class
 WHERE oid >= 16384 AND relkind = 'r' AND relname <> 'migrations' AND pg_relation_size(oid) > 0
"""
END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()
"""
COUNT_ANEW = """
SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) FROM pg_sequences
 WHERE last_value IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Template:
    """What a copy has to look like before the next test gets it."""

    shape: str
    seeds: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class FreeDatabase:
    """One with the connection that empties it: a new one would have to read the whole catalog for that."""

    name: str
    connection: AsyncConnection


@dataclass(slots=True)
class PostgresServer:
    """A running server, and how to get in."""

    superuser_url: str
    passwords: Mapping[str, str]
    _template: Template | None = None
    _free: list[FreeDatabase] = field(default_factory=list["FreeDatabase"])

    def url(self, role: str, database: str) -> str:
        login = conninfo_to_dict(self.superuser_url) | {
            "user": role,
            "password": self.passwords[role],
            "dbname": database,
        }
        return make_conninfo("", **login)

    def superuser(self, database: str) -> str:
        return make_conninfo(self.superuser_url, dbname=database)

    def endpoint(self, database: str) -> PostgresEndpoint:
        return PostgresEndpoint(*(self.url(role, database) for role in LOGIN_ROLES))

    @asynccontextmanager
    async def empty_database(self) -> AsyncGenerator[PostgresEndpoint]:
        name = f"touchline_test_{token_hex(6)}"
        await ensure_database(self.superuser_url, name)
        try:
            yield self.endpoint(name)
        finally:
            await self.drop(name)

    @asynccontextmanager
    async def migrated_database(self) -> AsyncGenerator[PostgresEndpoint]:
        """As the migrations leave it. Emptying a used one is ten times quicker than copying the template."""
        database = self._free.pop() if self._free else await self._copy()
        try:
            yield self.endpoint(database.name)
        finally:
            if await self._emptied(database):
                self._free.append(database)
            else:
                await database.connection.close()
                await self.drop(database.name)

    async def make_template(self) -> None:
        """Migrating once and copying is quicker than migrating for every test."""
        await ensure_roles(self.superuser_url, self.passwords)
        await ensure_database(self.superuser_url, TEMPLATE)
        await migrate(self.url("touchline_owner", TEMPLATE))
        async with await self._connect(TEMPLATE) as connection:
            tables = await _column(connection, USED)
            seeds = {table: rows for table in tables if (rows := await _rows(connection, table))}
            [shape] = await _column(connection, SHAPE)
        self._template = Template(shape, seeds)

    async def close(self) -> None:
        while self._free:
            await self._free.pop().connection.close()

    async def _copy(self) -> FreeDatabase:
        name = f"touchline_test_{token_hex(6)}"
        await ensure_database(self.superuser_url, name, template=TEMPLATE)
        return FreeDatabase(name, await self._connect(name))

    async def _emptied(self, database: FreeDatabase) -> bool:
        """False: a test has altered more than rows, or ended what others were connected by."""
        assert self._template
        connection = database.connection
        try:
            await connection.execute(END_OTHERS, (database.name,))
            if await _column(connection, SHAPE) != [self._template.shape]:
                return False
            await connection.execute(COUNT_ANEW)
            if used := await _column(connection, USED):
                await connection.execute(f"TRUNCATE {', '.join(used)} CASCADE".encode())
            for table, rows in self._template.seeds.items():
                async with connection.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
                    await copy.write(rows)
        except OperationalError:
            return False
        return True

    async def _connect(self, database: str) -> AsyncConnection:
        connection = await AsyncConnection.connect(self.superuser(database), autocommit=True)
        await connection.execute("SET session_replication_role = replica")  # no trigger has a say in this
        return connection

    async def stop_flushing(self) -> None:
        """Nobody pulls the plug of this one: tests that do have servers of their own. Databases appear quicker."""
        async with await AsyncConnection.connect(self.superuser_url, autocommit=True) as connection:
            await connection.execute("ALTER SYSTEM SET fsync = off")
            await connection.execute("SELECT pg_reload_conf()")

    async def quicken_logins(self) -> None:
        """Passwords that are hashed once instead of 4096 times. Before PostgreSQL 16 there is no choice."""
        async with await AsyncConnection.connect(self.superuser_url, autocommit=True) as connection:
            if connection.info.server_version >= 160000:
                await connection.execute("SET scram_iterations = 1")
                for role in LOGIN_ROLES:
                    statement = sql.SQL("ALTER ROLE {} PASSWORD {}")
                    await connection.execute(statement.format(sql.Identifier(role), sql.Literal(self.passwords[role])))

    async def drop(self, name: str) -> None:
        async with await AsyncConnection.connect(self.superuser_url, autocommit=True) as connection:
            await connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


async def _column(connection: AsyncConnection, query: str) -> list[str]:
    async with connection.cursor(row_factory=scalar_row) as cursor:
        return await (await cursor.execute(query.encode())).fetchall()


async def _rows(connection: AsyncConnection, table: str) -> bytes:
    async with connection.cursor().copy(f"COPY {table} TO STDOUT".encode()) as copy:
        return b"".join([bytes(chunk) async for chunk in copy])
