"""The one database that holds all our tables, and the schema of each module in it, made when they are missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from touchline.platform.endpoints import ClickHouseEndpoint

from .client import Analytics
from .settings import ClickHouseSettings

ALWAYS_THERE = "default"

VERSIONS = """
CREATE TABLE IF NOT EXISTS schema_versions (
    module LowCardinality(String), version UInt32, applied_at DateTime64(3, 'UTC') DEFAULT now64(3)
) ENGINE = MergeTree ORDER BY (module, version)
"""
APPLIED = "SELECT max(version) AS version FROM schema_versions WHERE module = {module:String}"
RECORD = "INSERT INTO schema_versions (module, version) SELECT {module:String}, {version:UInt32}"


async def ensure_database(endpoint: ClickHouseEndpoint, settings: ClickHouseSettings) -> None:
    """Nobody can connect to a database that is not there yet: this goes through the one that always is."""
    async with Analytics(replace(endpoint, database=ALWAYS_THERE), settings) as analytics:
        await analytics.command("CREATE DATABASE IF NOT EXISTS {name:Identifier}", {"name": endpoint.database})


async def ensure_schema(analytics: Analytics, module: str, statements: Sequence[str]) -> None:
    """Brings a module's schema up to its last statement; a newer one, made by another process, stays.

    Statements are appended, never edited: what ran on somebody's data stays as it was. Each changes nothing when it
    runs again, because it and its record are not one step.
    """
    await analytics.command(VERSIONS)
    [row] = (await analytics.query_arrow(APPLIED, {"module": module})).to_pylist()
    for version, statement in enumerate(statements, start=1):
        if version > row["version"]:
            await analytics.command(statement)
            await analytics.command(RECORD, {"module": module, "version": version})


async def ensure_once(analytics: Analytics, name: str, work: Callable[[], Awaitable[None]]) -> None:
    """What a new schema needs of old rows. It is done again if it was interrupted, and must not mind."""
    await ensure_schema(analytics, name, ())
    [row] = (await analytics.query_arrow(APPLIED, {"module": name})).to_pylist()
    if not row["version"]:
        await work()
        await analytics.command(RECORD, {"module": name, "version": 1})
