"""An installation with two tenants, a clock that moves when told, and everything that access consists of."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from touchline.gateway.auth.authentication import Auth, build_auth
from touchline.gateway.auth.credentials import Cost, Passwords
from touchline.gateway.auth.rules import COMMAND_LINE, NewUser, Tenant, User
from touchline.gateway.auth.sessions.rules import SignedIn
from touchline.gateway.settings import AuthSettings
from touchline.kernel import ManualClock, Role
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database

SECRET = "the secret of this cluster"
PASSWORD = "correct horse battery"
CHEAP = Cost(n=2, r=1, p=1)  # the real one is a tenth of a second for each password
SETTINGS = AuthSettings(attempts_per_email=3, attempts_per_address=6)


@dataclass(frozen=True, slots=True)
class World:
    postgres: PostgresEndpoint
    database: Database
    clock: ManualClock
    auth: Auth
    ours: Tenant
    theirs: Tenant

    async def user(self, role: Role = Role.VIEWER, tenant: Tenant | None = None, email: str = "") -> User:
        email = email or f"{role}@{(tenant or self.ours).slug}.example"
        new = NewUser(email, f"The {role}", role)
        return await self.auth.administration.users.create(COMMAND_LINE, (tenant or self.ours).id, new)

    async def sign_in(self, user: User) -> SignedIn:
        link = await self.auth.administration.links.issue(COMMAND_LINE, user.tenant_id, user.id)
        return await self.auth.sessions.sign_in_by_link(link.secret)

    async def events(self, key: str = "") -> list[tuple[str, int, dict[str, Any]]]:
        """What was announced about one thing, in order."""
        async with self.database.system("test: read events") as transaction:
            cursor = await transaction.connection.execute(
                "SELECT type, revision, data FROM platform.waiting_events WHERE key = %(key)s OR %(key)s = ''"
                " ORDER BY sequence, number",
                {"key": key},
            )
            return await cursor.fetchall()

    def later(self, **by: float) -> None:
        self.clock.advance(timedelta(**by))

    def process(self, settings: AuthSettings = SETTINGS, secret: str = SECRET) -> Auth:
        """Another process of the same installation."""
        return build_auth(self.database, secret, settings, self.clock, Passwords(CHEAP))


@asynccontextmanager
async def new_world(postgres: PostgresEndpoint) -> AsyncGenerator[World]:
    clock = ManualClock(datetime(2026, 3, 31, 12, tzinfo=UTC))
    async with Database(postgres.app_url, clock=clock) as database:
        auth = build_auth(database, SECRET, SETTINGS, clock, Passwords(CHEAP))
        ours = await auth.administration.tenants.create(COMMAND_LINE, "ours", "Ours")
        clock.advance(timedelta(milliseconds=1))  # ids sort by the time they were made
        theirs = await auth.administration.tenants.create(COMMAND_LINE, "theirs", "Theirs")
        yield World(postgres, database, clock, auth, ours, theirs)


@pytest.fixture
async def world(postgres: PostgresEndpoint) -> AsyncGenerator[World]:
    async with new_world(postgres) as world:
        yield world
