"""From the log into ClickHouse, whatever goes away or dies in between: nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from tests.support.clickhouse_owner import owner_options, start_owner, until
from tests.support.events import announce, new_tenant
from touchline.contracts.events import Event, Payload
from touchline.contracts.events.artifacts import (
    ArtifactLifecycle,
    ArtifactRegistered,
    ArtifactType,
    ForgetDue,
    HoldingReleased,
    OriginalStored,
    StorageLocation,
)
from touchline.contracts.events.videos import VideoProgressed, VideoTranscoded
from touchline.kernel import ArtifactHash, Misconfigured, SystemClock, TenantId, Unavailable, new_artifact_hash
from touchline.measure.lifecycle.service import INSERTS_FAILED, LifecycleFeed, LifecycleService
from touchline.measure.tables import ensure_tables
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.events import consumer as service, store
from touchline.platform.events.consumer import Consumer
from touchline.platform.events.log import Archive, EventHandler, PostgresLog, Sequencer
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction, Wakeups
from touchline.platform.settings import EventSettings

from .conftest import SETTINGS as CLICKHOUSE

SETTINGS = EventSettings(
    consume_batch=10, retry_delay=timedelta(milliseconds=1), poll_interval=timedelta(milliseconds=20)
)
TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Log:
    """The real log of one test, with the sequencer's turns taken by hand."""

    database: Database
    source: PostgresLog

    async def write(self, tenant: TenantId, *payloads: Payload) -> None:
        await announce(self.database, tenant, *payloads)
        await Sequencer(self.database, Wakeups(self.database.url, []), SETTINGS).step()

    async def change(self, tenant: TenantId, artifact: ArtifactHash, *statuses: str) -> None:
        """An artifact goes through its states; each change has its revision."""
        async with self.database.transaction(tenant) as transaction:
            for revision, status in enumerate(statuses, start=1):
                transaction.announce(lifecycle_payload(artifact, status), revision=revision)
        await Sequencer(self.database, Wakeups(self.database.url, []), SETTINGS).step()

    def consumer(self, feed: EventHandler) -> Consumer:
        return Consumer(self.database, self.source, feed, SETTINGS)


@pytest.fixture
def log(database: Database, objects: ObjectStore) -> Log:
    archive = Archive(database, objects, SETTINGS, SystemClock())
    return Log(database, PostgresLog(database, Wakeups(database.url, []), archive))


def lifecycle_payload(artifact: ArtifactHash, status: str) -> ArtifactLifecycle:
    return ArtifactLifecycle(
        artifact_hash=artifact,
        artifact_type=ArtifactType.UPLOAD,
        internal_name="x" * 32,
        user_id=None,
        status=status,
    )


async def drain(consumer: Consumer) -> int:
    position = await consumer.position()
    while (reached := await consumer.step(position)) > position:
        position = reached
    return position


@asynccontextmanager
async def running(consumer: Consumer) -> AsyncGenerator[asyncio.Task[None]]:
    task = asyncio.create_task(consumer.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


class Interrupted(LifecycleFeed):
    """Dies after ClickHouse has the rows and before the cursor moves, some times."""

    def __init__(self, analytics: Analytics, deaths: int) -> None:
        super().__init__(analytics)
        self.deaths = deaths

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        await super().handle(transaction, events)
        if self.deaths:
            self.deaths -= 1
            raise ConnectionResetError("killed")


async def test_the_life_of_an_upload(log: Log, analytics: Analytics, lifecycle: LifecycleService) -> None:
    tenant, artifact, job = new_tenant(), new_artifact_hash(), uuid4()
    ready = lifecycle_payload(artifact, "ready").model_copy(
        update={"synced": True, "local_copies": 0, "manifest_key": "m"}
    )
    await log.write(
        tenant,
        ArtifactRegistered(
            artifact_hash=artifact,
            artifact_type=ArtifactType.UPLOAD,
            playback_id="abcdefgh12345678",
            internal_name="x" * 32,
            user_id=uuid4(),
            title="Final",
        ),
    )
    await drain(log.consumer(LifecycleFeed(analytics)))
    [state] = await lifecycle.states(tenant, [artifact])
    assert (state.stage, state.artifact_type, state.revision) == ("requested", "upload", 0)
    await log.write(
        tenant,
        lifecycle_payload(artifact, "processing"),
        OriginalStored(artifact_hash=artifact, original_key="o", size_bytes=7, content_type="video/mp4"),
        VideoProgressed(artifact_hash=artifact, job_id=job, attempt=1, job_type="transcode", progress_percent=40),
    )
    await drain(log.consumer(LifecycleFeed(analytics)))
    [state] = await lifecycle.states(tenant, [artifact])
    assert (state.stage, state.progress_percent, state.size_bytes, state.is_frozen) == ("processing", 40, 7, None)
    transcoded = VideoTranscoded(
        artifact_hash=artifact,
        job_id=job,
        attempt=1,
        manifest_key="from the worker",
        poster_key="p",
        duration_ms=60_000,
        width=1920,
        height=1080,
    )
    await log.write(tenant, transcoded, ready)
    await drain(log.consumer(LifecycleFeed(analytics)))
    [state] = await lifecycle.states(tenant, [artifact])
    assert (state.stage, state.size_bytes, state.duration_ms, state.width) == ("ready", 7, 60_000, 1920)
    assert (state.manifest_key, state.poster_key, state.original_key) == ("m", "p", "o")
    assert (state.storage_location, state.is_frozen, state.position) == (StorageLocation.S3, True, 6)
    assert [event.type for event in await lifecycle.events(tenant, artifact)] == [
        "artifact.registered",
        "artifact.lifecycle",
        "artifact.original_stored",
        "video.progressed",
        "video.transcoded",
        "artifact.lifecycle",
    ]


async def test_what_is_to_be_forgotten_goes_also_when_the_feed_dies_over_it(
    log: Log, analytics: Analytics, lifecycle: LifecycleService
) -> None:
    tenant, purged, kept = new_tenant(), new_artifact_hash(), new_artifact_hash()
    for artifact in (purged, kept):
        await log.change(tenant, artifact, "processing", "deleted")
    await log.write(tenant, ForgetDue(artifact_hash=purged))
    with pytest.raises(ConnectionResetError):
        await drain(log.consumer(Interrupted(analytics, deaths=1)))
    await drain(log.consumer(LifecycleFeed(analytics)))
    assert await lifecycle.states(tenant, [purged]) == await lifecycle.events(tenant, purged) == []
    assert [state.artifact_hash for state in await lifecycle.states(tenant, [kept])] == [kept]
    async with log.database.system("test: read the answers") as transaction:
        query = "SELECT data ->> 'artifact_hash', data ->> 'holder' FROM platform.event_inbox WHERE type = %s"
        answers = await (await transaction.connection.execute(query, (HoldingReleased.event_type,))).fetchall()
    assert answers == [(purged, "measure")]


async def test_events_of_many_tenants_go_each_to_its_own(
    log: Log, analytics: Analytics, lifecycle: LifecycleService
) -> None:
    artifacts = {new_tenant(): new_artifact_hash() for _ in range(3)}
    for tenant, artifact in artifacts.items():
        await log.change(tenant, artifact, "processing", "ready")
    await drain(log.consumer(LifecycleFeed(analytics)))
    for tenant, artifact in artifacts.items():
        known = await lifecycle.states(tenant, list(artifacts.values()))
        assert [(state.artifact_hash, state.stage) for state in known] == [(artifact, "ready")]


async def test_a_feed_that_dies_in_the_middle_loses_and_doubles_nothing(
    log: Log, analytics: Analytics, lifecycle: LifecycleService
) -> None:
    tenant, artifacts = new_tenant(), [new_artifact_hash() for _ in range(8)]
    for artifact in artifacts:
        await log.change(tenant, artifact, "requested", "processing", "ready")
    for _ in range(2):
        with pytest.raises(ConnectionResetError):
            await drain(log.consumer(Interrupted(analytics, deaths=1)))
    async with running(log.consumer(Interrupted(analytics, deaths=2))):
        await until(lambda: has_taken(log, 24), TIMEOUT_S)
    states = await lifecycle.states(tenant, artifacts)
    assert [(state.stage, state.revision) for state in states] == [("ready", 3)] * 8
    positions = [event.position for artifact in artifacts for event in await lifecycle.events(tenant, artifact)]
    assert positions == list(range(1, 25))


async def test_while_clickhouse_is_down_the_feed_waits_and_then_catches_up(log: Log, tmp_path: Path) -> None:
    tenant, artifact = new_tenant(), new_artifact_hash()
    options = owner_options(tmp_path)
    owner = await start_owner(options)
    try:
        async with Analytics(owner.endpoint, CLICKHOUSE) as analytics:
            await ensure_tables(analytics)
            async with running(log.consumer(LifecycleFeed(analytics))) as task:
                await log.change(tenant, artifact, "requested")
                await until(lambda: has_taken(log, 1), TIMEOUT_S)
                await owner.kill()
                failed = failed_inserts()
                await log.write(tenant, *(lifecycle_payload(artifact, "processing") for _ in range(25)))
                await until(lambda: has_failed_since(failed), TIMEOUT_S)
                _, [consumer] = await store.log_status(log.database)
                assert (consumer.lag, consumer.poison, task.done()) == (25, 0, False)
                owner = await start_owner(options)
                await until(lambda: has_taken(log, 26), TIMEOUT_S)
            taken = await LifecycleService(analytics).events(tenant, artifact)
            assert [event.position for event in taken] == list(range(1, 27))
    finally:
        await owner.stop()
    assert await store.poison_events(log.database) == []


async def test_a_wrong_password_is_waited_out_too(log: Log, analytics: Analytics) -> None:
    """Nothing is wrong with the events, so none of them is set aside."""
    await log.change(new_tenant(), new_artifact_hash(), "requested")
    async with Analytics(replace(analytics._endpoint, password="wrong"), CLICKHOUSE) as locked_out:
        with pytest.raises(Misconfigured):
            await locked_out.ping()
        with pytest.raises(Unavailable):
            await drain(log.consumer(LifecycleFeed(locked_out)))
    assert await store.poison_events(log.database) == []


async def test_an_event_that_cannot_be_read_is_set_aside_and_the_others_go_on(
    log: Log, analytics: Analytics, lifecycle: LifecycleService
) -> None:
    tenant, artifact = new_tenant(), new_artifact_hash()
    broken = lifecycle_payload(ArtifactHash("not a hash"), "processing")
    too_large = OriginalStored(artifact_hash=artifact, original_key="o", size_bytes=2**70, content_type="video/mp4")
    payloads = [lifecycle_payload(artifact, status) for status in ("requested", "ready")]
    await log.write(tenant, payloads[0], broken, too_large, payloads[1])
    assert await drain(log.consumer(LifecycleFeed(analytics))) == 4
    assert [poison.position for poison in await store.poison_events(log.database)] == [2, 3]
    assert [event.position for event in await lifecycle.events(tenant, artifact)] == [1, 4]
    [state] = await lifecycle.states(tenant, [artifact])
    assert (state.stage, state.size_bytes) == ("ready", None)


async def test_an_event_that_comes_late_changes_only_what_nobody_has_said_since(
    log: Log, analytics: Analytics, lifecycle: LifecycleService
) -> None:
    tenant, artifact = new_tenant(), new_artifact_hash()

    class Refusing(LifecycleFeed):
        async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
            if any(event.data["status"] == "processing" for event in events):
                raise ValueError("not yet")
            await super().handle(transaction, events)

    await log.change(tenant, artifact, "requested", "processing", "ready")
    await drain(log.consumer(Refusing(analytics)))
    await service.retry_set_aside(log.database, LifecycleFeed.name, 2)
    assert await log.consumer(LifecycleFeed(analytics)).retry_set_aside()
    [state] = await lifecycle.states(tenant, [artifact])
    assert (state.stage, state.revision) == ("ready", 3)
    assert [event.position for event in await lifecycle.events(tenant, artifact)] == [1, 2, 3]


async def has_taken(log: Log, events: int) -> bool:
    status, consumers = await store.log_status(log.database)  # none before it has begun
    return status.head == events and [consumer.lag for consumer in consumers] == [0]


def failed_inserts() -> float:
    return INSERTS_FAILED._value.get()


async def has_failed_since(before: float) -> bool:
    return failed_inserts() > before
