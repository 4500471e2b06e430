"""All SQL of supporting facts in ClickHouse.

Invariant: every row follows from the one copy of its event that counts, and is written by a fold pass. When another
copy counts, the rows that only the old one had are deleted in the same insert; a late pass never wins.
"""

from __future__ import annotations

from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.store import ensure_schema

MODULE = "supporting"

CREATE_CAPABILITIES = """
-- One orchestrator of one snapshot. Who it is comes first, then when: both questions are ranges of this order.
CREATE TABLE IF NOT EXISTS capability_rows (
    tenant_id UUID,
    address LowCardinality(String),
    local_address LowCardinality(String),
    url LowCardinality(String),
    ts Int64,
    snapshot_uid String,
    place UInt32,
    models Array(LowCardinality(String)),
    gpus Array(Tuple(model String, gpu String)),
    pass UInt64,
    is_deleted UInt8
) ENGINE = ReplacingMergeTree(pass, is_deleted)
ORDER BY (tenant_id, address, local_address, url, ts, snapshot_uid, place)
SETTINGS index_granularity = 1024
"""

CREATE_SAMPLES = """
CREATE TABLE IF NOT EXISTS workflow_samples (
    tenant_id UUID,
    workflow_session_id String,
    ts Int64,
    uid String,
    place UInt32,
    output_fps Nullable(Float64),
    input_fps Nullable(Float64),
    jitter_ms Nullable(Float64),
    pass UInt64,
    is_deleted UInt8
) ENGINE = ReplacingMergeTree(pass, is_deleted)
ORDER BY (tenant_id, workflow_session_id, ts, uid, place)
SETTINGS index_granularity = 1024
"""

CREATE_DISCOVERY = """
-- One orchestrator of one result, in the order of the result.
CREATE TABLE IF NOT EXISTS discovery_rows (
    tenant_id UUID,
    event_ts Int64,
    uid String,
    place UInt32,
    gateway LowCardinality(Nullable(String)),
    orchestrator_address LowCardinality(Nullable(String)),
    orchestrator_url LowCardinality(Nullable(String)),
    latency_ms Nullable(Float64),
    pass UInt64,
    is_deleted UInt8
) ENGINE = ReplacingMergeTree(pass, is_deleted)
ORDER BY (tenant_id, event_ts, uid, place)
"""

CREATE_PAYMENTS = """
-- Amounts as the event writes them, and as numbers where they are.
CREATE TABLE IF NOT EXISTS payment_rows (
    tenant_id UUID,
    event_ts Int64,
    uid String,
    place UInt32,
    gateway LowCardinality(Nullable(String)),
    request_id Nullable(String),
    payment_session_id Nullable(String),
    manifest_id Nullable(String),
    capability LowCardinality(Nullable(String)),
    orchestrator_url LowCardinality(Nullable(String)),
    recipient LowCardinality(Nullable(String)),
    sender LowCardinality(Nullable(String)),
    face_value Nullable(String),
    face_value_wei Nullable(Float64),
    price Nullable(String),
    ticket_count Nullable(Int64),
    win_probability Nullable(Float64),
    pass UInt64,
    is_deleted UInt8
) ENGINE = ReplacingMergeTree(pass, is_deleted)
ORDER BY (tenant_id, event_ts, uid, place)
"""

CREATE_DISCOVERY_FACTS = """
CREATE OR REPLACE VIEW fact_discovery_results AS
SELECT * EXCEPT (pass, is_deleted) FROM discovery_rows FINAL
"""

CREATE_PAYMENT_FACTS = """
CREATE OR REPLACE VIEW fact_payments AS
SELECT * EXCEPT (place, pass, is_deleted) FROM payment_rows FINAL
"""

SCHEMA = (
    CREATE_CAPABILITIES,
    CREATE_SAMPLES,
    CREATE_DISCOVERY,
    CREATE_PAYMENTS,
    CREATE_DISCOVERY_FACTS,
    CREATE_PAYMENT_FACTS,
)


async def ensure_tables(analytics: Analytics) -> None:
    await ensure_schema(analytics, MODULE, SCHEMA)
