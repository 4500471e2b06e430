"""The one database that holds all our tables, and the schema of each module in it, created when they are missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from touchline.platform.endpoints import ClickHouseEndpoint

from .client import Analytics
from .settings import ClickHouseSettings

DEFAULT_DATABASE = "default"

VERSIONS = """
CREATE TABLE IF NOT EXISTS schema_versions (
    module LowCardinality(String), version UInt32, applied_at DateTime64(3, 'UTC') DEFAULT now64(3)
) ENGINE = MergeTree ORDER BY (module, version)
"""
APPLIED = "SELECT max(version) AS version FROM schema_versions WHERE module = {module:String}"
RECORD = "INSERT INTO schema_versions (module, version) SELECT {module:String}, {version:UInt32}"


async def ensure_database(endpoint: ClickHouseEndpoint, settings: ClickHouseSettings) -> None:
    """No client can connect to a database that does not exist yet: this goes through the one that always does."""
    async with Analytics(replace(endpoint, database=DEFAULT_DATABASE), settings) as analytics:
        await analytics.command("CREATE DATABASE IF NOT EXISTS {name:Identifier}", {"name": endpoint.database})


async def ensure_schema(analytics: Analytics, module: str, statements: Sequence[str]) -> None:
    """Brings a module's schema up to its last statement; a newer one, applied by another process, stays.

    Statements are appended, never edited: what ran on someone's data stays as it was. Each changes nothing when it runs
    again, because it and its record are not one step.
    """
    await analytics.command(VERSIONS)
    [row] = (await analytics.query_arrow(APPLIED, {"module": module})).to_pylist()
    for version, statement in enumerate(statements, start=1):
        if version > row["version"]:
            await analytics.command(statement)
            await analytics.command(RECORD, {"module": module, "version": version})


async def ensure_once(analytics: Analytics, name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Runs work that a new schema needs on old rows. It runs again if it was interrupted, so it must be idempotent."""
    await ensure_schema(analytics, name, ())
    [row] = (await analytics.query_arrow(APPLIED, {"module": name})).to_pylist()
    if not row["version"]:
        await work()
        await analytics.command(RECORD, {"module": name, "version": 1})
