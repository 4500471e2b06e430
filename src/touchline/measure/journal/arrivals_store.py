"""The journal's records in the order in which they came, written by ClickHouse itself with every insert there.

Invariant: a record has one row here as it has one there. It keeps its delivery's time and its place in it, whatever a
later reading makes of it, so that an old reading is replaced without a row that deletes it.
"""

# ruff: noqa: S608  what is put into the statements are constant names and conditions; values are bound

from __future__ import annotations

from uuid import UUID

from touchline.kernel import TenantId
from touchline.platform.clickhouse.client import Analytics

ARRIVAL = "tenant_id, received_at, batch_id, ordinal, sipHash128(uid) AS uid_digest, verdict, reason, reading"

CREATE_ARRIVALS = """
CREATE TABLE IF NOT EXISTS event_arrivals (
    tenant_id UUID,
    received_at DateTime64(3, 'UTC'),
    batch_id String,
    ordinal UInt32,
    uid_digest FixedString(16),
    verdict Enum8('accepted' = 1, 'ignored' = 2, 'quarantined' = 3),
    reason LowCardinality(String),
    reading UInt64
) ENGINE = ReplacingMergeTree(reading)
ORDER BY (tenant_id, received_at, batch_id, ordinal)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
"""

# An insert that this fails for fails as a whole, and is made again.
CREATE_ARRIVING = f"""
CREATE MATERIALIZED VIEW IF NOT EXISTS event_arriving TO event_arrivals AS
SELECT {ARRIVAL} FROM raw_events WHERE is_deleted = 0
"""

CREATE_QUALITY = """
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
    FROM event_arrivals FINAL
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
        SELECT tenant_id, uid_digest, min(received_at) AS first_received_at
        FROM event_arrivals FINAL
        WHERE verdict = 'accepted'
        GROUP BY tenant_id, uid_digest
    )
    GROUP BY tenant_id, minute
)
GROUP BY tenant_id, minute
"""

SCHEMA = (CREATE_ARRIVALS, CREATE_ARRIVING, CREATE_QUALITY)

# What was stored before there were arrivals, so much at a time that one statement has the time for it.
CARRIED_AT_ONCE = 1_000_000
TENANTS = "SELECT toString(tenant_id) AS tenant FROM (SELECT DISTINCT tenant_id FROM raw_events)"
KEY = "(session_id, uid, batch_id, ordinal)"
BEHIND = f"{KEY} > ({{session:String}}, {{uid:String}}, {{batch:String}}, {{ordinal:Int64}})"
CARRIED_TO = f"""
SELECT session_id AS session, uid, batch_id AS batch, ordinal FROM raw_events
WHERE tenant_id = {{tenant_id:UUID}} AND {BEHIND}
ORDER BY session_id, uid, batch_id, ordinal
LIMIT 1 OFFSET {{but_one:UInt64}}
"""
CARRY = f"""
INSERT INTO event_arrivals
SELECT {ARRIVAL} FROM raw_events
WHERE tenant_id = {{tenant_id:UUID}} AND is_deleted = 0 AND {BEHIND}
  AND ({{last:Bool}} OR {KEY} <= ({{to_session:String}}, {{to_uid:String}}, {{to_batch:String}}, {{to_ordinal:Int64}}))
"""
RESTORE = f"""
INSERT INTO event_arrivals
SELECT {ARRIVAL} FROM raw_events FINAL
WHERE tenant_id = {{tenant_id:UUID}} AND batch_id IN {{batch_ids:Array(String)}}
"""
BEFORE_ALL: dict[str, object] = {"session": "", "uid": "", "batch": "", "ordinal": -1}


async def carry_over(analytics: Analytics) -> None:
    """Every record that is stored, some of them a second time: that changes nothing."""
    for row in (await analytics.query_arrow(TENANTS)).to_pylist():
        door, after = analytics.within(TenantId(UUID(row["tenant"]))), BEFORE_ALL
        while True:
            ends = (await door.query_arrow(CARRIED_TO, after | {"but_one": CARRIED_AT_ONCE - 1})).to_pylist()
            to = ends[0] if ends else BEFORE_ALL
            await door.command(CARRY, {**after, **{f"to_{name}": to[name] for name in to}, "last": not ends})
            if not ends:
                break
            after = to
