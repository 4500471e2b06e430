"""One database in ClickHouse for the folder: tests keep apart by their tenants, as tenants do."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from secrets import token_hex

import pytest

from touchline.measure.lifecycle.service import LifecycleService
from touchline.measure.tables import ensure_tables
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.store import ensure_database
from touchline.platform.endpoints import ClickHouseEndpoint, Endpoints
from touchline.platform.settings import ClickHouseSettings

SETTINGS = ClickHouseSettings()


@asynccontextmanager
async def empty_analytics(server: ClickHouseEndpoint) -> AsyncGenerator[Analytics]:
    endpoint = replace(server, database=f"test_{token_hex(6)}")
    await ensure_database(endpoint, SETTINGS)
    async with Analytics(endpoint, SETTINGS) as analytics:
        yield analytics
        await analytics.command("DROP DATABASE {name:Identifier}", {"name": endpoint.database})


@pytest.fixture(scope="session")
async def analytics(endpoints: Endpoints) -> AsyncGenerator[Analytics]:
    async with empty_analytics(endpoints.clickhouse) as analytics:
        await ensure_tables(analytics)
        yield analytics


@pytest.fixture(scope="session")
def lifecycle(analytics: Analytics) -> LifecycleService:
    return LifecycleService(analytics)
