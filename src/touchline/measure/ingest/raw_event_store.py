"""All SQL of raw events in ClickHouse: every delivered record, by session and in the order of arrival.

Invariants: one record of one delivery is one row, however often it is written: what was read last counts, even if it
then belongs to another session. Every count is computed from the rows, so that counts add up whatever dies. A record
has one row by session and one by arrival; the latter is written by ClickHouse itself with every insert. It keeps its
delivery's time and its place in it, whatever a later reading makes of it, so that an old reading is replaced without a
row that deletes it.
"""

# ruff: noqa: S608  what is put into the statements are constant names and conditions; values are bound

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any, cast

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

from touchline.kernel import TenantId, Unavailable
from touchline.platform.clickhouse.client import Analytics, ArrowTable
from touchline.platform.clickhouse.store import ensure_schema

from . import rules

MODULE = "raw_events"
MILLISECOND = timedelta(milliseconds=1)

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

SCHEMA = (CREATE_EVENTS, CREATE_PLACES, CREATE_ARRIVALS, CREATE_ARRIVING, CREATE_QUALITY)

ROWS_OF_BATCH = """
SELECT session_id, uid, ordinal FROM raw_events FINAL
WHERE tenant_id = {tenant_id:UUID} AND batch_id = {batch_id:String}
"""

COUNT = """
-- Distinct uids by the thousand million would not fit: they are put down when they are too many.
SELECT
    (SELECT count() FROM (
        SELECT uid FROM raw_events FINAL
        WHERE tenant_id = {tenant_id:UUID} AND verdict = 'accepted'
          AND ({batch_id:String} = '' OR batch_id = {batch_id:String})
          AND startsWith(batch_id, {prefix:String})
        GROUP BY uid
    )) AS accepted,
    count() AS raw,
    countIf(verdict = 'accepted') - accepted AS duplicate,
    countIf(verdict = 'ignored') AS ignored,
    countIf(verdict = 'quarantined') AS quarantined
FROM raw_events FINAL
WHERE tenant_id = {tenant_id:UUID} AND ({batch_id:String} = '' OR batch_id = {batch_id:String})
          AND startsWith(batch_id, {prefix:String})
SETTINGS max_bytes_before_external_group_by = 134217728
"""

REASONS = """
SELECT reason, count() AS records FROM raw_events FINAL
WHERE tenant_id = {tenant_id:UUID} AND session_id = '' AND uid = '' AND verdict = 'quarantined'
  AND ({batch_id:String} = '' OR batch_id = {batch_id:String})
          AND startsWith(batch_id, {prefix:String})
GROUP BY reason ORDER BY reason
"""

READ_BACK = """
-- What one reading wrote. An older one does not count, and a newer one speaks for itself: no need to put them together.
SELECT
    (SELECT uniqExact(ordinal) FROM raw_events
      WHERE tenant_id = {tenant_id:UUID} AND batch_id = {batch_id:String} AND reading >= {reading:UInt64}
        AND is_deleted = 0) AS records,
    (SELECT uniqExact(ordinal) FROM event_arrivals
      WHERE tenant_id = {tenant_id:UUID} AND batch_id = {batch_id:String} AND reading >= {reading:UInt64}
        AND received_at BETWEEN {from:DateTime64(3, 'UTC')} AND {to:DateTime64(3, 'UTC')}) AS arrivals
"""

STORED = """
SELECT batch_id, countIf(by_session) AS records, countIf(NOT by_session) AS arrivals
FROM (
    SELECT batch_id, 1 AS by_session FROM raw_events FINAL
    WHERE tenant_id = {tenant_id:UUID} AND batch_id > {after:String} AND batch_id <= {to:String}
    UNION ALL
    SELECT batch_id, 0 AS by_session FROM event_arrivals FINAL
    WHERE tenant_id = {tenant_id:UUID} AND batch_id > {after:String} AND batch_id <= {to:String}
)
GROUP BY batch_id
"""

STORED_OF = """
SELECT
    (SELECT count() FROM raw_events FINAL
      WHERE tenant_id = {tenant_id:UUID} AND batch_id = {batch_id:String}) AS records,
    (SELECT count() FROM event_arrivals FINAL
      WHERE tenant_id = {tenant_id:UUID} AND batch_id = {batch_id:String}) AS arrivals
"""

RESTORE_PLACES = """
INSERT INTO event_places
SELECT DISTINCT tenant_id, uid, session_id FROM raw_events FINAL
WHERE tenant_id = {tenant_id:UUID} AND session_id > {after:String}
  AND ({to:String} = '' OR session_id <= {to:String}) AND verdict = 'accepted'
"""

RESTORE_ARRIVALS = f"""
INSERT INTO event_arrivals
SELECT {ARRIVAL} FROM raw_events FINAL
WHERE tenant_id = {{tenant_id:UUID}} AND batch_id IN {{batch_ids:Array(String)}}
"""

SET_ASIDE = """
-- What was not accepted has neither session nor uid, and lies at the beginning, by batch.
SELECT batch_id, ordinal, received_at, toString(verdict) AS verdict, reason, detail, type, hex(body) AS body
FROM raw_events FINAL
WHERE tenant_id = {tenant_id:UUID} AND session_id = '' AND uid = ''
  AND (batch_id, ordinal) > ({after_batch:String}, {after_ordinal:UInt32})
  AND has({verdicts:Array(String)}, toString(verdict))
  AND ({reason:String} = '' OR reason = {reason:String}) AND ({type:String} = '' OR type = {type:String})
ORDER BY batch_id, ordinal
LIMIT {limit:UInt32}
"""

SEEN = """
SELECT DISTINCT session_id, uid, assumeNotNull(event_ts) AS event_ts FROM raw_events FINAL
WHERE tenant_id = {tenant_id:UUID} AND batch_id IN {batch_ids:Array(String)} AND verdict = 'accepted'
"""

SHARED_BY_BATCHES = """
-- Uids of these batches that more than one session claims, with those sessions.
SELECT uid, arraySort(groupUniqArray(session_id)) AS sessions FROM event_places
WHERE tenant_id = {tenant_id:UUID} AND uid IN (
    SELECT uid FROM raw_events FINAL
    WHERE tenant_id = {tenant_id:UUID} AND batch_id IN {batch_ids:Array(String)} AND verdict = 'accepted'
)
GROUP BY uid HAVING uniqExact(session_id) > 1
"""

SHARED_BY_SESSIONS = """
SELECT uid, arraySort(groupUniqArray(session_id)) AS sessions FROM event_places
WHERE tenant_id = {tenant_id:UUID} AND uid IN (
    SELECT uid FROM raw_events
    WHERE tenant_id = {tenant_id:UUID} AND session_id IN {session_ids:Array(String)} AND verdict = 'accepted'
)
GROUP BY uid HAVING uniqExact(session_id) > 1
"""

SIZES = """
SELECT session_id, count() AS events, sum(length(body)) AS size_bytes FROM raw_events
WHERE tenant_id = {tenant_id:UUID} AND session_id IN {session_ids:Array(String)} AND verdict = 'accepted'
GROUP BY session_id
"""

COPIES_OF_SESSIONS = """
-- Equal copies once. What was accepted is text, unlike what was not.
SELECT DISTINCT session_id, uid, body FROM raw_events FINAL
WHERE tenant_id = {tenant_id:UUID} AND session_id IN {session_ids:Array(String)} AND verdict = 'accepted'
"""

COPIES_OF_PART = """
-- A part of a long session: by uid, so that the copies of one stay together.
SELECT DISTINCT session_id, uid, body FROM raw_events FINAL
WHERE tenant_id = {tenant_id:UUID} AND session_id = {session_id:String} AND verdict = 'accepted'
  AND cityHash64(uid) % {parts:UInt32} = {part:UInt32}
"""

COPIES_OF_UIDS = """
SELECT DISTINCT session_id, uid, body FROM raw_events FINAL
WHERE tenant_id = {tenant_id:UUID} AND session_id IN {session_ids:Array(String)} AND uid IN {uids:Array(String)}
  AND verdict = 'accepted'
"""

LATEST = """
-- By the latest of their copies; all that share a time come together.
SELECT uid, max(event_ts) AS latest_ts, groupUniqArray(session_id) AS sessions FROM raw_events FINAL
WHERE tenant_id = {tenant_id:UUID} AND verdict = 'accepted'
GROUP BY uid HAVING latest_ts < {below:Int64}
ORDER BY latest_ts DESC LIMIT {limit:UInt32} WITH TIES
"""

SESSIONS_AFTER = """
SELECT DISTINCT session_id FROM raw_events
WHERE tenant_id = {tenant_id:UUID} AND session_id > {after:String} AND verdict = 'accepted'
ORDER BY session_id LIMIT {limit:UInt32}
"""

_arrow = cast("Any", pa)  # it declares no types
_EVENTS = _arrow.schema(
    [
        ("tenant_id", _arrow.string()),
        ("session_id", _arrow.string()),
        ("uid", _arrow.string()),
        ("batch_id", _arrow.string()),
        ("ordinal", _arrow.uint32()),
        ("received_at", _arrow.timestamp("ms", "UTC")),
        ("verdict", _arrow.string()),
        ("reason", _arrow.string()),
        ("detail", _arrow.string()),
        ("type", _arrow.string()),
        ("event_ts", _arrow.int64()),
        ("body", _arrow.binary()),
        ("reading", _arrow.uint64()),
        ("is_deleted", _arrow.uint8()),
    ]
)
_PLACES = _arrow.schema([(name, _arrow.string()) for name in ("tenant_id", "uid", "session_id")])


@dataclass(frozen=True, slots=True)
class RejectedFilter:
    """Which records that were not accepted; blank is any."""

    verdicts: tuple[rules.RecordVerdict, ...] = (rules.RecordVerdict.QUARANTINED, rules.RecordVerdict.IGNORED)
    reason: str = ""
    type: str = ""


async def ensure_tables(analytics: Analytics) -> None:
    await ensure_schema(analytics, MODULE, SCHEMA)


class RawEventStore:
    """Of one tenant."""

    def __init__(self, analytics: Analytics, tenant_id: TenantId) -> None:
        self._analytics = analytics
        self._tenant_id = tenant_id
        self._own = analytics.within(tenant_id)

    async def add(
        self,
        batch: rules.BatchReading,
        records: Sequence[rules.DeliveredRecord],
        gone: Iterable[rules.RecordPlace] = (),
    ) -> None:
        """All or nothing. Places come first: a session that has a row of a uid is known to have one."""
        places, events = await asyncio.to_thread(_tables, str(self._tenant_id), batch, records, gone)
        await self._analytics.insert_arrow("event_places", places)
        await self._analytics.insert_arrow("raw_events", events)

    async def keep(
        self,
        batch: rules.BatchReading,
        records: Sequence[rules.DeliveredRecord],
        gone: Iterable[rules.RecordPlace] = (),
    ) -> None:
        """Added and read back: only then may anybody be told that they are stored."""
        await self.add(batch, records, gone)
        await self._require_readable(batch, len(records))

    async def places(self, batch_id: str) -> set[rules.RecordPlace]:
        rows = await self._rows(ROWS_OF_BATCH, batch_id=batch_id)
        return {rules.RecordPlace(row["session_id"], row["uid"], row["ordinal"]) for row in rows}

    async def _require_readable(self, batch: rules.BatchReading, records: int) -> None:
        """What cannot be read back was not stored, whatever the insert answered."""
        received = batch.received_at.replace(microsecond=batch.received_at.microsecond // 1000 * 1000)
        wanted = {"batch_id": batch.batch_id, "reading": batch.reading}
        wanted |= {"from": received - MILLISECOND, "to": received + MILLISECOND}
        [row] = await self._rows(READ_BACK, **wanted)
        found = rules.StoredCounts(**row)
        if not found.is_whole(records):
            why = f"{min(found)} of {records} can be read back"
            raise Unavailable("ClickHouse did not keep all events of a delivery", why=why)

    async def stored(self, batch_id: str) -> rules.StoredCounts:
        [row] = await self._rows(STORED_OF, batch_id=batch_id)
        return rules.StoredCounts(**row)

    async def stored_between(self, after: str, to: str) -> dict[str, rules.StoredCounts]:
        """Of the deliveries whose names are behind the one, up to the other."""
        rows = await self._rows(STORED, after=after, to=to)
        return {row["batch_id"]: rules.StoredCounts(row["records"], row["arrivals"]) for row in rows}

    async def restore_arrivals(self, batch_ids: Sequence[str]) -> None:
        """From the records themselves."""
        await self._own.command(RESTORE_ARRIVALS, {"batch_ids": batch_ids})

    async def restore_places(self, after: str, to: str) -> None:
        """Of the sessions behind the one id, up to the other; blank is no end."""
        await self._own.command(RESTORE_PLACES, {"after": after, "to": to})

    async def count(self, batch_id: str = "", prefix: str = "") -> rules.RecordCounts:
        """Of one batch on its own, of those whose names begin alike, or of everything."""
        wanted = {"batch_id": batch_id, "prefix": prefix}
        [counters] = await self._rows(COUNT, **wanted)
        reasons = await self._rows(REASONS, **wanted)
        return rules.RecordCounts(rules.Counters(**counters), {row["reason"]: row["records"] for row in reasons})

    async def set_aside(self, wanted: RejectedFilter, after: tuple[str, int], limit: int) -> list[rules.RejectedRecord]:
        """What was not accepted, behind a batch and ordinal."""
        rows = await self._rows(
            SET_ASIDE,
            verdicts=[str(verdict) for verdict in wanted.verdicts],
            reason=wanted.reason,
            type=wanted.type,
            after_batch=after[0],
            after_ordinal=after[1],
            limit=limit,
        )
        return [_set_aside(row) for row in rows]

    async def seen(self, batch_ids: Sequence[str]) -> list[rules.SeenEvent]:
        rows = await self._rows(SEEN, batch_ids=batch_ids)
        return [rules.SeenEvent(row["session_id"], row["uid"], row["event_ts"]) for row in rows]

    async def shared_by_batches(self, batch_ids: Sequence[str]) -> dict[str, list[str]]:
        rows = await self._rows(SHARED_BY_BATCHES, batch_ids=batch_ids)
        return {row["uid"]: row["sessions"] for row in rows}

    async def shared_by_sessions(self, session_ids: Sequence[str]) -> dict[str, list[str]]:
        rows = await self._rows(SHARED_BY_SESSIONS, session_ids=session_ids)
        return {row["uid"]: row["sessions"] for row in rows}

    async def sizes(self, session_ids: Sequence[str]) -> dict[str, int]:
        """Bytes of each, at least."""
        rows = await self._rows(SIZES, session_ids=session_ids)
        return {row["session_id"]: row["size_bytes"] for row in rows}

    async def copies_of_sessions(self, session_ids: Sequence[str]) -> list[rules.EventCopy]:
        return _copies(await self._rows(COPIES_OF_SESSIONS, session_ids=session_ids))

    async def copies_of_part(self, session_id: str, part: int, parts: int) -> list[rules.EventCopy]:
        return _copies(await self._rows(COPIES_OF_PART, session_id=session_id, part=part, parts=parts))

    async def copies_of_uids(self, session_ids: Sequence[str], uids: Sequence[str]) -> list[rules.EventCopy]:
        return _copies(await self._rows(COPIES_OF_UIDS, session_ids=session_ids, uids=uids))

    async def latest(self, below: int, limit: int) -> list[rules.LatestEvent]:
        """Accepted uids, latest first, of copies before a time."""
        rows = await self._rows(LATEST, below=below, limit=limit)
        return [rules.LatestEvent(row["uid"], row["latest_ts"], row["sessions"]) for row in rows]

    async def sessions_after(self, after: str, limit: int) -> list[str]:
        return [row["session_id"] for row in await self._rows(SESSIONS_AFTER, after=after, limit=limit)]

    async def _rows(self, sql: str, **values: object) -> list[dict[str, Any]]:
        return (await self._own.query_arrow(sql, values)).to_pylist()


_NOTHING = {
    "verdict": "ignored",
    "reason": "",
    "detail": "",
    "type": "",
    "event_ts": None,
    "body": b"",
    "is_deleted": 1,
}


def _tables(
    tenant: str, batch: rules.BatchReading, records: Sequence[rules.DeliveredRecord], gone: Iterable[rules.RecordPlace]
) -> tuple[ArrowTable, ArrowTable]:
    seen = {(record.uid, record.session_id) for record in records if record.verdict is rules.RecordVerdict.ACCEPTED}
    places = [{"tenant_id": tenant, "uid": uid, "session_id": session} for uid, session in sorted(seen)]
    base = {"tenant_id": tenant, "batch_id": batch.batch_id, "received_at": batch.received_at, "reading": batch.reading}
    rows = [{**base, **record._asdict(), "is_deleted": 0} for record in records]
    rows += [{**base, **place._asdict(), **_NOTHING} for place in gone]
    return _arrow.Table.from_pylist(places, schema=_PLACES), _arrow.Table.from_pylist(rows, schema=_EVENTS)


def _copies(rows: Iterable[dict[str, Any]]) -> list[rules.EventCopy]:
    return [rules.EventCopy(row["session_id"], row["uid"], row["body"].encode()) for row in rows]


def _set_aside(row: dict[str, Any]) -> rules.RejectedRecord:
    return rules.RejectedRecord(
        batch_id=row["batch_id"],
        ordinal=row["ordinal"],
        received_at=row["received_at"].astimezone(UTC),
        verdict=rules.RecordVerdict(row["verdict"]),
        reason=row["reason"],
        detail=row["detail"],
        type=row["type"],
        body=bytes.fromhex(row["body"]),
    )
