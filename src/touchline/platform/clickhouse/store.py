"""The one database that holds all our tables, and the schema of each module in it, created when they are missing.

Invariant: a database in which other statements ran than those of this version is refused before anything runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from touchline.kernel import HistoryDiffers
from touchline.platform.endpoints import ClickHouseEndpoint
from touchline.platform.settings import ClickHouseSettings

from .client import Analytics

DEFAULT_DATABASE = "default"

VERSIONS = """
CREATE TABLE IF NOT EXISTS schema_versions (
    module LowCardinality(String), version UInt32, applied_at DateTime64(3, 'UTC') DEFAULT now64(3), sha256 String
) ENGINE = MergeTree ORDER BY (module, version)
"""
COLUMNS = "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = 'schema_versions'"
APPLIED = "SELECT DISTINCT version, sha256 FROM schema_versions WHERE module = {module:String}"
RECORD = """
INSERT INTO schema_versions (module, version, sha256) SELECT {module:String}, {version:UInt32}, {sha256:String}
"""
OTHER_SCHEMA_HINT = (
    "Nothing was changed. Use this data with the version that created it, or start this version with a new data folder "
    "(`TOUCHLINE_DATA=/another/folder touchline up`) or another `clickhouse.database`."
)


async def ensure_database(endpoint: ClickHouseEndpoint, settings: ClickHouseSettings) -> None:
    """No client can connect to a database that does not exist yet: this goes through the one that always does."""
    async with Analytics(replace(endpoint, database=DEFAULT_DATABASE), settings) as analytics:
        await analytics.command("CREATE DATABASE IF NOT EXISTS {name:Identifier}", {"name": endpoint.database})


async def ensure_schema(analytics: Analytics, module: str, statements: Sequence[str]) -> None:
    """Brings a module's schema up to its last statement; a newer one, applied by another process, stays.

    Each statement changes nothing when it runs again, because it and its record are not one step.
    """
    done = await _last_version(analytics, module, statements)
    await analytics.command(VERSIONS)
    for version, statement in enumerate(statements, start=1):
        if version > done:
            await analytics.command(statement)
            await _record(analytics, module, version, statement)


async def ensure_once(analytics: Analytics, name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Runs work that a new schema needs on old rows. It runs again if it was interrupted, so it must be idempotent."""
    await analytics.command(VERSIONS)
    if not await _last_version(analytics, name, [name]):
        await work()
        await _record(analytics, name, 1, name)


async def _last_version(analytics: Analytics, module: str, statements: Sequence[str]) -> int:
    """Only reads. Refuses a database in which one of these statements ran with another text."""
    columns = {row["name"] for row in (await analytics.query_arrow(COLUMNS)).to_pylist()}
    if not columns:
        return 0
    if "sha256" not in columns:  # of a development version that did not record the text
        raise _differs(module)
    applied = (await analytics.query_arrow(APPLIED, {"module": module})).to_pylist()
    ours = {version: _checksum(statement) for version, statement in enumerate(statements, start=1)}
    if any(row["sha256"] != ours.get(row["version"], row["sha256"]) for row in applied):
        raise _differs(module)
    return max((row["version"] for row in applied), default=0)


async def _record(analytics: Analytics, module: str, version: int, statement: str) -> None:
    parameters = {"module": module, "version": version, "sha256": _checksum(statement)}
    await analytics.command(RECORD, parameters)


def _checksum(statement: str) -> str:
    return hashlib.sha256(statement.encode()).hexdigest()


def _differs(module: str) -> HistoryDiffers:
    return HistoryDiffers(
        "the ClickHouse database was created by another version",
        why=f"its schema differs from this version's in {module}",
        hint=OTHER_SCHEMA_HINT,
    )
