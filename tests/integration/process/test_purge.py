"""Purging a video, with everything real: rows, objects, and a worker that is still working on it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.support.events import new_tenant
from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import PurgeDue
from touchline.kernel import LeaseLost, SystemClock, uuid7
from touchline.media.engines.model import Box
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.objects.rules import DeletionResult
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.process.clips.store import ClipStore
from touchline.process.intake import handle_event
from touchline.process.ocr.rules import OcrChunk, OcrRequest, TextRun
from touchline.process.ocr.store import ReadingStore
from touchline.process.purge import service
from touchline.process.purge.service import Purger
from touchline.process.purge.store import TABLES, PurgeStore
from touchline.process.queue.jobs import JobSchedule, JobStatus, JobType, SegmentIndexPayload
from touchline.process.sampling.rules import Sampling
from touchline.process.sampling.store import FrameStore
from touchline.process.search.model import GoalShown, labels_of, texts_of, with_goal
from touchline.process.search.store import VideoSubjectStore
from touchline.process.segments.rules import Detection, ReadFrame, build_index
from touchline.process.segments.store import SegmentStore
from touchline.process.settings import ProcessSettings

from .conftest import QueueHarness, original_path

READ = Detection("goal by @saka #goal 2-1", Box(1, 2, 30, 4), 0.9)
CUT_BY_HAND = """
INSERT INTO process.clips (tenant_id, clip_id, video_id, job_id)
VALUES (platform.current_tenant(), %(clip_id)s, %(video_id)s, %(job_id)s)
"""
WITH_A_VIDEO = """
SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'video_id'
 WHERE c.relnamespace = 'process'::regnamespace AND c.relkind = 'r'
"""


class Killed(BaseException):
    """The process ends here."""


@dataclass(frozen=True, slots=True)
class PurgeHarness:
    harness: QueueHarness
    objects: ObjectStore

    def purger(self, second_look: timedelta = timedelta(0), **settings: Any) -> Purger:
        changed = ProcessSettings(purge_second_look=second_look, **settings)
        return Purger(self.harness.database, self.objects, changed)

    async def processed(self) -> UUID:
        """A video as the pipeline leaves it, its transcode waiting."""
        harness = self.harness
        job = await harness.enqueue()
        video_id = job.video_id
        await harness.enqueue(SegmentIndexPayload(video_id=video_id), schedule=JobSchedule(depends_on=job.id))
        async with harness.database.transaction(harness.tenant_id) as transaction:
            connection = transaction.connection
            await FrameStore(connection).replace(video_id, Sampling(1, 100, 640, 360, 2000, 2), [0, 100])
            await ReadingStore(connection).begin(video_id, OcrRequest("by hand", 1, None))
            await ReadingStore(connection).add(video_id, 1, OcrChunk(0, 100, (TextRun(0, 0, READ),)))
            await SegmentStore(connection).replace(video_id, build_index(video_id, [ReadFrame(0, [READ])], 5000))
            shown = GoalShown("Arsenal 1-0 Liverpool", 1, "Arsenal", "Liverpool", "B. Saka")
            subjects = VideoSubjectStore(connection)
            subject = with_goal(await subjects.lock(video_id), shown, 1)
            await subjects.save(video_id, subject)
            await subjects.save_texts(video_id, texts_of(subject))
            await subjects.save_labels(video_id, labels_of(subject))
            await connection.execute(CUT_BY_HAND, {"clip_id": uuid4(), "video_id": video_id, "job_id": job.id})
            await ClipStore(connection).add(video_id, video_id, job.id)  # the one that it is itself
        for key in (*keys_of(video_id), f"logs/pipeline/{job.id}.json"):
            await self.objects.put_new(key, b"x")
        return video_id

    async def ask(self, video_id: UUID) -> None:
        """As the log delivers it."""
        now, due = SystemClock().now(), PurgeDue(artifact_hash=video_id.hex)
        data, tenant_id = due.model_dump(mode="json"), self.harness.tenant_id
        event = Event(uuid7(now), due.event_type, 1, tenant_id, due.key, 1, now, None, data, 1)
        async with self.harness.database.transaction(tenant_id) as transaction:
            await handle_event(transaction, event)

    async def rows(self, video_id: UUID) -> dict[str, int]:
        """By table, those that have any."""
        tables = [name for (name,) in await self.harness.execute(WITH_A_VIDEO)]
        found: dict[str, int] = {}
        for table in tables:
            question = f"SELECT count(*) FROM process.{table} WHERE video_id = %(video_id)s"  # noqa: S608
            found[table] = (await self.harness.execute(question, video_id=video_id))[0][0]
        return {table: count for table, count in found.items() if count}

    async def keys(self) -> set[str]:
        return {each.key for each in (await self.objects.list("")).objects}

    async def make_due(self) -> None:
        """As if the time had passed."""
        async with self.harness.database.system("test: let time pass") as transaction:
            await transaction.connection.execute("UPDATE process.purges SET next_at = now()")

    async def told(self) -> list[str]:
        return [data["artifact_hash"] for _, _, data in await self.harness.events("video.purged")]


def keys_of(video_id: UUID) -> list[str]:
    return [
        original_path(video_id),
        f"videos/proxy/{video_id}/1/index.m3u8",
        f"videos/proxy/{video_id}/index.m3u8",
        f"thumbs/{video_id}/1/poster.jpg",
        f"frames/{video_id}/1/0.jpg",
        f"videos/clips/{video_id}/{uuid4()}.mp4",
    ]


@pytest.fixture
async def purges(postgres: PostgresEndpoint, objects: ObjectStore) -> AsyncGenerator[PurgeHarness]:
    async with Database(postgres.worker_url) as database:
        yield PurgeHarness(QueueHarness(postgres, database, new_tenant()), objects)


async def test_nothing_is_left_of_a_purged_video_and_everything_of_the_others(purges: PurgeHarness) -> None:
    video_id, other = await purges.processed(), await purges.processed()
    kept_rows, everything = await purges.rows(other), await purges.keys()
    assert set(await purges.rows(video_id)) == {*TABLES, "videos", "jobs", "video_jobs", "search_entries", "clips"}, (
        "a table with a video_id must be purged"
    )
    kept = {key for key in everything if str(other) in key} | {original_path(video_id)}
    logs = await purges.harness.execute(
        "SELECT id FROM process.jobs WHERE video_id = %(id)s AND result IS NULL", id=other
    )
    kept |= {f"logs/pipeline/{log}.json" for (log,) in logs} & everything
    await purges.ask(video_id)
    await purges.ask(video_id)
    assert await purges.harness.queue().claim([JobType.TRANSCODE], 5) != [], "the other's"
    assert not await purges.purger().run_pass()
    assert await purges.rows(video_id) == {}
    assert await purges.rows(other) == kept_rows
    assert await purges.keys() == kept
    assert await purges.told() == [video_id.hex]
    [(_, _, told)] = await purges.harness.events("video.purged")
    assert told["objects"] == 5
    changes = [data for _, _, data in await purges.harness.events("job.changed") if data["video_id"] == str(video_id)]
    assert {each["error_type"] for each in changes if each["status"] == "failed"} == {"Cancelled", "ParentFailed"}
    assert await purges.harness.events("video.failed") == [], "it was not the video's fault"


async def test_a_registered_clip_outlives_its_source_with_its_file(purges: PurgeHarness) -> None:
    video_id, clip_id = await purges.processed(), uuid4()
    job = await purges.harness.enqueue()
    async with purges.harness.database.transaction(purges.harness.tenant_id) as transaction:
        await ClipStore(transaction.connection).add(clip_id, video_id, job.id)
    file = f"videos/clips/{video_id}/{clip_id}.mp4"
    await purges.objects.put_new(file, b"x")
    await purges.ask(video_id)
    assert not await purges.purger().run_pass()
    assert [key for key in await purges.keys() if key.startswith(f"videos/clips/{video_id}/")] == [file]
    assert await purges.rows(video_id) == {"clips": 1}
    assert await purges.told() == [video_id.hex]
    await purges.ask(clip_id)
    assert not await purges.purger().run_pass()
    assert await purges.rows(video_id) == {}
    assert file in await purges.keys(), "it is the clip's original, which belongs to serve"


async def test_a_video_that_nobody_knows_is_purged_at_once(purges: PurgeHarness) -> None:
    """Whoever waits for all planes must not wait for ever."""
    video_id = uuid4()
    await purges.ask(video_id)
    await purges.purger().run_pass()
    assert await purges.told() == [video_id.hex]


@pytest.mark.parametrize("step", ["note_jobs", "delete_some", "delete_rest", "postpone", "finish"])
async def test_a_purge_that_was_killed_goes_on(
    purges: PurgeHarness, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    video_id = await purges.processed()
    await purges.ask(video_id)
    whole = getattr(PurgeStore, step)

    async def dies(*arguments: Any) -> Any:
        await whole(*arguments)
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(PurgeStore, step, dies)
        await purges.purger().run_pass()
    assert await purges.told() == []
    await purges.make_due()
    await purges.purger().run_pass()
    assert await purges.rows(video_id) == {}
    assert await purges.keys() == {original_path(video_id)}
    assert await purges.told() == [video_id.hex]


async def test_a_worker_at_the_video_can_write_nothing_and_its_late_objects_go(purges: PurgeHarness) -> None:
    video_id = await purges.processed()
    [held] = await purges.harness.queue().claim([JobType.TRANSCODE], 1)
    await purges.ask(video_id)
    assert not await purges.harness.queue().heartbeat(held)
    await purges.purger(second_look=timedelta(hours=1)).run_pass()

    async def effects(transaction: object) -> None:
        raise AssertionError("it holds nothing")

    with pytest.raises(LeaseLost):
        await purges.harness.queue().complete(held, {}, effects)
    late = f"videos/proxy/{video_id}/1/late.m4s"
    await purges.objects.put_new(late, b"x")
    assert await purges.told() == [], "not before the second look"
    await purges.make_due()
    await purges.purger(second_look=timedelta(hours=1)).run_pass()
    assert late not in await purges.keys()
    assert await purges.told() == [], "somebody was still writing"
    await purges.make_due()
    await purges.purger().run_pass()
    assert await purges.told() == [video_id.hex]


async def test_one_that_cannot_be_purged_holds_up_nobody(purges: PurgeHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = await purges.processed(), await purges.processed()
    await purges.ask(first)
    await purges.ask(second)
    whole = ObjectStore.delete_prefix

    async def refuses(store: ObjectStore, prefix: str) -> DeletionResult:
        if str(first) in prefix:
            raise RuntimeError("the store refuses")
        return await whole(store, prefix)

    monkeypatch.setattr(ObjectStore, "delete_prefix", refuses)
    await purges.purger().run_pass()
    assert await purges.told() == [second.hex]


async def test_the_history_of_jobs_that_ended_long_ago_is_forgotten(
    harness: QueueHarness, objects: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "JOBS_AT_ONCE", 2)
    ended = [await harness.enqueue() for _ in range(5)]
    for held in await harness.queue().claim([JobType.TRANSCODE], 5):
        await harness.queue().complete(held, {}, no_effects)
    waiting = await harness.enqueue()
    purger = Purger(harness.database, objects, ProcessSettings(history_kept=timedelta(0)))
    passes = [await purger.delete_history() for _ in range(4)]
    assert passes == [True, True, False, False]
    assert [await harness.history(job.id) for job in ended] == [[]] * 5
    assert (await harness.job(ended[0].id)).status is JobStatus.DONE, "the job itself stays"
    assert len(await harness.history(waiting.id)) == 1

    keeping = Purger(harness.database, objects, ProcessSettings(history_kept=timedelta(days=1)))
    [held] = await harness.queue().claim([JobType.TRANSCODE], 1)
    await harness.queue().complete(held, {}, no_effects)
    assert not await keeping.delete_history()
    assert len(await harness.history(waiting.id)) == 3


async def no_effects(transaction: object) -> None:
    """Only the completion."""
