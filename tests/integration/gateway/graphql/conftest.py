"""One gateway with everything behind it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

import pytest

from tests.integration.gateway.conftest import World
from touchline.measure.tables import ensure_tables
from touchline.media.sandbox import Sandbox
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.store import ensure_database
from touchline.platform.endpoints import Endpoints
from touchline.platform.objects.store import ObjectStore
from touchline.platform.settings import ClickHouseSettings

from .site import Needs, Plan, Site, running_site


@pytest.fixture(scope="session")
async def analytics(endpoints: Endpoints) -> AsyncGenerator[Analytics]:
    endpoint = replace(endpoints.clickhouse, database=f"test_{token_hex(6)}")
    await ensure_database(endpoint, ClickHouseSettings())
    async with Analytics(endpoint, ClickHouseSettings()) as analytics:
        await ensure_tables(analytics)
        yield analytics


@pytest.fixture
def needs(world: World, objects: ObjectStore, analytics: Analytics, sandbox: Sandbox, tmp_path: Path) -> Needs:
    return Needs(world, objects, analytics, sandbox, tmp_path)


@pytest.fixture
async def separate_site(needs: Needs) -> AsyncGenerator[Site]:
    """The roles behind a socket: the calls can be counted, and the services stopped."""
    async with running_site(needs, Plan(separate=True)) as site:
        yield site


@pytest.fixture
async def site(needs: Needs) -> AsyncGenerator[Site]:
    async with running_site(needs) as site:
        yield site
