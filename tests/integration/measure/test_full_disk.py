"""ClickHouse on a disk that is really full: what cannot be read back is not acknowledged, and nothing stays lost."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tests.support.clickhouse_owner import owner_on_small_disk
from tests.support.events import new_tenant
from tests.support.measure import Measuring, expected
from tests.support.sessions import NOON, trace
from tests.support.small_disk import SmallDisk
from touchline.kernel import StorageFull, SystemClock, new_artifact_hash, surface
from touchline.measure.ingest.self_metrics import SelfMetrics
from touchline.measure.lifecycle.service import LifecycleFeed, LifecycleService
from touchline.measure.tables import ensure_tables
from touchline.measure.validation.service import FactValidation
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.store import ensure_database
from touchline.platform.events.log import Archive, PostgresLog
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Wakeups
from touchline.platform.settings import EventSettings
from touchline.platform.stack.folder import DataFolder
from touchline.platform.stack.part import PartKind
from touchline.platform.stack.status import (
    PartState,
    PartStatus,
    StackPhase,
    StackState,
    StateWriter,
    hold_lock,
    stack_report,
)

from .conftest import SETTINGS
from .test_feed import Log, drain

DISK_MIB = 64
LEFT_BYTES = 512 * 1024  # less than what an insert reserves, enough for what the engine writes beside its rows


@dataclass(frozen=True, slots=True)
class Full:
    analytics: Analytics
    disk: SmallDisk


@pytest.fixture(scope="module")
async def small(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Full]:
    async with owner_on_small_disk(tmp_path_factory.mktemp("small"), DISK_MIB) as (owner, disk):
        await ensure_database(owner.endpoint, SETTINGS)
        async with Analytics(owner.endpoint, SETTINGS) as analytics:
            await ensure_tables(analytics)
            yield Full(analytics, disk)


@pytest.fixture
def measuring(database: Database, small: Full) -> Measuring:
    return Measuring(database, small.analytics, new_tenant())


@pytest.fixture
def log(database: Database, objects: ObjectStore) -> Log:
    archive = Archive(database, objects, EventSettings(), SystemClock())
    return Log(database, PostgresLog(database, Wakeups(database.url, []), archive))


def events_of(name: str, count: int = 20) -> list[dict[str, Any]]:
    """With texts that do not shrink when they are packed."""
    noise = Random(name)
    return [
        trace(f"{name}-{number}", NOON + number, "gateway_receive_stream_request", session=(name, "r"), ballast=text)
        for number, text in enumerate(noise.randbytes(500).hex() for _ in range(count))
    ]


async def test_a_delivery_on_a_full_disk_is_refused_and_taken_when_there_is_space(
    measuring: Measuring, small: Full
) -> None:
    before, refused = events_of("before"), events_of("refused")
    assert not (await measuring.deliver("before", before)).repeated
    small.disk.fill(LEFT_BYTES)
    try:
        with pytest.raises(StorageFull) as failure:
            await measuring.deliver("refused", refused)
        assert surface(failure.value).http == 507
        assert (await measuring.count()).counters.raw == len(before)
    finally:
        small.disk.free()
    assert not (await measuring.deliver("refused", refused)).repeated
    assert (await measuring.deliver("refused", refused)).repeated
    await measuring.fold()
    assert set(await measuring.facts()) == set(expected([*before, *refused]))


@pytest.mark.parametrize("leave", [0, 100 * 1024, 1024 * 1024, 1200 * 1024])
async def test_wherever_the_space_ends_what_was_acknowledged_can_be_counted(
    measuring: Measuring, small: Full, leave: int
) -> None:
    """Some inserts fail before they begin, some half-way, some only in the second order of the records."""
    acknowledged, sent = 0, list[tuple[str, list[dict[str, Any]]]]()
    small.disk.fill(leave)
    try:
        for number in range(4):
            sent.append((f"batch-{number}", events_of(f"batch-{leave}-{number}", 300)))
            try:
                acknowledged += (await measuring.deliver(*sent[-1])).counted.counters.raw
            except StorageFull:
                continue
        assert (await measuring.count()).counters.raw >= acknowledged
    finally:
        small.disk.free()
    for batch_id, records in sent:
        await measuring.deliver(batch_id, records)
    assert (await measuring.count()).counters.raw == 4 * 300
    await measuring.fold()
    validation = FactValidation(measuring.database, small.analytics)
    assert not [finding for finding in await validation.run(measuring.tenant_id) if finding.wrong]


async def test_the_feed_of_the_log_waits_for_space_and_loses_no_artifact_event(log: Log, small: Full) -> None:
    tenant, artifact = new_tenant(), new_artifact_hash()
    consumer = log.consumer(LifecycleFeed(small.analytics))
    await log.change(tenant, artifact, "requested", "uploading", "ready")
    small.disk.fill(LEFT_BYTES)
    try:
        with pytest.raises(StorageFull):
            await drain(consumer)
    finally:
        small.disk.free()
    assert await consumer.position() == 0
    await drain(consumer)
    assert len(await LifecycleService(small.analytics).events(tenant, artifact)) == 3


async def test_own_sessions_wait_for_space(log: Log, measuring: Measuring, small: Full) -> None:
    consumer = log.consumer(SelfMetrics(measuring.ingest))
    await log.change(measuring.tenant_id, new_artifact_hash(), "uploading", "ready")
    small.disk.fill(LEFT_BYTES)
    try:
        with pytest.raises(StorageFull):
            await drain(consumer)
    finally:
        small.disk.free()
    assert await consumer.position() == 0
    await drain(consumer)
    assert (await measuring.count()).counters.accepted == 5


async def test_a_fold_on_a_full_disk_is_made_again(measuring: Measuring, small: Full) -> None:
    records = events_of("folded")
    await measuring.deliver("folded", records)
    small.disk.fill(LEFT_BYTES)
    try:
        with pytest.raises(StorageFull):
            await measuring.fold()
    finally:
        small.disk.free()
    await measuring.fold()
    assert set(await measuring.facts()) == set(expected(records))


async def test_a_large_request_that_no_longer_fits_on_the_disk_is_refused_as_such(small: Full) -> None:
    """It waits in a file before the engine sees it."""
    await small.analytics.command("CREATE TABLE large (text String) ENGINE = Null")
    rows = pa.table({"text": ["x" * (1 << 20)] * 8})
    small.disk.fill(LEFT_BYTES)
    try:
        with pytest.raises(StorageFull):
            await small.analytics.insert_arrow("large", rows)
    finally:
        small.disk.free()
    assert await small.analytics.insert_arrow("large", rows) == 8


def test_status_says_whose_disk_is_full(small: Full, tmp_path: Path) -> None:
    folder, now = DataFolder(tmp_path / "data"), datetime.now(UTC)
    folder.create(None)
    folder.of("clickhouse").symlink_to(small.disk.folder)
    folder.of("postgres").mkdir()
    parts = tuple(PartStatus(name, PartKind.SERVER, PartState.READY, now) for name in ("clickhouse", "postgres"))
    StateWriter(folder.state, StackState(1, now, StackPhase.READY, parts))
    with hold_lock(folder):
        assert stack_report(folder).all_ready
        small.disk.fill(LEFT_BYTES)
        try:
            found = stack_report(folder)
        finally:
            small.disk.free()
    assert not found.all_ready
    assert [part.status.state for part in found.parts] == [PartState.DISK_FULL, PartState.READY]
    assert found.parts[0].status.detail.startswith("only 0.5 MiB are free on the disk of ")


async def test_postgres_on_a_full_disk_is_told_as_such(database: Database) -> None:
    """By the error that it raises when it cannot extend a file."""
    with pytest.raises(StorageFull, match="nothing was changed"):
        async with database.transaction(new_tenant()) as transaction:
            await transaction.connection.execute("DO $$ BEGIN RAISE 'no space' USING ERRCODE = 'disk_full'; END $$")
