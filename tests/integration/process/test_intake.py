"""From the event to the first job, through the real log."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from tests.support.events import announce, new_tenant
from touchline.contracts.events.artifacts import (
    ArtifactLifecycle,
    ArtifactType,
    ArtifactUndeleted,
    OriginalReturned,
    OriginalStored,
    OriginalVanished,
)
from touchline.kernel import SystemClock
from touchline.kernel.trace import tracing
from touchline.platform.events import queries
from touchline.platform.events.archive import Archive
from touchline.platform.events.consumer import Consumer
from touchline.platform.events.log import PostgresLog
from touchline.platform.events.sequencer import Sequencer
from touchline.platform.events.settings import EventSettings
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.wakeups import Wakeups
from touchline.process.intake.consumer import Intake
from touchline.process.queue.model import JobType
from touchline.process.search.service import Question, Search

from .conftest import World, original_path

SETTINGS = EventSettings()
ADD_SEGMENT = """
INSERT INTO process.segments
  (tenant_id, id, video_id, text, normalized_text, text_hash, t_start, t_end, confidence, bounding_box)
VALUES (platform.current_tenant(), gen_random_uuid(), %(video_id)s, 'goal', 'goal', 'x', 0, 900, 1, '{}')
"""


def stored(video_id: UUID, **changes: object) -> OriginalStored:
    fields: dict[str, object] = {
        "artifact_hash": video_id.hex,
        "original_key": original_path(video_id),
        "size_bytes": 5_000_000,
        "content_type": "video/mp4",
        "user_id": uuid4(),
    }
    return OriginalStored.model_validate(fields | changes)


@pytest.fixture
def consumer(world: World, objects: ObjectStore) -> Consumer:
    wakeups = Wakeups(world.database.url, [])
    archive = Archive(world.database, objects, SETTINGS, SystemClock())
    return Consumer(world.database, PostgresLog(world.database, wakeups, archive), Intake(), SETTINGS)


async def drain(world: World, consumer: Consumer) -> None:
    await Sequencer(world.database, Wakeups(world.database.url, []), SETTINGS).step()
    position = await consumer.position()
    while (reached := await consumer.step(position)) > position:
        position = reached


async def test_an_original_becomes_a_video_and_a_job_of_its_tenant(world: World, consumer: Consumer) -> None:
    video_id = uuid4()
    event = stored(video_id)
    with tracing("story"):
        await announce(world.database, world.tenant_id, event)
    await drain(world, consumer)
    rows = await world.execute(
        "SELECT video_id, owner_id, status, s3_original_path, size_bytes, content_type FROM process.videos"
    )
    assert rows == [(video_id, event.user_id, "uploaded", original_path(video_id), 5_000_000, "video/mp4")]
    [job] = await world.queue().claim(list(JobType), 5)
    assert (job.tenant_id, job.job_type, job.trace) == (world.tenant_id, JobType.TRANSCODE, "story")
    assert job.payload == {"video_id": str(video_id), "s3_original_path": original_path(video_id)}


async def test_the_same_event_again_enqueues_nothing_whatever_became_of_the_job(
    world: World, consumer: Consumer
) -> None:
    event = stored(uuid4())
    await announce(world.database, world.tenant_id, event, event)
    await drain(world, consumer)
    [job] = await world.queue().claim(list(JobType), 5)

    async def no_effects(transaction: object) -> None:
        """Only the completion."""

    await world.queue().complete(job, {}, no_effects)
    await announce(world.database, world.tenant_id, event)
    await drain(world, consumer)
    assert await world.execute("SELECT count(*) FROM process.jobs") == [(1,)]
    assert await queries.poison(world.database) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"artifact_hash": "no hash"},
        {"original_key": "videos/original/somebody-elses/master.mp4"},
        {"original_key": "../secrets"},
    ],
)
async def test_what_makes_no_sense_is_set_aside_and_leaves_nothing(
    world: World, consumer: Consumer, changes: dict[str, object]
) -> None:
    good = uuid4()
    await announce(world.database, world.tenant_id, stored(uuid4(), **changes), stored(good))
    await drain(world, consumer)
    assert [row[0] for row in await world.execute("SELECT video_id FROM process.videos")] == [good]
    assert len(await queries.poison(world.database)) == 1


async def test_another_tenant_cannot_take_a_videos_id(world: World, consumer: Consumer) -> None:
    """Its objects would lie under the same keys."""
    video_id = uuid4()
    await announce(world.database, world.tenant_id, stored(video_id))
    await announce(world.database, new_tenant(), stored(video_id))
    await drain(world, consumer)
    [poison] = await queries.poison(world.database)
    assert "videos_id" in poison.error


async def test_a_deleted_artifact_is_searched_no_more(world: World, consumer: Consumer) -> None:
    video_id, other = uuid4(), uuid4()
    await announce(world.database, world.tenant_id, stored(video_id), stored(other))
    changed = {"artifact_type": ArtifactType.UPLOAD, "internal_name": "x", "user_id": None}
    processing = ArtifactLifecycle(artifact_hash=other.hex, status="processing", **changed)
    deleted = ArtifactLifecycle(artifact_hash=video_id.hex, status="deleted", **changed)
    await announce(world.database, world.tenant_id, processing, deleted, deleted)
    await announce(world.database, new_tenant(), deleted.model_copy(update={"artifact_hash": other.hex}))
    await drain(world, consumer)
    rows = await world.execute("SELECT video_id FROM process.videos WHERE deleted_at IS NOT NULL")
    assert rows == [(video_id,)]


async def test_an_undeleted_artifact_is_searched_again(world: World, consumer: Consumer) -> None:
    """Also when its text was read while it was deleted; a stranger cannot bring it back."""
    video_id = uuid4()
    await announce(world.database, world.tenant_id, stored(video_id))
    changed = {"artifact_type": ArtifactType.UPLOAD, "internal_name": "x", "user_id": None}
    deleted = ArtifactLifecycle(artifact_hash=video_id.hex, status="deleted", **changed)
    undeleted = ArtifactUndeleted(artifact_hash=video_id.hex)
    await announce(world.database, world.tenant_id, deleted)
    await announce(world.database, new_tenant(), undeleted)
    await drain(world, consumer)
    await world.execute(ADD_SEGMENT, video_id=video_id)
    search = Search(world.database)
    assert (await search.page(world.tenant_id, Question("goal"))).hits == ()
    await announce(world.database, world.tenant_id, undeleted, undeleted)
    await drain(world, consumer)
    assert [hit.video_id for hit in (await search.page(world.tenant_id, Question("goal"))).hits] == [video_id]


async def test_a_missing_original_shows_on_its_video(world: World, consumer: Consumer) -> None:
    video_id, now = uuid4(), SystemClock().now()
    place = {"artifact_hash": video_id.hex, "original_key": original_path(video_id)}
    missing = "SELECT original_missing_since FROM process.videos"
    await announce(world.database, world.tenant_id, stored(video_id), OriginalVanished(**place, missing_since=now))
    await drain(world, consumer)
    assert await world.execute(missing) == [(now,)]
    await announce(world.database, new_tenant(), OriginalReturned(**place))
    await drain(world, consumer)
    assert await world.execute(missing) == [(now,)], "another tenant cannot say so"
    await announce(world.database, world.tenant_id, OriginalReturned(**place))
    await drain(world, consumer)
    assert await world.execute(missing) == [(None,)]
