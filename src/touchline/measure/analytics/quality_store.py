"""Reads what came in and what became of it: counters over time, and the events that were set aside.

Invariant: the counters add up in every answer, because they are counted from the delivered records themselves.
"""

# ruff: noqa: S608  what is put into the statements are constant names and conditions; values are bound

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from touchline.kernel import TenantId
from touchline.platform.clickhouse.client import Analytics

from . import rules
from .filters import moment

MOST_COUNTED = 10_000
LONGEST_BODY = 2_000  # characters of an event that are shown

_RANGE = "tenant_id = {tenant_id:UUID} AND received_at >= {since:DateTime64(3)} AND received_at < {until:DateTime64(3)}"
_START = "intDiv(toUnixTimestamp({of}), {{step:UInt32}}) * {{step:UInt32}}"

QUALITY = f"""
SELECT {_START.format(of="received_at")} AS start, toString(verdict) AS verdict, reason, count() AS records
FROM event_arrivals FINAL
WHERE {_RANGE}
GROUP BY start, verdict, reason
"""

# A uid is accepted where its first copy came, and every other copy is a duplicate. Of what came before the range only
# those are looked for that came in it as well. Some uids at a time: all of a long time would not fit in memory.
_PART = "verdict = 'accepted' AND reinterpretAsUInt32(uid_digest) % {parts:UInt32} = {part:UInt32}"
_BEGINNING = "reinterpretAsUInt64(uid_digest)"  # enough to leave most of what came before out

FIRSTS = f"""
SELECT {_START.format(of="first_at")} AS start, count() AS firsts
FROM (
    SELECT uid_digest, min(received_at) AS first_at FROM event_arrivals FINAL
    WHERE {_RANGE} AND {_PART}
    GROUP BY uid_digest
)
WHERE uid_digest NOT IN (
    SELECT uid_digest FROM event_arrivals FINAL
    WHERE tenant_id = {{tenant_id:UUID}} AND received_at < {{since:DateTime64(3)}} AND {_PART}
      AND {_BEGINNING} IN (SELECT {_BEGINNING} FROM event_arrivals WHERE {_RANGE} AND {_PART})
)
GROUP BY start
"""

MOST_AT_ONCE = 2_000_000  # uids

# Of one reason, or of any.
_SET_ASIDE = """tenant_id = {tenant_id:UUID} AND session_id = '' AND uid = '' AND verdict = 'quarantined'
    AND ({reason:String} = '' OR reason = {reason:String})"""

# Quarantined records have neither session nor uid, so they lie together in the table's order.
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

FIRST = rules.QuarantinePlace(2**62, "", 0)  # before everything


class IngestQualityStore:
    def __init__(self, analytics: Analytics, most_at_once: int = MOST_AT_ONCE) -> None:
        self._analytics = analytics
        self._most_at_once = most_at_once

    async def quality(self, tenant_id: TenantId, covered: rules.TimeRange, seconds: int) -> rules.Quality:
        values = {"since": moment(covered.since_ms), "until": moment(covered.until_ms), "step": seconds}
        records = await self._rows(tenant_id, QUALITY, values)
        copies = sum(row["records"] for row in records if row["verdict"] == "accepted")
        parts = -(-copies // self._most_at_once)
        firsts: Counter[int] = Counter()
        for part in range(parts):
            rows = await self._rows(tenant_id, FIRSTS, values | {"parts": parts, "part": part})
            firsts.update({row["start"] * 1_000: row["firsts"] for row in rows})
        found = _by_bucket(records, firsts)
        reasons: Counter[str] = Counter()
        for row in records:
            if row["verdict"] == "quarantined":
                reasons[row["reason"]] += row["records"]
        return rules.Quality(
            counters=_sum(list(found.values())),
            reasons=sorted(reasons.items(), key=lambda one: (-one[1], one[0])),
            seconds=seconds,
            series=[
                rules.QualityBucket(start, found.get(start, NONE)) for start in rules.bucket_starts(covered, seconds)
            ],
        )

    async def quarantined(self, tenant_id: TenantId, window: rules.QuarantineWindow) -> rules.QuarantinePage:
        after = window.after or FIRST
        place = {"after_ms": after.received_ms, "after_digest": after.digest, "after_ordinal": after.ordinal}
        values = place | {"limit": window.size + 1, "reason": window.reason or ""}
        rows = await self._rows(tenant_id, QUARANTINED, values)
        events = [_event(row) for row in rows if row["present"]]
        return rules.QuarantinePage(events[: window.size], len(events) > window.size, rows[0]["total_count"])

    async def _rows(self, tenant_id: TenantId, sql: str, values: Mapping[str, object]) -> list[dict[str, Any]]:
        return (await self._analytics.within(tenant_id).query_arrow(sql, values)).to_pylist()


NAMES = ("raw", "accepted", "duplicate", "ignored", "quarantined")
NONE = rules.Counters(0, 0, 0, 0, 0)


def _by_bucket(records: Sequence[Mapping[str, Any]], firsts: Mapping[int, int]) -> dict[int, rules.Counters]:
    """By their starts. A record that came between two statements may be a first that is not counted yet."""
    verdicts: dict[int, Counter[str]] = {}
    for row in records:
        verdicts.setdefault(row["start"] * 1_000, Counter())[row["verdict"]] += row["records"]
    return {start: _counters(some, firsts.get(start, 0)) for start, some in verdicts.items()}


def _counters(verdicts: Counter[str], firsts: int) -> rules.Counters:
    accepted = min(firsts, verdicts["accepted"])
    return rules.Counters(
        raw=verdicts.total(),
        accepted=accepted,
        duplicate=verdicts["accepted"] - accepted,
        ignored=verdicts["ignored"],
        quarantined=verdicts["quarantined"],
    )


def _sum(all_of_them: Sequence[rules.Counters]) -> rules.Counters:
    return rules.Counters(**{name: sum(getattr(one, name) for one in all_of_them) for name in NAMES})


def _event(row: Mapping[str, Any]) -> rules.QuarantinedEvent:
    place = rules.QuarantinePlace(row["received_ms"], row["digest"], row["ordinal"])
    return rules.QuarantinedEvent(place, row["reason"], row["detail"], row["body"])
