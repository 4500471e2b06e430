"""Databases for tests: one migrated template a server, one copy of it a test."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from secrets import token_hex

from psycopg import AsyncConnection, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.migrations import migrate
from touchline.platform.postgres.roles import LOGIN_ROLES, ensure_database, ensure_roles

TEMPLATE = "touchline_template"


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server, and how to get in."""

    superuser_url: str
    passwords: Mapping[str, str]

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
        name = f"touchline_test_{token_hex(6)}"
        await ensure_database(self.superuser_url, name, template=TEMPLATE)
        try:
            yield self.endpoint(name)
        finally:
            await self.drop(name)

    async def make_template(self) -> None:
        """Migrating once and copying is quicker than migrating for every test."""
        await ensure_roles(self.superuser_url, self.passwords)
        await ensure_database(self.superuser_url, TEMPLATE)
        await migrate(self.url("touchline_owner", TEMPLATE))

    async def stop_flushing(self) -> None:
        """Nobody pulls the plug of this one: tests that do have servers of their own. Databases appear quicker."""
        async with await AsyncConnection.connect(self.superuser_url, autocommit=True) as connection:
            await connection.execute("ALTER SYSTEM SET fsync = off")
            await connection.execute("SELECT pg_reload_conf()")

    async def drop(self, name: str) -> None:
        async with await AsyncConnection.connect(self.superuser_url, autocommit=True) as connection:
            await connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
