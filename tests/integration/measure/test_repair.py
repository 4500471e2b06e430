"""Rows that are gone from ClickHouse: a repeat writes them again, and a validation restores what is kept elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from tests.support.events import new_tenant
from tests.support.measure import Measuring, as_lines, expected
from tests.support.sessions import NOON, trace
from touchline.contracts.events.videos import JobChanged
from touchline.kernel import SystemClock, Unavailable, new_artifact_hash
from touchline.measure.ingest.file_import import import_file
from touchline.measure.ingest.self_metrics import SelfMetrics
from touchline.measure.lifecycle.service import LifecycleFeed, LifecycleService
from touchline.measure.validation.service import FactRepair, FactValidation
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.events.log import Archive, PostgresLog
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Wakeups
from touchline.platform.settings import EventSettings

from .test_feed import Log, drain

RECORDS = [
    trace(f"event-{number}", NOON + number, "gateway_receive_stream_request", session=(f"s{number % 3}", "r"))
    for number in range(9)
]
TABLES = ("raw_events", "event_arrivals", "event_places", "session_rows", "artifact_events")


@pytest.fixture
def measuring(database: Database, analytics: Analytics) -> Measuring:
    return Measuring(database, analytics, new_tenant())


@pytest.fixture
def log(database: Database, objects: ObjectStore) -> Log:
    archive = Archive(database, objects, EventSettings(), SystemClock())
    return Log(database, PostgresLog(database, Wakeups(database.url, []), archive))


async def lose(measuring: Measuring, *tables: str) -> None:
    """Every row of the tenant, as if a disk or an old backup had taken them."""
    for table in tables:
        sql = f"DELETE FROM {table} WHERE tenant_id = {{tenant_id:UUID}}"  # noqa: S608  a constant name
        await measuring.analytics.within(measuring.tenant_id).command(sql)


async def wrong(measuring: Measuring) -> dict[str, list[str]]:
    findings = await FactValidation(measuring.database, measuring.analytics).run(measuring.tenant_id)
    return {finding.name: [one.id for one in finding.examples] for finding in findings if finding.wrong}


@pytest.mark.parametrize("table", ["raw_events", "event_arrivals"])
async def test_a_repeat_of_a_delivery_whose_rows_are_gone_is_stored_again(measuring: Measuring, table: str) -> None:
    await measuring.deliver("once", RECORDS)
    await measuring.fold()
    facts = await measuring.facts()
    await lose(measuring, table)
    again = await measuring.deliver("once", RECORDS)
    assert (again.repeated, again.counted.counters.accepted) == (False, len(RECORDS))
    assert (await measuring.deliver("once", RECORDS)).repeated
    assert await measuring.fold() == 1
    assert (await measuring.facts(), await wrong(measuring)) == (facts, {})


async def test_what_an_insert_did_not_keep_is_not_acknowledged(
    measuring: Measuring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The insert reports success, and half of its rows are not there."""
    insert = Analytics.insert_arrow

    async def lossy(self: Analytics, name: str, rows: pa.Table, *rest: Any, **options: Any) -> int:
        kept = rows.slice(0, len(rows) // 2) if name == "raw_events" else rows
        return await insert(self, name, kept, *rest, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Analytics, "insert_arrow", lossy)
        with pytest.raises(Unavailable, match="sending the same delivery again is safe"):
            await measuring.deliver("once", RECORDS)
    assert await measuring.fold() == 0
    assert not (await measuring.deliver("once", RECORDS)).repeated
    assert (await measuring.count()).counters.raw == len(RECORDS)
    await measuring.fold()
    assert set(await measuring.facts()) == set(expected(RECORDS))


async def test_an_import_stores_again_what_is_gone_of_a_file(measuring: Measuring, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"\n".join(as_lines(RECORDS)))

    async def imported() -> tuple[int, int]:
        done = await import_file(measuring.ingest, measuring.tenant_id, path, lambda _: None)
        return done.repeated, done.counted.counters.accepted

    assert await imported() == (0, len(RECORDS))
    assert await imported() == (1, len(RECORDS))
    await lose(measuring, "raw_events")
    assert await imported() == (0, len(RECORDS))
    assert await wrong(measuring) == {}


async def test_what_the_log_and_the_stored_events_hold_is_restored(measuring: Measuring, log: Log) -> None:
    """Whichever tables lost it, one after the other, and in the end all at once."""
    artifact = new_artifact_hash()
    job = JobChanged(job_id=uuid4(), job_type="ocr", video_id=uuid4(), status="queued", attempt=1, retry_count=0)
    await log.write(new_tenant(), job)  # another tenant's lies between
    await log.change(measuring.tenant_id, artifact, "uploading", "ready")
    await log.write(measuring.tenant_id, job, job.model_copy(update={"status": "done"}))
    await drain(log.consumer(SelfMetrics(measuring.ingest)))
    await drain(log.consumer(LifecycleFeed(measuring.analytics)))
    await measuring.fold()
    lifecycle = LifecycleService(measuring.analytics)
    facts, events = await measuring.facts(), await lifecycle.events(measuring.tenant_id, artifact)
    assert (len(facts), len(events), await wrong(measuring)) == (2, 2, {})
    repair = FactRepair(measuring.database, measuring.analytics, log.source, measuring.folds)
    for tables in (*((table,) for table in TABLES), TABLES):
        await lose(measuring, *tables)
        assert not (await repair.run(measuring.tenant_id)).lost, tables
        assert await measuring.facts() == facts, tables
        assert await lifecycle.events(measuring.tenant_id, artifact) == events, tables
        assert await wrong(measuring) == {}, tables


async def test_what_only_its_sender_has_is_named_and_its_sessions_are_left_alone(
    measuring: Measuring, log: Log
) -> None:
    await measuring.ingest.deliver(measuring.tenant_id, "key:sent", as_lines(RECORDS), "http")
    await measuring.fold()
    facts = await measuring.facts()
    await lose(measuring, "raw_events")
    repair = FactRepair(measuring.database, measuring.analytics, log.source, measuring.folds)
    [lost] = (await repair.run(measuring.tenant_id)).lost
    assert lost.id == "key:sent"
    assert lost.found.startswith(f"{len(RECORDS)} of {len(RECORDS)} events are gone; send it again (came by http at ")
    assert (await wrong(measuring))["counters_add_up"] == ["key:sent"]
    assert await measuring.facts() == facts
    await measuring.ingest.deliver(measuring.tenant_id, "key:sent", as_lines(RECORDS), "http")
    await measuring.fold()
    assert (await measuring.facts(), await wrong(measuring)) == (facts, {})
    assert set(facts) == set(expected(json.loads(line) for line in as_lines(RECORDS)))
