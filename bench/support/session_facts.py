"""Many session facts, made inside ClickHouse: ninety days, a few gateways, many orchestrators, some of them bad.

They lie as they do where the product wrote them: old days in a few large parts, the last ones batch by batch in the
order of time, and a part of every day again, with more.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from touchline.kernel import TenantId
from touchline.platform.clickhouse.client import Analytics

DAYS = 90
DAY_MS = 86_400_000
EPOCH = date(1970, 1, 1).toordinal()
BATCH = 50_000  # of the last days
LARGE_BATCH = 400_000  # of the others: merging would put them together
LAST_DAYS = 3
AGAIN = 20  # one of so many is written a second time

ROWS = """
INSERT INTO session_rows
WITH
    {first_ms:Int64} + intDiv(number * {days:Int64} * 86400000, {total:Int64})
        + toInt64(cityHash64(number, 'jitter') % 1000) AS start_ms,
    cityHash64(number, 'outcome') % 1000 AS dice,
    toUInt8(dice >= 50) AS is_known,
    toUInt8(dice >= 200) AS is_success,
    toUInt8(dice >= 50 AND dice < 130) AS is_excused,
    toUInt8(dice >= 130 AND dice < 200) AS is_unexcused,
    toUInt32(cityHash64(number, 'swap') % 20 = 0) AS swaps,
    toUInt32(if(is_success, cityHash64(number, 'error') % 25 = 0, 1 + cityHash64(number, 'error') % 3)) AS errors,
    pow((cityHash64(number, 'orchestrator') % 100000) / 100000, 2) AS share,
    concat('0x', leftPad(hex(cityHash64(toUInt32(share * 200))), 40, 'a')) AS address,
    concat('https://orchestrator-', toString(toUInt32(share * 200)), '.example.org:8935') AS url,
    concat('gateway-', toString(cityHash64(number, 'gateway') % 5)) AS gateway_name,
    concat('model-', toString(cityHash64(number, 'model') % 12)) AS model_name,
    concat('GPU-', leftPad(hex(cityHash64(toUInt32(share * 200), cityHash64(number, 'gpu') % 2)), 32, '0')) AS gpu,
    toInt64(randLogNormal(7.9, 0.5)) AS startup,
    toInt64(randLogNormal(5.5, 0.8)) AS runner,
    start_ms + toInt64(randExponential(1. / 600000)) AS end_ms
SELECT
    {tenant_id:UUID} AS tenant_id,
    toDate(intDiv(start_ms, 86400000)) AS start_day,
    concat(lower(hex(cityHash64(number))), lower(hex(cityHash64(number, 1))), '|', lower(hex(sipHash128(number))))
        AS workflow_session_id,
    lower(concat(hex(cityHash64(number)), hex(cityHash64(number, 1)))) AS stream_id,
    lower(hex(sipHash128(number))) AS request_id,
    if(dice % 10 = 0, 'transcode', 'ai_live_video_stream') AS workflow_type,
    concat('pipeline-', toString(dice % 7)) AS workflow_id,
    concat('pipeline-', toString(dice % 7), '-v1') AS pipeline_id,
    start_ms AS session_start_ts,
    end_ms AS session_end_ts,
    if(is_known, start_ms, NULL) AS first_stream_request_ts,
    if(is_known, start_ms + 200, NULL) AS first_ingest_ts,
    if(is_success, start_ms + 200 + runner, NULL) AS runner_first_processed_ts,
    if(is_success, start_ms + startup, NULL) AS first_processed_ts,
    if(is_success, start_ms + startup * 2, NULL) AS first_playable_ts,
    if(is_success, start_ms + 50, NULL) AS prompt_start_ts,
    end_ms AS closed_ts,
    if(is_success, startup, NULL) AS startup_ms,
    if(is_success, runner, NULL) AS e2e_proxy_ms,
    if(is_success, startup * 2 - 50, NULL) AS prompt_to_playable_ms,
    if(is_success AND startup >= runner, startup - runner, NULL) AS gateway_runner_lag_ms,
    is_known AS known_stream,
    is_success AS startup_success,
    is_excused AS startup_excused,
    is_unexcused AS startup_unexcused,
    multiIf(is_success, 'success', is_excused, 'excused', is_unexcused, 'unexcused', 'not_in_denominator')
        AS startup_outcome,
    swaps AS swap_count,
    swaps AS explicit_swap_count,
    1 + swaps AS orchestrator_count,
    errors AS error_count,
    if(is_excused, errors, 0) AS excusable_error_count,
    if(is_excused, ['whip disconnected'], []) AS excusable_patterns,
    if(dice % 50 = 1, NULL, address) AS orchestrator_address,
    orchestrator_address AS observed_orchestrator_address,
    if(dice % 50 = 1, NULL, url) AS orchestrator_url,
    gateway_name AS gateway,
    if(dice % 20 = 1, NULL, model_name) AS model_id,
    if(dice % 20 < 5, NULL, gpu) AS gpu_id,
    'nearest_prior_snapshot' AS gpu_attribution_method,
    0.9 AS gpu_attribution_confidence,
    toString(generateUUIDv4(1)) AS source_first_event_uid,
    toString(generateUUIDv4(2)) AS source_last_event_uid,
    40 + dice AS version,
    1 AS semantics_version,
    [] AS quality_flags,
    arrayMap(place -> (
        toUInt32(place), start_ms + place * 1000, NULL, CAST(gateway_name, 'Nullable(String)'),
        CAST(address, 'Nullable(String)'), CAST(address, 'Nullable(String)'), CAST(url, 'Nullable(String)'),
        CAST(NULL, 'Nullable(String)'), CAST(NULL, 'Nullable(String)'), CAST(model_name, 'Nullable(String)'),
        CAST(gpu, 'Nullable(String)'), 'nearest_prior_snapshot', 0.9, 'initial', CAST(NULL, 'Nullable(String)'),
        toString(number), toUInt64(40 + dice), toUInt32(1), CAST([], 'Array(String)')
    ), range(1 + swaps)) AS segments,
    arrayMap(place -> (
        toUInt32(place), start_ms + place * 60000, toUInt32(0), 'params_update',
        CAST(lower(hex(sipHash128(number, place))), 'Nullable(String)'), CAST('{"prompt":"…"}', 'Nullable(String)'),
        toString(number), toUInt64(40 + dice), toUInt32(1), CAST([], 'Array(String)')
    ), range(cityHash64(number, 'updates') % 3)) AS parameters,
    [address] AS observed_addresses,
    end_ms + 300000 AS final_from_ts,
    {pass:UInt64} AS pass,
    0 AS is_deleted
FROM numbers({begin:UInt64}, {count:UInt64})
WHERE {every:UInt64} <= 1 OR number % {every:UInt64} = 0
SETTINGS min_insert_block_size_rows = 1000000, min_insert_block_size_bytes = 0, max_block_size = 1000000
"""
# What the table itself does with a month when nothing was written to it for a day.
MERGE = "OPTIMIZE TABLE session_rows PARTITION ID {month:String} FINAL"
PLACES = """
INSERT INTO session_places SELECT tenant_id, workflow_session_id, start_day FROM session_rows
WHERE tenant_id = {tenant_id:UUID} AND start_day = {day:Date}
"""
# As writers note them; under the last days they are still at work.
DAYS_NOTED = """
INSERT INTO session_days (tenant_id, start_day, begun, ended)
SELECT tenant_id, start_day, 1, start_day < {last_day:Date} FROM session_rows
WHERE tenant_id = {tenant_id:UUID} GROUP BY tenant_id, start_day
"""
HORIZON = "INSERT INTO event_horizons SELECT {tenant_id:UUID}, {at_ms:Int64}, 1"
THERE = "SELECT count() AS rows FROM session_rows WHERE tenant_id = {tenant_id:UUID}"


async def fill(analytics: Analytics, tenant_id: TenantId, total: int, until_ms: int) -> None:
    """So many sessions that end with `until_ms`; nothing when they are there already."""
    door, first_ms = analytics.within(tenant_id), until_ms - DAYS * DAY_MS
    [there] = (await door.query_arrow(THERE)).to_pylist()
    if there["rows"] >= total:
        return
    for number, (begin, count) in enumerate(_batches(total)):
        values = {"first_ms": first_ms, "days": DAYS, "total": total, "begin": begin, "count": count}
        await door.command(ROWS, values | {"pass": 2 * number + 1, "every": 1})
        await door.command(ROWS, values | {"pass": 2 * number + 2, "every": AGAIN})
        print(f"\r{begin + count:,} of {total:,}", end="", flush=True)
    for month in _months(first_ms, until_ms - DAY_MS):
        await analytics.command(MERGE, {"month": month})
    begun = first_ms // DAY_MS
    for day in range(begun, begun + DAYS + 1):
        await door.command(PLACES, {"day": _day(day)})
    await door.command(DAYS_NOTED, {"last_day": _day(until_ms // DAY_MS - LAST_DAYS)})
    await door.command(HORIZON, {"at_ms": until_ms})
    print()


def _batches(total: int) -> Iterator[tuple[int, int]]:
    """The number of the first session of each, and how many there are."""
    begin, last = 0, total - total * LAST_DAYS // DAYS
    while begin < total:
        count = min(LARGE_BATCH, last - begin) if begin < last else min(BATCH, total - begin)
        yield begin, count
        begin += count


def _months(first_ms: int, until_ms: int) -> list[str]:
    """Those that are over."""
    days = range(first_ms // DAY_MS, until_ms // DAY_MS)
    current = f"{_day(until_ms // DAY_MS):%Y%m}"
    return sorted({f"{_day(day):%Y%m}" for day in days} - {current})


def _day(number: int) -> date:
    return date.fromordinal(EPOCH + number)
