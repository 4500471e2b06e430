"""The one database that holds all our tables, made when it is missing."""

from __future__ import annotations

from dataclasses import replace

from touchline.platform.endpoints import ClickHouseEndpoint

from .client import Analytics
from .settings import ClickHouseSettings

ALWAYS_THERE = "default"


async def ensure_database(endpoint: ClickHouseEndpoint, settings: ClickHouseSettings) -> None:
    """Nobody can connect to a database that is not there yet: this goes through the one that always is."""
    async with Analytics(replace(endpoint, database=ALWAYS_THERE), settings) as analytics:
        await analytics.command("CREATE DATABASE IF NOT EXISTS {name:Identifier}", {"name": endpoint.database})
