"""All SQL of session facts in ClickHouse.

Invariant: a session is one row with its segments and updates in it, so that it is never half written; the row of the
highest pass counts. Reads put versions together themselves and depend on no merge.
"""

from __future__ import annotations

from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.store import ensure_schema

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
    observed_urls Array(LowCardinality(String)),
    final_from_ts Int64,
    pass UInt64,
    is_deleted UInt8
) ENGINE = ReplacingMergeTree(pass, is_deleted)
PARTITION BY toYYYYMM(start_day)
ORDER BY (tenant_id, start_day, workflow_session_id)
-- A part has a file for every column and for every field of a segment: full-sized buffers for all of them would pass
-- what one statement may use.
SETTINGS min_columns_to_activate_adaptive_write_buffer = 1
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
-- The greatest event time of a tenant: the clock by which its sessions become final.
CREATE TABLE IF NOT EXISTS event_horizons (
    tenant_id UUID,
    greatest_ts SimpleAggregateFunction(max, Int64)
) ENGINE = AggregatingMergeTree
ORDER BY tenant_id
"""

CREATE_SESSION_FACTS = """
CREATE OR REPLACE VIEW fact_workflow_sessions AS
WITH (
    SELECT mapFromArrays(groupArray(h.tenant_id), groupArray(h.greatest_ts))
    FROM (SELECT tenant_id, max(greatest_ts) AS greatest_ts FROM event_horizons GROUP BY tenant_id) AS h
) AS horizons
SELECT
    * EXCEPT (segments, parameters, observed_urls, pass, is_deleted),
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
)


async def ensure_tables(analytics: Analytics) -> None:
    await ensure_schema(analytics, MODULE, SCHEMA)
