"""Reads what came in and what became of it: counters over time, and the events that were set aside.

Invariant: the counters add up in every answer, because they are counted from the delivered records themselves.
"""

# ruff: noqa: S608  what is put into the statements are constant names and conditions; values are bound

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from touchline.kernel import TenantId
from touchline.platform.clickhouse.client import Analytics

from .conditions import moment
from .model import (
    Counters,
    Quality,
    QualityBucket,
    QuarantinedEvent,
    QuarantinePage,
    QuarantinePlace,
    QuarantineWindow,
    Range,
)
from .rules import bucket_starts

MOST_COUNTED = 10_000
LONGEST_BODY = 2_000  # characters of an event that are shown

_RANGE = "tenant_id = {tenant_id:UUID} AND minute >= {since:DateTime64(3)} AND minute < {until:DateTime64(3)}"

# The view puts a delivered record under the minute in which it came, and counts it once.
QUALITY = f"""
SELECT intDiv(toUnixTimestamp(minute), {{step:UInt32}}) * {{step:UInt32}} AS start, '' AS reason,
    sum(raw) AS raw, sum(accepted) AS accepted, sum(duplicate) AS duplicate,
    sum(ignored) AS ignored, sum(quarantined) AS quarantined
FROM ingest_quality
WHERE {_RANGE}
GROUP BY start
UNION ALL
SELECT 0 AS start, reason, 0 AS raw, 0 AS accepted, 0 AS duplicate, 0 AS ignored, count() AS quarantined
FROM raw_events FINAL
WHERE tenant_id = {{tenant_id:UUID}} AND verdict = 'quarantined'
    AND received_at >= {{since:DateTime64(3)}} AND received_at < {{until:DateTime64(3)}}
GROUP BY reason
"""

# Of one reason, or of any.
_SET_ASIDE = """tenant_id = {tenant_id:UUID} AND verdict = 'quarantined'
    AND ({reason:String} = '' OR reason = {reason:String})"""

# Quarantined records have no session, so they lie together in the table's order.
QUARANTINED = f"""
WITH (
    SELECT count() FROM (
        SELECT 1 FROM raw_events FINAL
        WHERE {_SET_ASIDE} LIMIT {MOST_COUNTED}
    )
) AS total
SELECT counted.total_count AS total_count, found.*
FROM (SELECT total AS total_count) AS counted
LEFT JOIN (
    SELECT toUnixTimestamp64Milli(received_at) AS received_ms, hex(sipHash128(batch_id)) AS digest, ordinal,
        reason, detail, substringUTF8(toValidUTF8(body), 1, {LONGEST_BODY}) AS body, 1 AS present
    FROM raw_events FINAL
    WHERE {_SET_ASIDE}
        AND (received_ms, digest, ordinal)
            < ({{after_ms:Int64}}, {{after_digest:String}}, {{after_ordinal:UInt64}})
    ORDER BY received_ms DESC, digest DESC, ordinal DESC
    LIMIT {{limit:UInt32}}
) AS found ON 1
ORDER BY received_ms DESC, digest DESC, ordinal DESC
"""
FIRST = QuarantinePlace(2**62, "", 0)  # before everything


class IntakeStore:
    def __init__(self, analytics: Analytics) -> None:
        self._analytics = analytics

    async def quality(self, tenant_id: TenantId, covered: Range, seconds: int) -> Quality:
        values = {"since": moment(covered.since_ms), "until": moment(covered.until_ms), "step": seconds}
        rows = (await self._analytics.within(tenant_id).query_arrow(QUALITY, values)).to_pylist()
        found = {row["start"] * 1_000: _counters(row) for row in rows if not row["reason"]}
        reasons = [(row["reason"], row["quarantined"]) for row in rows if row["reason"]]
        return Quality(
            counters=_sum(list(found.values())),
            reasons=sorted(reasons, key=lambda one: (-one[1], one[0])),
            seconds=seconds,
            series=[QualityBucket(start, found.get(start, NONE)) for start in bucket_starts(covered, seconds)],
        )

    async def quarantined(self, tenant_id: TenantId, window: QuarantineWindow) -> QuarantinePage:
        after = window.after or FIRST
        place = {"after_ms": after.received_ms, "after_digest": after.digest, "after_ordinal": after.ordinal}
        values = place | {"limit": window.size + 1, "reason": window.reason or ""}
        rows = (await self._analytics.within(tenant_id).query_arrow(QUARANTINED, values)).to_pylist()
        events = [_event(row) for row in rows if row["present"]]
        return QuarantinePage(events[: window.size], len(events) > window.size, rows[0]["total_count"])


NAMES = ("raw", "accepted", "duplicate", "ignored", "quarantined")
NONE = Counters(0, 0, 0, 0, 0)


def _counters(row: Mapping[str, Any]) -> Counters:
    return Counters(**{name: row[name] for name in NAMES})


def _sum(all_of_them: Sequence[Counters]) -> Counters:
    return Counters(**{name: sum(getattr(one, name) for one in all_of_them) for name in NAMES})


def _event(row: Mapping[str, Any]) -> QuarantinedEvent:
    place = QuarantinePlace(row["received_ms"], row["digest"], row["ordinal"])
    return QuarantinedEvent(place, row["reason"], row["detail"], row["body"])
