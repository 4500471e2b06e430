"""Clips with everything real: from the request in the registry to a video that plays, and every bad end between."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.support import footage
from tests.support.footage import likeness, numbers, originals, pictures
from tests.support.videos import Studio as VideoStudio
from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactType
from touchline.contracts.events.clips import ClipRequested
from touchline.kernel import Principal, Role, SystemClock, TenantId, UserId
from touchline.kernel.errors import LeaseLost
from touchline.kernel.ids import ArtifactHash, new_artifact_hash, new_internal_name, new_playback_id, video_id
from touchline.media.sandbox import Sandbox
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.scratch import Scratch, open_scratch
from touchline.process.clips.worker import ClipCutter
from touchline.process.intake.consumer import Intake, take
from touchline.process.queue.administration import JobAdministration
from touchline.process.queue.handler import Finished
from touchline.process.queue.model import Job, JobStatus, JobType
from touchline.process.queue.payloads import parse_payload
from touchline.process.queue.rules import failure_of
from touchline.process.settings import ProcessSettings
from touchline.process.transcode.pointers import PointerWriter
from touchline.process.transcode.publishing import Publisher
from touchline.process.transcode.worker import Transcoder
from touchline.serve.artifacts import changes
from touchline.serve.artifacts.consumer import VideoEvents
from touchline.serve.artifacts.model import Artifact, JobRun, NewArtifact, Reason, Rendition, Status
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.clips.model import CreatedClip, NewClip, Span
from touchline.serve.clips.service import ClipService
from touchline.serve.registry.model import Identity, NewUpload
from touchline.serve.registry.store import RegistryStore
from touchline.serve.settings import ServeSettings

from .conftest import World, original_path

SIZE = (320, 180)
STEP_MS = 40  # 6 s with 25 pictures a second, each with its number in it
GOOD_DB = 35.0
EVENTS = """
SELECT id, type, version, key, revision, occurred_at, trace, data, sequence FROM platform.waiting_events
 WHERE sequence > %s AND tenant_id = %s ORDER BY sequence, number
"""


@dataclass(slots=True)
class Cutting:
    """A tenant with one video, its registry, and the workers' tools."""

    world: World
    app: Database
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch
    original: Path
    video_id: UUID
    caller: Principal = field(init=False)
    seen: int = 0

    def __post_init__(self) -> None:
        self.caller = Principal(self.world.tenant_id, UserId(uuid4()), Role.EDITOR)

    @property
    def registry(self) -> ClipService:
        return ClipService(self.app, ServeSettings(), SystemClock())

    @property
    def cutter(self) -> ClipCutter:
        return ClipCutter(self.world.database, self.objects, self.sandbox, self.scratch, ProcessSettings())

    async def request(self, start_ms: int, end_ms: int, padding_ms: int = 0) -> CreatedClip:
        """Asked for in the registry, and the events delivered."""
        source = ArtifactHash(self.video_id.hex)
        created = await self.registry.create(self.caller, NewClip(source, start_ms, end_ms, padding_ms))
        await self.deliver()
        return created

    async def deliver(self) -> None:
        """What was announced reaches both planes, in order, until nothing new comes."""
        handlers = (Intake(), VideoEvents(ServeSettings().retention, SystemClock()))
        while events := await self._new_events():
            for event in events:
                for handler, database in zip(handlers, (self.world.database, self.app), strict=True):
                    if event.type in handler.types:
                        async with database.transaction(event.tenant_id) as transaction:
                            await handler.handle(transaction, [event])

    async def _new_events(self) -> list[Event]:
        async with self.world.database.system("test: read events") as transaction:
            rows = await (await transaction.connection.execute(EVENTS, (self.seen, self.world.tenant_id))).fetchall()
        self.seen = rows[-1][-1] if rows else self.seen
        return [self._event(*row) for row in rows]

    def _event(self, event_id: UUID, kind: str, version: int, *rest: Any) -> Event:
        return Event(event_id, kind, version, self.world.tenant_id, *rest)

    async def claim(self, job_type: JobType = JobType.CLIP_GENERATE) -> Job:
        [held] = await self.world.queue().claim([job_type], 1)
        return held

    async def work(self, held: Job) -> Finished:
        payload: Any = parse_payload(held.job_type, held.payload)
        return await self.cutter.work(held, payload, lambda percent: None)

    async def complete(self, held: Job, finished: Finished) -> None:
        await self.world.queue().complete(held, finished.result, finished.effects)

    async def fails(self, held: Job) -> Job:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is what the test looks at
            await self.work(held)
        return await self.world.queue().fail(held, failure_of(raised.value))

    async def transcode(self) -> None:
        held = await self.claim(JobType.TRANSCODE)
        publisher = Publisher(self.world.database, PointerWriter(self.world.database, self.objects))
        transcoder = Transcoder(self.objects, self.sandbox, self.scratch, publisher, ProcessSettings())
        payload: Any = parse_payload(held.job_type, held.payload)
        await self.complete(held, await transcoder.work(held, payload, lambda percent: None))
        await self.deliver()

    async def artifact(self, artifact_hash: ArtifactHash) -> Artifact:
        async with self.app.transaction(self.caller) as transaction:
            found = await ArtifactStore(transaction).find(artifact_hash)
        assert found
        return found

    async def clips(self) -> list[str]:
        return [item.key for item in (await self.objects.list(f"videos/clips/{self.video_id}/")).objects]

    def key(self, created: CreatedClip) -> str:
        return f"videos/clips/{self.video_id}/{video_id(created.clip.artifact_hash)}.mp4"


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return VideoStudio(tmp_path_factory.mktemp("videos")).make(footage.NUMBERED)


@pytest.fixture
async def cutting(
    world: World, objects: ObjectStore, sandbox: Sandbox, numbered: Path, tmp_path: Path
) -> AsyncGenerator[Cutting]:
    async with Database(world.postgres.app_url) as app:
        with open_scratch(tmp_path / "scratch") as scratch:
            original = await world.video()
            cutting = Cutting(world, app, objects, sandbox, scratch, numbered, original)
            await objects.put_new(original_path(original), numbered)
            await registered(cutting)
            yield cutting
            assert [path for path in (tmp_path / "scratch").glob("*/*") if path.name != ".lock"] == [], "left behind"


async def registered(cutting: Cutting) -> None:
    """The source in serve, as it is when it plays."""
    source, now = ArtifactHash(cutting.video_id.hex), SystemClock().now()
    names = new_playback_id(), new_internal_name()
    user_id, tenant_id = cutting.caller.user_id, TenantId(cutting.world.tenant_id)
    identity = Identity(tenant_id, source, *names, ArtifactType.UPLOAD, user_id)
    key, kind = original_path(cutting.video_id), ArtifactType.UPLOAD
    async with cutting.app.transaction(cutting.caller) as transaction:
        await RegistryStore(transaction).add(identity, uuid4(), NewUpload("key", "match.mp4", 1000, "The match"), now)
        new = NewArtifact(source, kind, identity.internal_name, user_id, key, "video/mp4", 1000)
        await ArtifactStore(transaction).add(new, now)
        await ArtifactStore(transaction).move(source, Status.COMPLETING, (Status.REQUESTED,))
        found = await ArtifactStore(transaction).store_original(source)
        assert found
        rendition = Rendition("proxy/index.m3u8", "poster.jpg", 6000, *SIZE)
        await changes.finish(transaction, found, JobRun(uuid4(), 1), rendition, now)
    await cutting.deliver()


def check_pictures(cutting: Cutting, clip: Path, expected: list[int]) -> None:
    shown, original = pictures(clip, SIZE), originals(cutting.original, SIZE)
    assert numbers(shown) == expected
    assert min(likeness(picture, original[n]) for picture, n in zip(shown, expected, strict=True)) > GOOD_DB


async def test_from_the_request_to_a_video_that_plays(cutting: Cutting, tmp_path: Path) -> None:
    created = await cutting.request(1500, 2500, padding_ms=2000)
    held = await cutting.claim()
    assert held.payload == {
        "video_id": str(cutting.video_id),
        "clip_id": str(video_id(created.clip.artifact_hash)),
        "t_start": 1500,
        "t_end": 2500,
        "padding_ms": 2000,
        "s3_original_path": original_path(cutting.video_id),
    }
    await cutting.world.queue().report(held, 40)
    await cutting.deliver()
    clip = created.clip.artifact_hash
    assert ((await cutting.artifact(clip)).status, (await cutting.artifact(clip)).progress_percent) == (
        Status.PROCESSING, 40
    )  # fmt: skip
    finished = await cutting.work(held)
    await cutting.complete(held, finished)
    await cutting.deliver()

    key = cutting.key(created)
    info = await cutting.objects.head(key)
    assert (await cutting.artifact(clip)).size_bytes == info.size_bytes == finished.result["size_bytes"]
    (tmp_path / "clip.mp4").write_bytes(await cutting.objects.get(key))
    check_pictures(cutting, tmp_path / "clip.mp4", [n for n in range(150) if n * STEP_MS < 4500])
    [record] = await cutting.registry.clips(cutting.caller, [clip])
    assert record.shown == Span(0, 113 * STEP_MS)
    rows = await cutting.world.execute("SELECT s3_clip_path, frames, job_id FROM process.clips")
    assert rows == [(key, 113, held.id)]

    await cutting.transcode()
    artifact = await cutting.artifact(clip)
    assert (artifact.status, artifact.duration_ms, artifact.synced) == (Status.READY, 113 * STEP_MS, True)
    jobs = await cutting.world.execute("SELECT job_type, status FROM process.jobs ORDER BY created_at")
    assert jobs == [("clip_generate", "done"), ("transcode", "done")], "the text of a clip is found in its source"


async def test_the_same_clip_twice_is_one_job_and_one_object(cutting: Cutting) -> None:
    first, again = await cutting.request(1000, 2000), await cutting.request(1000, 2000)
    assert first.clip == again.clip
    cutting.seen = 0
    await cutting.deliver()  # the log tells everything once more
    held = await cutting.claim()
    assert await cutting.world.queue().claim(list(JobType), 5) == []
    await cutting.complete(held, await cutting.work(held))
    await cutting.deliver()
    assert (await cutting.request(1000, 2000)).status is Status.PROCESSING
    assert await cutting.clips() == [cutting.key(first)]
    assert await cutting.world.execute("SELECT count(*) FROM process.jobs WHERE job_type = 'clip_generate'") == [(1,)]


async def test_a_worker_that_dies_between_object_and_commit_leaves_a_clip_to_take(cutting: Cutting) -> None:
    created = await cutting.request(1000, 2000)
    dead = await cutting.claim()
    late = await cutting.work(dead)
    [before] = [(await cutting.objects.head(key)).etag for key in await cutting.clips()]
    await cutting.world.expire_leases()
    assert await cutting.world.queue("living").reclaim()
    await cutting.objects.delete(original_path(cutting.video_id))  # it is not needed again
    held = await cutting.claim()
    finished = await cutting.work(held)
    assert finished.result == late.result
    await cutting.complete(held, finished)
    with pytest.raises(LeaseLost):
        await cutting.complete(dead, late)
    assert [(await cutting.objects.head(key)).etag for key in await cutting.clips()] == [before]
    await cutting.deliver()
    assert (await cutting.artifact(created.clip.artifact_hash)).status is Status.PROCESSING
    told = [data["attempt"] for _, _, data in await cutting.world.events("clip.made")]
    assert told == [2]


async def test_two_attempts_at_once_store_one_object(cutting: Cutting) -> None:
    """The slower one finds the object of the quicker when it has cut its own."""
    await cutting.request(1000, 2000)
    held = await cutting.claim()
    payload: Any = parse_payload(held.job_type, held.payload)
    key = (
        await cutting.cutter._make(payload, f"videos/clips/{held.video_id}/{payload.clip_id}.mp4", None, print)
    ).s3_clip_path
    made = await cutting.cutter._make(payload, key, None, lambda percent: None)
    assert (made.s3_clip_path, await cutting.clips()) == (key, [key])


async def test_a_source_that_was_deleted_meanwhile_ends_it_for_good(cutting: Cutting) -> None:
    created = await cutting.request(1000, 2000)
    async with cutting.app.transaction(cutting.caller) as transaction:
        await changes.delete(transaction, ArtifactHash(cutting.video_id.hex), SystemClock().now())
    await cutting.deliver()
    failed = await cutting.fails(await cutting.claim())
    assert failed.error
    assert (failed.status, failed.retry_count, failed.error.type) == (JobStatus.FAILED, 0, "SourceDeleted")
    await cutting.deliver()
    artifact = await cutting.artifact(created.clip.artifact_hash)
    assert artifact.reason
    assert (artifact.status, artifact.reason.code) == (Status.FAILED, "SourceDeleted")
    assert "deleted" in artifact.reason.message
    assert await cutting.clips() == []
    assert await cutting.world.events("video.failed") == [], "a clip says nothing about its source"


async def test_from_the_dead_letters_to_a_clip_that_plays(cutting: Cutting) -> None:
    """Retried while the cause is still there, then when it is gone; cancelled once, and retried after that as well."""
    by_hand, tenant_id = JobAdministration(cutting.world.database), cutting.world.tenant_id
    clip = (await cutting.request(1000, 2000)).clip.artifact_hash
    await cutting.objects.delete(original_path(cutting.video_id))
    dead = await cutting.fails(await cutting.claim())
    await cutting.deliver()
    for _ in range(2):
        await by_hand.retry(tenant_id, dead.id, "anna")
        await cutting.deliver()
        assert (await cutting.artifact(clip)).status is Status.PROCESSING, "at once, before any worker has it"
        dead = await cutting.fails(await cutting.claim())
        await cutting.deliver()
        assert (await cutting.artifact(clip)).status is Status.FAILED

    await cutting.objects.put_new(original_path(cutting.video_id), cutting.original)
    await by_hand.retry(tenant_id, dead.id, "anna")
    held = await cutting.claim()
    await cutting.complete(held, await cutting.work(held))
    await cutting.deliver()
    [(transcode,)] = await cutting.world.execute("SELECT id FROM process.jobs WHERE job_type = 'transcode'")
    await by_hand.cancel(tenant_id, transcode, "anna")
    await cutting.deliver()
    artifact = await cutting.artifact(clip)
    assert artifact.reason
    assert (artifact.status, artifact.reason) == (Status.FAILED, Reason("Cancelled", "cancelled by anna"))
    await by_hand.retry(tenant_id, transcode, "anna")
    await cutting.transcode()
    cutting.seen = 0
    await cutting.deliver()  # the log tells everything once more
    artifact = await cutting.artifact(clip)
    assert (artifact.status, artifact.reason, artifact.progress_percent) == (Status.READY, None, 100)


async def test_an_original_that_is_gone_fails_the_clip_and_it_may_be_asked_for_again(cutting: Cutting) -> None:
    created = await cutting.request(1000, 2000)
    await cutting.objects.delete(original_path(cutting.video_id))
    failed = await cutting.fails(await cutting.claim())
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, "OriginalMissing")
    await cutting.deliver()
    assert (await cutting.artifact(created.clip.artifact_hash)).status is Status.FAILED
    await cutting.objects.put_new(original_path(cutting.video_id), cutting.original)
    again = await cutting.request(1000, 2000)
    held = await cutting.claim()
    await cutting.complete(held, await cutting.work(held))
    assert await cutting.clips() == [cutting.key(again)]


async def test_nothing_is_cut_out_of_an_original_that_was_replaced(cutting: Cutting) -> None:
    """The page shows the video as it was: the moment that was asked for is another one now."""
    digest = "UPDATE process.videos SET original_digest = %(digest)s WHERE video_id = %(id)s"
    await cutting.world.execute(digest, digest="of what was there before", id=cutting.video_id)
    created = await cutting.request(1000, 2000)
    failed = await cutting.fails(await cutting.claim())
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, "OriginalReplaced")
    await cutting.deliver()
    assert (await cutting.artifact(created.clip.artifact_hash)).status is Status.FAILED
    assert await cutting.clips() == []


async def test_a_deleted_clip_is_not_cut_and_makes_room_for_the_same_again(cutting: Cutting) -> None:
    created = await cutting.request(1000, 2000)
    running = await cutting.claim()
    late = await cutting.work(running)
    await cutting.registry.delete(cutting.caller, created.clip.artifact_hash)
    await cutting.deliver()
    assert (await cutting.world.job(running.id)).status is JobStatus.FAILED
    with pytest.raises(LeaseLost):
        await cutting.complete(running, late)
    again = await cutting.request(1000, 2000)
    assert again.clip.artifact_hash != created.clip.artifact_hash
    assert (await cutting.claim()).payload["clip_id"] == str(video_id(again.clip.artifact_hash))
    assert (await cutting.artifact(created.clip.artifact_hash)).status is Status.DELETED


async def test_a_job_of_the_same_range_that_somebody_enqueued_by_hand_is_told(cutting: Cutting) -> None:
    document = {"video_id": str(cutting.video_id), "clip_id": str(uuid4()), "t_start": 1000, "t_end": 2000}
    by_hand = document | {"padding_ms": 0, "s3_original_path": original_path(cutting.video_id)}
    job = await cutting.world.enqueue(parse_payload(JobType.CLIP_GENERATE, by_hand))
    created = await cutting.request(1000, 2000)
    artifact = await cutting.artifact(created.clip.artifact_hash)
    assert artifact.reason
    assert (artifact.status, artifact.reason.code) == (Status.FAILED, "AlreadyExists")
    held = await cutting.claim()
    assert held.id == job.id
    await cutting.complete(held, await cutting.work(held))
    assert await cutting.clips() == [f"videos/clips/{cutting.video_id}/{document['clip_id']}.mp4"]


async def test_something_else_under_the_key_of_a_clip_is_not_taken_for_it(cutting: Cutting) -> None:
    created = await cutting.request(1000, 2000)
    await cutting.objects.put_new(cutting.key(created), b"in the way")
    failed = await cutting.fails(await cutting.claim())
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.QUEUED, "Conflict")


async def test_another_tenant_asks_in_vain(cutting: Cutting) -> None:
    """The wall holds between the planes, too: an event of one tenant reaches no video of another."""
    theirs = TenantId(uuid4())
    asked = ClipRequested(
        artifact_hash=new_artifact_hash(),
        source_hash=cutting.video_id.hex,
        original_key=original_path(cutting.video_id),
        start_ms=0,
        end_ms=1000,
        padding_ms=0,
    )
    now = SystemClock().now()
    event = Event(uuid4(), asked.event_type, 1, theirs, asked.key, 1, now, None, asked.model_dump(mode="json"), 1)
    async with cutting.world.database.transaction(theirs) as transaction:
        await take(transaction, event)
    [(_, _, refused)] = await cutting.world.events("clip.failed")
    assert (refused["artifact_hash"], refused["error_code"]) == (asked.artifact_hash, "SourceDeleted")
    assert await cutting.world.queue().claim(list(JobType), 5) == []
    created = await cutting.request(1000, 2000)
    hidden = {"artifact_hash": created.clip.artifact_hash, "artifact_type": ArtifactType.CLIP, "internal_name": "x"}
    deleted = ArtifactLifecycle(**hidden, user_id=None, status="deleted").model_dump(mode="json")
    foreign = Event(uuid4(), ArtifactLifecycle.event_type, 1, theirs, asked.key, 1, now, None, deleted, 1)
    async with cutting.world.database.transaction(theirs) as transaction:
        await take(transaction, foreign)
    assert (await cutting.claim()).status is JobStatus.PROCESSING
