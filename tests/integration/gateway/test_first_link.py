"""The first link of an installation: once, whoever asks, however often."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from touchline.gateway.auth.authentication import build_administration, build_auth
from touchline.gateway.auth.rules import COMMAND_LINE, NewUser
from touchline.gateway.auth.service import first_sign_in_link
from touchline.gateway.settings import AuthSettings
from touchline.kernel import ManualClock, Role, Unauthenticated
from touchline.platform.postgres.database import Database

SETTINGS = AuthSettings()
BASE = "http://127.0.0.1:4000"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 3, 31, 12, tzinfo=UTC))


async def test_an_empty_installation_gives_its_first_operator_one_link(database: Database, clock: ManualClock) -> None:
    url = await first_sign_in_link(database, BASE, SETTINGS, clock)
    assert url is not None
    page, fragment = url.split("#token=")
    assert page == f"{BASE}/sign-in"
    assert await first_sign_in_link(database, BASE, SETTINGS, clock) is None
    auth = build_auth(database, "secret", SETTINGS, clock)
    signed_in = await auth.sessions.sign_in_by_link(fragment)
    assert (signed_in.user.email, signed_in.user.role) == ("admin@localhost", Role.OPERATOR)
    assert signed_in.tenant.slug == "default"
    assert await first_sign_in_link(database, BASE, SETTINGS, clock) is None


async def test_of_ten_that_ask_at_once_one_gets_the_link(database: Database, clock: ManualClock) -> None:
    links = await asyncio.gather(*(first_sign_in_link(database, BASE, SETTINGS, clock) for _ in range(10)))
    assert len([link for link in links if link]) == 1
    async with database.system("test: read events") as transaction:
        cursor = await transaction.connection.execute(
            "SELECT type, tenant_id, data ->> 'by' FROM platform.event_inbox ORDER BY sequence"
        )
        rows = await cursor.fetchall()
    assert [row[0] for row in rows] == ["tenant.created", "user.created", "user.link_issued"]
    assert len({row[1] for row in rows}) == 1
    assert {row[2] for row in rows} == {"touchline"}


async def test_it_lasts_a_day(database: Database, clock: ManualClock) -> None:
    url = await first_sign_in_link(database, BASE, SETTINGS, clock)
    auth = build_auth(database, "secret", SETTINGS, clock)
    clock.advance(timedelta(days=1))
    with pytest.raises(Unauthenticated):
        await auth.sessions.sign_in_by_link((url or "").split("#token=")[1])


async def test_a_tenant_without_users_is_no_hindrance_and_a_user_is(database: Database, clock: ManualClock) -> None:
    administration = build_administration(database, SETTINGS, clock)
    tenant = await administration.tenants.create(COMMAND_LINE, "default", "Made before")
    assert await first_sign_in_link(database, BASE, SETTINGS, clock)
    assert (await administration.users.by_email(COMMAND_LINE, "admin@localhost")).tenant_id == tenant.id


async def test_where_somebody_exists_there_is_no_first_link(database: Database, clock: ManualClock) -> None:
    administration = build_administration(database, SETTINGS, clock)
    tenant = await administration.tenants.create(COMMAND_LINE, "club", "Club")
    await administration.users.create(COMMAND_LINE, tenant.id, NewUser("a@example.org", "A", Role.VIEWER))
    assert await first_sign_in_link(database, BASE, SETTINGS, clock) is None
