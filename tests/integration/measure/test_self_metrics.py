"""From the real log to whoever takes workflow events: nothing lost, and nothing under another id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid4

import msgspec
import pytest

from tests.support.events import announce, new_tenant
from tests.support.sessions import facts_of
from touchline.contracts.events.videos import JobAlert, JobChanged
from touchline.kernel import SystemClock, TenantId, Unavailable
from touchline.measure.ingest.self_metrics import SelfMetrics
from touchline.platform.events.consumer import Consumer
from touchline.platform.events.log import Archive, PostgresLog, Sequencer
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Wakeups
from touchline.platform.settings import EventSettings

SETTINGS = EventSettings(consume_batch=100, retry_delay=timedelta(milliseconds=1))


@dataclass
class Kept:
    """Takes everything, and then may lose its answer."""

    deliveries: list[tuple[TenantId, str, Sequence[bytes]]] = field(default_factory=list)
    lose_answers: int = 0

    async def deliver(self, tenant_id: TenantId, batch_id: str, records: Sequence[bytes], /) -> None:
        self.deliveries.append((tenant_id, batch_id, records))
        if self.lose_answers:
            self.lose_answers -= 1
            raise Unavailable("the answer was lost")


def job(job_id: UUID, status: str) -> JobChanged:
    return JobChanged(job_id=job_id, job_type="ocr", video_id=job_id, status=status, attempt=1, retry_count=0)


async def test_the_log_reaches_its_sink_by_tenant_and_a_repeat_is_the_same_batch(
    database: Database, objects: ObjectStore
) -> None:
    wakeups = Wakeups(database.url, [])
    source = PostgresLog(database, wakeups, Archive(database, objects, SETTINGS, SystemClock()))
    sink = Kept(lose_answers=1)
    consumer = Consumer(database, source, SelfMetrics(sink), SETTINGS)
    one, other, job_id = new_tenant(), new_tenant(), uuid4()
    alert = JobAlert(kind="queue_age", job_type="ocr", raised=True, value=1, threshold=1)
    await announce(database, one, job(job_id, "queued"), alert, job(job_id, "processing"))
    await announce(database, other, job(job_id, "queued"))
    await announce(database, one, job(job_id, "done"))
    await Sequencer(database, wakeups, SETTINGS).step()
    start = await consumer.position()
    with pytest.raises(Unavailable):
        await consumer.step(start)
    assert await consumer.step(start) == await source.head()

    first, *repeated = sink.deliveries
    assert repeated[0] == first
    assert [tenant for tenant, _, _ in repeated] == [one, other]
    records = [msgspec.json.decode(record) for tenant, _, batch in sink.deliveries for record in batch if tenant == one]
    (facts,) = facts_of(records).values()
    assert (facts.session.startup_outcome, facts.session.workflow_type) == ("success", "inference")
    assert facts.session.quality_flags == ()
