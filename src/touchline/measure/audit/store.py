"""All SQL of service events in ClickHouse: rows are added, and read; nothing here changes or deletes one.

Invariant: a row is one event, written as often as it is delivered. The position belongs to the event, so a read takes
one row of each, before and after a merge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any, cast
from uuid import UUID

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

from touchline.kernel import TenantId, Unavailable
from touchline.platform.clickhouse.client import Analytics, ArrowTable
from touchline.platform.clickhouse.store import ensure_schema

from .rules import AuditFilter, AuditPage, AuditWindow, ServiceEvent

TABLE = "service_events"
MODULE = "audit"

CREATE_EVENTS = """
-- Append-only, without an end: no statement of ours changes a row or lets it expire. Pages go by position; the index
-- finds the few parts of the table that speak of one artifact.
CREATE TABLE IF NOT EXISTS service_events (
    tenant_id UUID,
    position UInt64,
    event_id UUID,
    type LowCardinality(String),
    subject_kind LowCardinality(String),
    subject String,
    actor LowCardinality(Nullable(String)),
    occurred_at DateTime64(6, 'UTC'),
    revision UInt64,
    trace Nullable(String),
    metadata String,
    INDEX of_subject subject TYPE bloom_filter(0.01) GRANULARITY 1
) ENGINE = ReplacingMergeTree
ORDER BY (tenant_id, position)
SETTINGS index_granularity = 1024
"""
SCHEMA = (CREATE_EVENTS,)

PAGE = """
SELECT position, toString(event_id) AS event_id, type, subject_kind, subject, actor, occurred_at, revision, trace,
    metadata
FROM service_events
WHERE {conditions} AND position > {{above:UInt64}} AND position < {{below:UInt64}}
ORDER BY tenant_id {direction}, position {direction}
LIMIT 1 BY position
LIMIT {{limit:UInt32}}
"""
COUNT = "SELECT uniqExact(position) AS events FROM service_events WHERE {conditions}"
MISSING = """
SELECT arrayJoin({positions:Array(UInt64)}) AS position
WHERE position NOT IN (
    SELECT position FROM service_events
    WHERE tenant_id = {tenant_id:UUID} AND position IN {positions:Array(UInt64)}
)
"""
CONDITIONS = {
    "subject_kind": "subject_kind = {subject_kind:String}",
    "subject": "subject = {subject:String}",
    "types": "type IN {types:Array(String)}",
    "actor": "actor = {actor:String}",
    "since": "occurred_at >= {since:DateTime64(6, 'UTC')}",
    "until": "occurred_at < {until:DateTime64(6, 'UTC')}",
}
LAST_POSITION = 2**63 - 1

_arrow = cast("Any", pa)  # it declares no types
_NOT_TEXT = {
    "position": _arrow.uint64(),
    "revision": _arrow.uint64(),
    "occurred_at": _arrow.timestamp("us", "UTC"),
}
_COLUMNS = (
    *("tenant_id", "position", "event_id", "type", "subject_kind", "subject", "actor", "occurred_at", "revision"),
    *("trace", "metadata"),
)
_ROWS = _arrow.schema([(name, _NOT_TEXT.get(name, _arrow.string())) for name in _COLUMNS])


async def ensure_tables(analytics: Analytics) -> None:
    await ensure_schema(analytics, MODULE, SCHEMA)


class AuditStore:
    def __init__(self, analytics: Analytics) -> None:
        self._analytics = analytics

    async def add(self, tenant_id: TenantId, events: Sequence[ServiceEvent]) -> None:
        """One insert, all or nothing, and read back; adding the same again changes no answer."""
        await self._analytics.insert_arrow(TABLE, _rows_of(tenant_id, events))
        wanted = {"positions": [event.position for event in events]}
        missing = await self._analytics.within(tenant_id).query_arrow(MISSING, wanted)
        if missing.num_rows:
            why = f"{missing.num_rows} of {len(events)} cannot be read back"
            raise Unavailable("ClickHouse did not keep all service events", why=why)

    async def page(self, tenant_id: TenantId, wanted: AuditFilter, window: AuditWindow) -> AuditPage:
        conditions, values = _conditions(wanted)
        direction = "ASC" if window.from_the_end else "DESC"
        values |= {
            "below": LAST_POSITION if window.after is None else window.after,
            "above": 0 if window.before is None else window.before,
            "limit": window.size + 1,
        }
        sql = PAGE.format(conditions=conditions, direction=direction)
        found = [_event(row) for row in (await self._read(tenant_id, sql, values)).to_pylist()]
        events, more = found[: window.size], len(found) > window.size
        if window.from_the_end:
            return AuditPage(events[::-1], has_next=window.after is not None, has_previous=more)
        return AuditPage(events, has_next=more, has_previous=window.after is not None)

    async def count(self, tenant_id: TenantId, wanted: AuditFilter) -> int:
        conditions, values = _conditions(wanted)
        [row] = (await self._read(tenant_id, COUNT.format(conditions=conditions), values)).to_pylist()
        return row["events"]

    async def _read(self, tenant_id: TenantId, sql: str, values: Mapping[str, object]) -> ArrowTable:
        return await self._analytics.within(tenant_id).query_arrow(sql, values)


def _conditions(wanted: AuditFilter) -> tuple[str, dict[str, Any]]:
    given = {name: getattr(wanted, name) for name in CONDITIONS}
    values = {name: list(value) if name == "types" else value for name, value in given.items() if value}
    return " AND ".join(["tenant_id = {tenant_id:UUID}", *(CONDITIONS[name] for name in values)]), values


def _rows_of(tenant_id: TenantId, events: Sequence[ServiceEvent]) -> ArrowTable:
    return _arrow.Table.from_pylist([_row(tenant_id, event) for event in events], schema=_ROWS)


def _row(tenant_id: TenantId, event: ServiceEvent) -> dict[str, Any]:
    own = {name: getattr(event, name) for name in _COLUMNS[1:]}
    metadata = json.dumps(event.metadata, ensure_ascii=False, sort_keys=True)
    return own | {"tenant_id": str(tenant_id), "event_id": str(event.event_id), "metadata": metadata}


def _event(row: Mapping[str, Any]) -> ServiceEvent:
    values = dict(row)
    values["event_id"], values["occurred_at"] = UUID(row["event_id"]), row["occurred_at"].astimezone(UTC)
    values["metadata"] = json.loads(row["metadata"])
    return ServiceEvent(**values)
