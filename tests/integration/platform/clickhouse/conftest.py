"""One owner for the whole folder, one database for each test.

With TOUCHLINE_TEST_CLICKHOUSE_URL, _USER and _PASSWORD the tests of the client run against that server instead.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from dataclasses import replace
from secrets import token_hex

import httpx
import pytest

from tests.support.clickhouse_owner import RunningOwner, running_owner
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.endpoints import ClickHouseEndpoint
from touchline.platform.settings import ClickHouseSettings

SETTINGS = ClickHouseSettings()
REAL_SERVER = "TOUCHLINE_TEST_CLICKHOUSE"


@pytest.fixture(scope="session")
async def owner(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunningOwner]:
    async with running_owner(tmp_path_factory.mktemp("clickhouse")) as running:
        yield running


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> ClickHouseEndpoint:
    url = os.environ.get(f"{REAL_SERVER}_URL")
    if not url:
        return request.getfixturevalue("owner").endpoint
    user, password = os.environ[f"{REAL_SERVER}_USER"], os.environ[f"{REAL_SERVER}_PASSWORD"]
    return ClickHouseEndpoint(url, "default", user, password)


@pytest.fixture
async def endpoint(server: ClickHouseEndpoint) -> AsyncGenerator[ClickHouseEndpoint]:
    """A database of the test's own."""
    name = f"test_{token_hex(6)}"
    async with Analytics(server, SETTINGS) as analytics:
        await analytics.command(f"CREATE DATABASE {name}")
        yield replace(server, database=name)
        await analytics.command(f"DROP DATABASE {name}")


@pytest.fixture
async def analytics(endpoint: ClickHouseEndpoint) -> AsyncGenerator[Analytics]:
    async with Analytics(endpoint, SETTINGS) as analytics:
        yield analytics


@pytest.fixture
async def http(owner: RunningOwner) -> AsyncGenerator[httpx.AsyncClient]:
    """The owner's HTTP interface as it is, signed in."""
    login = (owner.endpoint.user, owner.endpoint.password)
    async with httpx.AsyncClient(base_url=owner.endpoint.url, auth=login, trust_env=False, timeout=90) as client:
        yield client


@pytest.fixture
async def database(http: httpx.AsyncClient) -> AsyncGenerator[str]:
    """For tests of the owner alone."""
    name = f"test_{token_hex(6)}"
    (await http.post("/", content=f"CREATE DATABASE {name}")).raise_for_status()
    yield name
    (await http.post("/", content=f"DROP DATABASE {name}")).raise_for_status()
