"""A journal of many events, made inside ClickHouse: ninety days of deliveries, some records twice, some unreadable."""

from __future__ import annotations

from touchline.kernel import TenantId
from touchline.platform.clickhouse.client import Analytics

DAYS = 90
DAY_MS = 86_400_000
BATCH = 1_000_000
OF_DELIVERY = 1_000  # records
OF_SESSION = 50

ROWS = """
INSERT INTO raw_events
WITH
    intDiv(number, {of_delivery:UInt64}) AS delivery,
    cityHash64(number, 'verdict') % 1000 AS dice,
    if(dice < 20, toUInt64(number - cityHash64(number, 'copy') % least(number + 1, 100000)), number) AS event
SELECT
    {tenant_id:UUID} AS tenant_id,
    if(dice >= 995, '', lower(concat(hex(sipHash128(intDiv(event, {of_session:UInt64}))), '|request'))) AS session_id,
    if(dice >= 995, '', toString(reinterpretAsUUID(sipHash128(event)))) AS uid,
    concat('sha256:', lower(hex(sipHash128(delivery))), lower(hex(sipHash128(delivery, 1)))) AS batch_id,
    toUInt32(number % {of_delivery:UInt64}) AS ordinal,
    fromUnixTimestamp64Milli({first_ms:Int64} + intDiv(
        toInt64(delivery * {of_delivery:UInt64}) * {days:Int64} * 86400000, {total:Int64}
    ), 'UTC') AS received_at,
    multiIf(dice < 995, 'accepted', dice < 998, 'ignored', 'quarantined') AS verdict,
    multiIf(dice < 995, '', dice < 998, 'unknown_type', 'wrong_data') AS reason,
    '' AS detail,
    if(dice < 995, 'ai_stream_status', '') AS type,
    if(dice < 995, toUnixTimestamp64Milli(received_at) - 1000, NULL) AS event_ts,
    concat('{"id":"', uid, '","type":"ai_stream_status","data":{"fps":', toString(dice / 10), '}}') AS body,
    1 AS reading,
    0 AS is_deleted
FROM numbers({begin:UInt64}, {count:UInt64})
SETTINGS min_insert_block_size_rows = 1000000, min_insert_block_size_bytes = 0, max_block_size = 1000000
"""
THERE = "SELECT count() AS rows FROM raw_events WHERE tenant_id = {tenant_id:UUID}"


async def fill(analytics: Analytics, tenant_id: TenantId, total: int, until_ms: int) -> None:
    """So many records, the last of them just before `until_ms`; nothing when they are there already."""
    door = analytics.within(tenant_id)
    [there] = (await door.query_arrow(THERE)).to_pylist()
    if there["rows"] >= total:
        return
    fixed = {"first_ms": until_ms - DAYS * DAY_MS, "days": DAYS, "total": total}
    fixed |= {"of_delivery": OF_DELIVERY, "of_session": OF_SESSION}
    for begin in range(0, total, BATCH):
        count = min(BATCH, total - begin)
        await door.command(ROWS, fixed | {"begin": begin, "count": count})
        print(f"\r{begin + count:,} of {total:,}", end="", flush=True)
    print()
