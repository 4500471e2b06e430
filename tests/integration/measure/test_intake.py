"""What came in and what became of it, beside counting the same records by hand; also what an older version stored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from tests.support.events import new_tenant
from tests.support.sessions import NOON, trace
from touchline.kernel import TenantId
from touchline.measure.analytics.filters import moment
from touchline.measure.analytics.quality_store import IngestQualityStore
from touchline.measure.analytics.rules import Counters, Quality, TimeRange
from touchline.measure.ingest.raw_event_store import RawEventStore
from touchline.measure.ingest.rules import BatchReading, DeliveredRecord, RecordVerdict, read_records
from touchline.platform.clickhouse.client import Analytics

HOUR_MS = 3_600_000
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
BEGIN_MS = int(BEGIN.timestamp()) * 1_000
RANGES = [(0, 48), (0, 5), (5, 6), (3, 30), (20, 48), (47, 48), (60, 70)]
OLD = 3  # statements, before there were arrivals

Delivery = tuple[BatchReading, list[DeliveredRecord]]


def made_up(seed: int, deliveries: int = 60) -> list[Delivery]:
    """Two days of deliveries: few events, so that many come again, some that cannot be read, some of no known type."""
    random = Random(seed)

    def body() -> bytes:
        match random.randrange(10):
            case 0:
                return b"{"
            case 1:
                return json.dumps({"type": "weather", "timestamp": NOON}).encode()
            case 2:
                return b"[1]"
            case _:
                uid = random.randrange(120)
                return json.dumps(trace(f"uid-{uid}", NOON + uid, "app_x", session=(f"s-{uid % 7}", "r"))).encode()

    return [
        (BatchReading(f"batch-{at}", BEGIN + timedelta(minutes=random.randrange(48 * 60)), 1), read_records(bodies))
        for at, bodies in enumerate([body() for _ in range(random.randrange(1, 9))] for _ in range(deliveries))
    ]


async def store(journal: RawEventStore, delivered: Sequence[Delivery]) -> None:
    """Every other one was first read by somebody who understood nothing."""
    for at, (batch, records) in enumerate(delivered):
        if at % 2:
            unread = [
                DeliveredRecord(one.ordinal, one.body, RecordVerdict.QUARANTINED, reason="no_time") for one in records
            ]
            await journal.add(batch, unread)
            gone = {one.place for one in unread} - {one.place for one in records}
            await journal.add(BatchReading(batch.batch_id, batch.received_at, 2), records, gone)
        else:
            await journal.add(batch, records)


def counted(delivered: Sequence[Delivery], covered: TimeRange) -> Counters:
    firsts: dict[str, datetime] = {}
    verdicts: Counter[RecordVerdict] = Counter()
    since, until = moment(covered.since_ms), moment(covered.until_ms)
    for batch, records in delivered:
        for record in records:
            if since <= batch.received_at < until:
                verdicts[record.verdict] += 1
            if record.uid:
                firsts[record.uid] = min(firsts.get(record.uid, batch.received_at), batch.received_at)
    accepted = sum(since <= first < until for first in firsts.values())
    duplicate = verdicts[RecordVerdict.ACCEPTED] - accepted
    return Counters(
        verdicts.total(), accepted, duplicate, verdicts[RecordVerdict.IGNORED], verdicts[RecordVerdict.QUARANTINED]
    )


async def asked(analytics: Analytics, tenant_id: TenantId, covered: TimeRange, most_at_once: int) -> Quality:
    return await IngestQualityStore(analytics, most_at_once).quality(tenant_id, covered, 3_600)


@pytest.fixture(scope="module")
async def two_days(analytics: Analytics) -> tuple[TenantId, list[Delivery]]:
    tenant, delivered = new_tenant(), made_up(1)
    await store(RawEventStore(analytics, tenant), delivered)
    await store(RawEventStore(analytics, new_tenant()), made_up(2, deliveries=20))  # a neighbour, with the same ids
    return tenant, delivered


@pytest.mark.parametrize("most_at_once", [1_000_000, 10])
async def test_every_range_is_counted_as_by_hand(
    analytics: Analytics, two_days: tuple[TenantId, list[Delivery]], most_at_once: int
) -> None:
    tenant, delivered = two_days
    for first, last in RANGES:
        covered = TimeRange(BEGIN_MS + first * HOUR_MS, BEGIN_MS + last * HOUR_MS)
        quality = await asked(analytics, tenant, covered, most_at_once)
        assert quality.counters == counted(delivered, covered)
        for bucket in quality.series:
            assert bucket.counters == counted(delivered, TimeRange(bucket.start_ms, bucket.start_ms + HOUR_MS))
        assert sum(count for _, count in quality.reasons) == quality.counters.quarantined
