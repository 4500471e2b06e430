"""The database roles, made once by a superuser before the first migration.

    touchline_owner     owns the schemas and runs migrations; no wall is open to it either
    touchline_app       the product's processes; sees one tenant at a time
    touchline_worker    job workers; as the application, without the access tables
    touchline_readonly  reports; reads one tenant at a time
    touchline_system    nobody logs in as it; the application and workers step into it with a stated reason
    touchline_definer   nobody logs in as it; owns the functions that must look across the wall

Invariant: none is a superuser or bypasses row-level security, and none inherits: stepping over a wall is an act.
"""

from __future__ import annotations

from collections.abc import Mapping

from psycopg import AsyncConnection, sql

LOGIN_ROLES = ("touchline_owner", "touchline_app", "touchline_worker", "touchline_readonly")
DOOR_ROLES = ("touchline_system", "touchline_definer")

_EXISTS = "SELECT 1 FROM pg_roles WHERE rolname = %s"
_CREATE = "CREATE ROLE {} NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOINHERIT"
_GRANTS = """
GRANT touchline_system TO touchline_app, touchline_worker;
GRANT touchline_system, touchline_definer TO touchline_owner;
"""


async def ensure_roles(superuser_url: str, passwords: Mapping[str, str]) -> None:
    """Idempotent: an existing role keeps its rights and takes the given password."""
    async with await AsyncConnection.connect(superuser_url) as connection:
        for role in (*LOGIN_ROLES, *DOOR_ROLES):
            if not await (await connection.execute(_EXISTS, (role,))).fetchone():
                await connection.execute(sql.SQL(_CREATE).format(sql.Identifier(role)))
        for role in LOGIN_ROLES:
            statement = sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}")
            await connection.execute(statement.format(sql.Identifier(role), sql.Literal(passwords[role])))
        await connection.execute(_GRANTS)


async def ensure_database(superuser_url: str, name: str, template: str = "template1") -> bool:
    """Makes a database that only our roles may enter; answers whether it was made now."""
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
