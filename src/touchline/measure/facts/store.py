"""All SQL of session facts in ClickHouse.

Invariants: a session is one row with its segments and updates in it, so that it is never half written; the row of the
highest pass counts. Reads combine versions themselves and depend on no merge. A write is noted for its days before it
begins and after it has ended: who has seen a day with as many of both notes as it has now has seen everything in it. A
writer that died in between leaves one more beginning than there are ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from datetime import date
from typing import Any, cast

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

from touchline.kernel import TenantId
from touchline.measure.sessions.model import ParameterRow, SegmentRow, SessionFacts, SessionRow
from touchline.platform.clickhouse.client import Analytics, ArrowTable
from touchline.platform.clickhouse.store import ensure_schema

from .rules import AffectedSessions, SessionPlace, inserts, start_day

MODULE = "facts"

CREATE_SESSIONS = """
-- `start_day` follows from session_start_ts and is the latest day that the type knows for later ones. A session that
-- turns out to begin on another day is deleted at its old place by the same pass.
CREATE TABLE IF NOT EXISTS session_rows (
    tenant_id UUID,
    start_day Date,
    workflow_session_id String,
    stream_id Nullable(String),
    request_id Nullable(String),
    workflow_type LowCardinality(String),
    workflow_id LowCardinality(Nullable(String)),
    pipeline_id LowCardinality(Nullable(String)),
    session_start_ts Int64,
    session_end_ts Int64,
    first_stream_request_ts Nullable(Int64),
    first_ingest_ts Nullable(Int64),
    runner_first_processed_ts Nullable(Int64),
    first_processed_ts Nullable(Int64),
    first_playable_ts Nullable(Int64),
    prompt_start_ts Nullable(Int64),
    closed_ts Nullable(Int64),
    startup_ms Nullable(Int64),
    e2e_proxy_ms Nullable(Int64),
    prompt_to_playable_ms Nullable(Int64),
    gateway_runner_lag_ms Nullable(Int64),
    known_stream UInt8,
    startup_success UInt8,
    startup_excused UInt8,
    startup_unexcused UInt8,
    startup_outcome LowCardinality(String),
    swap_count UInt32,
    explicit_swap_count UInt32,
    orchestrator_count UInt32,
    error_count UInt32,
    excusable_error_count UInt32,
    excusable_patterns Array(LowCardinality(String)),
    orchestrator_address LowCardinality(Nullable(String)),
    observed_orchestrator_address LowCardinality(Nullable(String)),
    orchestrator_url LowCardinality(Nullable(String)),
    gateway LowCardinality(Nullable(String)),
    model_id LowCardinality(Nullable(String)),
    gpu_id LowCardinality(Nullable(String)),
    gpu_attribution_method LowCardinality(String),
    gpu_attribution_confidence Float64,
    source_first_event_uid String,
    source_last_event_uid String,
    version UInt64,
    semantics_version UInt32,
    quality_flags Array(LowCardinality(String)),
    segments Array(Tuple(
        segment_index UInt32,
        segment_start_ts Int64,
        segment_end_ts Nullable(Int64),
        gateway Nullable(String),
        orchestrator_address Nullable(String),
        observed_orchestrator_address Nullable(String),
        orchestrator_url Nullable(String),
        worker_id Nullable(String),
        region Nullable(String),
        model_id Nullable(String),
        gpu_id Nullable(String),
        gpu_attribution_method String,
        gpu_attribution_confidence Float64,
        reason String,
        source_trace_type Nullable(String),
        source_event_uid String,
        version UInt64,
        semantics_version UInt32,
        quality_flags Array(String)
    )),
    parameters Array(Tuple(
        update_index UInt32,
        update_ts Int64,
        segment_index UInt32,
        event_type String,
        params_hash Nullable(String),
        params Nullable(String),
        source_event_uid String,
        version UInt64,
        semantics_version UInt32,
        quality_flags Array(String)
    )),
    observed_addresses Array(LowCardinality(String)),
    final_from_ts Int64,
    pass UInt64,
    is_deleted UInt8,
    -- Where high values are: a page of the slowest sessions reads few granules, not a column of all days. An index
    -- would take an unknown value for the highest of all.
    INDEX startup assumeNotNull(startup_ms) TYPE minmax GRANULARITY 1,
    INDEX errors error_count TYPE minmax GRANULARITY 1,
    INDEX swaps swap_count TYPE minmax GRANULARITY 1
) ENGINE = ReplacingMergeTree(pass, is_deleted)
PARTITION BY toYYYYMM(start_day)
ORDER BY (tenant_id, start_day, workflow_session_id)
-- A part has a file for every column and for every field of a segment: full-sized buffers for all of them would exceed
-- what one statement may use. A page of sessions is rows from anywhere: small granules read little beside them. A month
-- to which nothing was written for a day becomes one part: reading it needs no versions merged.
SETTINGS min_columns_to_activate_adaptive_write_buffer = 1, index_granularity = 1024,
    min_age_to_force_merge_seconds = 86400, min_age_to_force_merge_on_partition_only = 1
"""

CREATE_PLACES = """
-- Every day under which a session was ever written, noted before it is.
CREATE TABLE IF NOT EXISTS session_places (
    tenant_id UUID,
    workflow_session_id String,
    start_day Date
) ENGINE = ReplacingMergeTree
ORDER BY (tenant_id, workflow_session_id, start_day)
SETTINGS index_granularity = 1024
"""

CREATE_HORIZONS = """
-- The greatest time of a tenant's events that count: the clock by which its sessions become final.
CREATE TABLE IF NOT EXISTS event_horizons (
    tenant_id UUID,
    greatest_ts Int64,
    pass UInt64
) ENGINE = ReplacingMergeTree(pass)
ORDER BY tenant_id
"""

CREATE_DAYS = """
-- Counters, so that writers need not know of each other: nobody can undo or repeat what another one noted.
CREATE TABLE IF NOT EXISTS session_days (
    tenant_id UUID,
    start_day Date,
    begun SimpleAggregateFunction(sum, UInt64),
    ended SimpleAggregateFunction(sum, UInt64),
    noted_at SimpleAggregateFunction(max, DateTime64(6, 'UTC')) DEFAULT now64(6)
) ENGINE = AggregatingMergeTree
ORDER BY (tenant_id, start_day)
"""

CREATE_SESSION_FACTS = """
CREATE OR REPLACE VIEW fact_workflow_sessions AS
WITH (
    SELECT mapFromArrays(groupArray(h.tenant_id), groupArray(h.greatest_ts))
    FROM event_horizons AS h FINAL
) AS horizons
SELECT
    * EXCEPT (segments, parameters, pass, is_deleted),
    toUInt8(final_from_ts <= horizons[tenant_id]) AS is_final
FROM session_rows FINAL
SETTINGS do_not_merge_across_partitions_select_final = 1
"""

CREATE_SEGMENT_FACTS = """
CREATE OR REPLACE VIEW fact_workflow_session_segments AS
SELECT
    tenant_id,
    start_day,
    workflow_session_id,
    segment.segment_index AS segment_index,
    segment.segment_start_ts AS segment_start_ts,
    segment.segment_end_ts AS segment_end_ts,
    segment.gateway AS gateway,
    segment.orchestrator_address AS orchestrator_address,
    segment.observed_orchestrator_address AS observed_orchestrator_address,
    segment.orchestrator_url AS orchestrator_url,
    segment.worker_id AS worker_id,
    segment.region AS region,
    segment.model_id AS model_id,
    segment.gpu_id AS gpu_id,
    segment.gpu_attribution_method AS gpu_attribution_method,
    segment.gpu_attribution_confidence AS gpu_attribution_confidence,
    segment.reason AS reason,
    segment.source_trace_type AS source_trace_type,
    segment.source_event_uid AS source_event_uid,
    segment.version AS version,
    segment.semantics_version AS semantics_version,
    segment.quality_flags AS quality_flags
FROM (SELECT tenant_id, start_day, workflow_session_id, segments FROM session_rows FINAL) AS sessions
ARRAY JOIN segments AS segment
SETTINGS do_not_merge_across_partitions_select_final = 1
"""

CREATE_UPDATE_FACTS = """
CREATE OR REPLACE VIEW fact_workflow_param_updates AS
SELECT
    tenant_id,
    start_day,
    workflow_session_id,
    parameter.update_index AS update_index,
    parameter.update_ts AS update_ts,
    parameter.segment_index AS segment_index,
    parameter.event_type AS event_type,
    parameter.params_hash AS params_hash,
    parameter.params AS params,
    parameter.source_event_uid AS source_event_uid,
    parameter.version AS version,
    parameter.semantics_version AS semantics_version,
    parameter.quality_flags AS quality_flags
FROM (SELECT tenant_id, start_day, workflow_session_id, parameters FROM session_rows FINAL) AS sessions
ARRAY JOIN parameters AS parameter
SETTINGS do_not_merge_across_partitions_select_final = 1
"""

SCHEMA = (
    CREATE_SESSIONS,
    CREATE_PLACES,
    CREATE_HORIZONS,
    CREATE_SESSION_FACTS,
    CREATE_SEGMENT_FACTS,
    CREATE_UPDATE_FACTS,
    CREATE_DAYS,
)

PLACES = """
SELECT workflow_session_id, groupUniqArray(start_day) AS days FROM session_places
WHERE tenant_id = {tenant_id:UUID} AND workflow_session_id IN {session_ids:Array(String)}
GROUP BY workflow_session_id
"""

ROWS_OF = """
-- Whether they were noted or not.
SELECT DISTINCT workflow_session_id, start_day FROM session_rows FINAL
WHERE tenant_id = {tenant_id:UUID} AND workflow_session_id IN {session_ids:Array(String)}
"""

CONCERNED = """
-- Sessions that saw one of these, at any time or near a snapshot.
SELECT DISTINCT workflow_session_id FROM session_rows FINAL
WHERE tenant_id = {tenant_id:UUID} AND (
    hasAny(observed_addresses, {changed:Array(String)})
    OR (
        session_end_ts >= {from_ts:Int64} AND session_start_ts <= {to_ts:Int64}
        AND hasAny(observed_addresses, {listed:Array(String)})
    )
)
SETTINGS do_not_merge_across_partitions_select_final = 1
"""

HORIZON = "SELECT greatest_ts FROM event_horizons FINAL WHERE tenant_id = {tenant_id:UUID}"

WRITTEN_AFTER = """
SELECT DISTINCT workflow_session_id FROM session_places
WHERE tenant_id = {tenant_id:UUID} AND workflow_session_id > {after:String}
ORDER BY workflow_session_id LIMIT {limit:UInt32}
"""

_arrow = cast("Any", pa)  # it declares no types
_TYPES: dict[str, Any] = {
    "str": _arrow.string(),
    "str | None": _arrow.string(),
    "int": _arrow.int64(),
    "int | None": _arrow.int64(),
    "float": _arrow.float64(),
    "tuple[str, ...]": _arrow.list_(_arrow.string()),
}
_LEFT_OUT = {SessionRow: {"is_final"}, SegmentRow: {"workflow_session_id"}, ParameterRow: {"workflow_session_id"}}


def _columns(row: type[SessionRow | SegmentRow | ParameterRow]) -> list[tuple[str, Any]]:
    return [(field.name, _TYPES[str(field.type)]) for field in fields(row) if field.name not in _LEFT_OUT[row]]


_SESSIONS = _arrow.schema(
    [
        ("tenant_id", _arrow.string()),
        ("start_day", _arrow.date32()),
        *_columns(SessionRow),
        ("segments", _arrow.list_(_arrow.struct(_columns(SegmentRow)))),
        ("parameters", _arrow.list_(_arrow.struct(_columns(ParameterRow)))),
        ("observed_addresses", _arrow.list_(_arrow.string())),
        ("final_from_ts", _arrow.int64()),
        ("pass", _arrow.uint64()),
        ("is_deleted", _arrow.uint8()),
    ]
)
_PLACES = _arrow.schema(
    [("tenant_id", _arrow.string()), ("workflow_session_id", _arrow.string()), ("start_day", _arrow.date32())]
)
_HORIZONS = _arrow.schema([("tenant_id", _arrow.string()), ("greatest_ts", _arrow.int64()), ("pass", _arrow.uint64())])


_DAYS = _arrow.schema(
    [
        ("tenant_id", _arrow.string()),
        ("start_day", _arrow.date32()),
        ("begun", _arrow.uint64()),
        ("ended", _arrow.uint64()),
    ]
)


async def ensure_tables(analytics: Analytics) -> None:
    await ensure_schema(analytics, MODULE, SCHEMA)


class DayStore:
    """Of one tenant."""

    def __init__(self, analytics: Analytics, tenant_id: TenantId) -> None:
        self._analytics = analytics
        self._tenant_id = tenant_id

    async def begin(self, days: Iterable[date]) -> None:
        await self._note(days, begun=1, ended=0)

    async def end(self, days: Iterable[date]) -> None:
        await self._note(days, begun=0, ended=1)

    async def _note(self, days: Iterable[date], **counted: int) -> None:
        rows = [{"tenant_id": str(self._tenant_id), "start_day": day, **counted} for day in days]
        await self._analytics.insert_arrow("session_days", _arrow.Table.from_pylist(rows, schema=_DAYS))


class FactStore:
    """Of one tenant."""

    def __init__(self, analytics: Analytics, tenant_id: TenantId) -> None:
        self._analytics = analytics
        self._tenant_id = tenant_id
        self._own = analytics.within(tenant_id)
        self._days = DayStore(analytics, tenant_id)

    async def places(self, session_ids: Sequence[str]) -> set[SessionPlace]:
        rows = await self._rows(PLACES, session_ids=session_ids)
        return {SessionPlace(row["workflow_session_id"], _date(day)) for row in rows for day in row["days"]}

    async def rows_of(self, session_ids: Sequence[str]) -> set[SessionPlace]:
        """Where rows of these sessions lie that can be seen."""
        rows = await self._rows(ROWS_OF, session_ids=session_ids)
        return {SessionPlace(row["workflow_session_id"], _date(row["start_day"])) for row in rows}

    async def note(self, placed: Iterable[SessionPlace]) -> None:
        rows = [{"tenant_id": str(self._tenant_id), **place._asdict()} for place in sorted(placed)]
        await self._analytics.insert_arrow("session_places", _arrow.Table.from_pylist(rows, schema=_PLACES))

    async def write(self, number: int, facts: Iterable[SessionFacts], gone: Iterable[SessionPlace]) -> None:
        """Each session whole, in few inserts: one takes a limited number of months. Their days are noted around it."""
        tables = await asyncio.to_thread(self._tables, number, facts, gone)
        days = sorted({day for table in tables for day in table.column("start_day").to_pylist()})
        await self._days.begin(days)
        for table in tables:
            await self._analytics.insert_arrow("session_rows", table)
        await self._days.end(days)

    async def concerned(self, concern: AffectedSessions) -> list[str]:
        rows = await self._rows(
            CONCERNED,
            changed=sorted(concern.changed),
            listed=sorted(concern.listed),
            from_ts=concern.from_ts,
            to_ts=concern.to_ts,
        )
        return [row["workflow_session_id"] for row in rows]

    async def written_after(self, after: str, limit: int) -> list[str]:
        return [row["workflow_session_id"] for row in await self._rows(WRITTEN_AFTER, after=after, limit=limit)]

    async def horizon(self) -> int:
        rows = await self._rows(HORIZON)
        return rows[0]["greatest_ts"] if rows else 0

    async def set_horizon(self, number: int, greatest_ts: int) -> None:
        row = {"tenant_id": str(self._tenant_id), "greatest_ts": greatest_ts, "pass": number}
        await self._analytics.insert_arrow("event_horizons", _arrow.Table.from_pylist([row], schema=_HORIZONS))

    def _tables(self, number: int, facts: Iterable[SessionFacts], gone: Iterable[SessionPlace]) -> list[ArrowTable]:
        rows = [self._row(number, one) for one in facts]
        rows += [self._tombstone(number, place) for place in gone]
        return [_arrow.Table.from_pylist(some, schema=_SESSIONS) for some in inserts(rows)]

    def _row(self, number: int, facts: SessionFacts) -> dict[str, Any]:
        return {
            **asdict(facts.session),
            "tenant_id": str(self._tenant_id),
            "start_day": start_day(facts.session.session_start_ts),
            "segments": [asdict(segment) for segment in facts.segments],
            "parameters": [asdict(update) for update in facts.parameters],
            "observed_addresses": list(facts.observed_addresses),
            "final_from_ts": facts.final_from_ts,
            "pass": number,
            "is_deleted": 0,
        }

    def _tombstone(self, number: int, place: SessionPlace) -> dict[str, Any]:
        return {"tenant_id": str(self._tenant_id), **place._asdict(), "pass": number, "is_deleted": 1}

    async def _rows(self, sql: str, **values: object) -> list[dict[str, Any]]:
        return (await self._own.query_arrow(sql, values)).to_pylist()


def _date(value: Any) -> date:
    """Inside arrays the engine gives days since 1970."""
    return value if isinstance(value, date) else date.fromordinal(_EPOCH + int(value))


_EPOCH = date(1970, 1, 1).toordinal()
