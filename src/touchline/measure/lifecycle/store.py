"""All SQL of artifact lifecycles in ClickHouse: one table of events, and what follows from it as views.

Invariant: every row is one event, written as often as it is delivered. A read puts the rows together itself, so that
it depends neither on a merge nor on the order or number of deliveries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC
from typing import Any, cast
from uuid import UUID

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

from touchline.contracts.lifecycle import StorageEvent
from touchline.kernel import TenantId, Unavailable
from touchline.platform.clickhouse.client import Analytics, ArrowTable
from touchline.platform.clickhouse.store import ensure_schema

from . import rules

TABLE = "artifact_events"
MODULE = "lifecycle"

CREATE_EVENTS = """
-- The position belongs to the event, so that the same event delivered again is the same row, and one goes.
-- A page of artifacts is many short ranges of this order: small granules read little beside them.
CREATE TABLE IF NOT EXISTS artifact_events (
    tenant_id UUID,
    artifact_hash String,
    position UInt64,
    event_id UUID,
    type LowCardinality(String),
    revision UInt64,
    occurred_at DateTime64(6, 'UTC'),
    artifact_type LowCardinality(Nullable(String)),
    stage LowCardinality(Nullable(String)),
    progress_percent Nullable(Int32),
    size_bytes Nullable(Int64),
    duration_ms Nullable(Int64),
    width Nullable(Int32),
    height Nullable(Int32),
    original_key Nullable(String),
    manifest_key Nullable(String),
    poster_key Nullable(String),
    synced Nullable(Bool),
    local_copies Nullable(Int32),
    storage_location LowCardinality(Nullable(String)),
    error_code LowCardinality(Nullable(String)),
    error_message Nullable(String),
    internal_name Nullable(String),
    playback_id Nullable(String),
    user_id Nullable(UUID),
    content_type LowCardinality(Nullable(String)),
    job_id Nullable(UUID),
    job_type LowCardinality(Nullable(String)),
    attempt Nullable(Int32)
) ENGINE = ReplacingMergeTree
ORDER BY (tenant_id, artifact_hash, position, event_id)
SETTINGS index_granularity = 1024
"""

CREATE_STATE = """
-- What `rules.fold` says: argMax passes over nulls, so a fact once known is not lost to an event without it.
CREATE OR REPLACE VIEW artifact_state_current AS
WITH
    e.type IN ('artifact.lifecycle', 'artifact.original_stored') AS own,
    (own, if(own, e.revision, 0), e.position) AS standing,
    argMaxIf(
        (e.error_code, e.error_message, e.stage), standing, e.error_code IS NOT NULL OR e.error_message IS NOT NULL
    ) AS failure
SELECT
    e.tenant_id AS tenant_id,
    e.artifact_hash AS artifact_hash,
    argMax(e.artifact_type, standing) AS artifact_type,
    argMax(e.stage, standing) AS stage,
    argMax(e.progress_percent, standing) AS progress_percent,
    argMax(e.size_bytes, standing) AS size_bytes,
    argMax(e.duration_ms, standing) AS duration_ms,
    argMax(e.width, standing) AS width,
    argMax(e.height, standing) AS height,
    argMax(e.original_key, standing) AS original_key,
    argMax(e.manifest_key, standing) AS manifest_key,
    argMax(e.poster_key, standing) AS poster_key,
    argMax(e.synced, standing) AS synced,
    argMax(e.local_copies, standing) AS local_copies,
    argMax(e.storage_location, standing) AS storage_location,
    failure.1 AS error_code,
    failure.2 AS error_message,
    failure.3 AS error_stage,
    maxIf(e.revision, own) AS revision,
    max(e.position) AS position,
    max(e.occurred_at) AS updated_at
FROM artifact_events AS e
GROUP BY e.tenant_id, e.artifact_hash
"""

CREATE_STORAGE = """
CREATE OR REPLACE VIEW storage_events AS
SELECT tenant_id, artifact_hash, position, event_id, type, revision, occurred_at, synced, local_copies,
       storage_location, size_bytes
FROM artifact_events FINAL
WHERE synced IS NOT NULL OR local_copies IS NOT NULL
"""

SCHEMA = (CREATE_EVENTS, CREATE_STATE, CREATE_STORAGE)

FORGET = """
DELETE FROM artifact_events WHERE tenant_id = {tenant_id:UUID} AND artifact_hash IN {hashes:Array(String)}
"""

STATES = """
SELECT * EXCEPT tenant_id
FROM artifact_state_current
WHERE tenant_id = {tenant_id:UUID} AND artifact_hash IN {hashes:Array(String)}
"""

EVENTS = """
SELECT * EXCEPT tenant_id REPLACE (
    toString(event_id) AS event_id, toString(user_id) AS user_id, toString(job_id) AS job_id
)
FROM artifact_events FINAL
WHERE tenant_id = {tenant_id:UUID} AND artifact_hash = {artifact_hash:String} AND position > {after:UInt64}
ORDER BY position
LIMIT {limit:UInt32}
"""

EVENTS_OF_MANY = """
SELECT * EXCEPT tenant_id REPLACE (
    toString(event_id) AS event_id, toString(user_id) AS user_id, toString(job_id) AS job_id
)
FROM artifact_events FINAL
WHERE tenant_id = {tenant_id:UUID} AND artifact_hash IN {hashes:Array(String)} AND position > {after:UInt64}
ORDER BY artifact_hash, position
LIMIT {limit:UInt32} BY artifact_hash
"""

STORAGE_EVENTS = """
SELECT * EXCEPT tenant_id REPLACE (toString(event_id) AS event_id)
FROM storage_events
WHERE tenant_id = {tenant_id:UUID} AND position > {after:UInt64}
    AND (empty({hashes:Array(String)}) OR artifact_hash IN {hashes:Array(String)})
ORDER BY position
LIMIT {limit:UInt32}
"""

MISSING = """
SELECT arrayJoin({positions:Array(UInt64)}) AS position
WHERE position NOT IN (
    SELECT position FROM artifact_events
    WHERE tenant_id = {tenant_id:UUID} AND artifact_hash IN {hashes:Array(String)}
      AND position IN {positions:Array(UInt64)}
)
"""

_arrow = cast("Any", pa)  # it declares no types
_INT32, _INT64, _UINT64 = _arrow.int32(), _arrow.int64(), _arrow.uint64()
_NOT_TEXT = {
    "position": _UINT64,
    "revision": _UINT64,
    "occurred_at": _arrow.timestamp("us", "UTC"),
    "progress_percent": _INT32,
    "size_bytes": _INT64,
    "duration_ms": _INT64,
    "width": _INT32,
    "height": _INT32,
    "synced": _arrow.bool_(),
    "local_copies": _INT32,
    "attempt": _INT32,
}
_OWN_NAMES = ("event_id", "position", "artifact_hash", "type", "revision", "occurred_at", "error_code", "error_message")
_COLUMNS = ("tenant_id", *_OWN_NAMES, *rules.FACT_NAMES, *rules.CONTEXT_NAMES)
_ROWS = _arrow.schema([(name, _NOT_TEXT.get(name, _arrow.string())) for name in _COLUMNS])


async def ensure_tables(analytics: Analytics) -> None:
    await ensure_schema(analytics, MODULE, SCHEMA)


class LifecycleStore:
    def __init__(self, analytics: Analytics) -> None:
        self._analytics = analytics

    async def add(self, tenant_id: TenantId, events: Sequence[rules.ArtifactEvent]) -> None:
        """One insert, all or nothing, and read back; adding the same again changes no answer."""
        await self._analytics.insert_arrow(TABLE, rows_of(tenant_id, events))
        if missing := await self.missing(tenant_id, events):
            why = f"{len(missing)} of {len(events)} cannot be read back"
            raise Unavailable("ClickHouse did not keep all artifact events", why=why)

    async def forget(self, tenant_id: TenantId, hashes: Sequence[str]) -> None:
        """All that is known of these artifacts."""
        await self._analytics.within(tenant_id).command(FORGET, {"hashes": list(hashes)})

    async def missing(self, tenant_id: TenantId, events: Sequence[rules.ArtifactEvent]) -> list[rules.ArtifactEvent]:
        """Those of which there is no row."""
        hashes = sorted({event.artifact_hash for event in events})
        wanted = {"hashes": hashes, "positions": [event.position for event in events]}
        rows = (await self._analytics.within(tenant_id).query_arrow(MISSING, wanted)).to_pylist()
        gone = {row["position"] for row in rows}
        return [event for event in events if event.position in gone]

    async def states(self, tenant_id: TenantId, hashes: Sequence[str]) -> list[rules.FoldedArtifact]:
        table = await self._analytics.within(tenant_id).query_arrow(STATES, {"hashes": hashes})
        return [_knowledge(row) for row in table.to_pylist()]

    async def events(
        self, tenant_id: TenantId, artifact_hash: str, after: int, limit: int
    ) -> list[rules.ArtifactEvent]:
        wanted = {"artifact_hash": artifact_hash, "after": after, "limit": limit}
        table = await self._analytics.within(tenant_id).query_arrow(EVENTS, wanted)
        return [_event(row) for row in table.to_pylist()]

    async def events_of_many(
        self, tenant_id: TenantId, hashes: Sequence[str], after: int, limit: int
    ) -> list[rules.ArtifactEvent]:
        wanted = {"hashes": list(hashes), "after": after, "limit": limit}
        table = await self._analytics.within(tenant_id).query_arrow(EVENTS_OF_MANY, wanted)
        return [_event(row) for row in table.to_pylist()]

    async def storage_events(
        self, tenant_id: TenantId, hashes: Sequence[str], after: int, limit: int
    ) -> list[StorageEvent]:
        wanted = {"hashes": list(hashes), "after": after, "limit": limit}
        table = await self._analytics.within(tenant_id).query_arrow(STORAGE_EVENTS, wanted)
        return [_storage_event(row) for row in table.to_pylist()]


def rows_of(tenant_id: TenantId, events: Sequence[rules.ArtifactEvent]) -> ArrowTable:
    """The rows of one tenant's events. Whatever does not fit its column is refused here, not by ClickHouse."""
    return _arrow.Table.from_pylist([_row(tenant_id, event) for event in events], schema=_ROWS)


def _row(tenant_id: TenantId, event: rules.ArtifactEvent) -> dict[str, object]:
    values = asdict(event)
    values |= values.pop("facts") | values.pop("context")
    values["tenant_id"] = tenant_id
    return {name: str(value) if isinstance(value, UUID) else value for name, value in values.items()}


def _event(row: Mapping[str, Any]) -> rules.ArtifactEvent:
    context = {name: row[name] for name in rules.CONTEXT_NAMES}
    for name in ("user_id", "job_id"):
        context[name] = UUID(row[name]) if row[name] else None
    own = {name: row[name] for name in _OWN_NAMES}
    own["event_id"], own["occurred_at"] = UUID(row["event_id"]), row["occurred_at"].astimezone(UTC)
    return rules.ArtifactEvent(**own, facts=_facts(row), context=rules.EventContext(**context))


def _storage_event(row: Mapping[str, Any]) -> StorageEvent:
    values: dict[str, Any] = {**row, "event_id": UUID(row["event_id"])}
    values["occurred_at"] = row["occurred_at"].astimezone(UTC)
    return StorageEvent(**values)


def _knowledge(row: Mapping[str, Any]) -> rules.FoldedArtifact:
    failure = rules.ArtifactFailure(row["error_code"], row["error_message"], row["error_stage"])
    return rules.FoldedArtifact(
        artifact_hash=row["artifact_hash"],
        facts=_facts(row),
        failure=None if failure.code is None and failure.message is None else failure,
        revision=row["revision"],
        position=row["position"],
        updated_at=row["updated_at"].astimezone(UTC),
    )


def _facts(row: Mapping[str, Any]) -> rules.ArtifactFacts:
    return rules.ArtifactFacts(**{name: row[name] for name in rules.FACT_NAMES})
