"""All SQL of delivered events in ClickHouse.

Invariant: one record of one delivery is one row, however often it is written: what was read last counts, also where
it then belongs to another session. Every count is computed from the rows, so that counts add up whatever dies.
"""

from __future__ import annotations

from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.store import ensure_schema

MODULE = "journal"

CREATE_EVENTS = """
-- A session's events lie together; a batch is found by the filter. `reading` is the number of the reading: a row that
-- a later reading places elsewhere is deleted at its old place in the same insert.
CREATE TABLE IF NOT EXISTS raw_events (
    tenant_id UUID,
    session_id String,
    uid String,
    batch_id String,
    ordinal UInt32,
    received_at DateTime64(3, 'UTC'),
    verdict Enum8('accepted' = 1, 'ignored' = 2, 'quarantined' = 3),
    reason LowCardinality(String),
    detail String,
    type LowCardinality(String),
    event_ts Nullable(Int64),
    body String CODEC(ZSTD(3)),
    reading UInt64,
    is_deleted UInt8,
    INDEX by_batch batch_id TYPE bloom_filter(0.001) GRANULARITY 1
) ENGINE = ReplacingMergeTree(reading, is_deleted)
ORDER BY (tenant_id, session_id, uid, batch_id, ordinal)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1
"""

CREATE_PLACES = """
-- In which sessions an accepted uid was ever seen: an id that two sessions claim counts in one of them. Uids are looked
-- up by the thousand and lie far apart, hence the small granules.
CREATE TABLE IF NOT EXISTS event_places (
    tenant_id UUID,
    uid String,
    session_id String
) ENGINE = ReplacingMergeTree
ORDER BY (tenant_id, uid, session_id)
SETTINGS index_granularity = 256, fsync_after_insert = 1, fsync_part_directory = 1
"""

CREATE_QUALITY = """
-- A uid is accepted in the minute of its first copy; every other copy is a duplicate in its own. So the series adds up
-- to the counters.
CREATE OR REPLACE VIEW ingest_quality AS
SELECT
    tenant_id,
    minute,
    sum(records) AS raw,
    sum(firsts) AS accepted,
    sum(copies) - sum(firsts) AS duplicate,
    sum(unknown) AS ignored,
    sum(refused) AS quarantined
FROM (
    SELECT
        tenant_id,
        toStartOfMinute(received_at) AS minute,
        toInt64(count()) AS records,
        toInt64(countIf(verdict = 'accepted')) AS copies,
        toInt64(countIf(verdict = 'ignored')) AS unknown,
        toInt64(countIf(verdict = 'quarantined')) AS refused,
        toInt64(0) AS firsts
    FROM raw_events FINAL
    GROUP BY tenant_id, minute
    UNION ALL
    SELECT
        tenant_id,
        toStartOfMinute(first_received_at) AS minute,
        toInt64(0) AS records,
        toInt64(0) AS copies,
        toInt64(0) AS unknown,
        toInt64(0) AS refused,
        toInt64(count()) AS firsts
    FROM (
        SELECT tenant_id, uid, min(received_at) AS first_received_at
        FROM raw_events FINAL
        WHERE verdict = 'accepted'
        GROUP BY tenant_id, uid
    )
    GROUP BY tenant_id, minute
)
GROUP BY tenant_id, minute
"""

SCHEMA = (CREATE_EVENTS, CREATE_PLACES, CREATE_QUALITY)


async def ensure_tables(analytics: Analytics) -> None:
    await ensure_schema(analytics, MODULE, SCHEMA)
