"""Clips with everything real: from the request in the registry to a video that plays, and every failure in between."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.support import footage
from tests.support.footage import likeness, numbers, originals, pictures
from tests.support.videos import Studio as VideoStudio
from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactType, HoldingReleased
from touchline.contracts.events.videos import ClipRequested
from touchline.contracts.registry import CreatedClip, NewClip, NewUpload, Span
from touchline.kernel import (
    ArtifactHash,
    LeaseLost,
    Principal,
    Role,
    SystemClock,
    TenantId,
    UserId,
    new_artifact_hash,
    video_id,
)
from touchline.media.sandbox import Sandbox
from touchline.platform.files import Scratch, open_scratch
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.process.clips.worker import ClipCutter
from touchline.process.intake import IntakeConsumer, handle_event
from touchline.process.purge.service import Purger as VideoPurger
from touchline.process.queue.handler import Finished
from touchline.process.queue.jobs import Job, JobStatus, JobType, parse_payload
from touchline.process.queue.rules import failure_of
from touchline.process.queue.service import JobAdministration
from touchline.process.settings import ProcessSettings
from touchline.process.transcode.worker import PointerWriter, Publisher, Transcoder
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.consumer import VideoEvents
from touchline.serve.artifacts.rules import Artifact, JobRun, NewArtifact, Reason, Rendition
from touchline.serve.artifacts.service import PlaybackService
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.clips.service import ClipService
from touchline.serve.registry.rules import NewIdentity
from touchline.serve.registry.store import RegistryStore
from touchline.serve.retention.service import PurgeConfirmations, RetentionContext, retention_passes
from touchline.serve.settings import ServeSettings
from touchline.watch.archive.consumer import PurgedVideos

from .conftest import QueueHarness, original_path

SIZE = (320, 180)
STEP_MS = 40  # 6 s with 25 pictures a second, each with its number in it
GOOD_DB = 35.0
EVENTS = """
SELECT id, type, version, key, revision, occurred_at, trace, data, sequence FROM platform.waiting_events
 WHERE sequence > %s AND tenant_id = %s ORDER BY sequence, number
"""


NAMED_COLUMNS = """
SELECT c.relnamespace::regnamespace || '.' || c.relname, a.attname
  FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
 WHERE c.relnamespace IN ('process'::regnamespace, 'serve'::regnamespace) AND c.relkind = 'r'
   AND a.attname IN ('artifact_hash', 'video_id', 'clip_id')
 ORDER BY 1, 2
"""


@dataclass(slots=True)
class ClipHarness:
    """A tenant with one video, its registry, and the workers' tools."""

    harness: QueueHarness
    app: Database
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch
    original: Path
    video_id: UUID
    caller: Principal = field(init=False)
    seen: int = 0

    def __post_init__(self) -> None:
        self.caller = Principal(self.harness.tenant_id, UserId(uuid4()), Role.EDITOR)

    @property
    def registry(self) -> ClipService:
        return ClipService(self.app, ServeSettings(), SystemClock())

    @property
    def cutter(self) -> ClipCutter:
        return ClipCutter(self.harness.database, self.objects, self.sandbox, self.scratch, ProcessSettings())

    async def request(self, start_ms: int, end_ms: int, padding_ms: int = 0) -> CreatedClip:
        """Asked for in the registry, and the events delivered."""
        source = ArtifactHash(self.video_id.hex)
        created = await self.registry.create(self.caller, NewClip(source, start_ms, end_ms, padding_ms))
        await self.deliver()
        return created

    async def deliver(self) -> None:
        """What was announced reaches both planes, in order, until nothing new comes."""
        serve = (VideoEvents(SystemClock()), PurgeConfirmations(), PurgedVideos())
        handlers = [(IntakeConsumer(), self.harness.database), *((handler, self.app) for handler in serve)]
        while events := await self._new_events():
            for event in events:
                for handler, database in handlers:
                    if event.type in handler.types:
                        async with database.transaction(event.tenant_id) as transaction:
                            await handler.handle(transaction, [event])

    async def _new_events(self) -> list[Event]:
        async with self.harness.database.system("test: read events") as transaction:
            rows = await (await transaction.connection.execute(EVENTS, (self.seen, self.harness.tenant_id))).fetchall()
        self.seen = rows[-1][-1] if rows else self.seen
        return [self._event(*row) for row in rows]

    def _event(self, event_id: UUID, kind: str, version: int, *rest: Any) -> Event:
        return Event(event_id, kind, version, self.harness.tenant_id, *rest)

    async def claim(self, job_type: JobType = JobType.CLIP_GENERATE) -> Job:
        [held] = await self.harness.queue().claim([job_type], 1)
        return held

    async def work(self, held: Job) -> Finished:
        payload: Any = parse_payload(held.job_type, held.payload)
        return await self.cutter.work(held, payload, lambda percent: None)

    async def complete(self, held: Job, finished: Finished) -> None:
        await self.harness.queue().complete(held, finished.result, finished.effects)

    async def fails(self, held: Job) -> Job:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is what the test looks at
            await self.work(held)
        return await self.harness.queue().fail(held, failure_of(raised.value))

    async def transcode(self) -> None:
        held = await self.claim(JobType.TRANSCODE)
        publisher = Publisher(self.harness.database, PointerWriter(self.harness.database, self.objects))
        transcoder = Transcoder(self.objects, self.sandbox, self.scratch, publisher, ProcessSettings())
        payload: Any = parse_payload(held.job_type, held.payload)
        await self.complete(held, await transcoder.work(held, payload, lambda percent: None))
        await self.deliver()

    async def artifact(self, artifact_hash: ArtifactHash) -> Artifact:
        async with self.app.transaction(self.caller) as transaction:
            found = await ArtifactStore(transaction).find(artifact_hash)
        assert found
        return found

    async def purge(self, artifact_hash: ArtifactHash) -> None:
        """As watch drops a video: nobody undeletes it, and all passes run until its rows are gone."""
        now = SystemClock().now()
        async with self.app.transaction(self.caller) as transaction:
            await transitions.delete(transaction, artifact_hash, now)
            await transitions.purge_due(transaction, artifact_hash, now)
        await self.deliver()
        context = RetentionContext(
            self.app, self.objects, ServeSettings(audit_period=timedelta(0), purge_limit=100), SystemClock()
        )
        videos = VideoPurger(self.harness.database, self.objects, ProcessSettings(purge_second_look=timedelta(0)))
        while "serve.identities.artifact_hash" in await self.artifact_rows(artifact_hash):
            await videos.run_pass()
            await self.deliver()
            for each in retention_passes(context):
                await each.run()
            released = HoldingReleased(artifact_hash=artifact_hash, holder="measure")  # `measure` has a test of its own
            async with self.app.transaction(self.caller) as transaction:
                transaction.announce(released)
            await self.deliver()

    async def artifact_rows(self, artifact_hash: ArtifactHash) -> dict[str, int]:
        """What the tables of both planes have of it, whatever they call it. A clip remembers what it was cut from."""
        found: dict[str, int] = {}
        for table, column in await self.harness.execute(NAMED_COLUMNS):
            value = video_id(artifact_hash) if column in ("video_id", "clip_id") else artifact_hash
            query = f"SELECT count(*) FROM {table} WHERE {column} = %(value)s"  # noqa: S608
            database = self.app if table.startswith("serve.") else self.harness.database
            async with database.transaction(self.caller) as transaction:
                cursor = await transaction.connection.execute(query.encode(), {"value": value})
                [(count,)] = await cursor.fetchall()
            found |= {f"{table}.{column}": count} if count else {}
        return found

    async def keys_of(self, artifact_hash: ArtifactHash) -> list[str]:
        listed = (await self.objects.list("")).objects
        return [item.key for item in listed if str(video_id(artifact_hash)) in item.key]

    async def clips(self) -> list[str]:
        return [item.key for item in (await self.objects.list(f"videos/clips/{self.video_id}/")).objects]

    def key(self, created: CreatedClip) -> str:
        return f"videos/clips/{self.video_id}/{video_id(created.clip.artifact_hash)}.mp4"


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return VideoStudio(tmp_path_factory.mktemp("videos")).make(footage.NUMBERED)


@pytest.fixture
async def clip_jobs(
    harness: QueueHarness, objects: ObjectStore, sandbox: Sandbox, numbered: Path, tmp_path: Path
) -> AsyncGenerator[ClipHarness]:
    async with Database(harness.postgres.app_url) as app:
        with open_scratch(tmp_path / "scratch") as scratch:
            original = await harness.video()
            clip_jobs = ClipHarness(harness, app, objects, sandbox, scratch, numbered, original)
            await objects.put_new(original_path(original), numbered)
            await registered(clip_jobs)
            yield clip_jobs
            assert [path for path in (tmp_path / "scratch").glob("*/*") if path.name != ".lock"] == [], "left behind"


async def registered(clip_jobs: ClipHarness) -> None:
    """The source in serve, as it is when it plays."""
    source, now = ArtifactHash(clip_jobs.video_id.hex), SystemClock().now()
    user_id, retention = clip_jobs.caller.user_id, timedelta(days=30)
    identity = NewIdentity(source, user_id)
    key, kind = original_path(clip_jobs.video_id), ArtifactType.UPLOAD
    async with clip_jobs.app.transaction(clip_jobs.caller) as transaction:
        await RegistryStore(transaction).add(identity, NewUpload("key", "match.mp4", 1000, "The match"), retention, now)
        new = NewArtifact(source, kind, identity.internal_name, user_id, key, "video/mp4", 1000, retention)
        await ArtifactStore(transaction).add(new, now)
        await ArtifactStore(transaction).move(source, ArtifactStatus.COMPLETING, (ArtifactStatus.REQUESTED,))
        found = await ArtifactStore(transaction).store_original(source)
        assert found
        rendition = Rendition("proxy/index.m3u8", "poster.jpg", 6000, *SIZE)
        await transitions.finish(transaction, found, JobRun(uuid4(), 1), rendition, now)
    await clip_jobs.deliver()


def check_pictures(clip_jobs: ClipHarness, clip: Path, expected: list[int]) -> None:
    shown, original = pictures(clip, SIZE), originals(clip_jobs.original, SIZE)
    assert numbers(shown) == expected
    assert min(likeness(picture, original[n]) for picture, n in zip(shown, expected, strict=True)) > GOOD_DB


async def test_from_the_request_to_a_video_that_plays(clip_jobs: ClipHarness, tmp_path: Path) -> None:
    created = await clip_jobs.request(1500, 2500, padding_ms=2000)
    held = await clip_jobs.claim()
    assert held.payload == {
        "video_id": str(clip_jobs.video_id),
        "clip_id": str(video_id(created.clip.artifact_hash)),
        "t_start": 1500,
        "t_end": 2500,
        "padding_ms": 2000,
        "s3_original_path": original_path(clip_jobs.video_id),
    }
    await clip_jobs.harness.queue().report(held, 40)
    await clip_jobs.deliver()
    clip = created.clip.artifact_hash
    assert ((await clip_jobs.artifact(clip)).status, (await clip_jobs.artifact(clip)).progress_percent) == (
        ArtifactStatus.PROCESSING, 40
    )  # fmt: skip
    finished = await clip_jobs.work(held)
    await clip_jobs.complete(held, finished)
    await clip_jobs.deliver()

    key = clip_jobs.key(created)
    info = await clip_jobs.objects.head(key)
    assert (await clip_jobs.artifact(clip)).size_bytes == info.size_bytes == finished.result["size_bytes"]
    (tmp_path / "clip.mp4").write_bytes(await clip_jobs.objects.get(key))
    check_pictures(clip_jobs, tmp_path / "clip.mp4", [n for n in range(150) if n * STEP_MS < 4500])
    [record] = await clip_jobs.registry.clips(clip_jobs.caller, [clip])
    assert record.shown == Span(0, 113 * STEP_MS)
    rows = await clip_jobs.harness.execute("SELECT s3_clip_path, frames, job_id FROM process.clips")
    assert rows == [(key, 113, held.id)]

    await clip_jobs.transcode()
    artifact = await clip_jobs.artifact(clip)
    assert (artifact.status, artifact.duration_ms, artifact.synced) == (ArtifactStatus.READY, 113 * STEP_MS, True)
    jobs = await clip_jobs.harness.execute("SELECT job_type, status FROM process.jobs ORDER BY created_at")
    assert jobs == [("clip_generate", "done"), ("transcode", "done")], "the text of a clip is found in its source"


async def test_a_clip_outlives_its_purged_source_and_plays_until_its_own_purge(clip_jobs: ClipHarness) -> None:
    created = await clip_jobs.request(1500, 2500)
    held = await clip_jobs.claim()
    await clip_jobs.complete(held, await clip_jobs.work(held))
    await clip_jobs.deliver()
    await clip_jobs.transcode()
    source, clip = ArtifactHash(clip_jobs.video_id.hex), created.clip.artifact_hash
    lost = f"videos/clips/{clip_jobs.video_id}/{uuid4()}.mp4"
    await clip_jobs.objects.put_new(lost, b"of a clip that nobody knows")
    await clip_jobs.purge(source)
    assert await clip_jobs.keys_of(source) == [clip_jobs.key(created)], "the clip's file is the clip's own"
    assert await clip_jobs.artifact_rows(source) == {"process.clips.video_id": 1}
    endpoint = await PlaybackService(clip_jobs.app).resolve(created.clip.playback_id)
    assert (await clip_jobs.objects.get(endpoint.manifest_key)).startswith(b"#EXTM3U")
    assert (await clip_jobs.objects.head(endpoint.clip_key)).size_bytes > 0
    await clip_jobs.purge(clip)
    for one in (source, clip):
        assert await clip_jobs.keys_of(one) == []
        assert await clip_jobs.artifact_rows(one) == {}


async def test_the_same_clip_twice_is_one_job_and_one_object(clip_jobs: ClipHarness) -> None:
    first, again = await clip_jobs.request(1000, 2000), await clip_jobs.request(1000, 2000)
    assert first.clip == again.clip
    clip_jobs.seen = 0
    await clip_jobs.deliver()  # the log tells everything once more
    held = await clip_jobs.claim()
    assert await clip_jobs.harness.queue().claim(list(JobType), 5) == []
    await clip_jobs.complete(held, await clip_jobs.work(held))
    await clip_jobs.deliver()
    assert (await clip_jobs.request(1000, 2000)).status is ArtifactStatus.PROCESSING
    assert await clip_jobs.clips() == [clip_jobs.key(first)]
    assert await clip_jobs.harness.execute("SELECT count(*) FROM process.jobs WHERE job_type = 'clip_generate'") == [
        (1,)
    ]


async def test_a_worker_that_dies_between_object_and_commit_leaves_a_clip_to_take(clip_jobs: ClipHarness) -> None:
    created = await clip_jobs.request(1000, 2000)
    dead = await clip_jobs.claim()
    late = await clip_jobs.work(dead)
    [before] = [(await clip_jobs.objects.head(key)).etag for key in await clip_jobs.clips()]
    await clip_jobs.harness.expire_leases()
    assert await clip_jobs.harness.queue("living").reclaim()
    await clip_jobs.objects.delete(original_path(clip_jobs.video_id))  # it is not needed again
    held = await clip_jobs.claim()
    finished = await clip_jobs.work(held)
    assert finished.result == late.result
    await clip_jobs.complete(held, finished)
    with pytest.raises(LeaseLost):
        await clip_jobs.complete(dead, late)
    assert [(await clip_jobs.objects.head(key)).etag for key in await clip_jobs.clips()] == [before]
    await clip_jobs.deliver()
    assert (await clip_jobs.artifact(created.clip.artifact_hash)).status is ArtifactStatus.PROCESSING
    told = [data["attempt"] for _, _, data in await clip_jobs.harness.events("clip.made")]
    assert told == [2]


async def test_two_attempts_at_once_store_one_object(clip_jobs: ClipHarness) -> None:
    """The slower one finds the object of the quicker when it has cut its own."""
    await clip_jobs.request(1000, 2000)
    held = await clip_jobs.claim()
    payload: Any = parse_payload(held.job_type, held.payload)
    key = (
        await clip_jobs.cutter._make(payload, f"videos/clips/{held.video_id}/{payload.clip_id}.mp4", None, print)
    ).s3_clip_path
    made = await clip_jobs.cutter._make(payload, key, None, lambda percent: None)
    assert (made.s3_clip_path, await clip_jobs.clips()) == (key, [key])


async def test_a_source_that_was_deleted_meanwhile_ends_it_for_good(clip_jobs: ClipHarness) -> None:
    created = await clip_jobs.request(1000, 2000)
    async with clip_jobs.app.transaction(clip_jobs.caller) as transaction:
        await transitions.delete(transaction, ArtifactHash(clip_jobs.video_id.hex), SystemClock().now())
    await clip_jobs.deliver()
    failed = await clip_jobs.fails(await clip_jobs.claim())
    assert failed.error
    assert (failed.status, failed.retry_count, failed.error.type) == (JobStatus.FAILED, 0, "SourceDeleted")
    await clip_jobs.deliver()
    artifact = await clip_jobs.artifact(created.clip.artifact_hash)
    assert artifact.reason
    assert (artifact.status, artifact.reason.code) == (ArtifactStatus.FAILED, "SourceDeleted")
    assert "deleted" in artifact.reason.message
    assert await clip_jobs.clips() == []
    assert await clip_jobs.harness.events("video.failed") == [], "a clip says nothing about its source"


async def test_from_the_dead_letters_to_a_clip_that_plays(clip_jobs: ClipHarness) -> None:
    """Retried while the cause is still there, then when it is gone; cancelled once, and retried after that as well."""
    by_hand, tenant_id = JobAdministration(clip_jobs.harness.database), clip_jobs.harness.tenant_id
    clip = (await clip_jobs.request(1000, 2000)).clip.artifact_hash
    await clip_jobs.objects.delete(original_path(clip_jobs.video_id))
    dead = await clip_jobs.fails(await clip_jobs.claim())
    await clip_jobs.deliver()
    for _ in range(2):
        await by_hand.retry(tenant_id, dead.id, "anna")
        await clip_jobs.deliver()
        assert (await clip_jobs.artifact(clip)).status is ArtifactStatus.PROCESSING, "at once, before any worker has it"
        dead = await clip_jobs.fails(await clip_jobs.claim())
        await clip_jobs.deliver()
        assert (await clip_jobs.artifact(clip)).status is ArtifactStatus.FAILED

    await clip_jobs.objects.put_new(original_path(clip_jobs.video_id), clip_jobs.original)
    await by_hand.retry(tenant_id, dead.id, "anna")
    held = await clip_jobs.claim()
    await clip_jobs.complete(held, await clip_jobs.work(held))
    await clip_jobs.deliver()
    [(transcode,)] = await clip_jobs.harness.execute("SELECT id FROM process.jobs WHERE job_type = 'transcode'")
    await by_hand.cancel(tenant_id, transcode, "anna")
    await clip_jobs.deliver()
    artifact = await clip_jobs.artifact(clip)
    assert artifact.reason
    assert (artifact.status, artifact.reason) == (ArtifactStatus.FAILED, Reason("Cancelled", "cancelled by anna"))
    await by_hand.retry(tenant_id, transcode, "anna")
    await clip_jobs.transcode()
    clip_jobs.seen = 0
    await clip_jobs.deliver()  # the log tells everything once more
    artifact = await clip_jobs.artifact(clip)
    assert (artifact.status, artifact.reason, artifact.progress_percent) == (ArtifactStatus.READY, None, 100)


async def test_an_original_that_is_gone_fails_the_clip_and_it_may_be_asked_for_again(clip_jobs: ClipHarness) -> None:
    created = await clip_jobs.request(1000, 2000)
    await clip_jobs.objects.delete(original_path(clip_jobs.video_id))
    failed = await clip_jobs.fails(await clip_jobs.claim())
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, "OriginalMissing")
    await clip_jobs.deliver()
    assert (await clip_jobs.artifact(created.clip.artifact_hash)).status is ArtifactStatus.FAILED
    await clip_jobs.objects.put_new(original_path(clip_jobs.video_id), clip_jobs.original)
    again = await clip_jobs.request(1000, 2000)
    held = await clip_jobs.claim()
    await clip_jobs.complete(held, await clip_jobs.work(held))
    assert await clip_jobs.clips() == [clip_jobs.key(again)]


async def test_nothing_is_cut_out_of_an_original_that_was_replaced(clip_jobs: ClipHarness) -> None:
    """The page shows the video as it was: the moment that was asked for is another one now."""
    digest = "UPDATE process.videos SET original_digest = %(digest)s WHERE video_id = %(id)s"
    await clip_jobs.harness.execute(digest, digest="of what was there before", id=clip_jobs.video_id)
    created = await clip_jobs.request(1000, 2000)
    failed = await clip_jobs.fails(await clip_jobs.claim())
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, "OriginalReplaced")
    await clip_jobs.deliver()
    assert (await clip_jobs.artifact(created.clip.artifact_hash)).status is ArtifactStatus.FAILED
    assert await clip_jobs.clips() == []


async def test_a_deleted_clip_is_not_cut_and_makes_room_for_the_same_again(clip_jobs: ClipHarness) -> None:
    created = await clip_jobs.request(1000, 2000)
    running = await clip_jobs.claim()
    late = await clip_jobs.work(running)
    await clip_jobs.registry.delete(clip_jobs.caller, created.clip.artifact_hash)
    await clip_jobs.deliver()
    assert (await clip_jobs.harness.job(running.id)).status is JobStatus.FAILED
    with pytest.raises(LeaseLost):
        await clip_jobs.complete(running, late)
    again = await clip_jobs.request(1000, 2000)
    assert again.clip.artifact_hash != created.clip.artifact_hash
    assert (await clip_jobs.claim()).payload["clip_id"] == str(video_id(again.clip.artifact_hash))
    assert (await clip_jobs.artifact(created.clip.artifact_hash)).status is ArtifactStatus.DELETED


async def test_a_job_of_the_same_range_that_somebody_enqueued_by_hand_is_told(clip_jobs: ClipHarness) -> None:
    document = {"video_id": str(clip_jobs.video_id), "clip_id": str(uuid4()), "t_start": 1000, "t_end": 2000}
    by_hand = document | {"padding_ms": 0, "s3_original_path": original_path(clip_jobs.video_id)}
    job = await clip_jobs.harness.enqueue(parse_payload(JobType.CLIP_GENERATE, by_hand))
    created = await clip_jobs.request(1000, 2000)
    artifact = await clip_jobs.artifact(created.clip.artifact_hash)
    assert artifact.reason
    assert (artifact.status, artifact.reason.code) == (ArtifactStatus.FAILED, "AlreadyExists")
    held = await clip_jobs.claim()
    assert held.id == job.id
    await clip_jobs.complete(held, await clip_jobs.work(held))
    assert await clip_jobs.clips() == [f"videos/clips/{clip_jobs.video_id}/{document['clip_id']}.mp4"]


async def test_something_else_under_the_key_of_a_clip_is_not_taken_for_it(clip_jobs: ClipHarness) -> None:
    created = await clip_jobs.request(1000, 2000)
    await clip_jobs.objects.put_new(clip_jobs.key(created), b"in the way")
    failed = await clip_jobs.fails(await clip_jobs.claim())
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.QUEUED, "Conflict")


async def test_another_tenant_asks_in_vain(clip_jobs: ClipHarness) -> None:
    """The wall holds between the planes, too: an event of one tenant reaches no video of another."""
    theirs = TenantId(uuid4())
    asked = ClipRequested(
        artifact_hash=new_artifact_hash(),
        source_hash=clip_jobs.video_id.hex,
        original_key=original_path(clip_jobs.video_id),
        start_ms=0,
        end_ms=1000,
        padding_ms=0,
    )
    now = SystemClock().now()
    event = Event(uuid4(), asked.event_type, 1, theirs, asked.key, 1, now, None, asked.model_dump(mode="json"), 1)
    async with clip_jobs.harness.database.transaction(theirs) as transaction:
        await handle_event(transaction, event)
    [(_, _, refused)] = await clip_jobs.harness.events("clip.failed")
    assert (refused["artifact_hash"], refused["error_code"]) == (asked.artifact_hash, "SourceDeleted")
    assert await clip_jobs.harness.queue().claim(list(JobType), 5) == []
    created = await clip_jobs.request(1000, 2000)
    hidden = {"artifact_hash": created.clip.artifact_hash, "artifact_type": ArtifactType.CLIP, "internal_name": "x"}
    deleted = ArtifactLifecycle(**hidden, user_id=None, status="deleted").model_dump(mode="json")
    foreign = Event(uuid4(), ArtifactLifecycle.event_type, 1, theirs, asked.key, 1, now, None, deleted, 1)
    async with clip_jobs.harness.database.transaction(theirs) as transaction:
        await handle_event(transaction, foreign)
    assert (await clip_jobs.claim()).status is JobStatus.PROCESSING
