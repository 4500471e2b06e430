"""From the event of an upload to a video that can be searched, with everything real, the reader included."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.support.buckets import Buckets
from tests.support.events import new_tenant
from tests.support.postgres import PostgresServer
from touchline.contracts.events.artifacts import OriginalStored
from touchline.kernel.errors import LeaseLost
from touchline.media.engines.model import Box, ReaderName
from touchline.media.sandbox import Sandbox
from touchline.platform.objects.settings import ObjectsSettings
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.scratch import Scratch, open_scratch
from touchline.process.intake.consumer import take_in
from touchline.process.ocr.model import Chunk, Request, Run
from touchline.process.ocr.readers import Readers
from touchline.process.ocr.store import ReadingStore
from touchline.process.ocr.worker import FramesReplaced, OcrWorker
from touchline.process.queue.handler import Finished, Handler, no_effects
from touchline.process.queue.model import Job, JobStatus, JobType
from touchline.process.queue.payloads import OcrPayload, SamplePayload, SegmentIndexPayload, parse_payload
from touchline.process.queue.rules import failure_of
from touchline.process.queue.worker import Handlers
from touchline.process.sampling.model import Sampling
from touchline.process.sampling.store import FrameStore
from touchline.process.sampling.worker import Sampler
from touchline.process.segments.model import Detection
from touchline.process.segments.worker import SegmentIndexer
from touchline.process.settings import ProcessSettings
from touchline.process.transcode.pointers import PointerWriter
from touchline.process.transcode.publishing import Publisher
from touchline.process.transcode.worker import Transcoder

from .clips import make_captions, make_clip
from .conftest import World, original_path

AS_INSTALLED = ProcessSettings()
STAGES = [JobType.TRANSCODE, JobType.SAMPLE, JobType.OCR, JobType.SEGMENT_INDEX]
SEGMENTS = """
SELECT text, t_start, t_end, owner_id, team_id = tenant_id, language, bounding_box ->> 'y' FROM process.segments
 WHERE video_id = %(video_id)s ORDER BY t_start, text
"""
ENTITIES = """
SELECT e.entity_type, e.value, e.normalized_value, e.number_kind FROM process.entities AS e
 WHERE video_id = %(video_id)s ORDER BY e.t_start, e.value
"""
EVERYTHING = (
    "SELECT s.id, s.text, s.t_start, s.t_end FROM process.segments AS s WHERE video_id = %(video_id)s ORDER BY 1"
)


@dataclass(frozen=True, slots=True)
class Line:
    world: World
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch
    readers: Readers
    clip: Path

    def handlers(self, settings: ProcessSettings = AS_INSTALLED) -> Handlers:
        database = self.world.database
        publisher = Publisher(database, PointerWriter(database, self.objects))
        return {
            JobType.TRANSCODE: Transcoder(self.objects, self.sandbox, self.scratch, publisher, settings),
            JobType.SAMPLE: Sampler(database, self.objects, self.sandbox, self.scratch, settings),
            JobType.OCR: self.ocr(),
            JobType.SEGMENT_INDEX: SegmentIndexer(database),
        }

    async def upload(self, original: Path | bytes, owner: UUID | None = None) -> UUID:
        video_id = uuid4()
        await self.objects.put_new(original_path(video_id), original)
        stored = OriginalStored(
            artifact_hash=video_id.hex,
            original_key=original_path(video_id),
            size_bytes=1,
            content_type="video/mp4",
            user_id=owner,
        )
        async with self.world.database.transaction(self.world.tenant_id) as transaction:
            await take_in(transaction, stored)
        return video_id

    async def claim(self, *types: JobType) -> Job:
        [held] = await self.world.queue().claim(types or STAGES, 1)
        return held

    async def work(self, held: Job, handler: Handler[Any] | None = None, told: list[int] | None = None) -> Finished:
        payload = parse_payload(held.job_type, held.payload)
        tell = told.append if told is not None else lambda percent: None
        return await (handler or self.handlers()[held.job_type]).work(held, payload, tell)

    def ocr(self, readers: Readers | None = None, frames_per_chunk: int = 64) -> OcrWorker:
        database, objects, settings = self.world.database, self.objects, ProcessSettings()
        return OcrWorker(
            database, objects, self.sandbox, self.scratch, readers or self.readers, settings, frames_per_chunk
        )

    async def sampled(self, original: Path) -> Job:
        """The job to read the pictures of a new video, in hand."""
        video_id = await self.world.video()
        await self.objects.put_new(original_path(video_id), original)
        await self.world.enqueue(SamplePayload(video_id=video_id, s3_original_path=original_path(video_id)))
        await self.complete(await self.claim(JobType.SAMPLE))
        return await self.claim(JobType.OCR)

    async def kept(self, times: list[int]) -> UUID:
        """A video whose pictures are listed, though nobody took them."""
        video_id, sampling = await self.world.video(), Sampling(1, 100, 6000, 3000, 200, len(times))
        async with self.world.database.transaction(self.world.tenant_id) as transaction:
            await FrameStore(transaction.connection).replace(video_id, sampling, times)
        return video_id

    async def complete(self, held: Job, handler: Handler[Any] | None = None, told: list[int] | None = None) -> Finished:
        finished = await self.work(held, handler, told)
        await self.world.queue().complete(held, finished.result, finished.effects)
        await finished.afterwards()
        return finished

    async def fails(self, held: Job, handler: Handler[Any] | None = None) -> Job:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is what the test looks at
            await self.work(held, handler)
        return await self.world.queue().fail(held, failure_of(raised.value))

    async def ask(self, question: str, video_id: UUID) -> list[tuple[Any, ...]]:
        return await self.world.execute(question, video_id=video_id)

    async def status(self, video_id: UUID) -> str:
        [(status,)] = await self.ask("SELECT status FROM process.videos WHERE video_id = %(video_id)s", video_id)
        return status


@dataclass(frozen=True, slots=True)
class Done:
    video_id: UUID
    owner: UUID
    jobs: list[Job]
    told: list[int]  # while it was read


@pytest.fixture(scope="module")
async def line(
    postgres_server: PostgresServer, buckets: Buckets, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Line]:
    folder = tmp_path_factory.mktemp("line")
    async with (
        postgres_server.migrated_database() as postgres,
        Database(postgres.worker_url) as database,
        buckets.bucket() as bucket,
        ObjectStore(bucket, ObjectsSettings()) as objects,
        Readers(sandbox, ReaderName.RAPIDOCR) as readers,
    ):
        with open_scratch(folder / "scratch") as scratch:
            world = World(postgres, database, new_tenant())
            yield Line(world, objects, sandbox, scratch, readers, make_captions(folder / "captions.mp4"))


@pytest.fixture(autouse=True)
async def quiet(line: Line, done: Done) -> None:
    """What another test left is nobody's business here."""
    await line.world.execute("UPDATE process.jobs SET run_at = 'infinity' WHERE status = 'queued'")


@pytest.fixture(scope="module")
async def done(line: Line) -> Done:
    owner, told = uuid4(), list[int]()
    video_id = await line.upload(line.clip, owner)
    jobs: list[Job] = []
    for _ in STAGES:
        held = await line.claim()
        jobs.append(held)
        await line.complete(held, told=told if held.job_type is JobType.OCR else None)
    return Done(video_id, owner, jobs, told)


async def test_the_settings_say_how_many_pictures_are_looked_at(line: Line) -> None:
    await line.upload(line.clip)
    transcoder = line.handlers(ProcessSettings(sample_fps=2))[JobType.TRANSCODE]
    await line.complete(await line.claim(JobType.TRANSCODE), transcoder)
    held = await line.claim(JobType.SAMPLE)
    assert held.payload["target_fps"] == 2
    await line.world.queue().complete(held, {}, no_effects)  # nobody else is to find it


async def test_each_stage_leads_to_the_next_until_the_video_is_ready(line: Line, done: Done) -> None:
    assert [job.job_type for job in done.jobs] == STAGES
    assert await line.status(done.video_id) == "ready"
    assert await line.world.queue().claim(STAGES, 1) == []
    [(_, _, told)] = await line.world.events("video.indexed")
    assert told["artifact_hash"] == done.video_id.hex
    assert (told["segments"], told["entities"]) == (8, 8)
    assert dict(done.jobs[1].payload) == {
        "video_id": str(done.video_id),
        "s3_original_path": original_path(done.video_id),
        "target_fps": 10,
        "dedupe_threshold": 0.95,
    }
    assert done.jobs[2].payload["frame_paths"] == [f"frames/{done.video_id}/1"]
    assert done.told[-1] == 99


async def test_the_pictures_are_listed_and_lie_where_the_list_says(line: Line, done: Done) -> None:
    frames = await line.ask(
        "SELECT timestamp_ms, s3_path FROM process.frames WHERE video_id = %(video_id)s ORDER BY 1", done.video_id
    )
    times = [time for time, _ in frames]
    assert {0, 1000, 2000, 3000, 3500, 4000} <= set(times), "every change"
    assert len(times) < 20, "and little more"
    for time, path in frames:
        assert path == f"frames/{done.video_id}/1/{time}.jpg"
        assert (await line.objects.head(path)).content_type == "image/jpeg"


async def test_what_stands_on_the_screen_is_found_with_its_times(line: Line, done: Done) -> None:
    found = {text: (start, end) for text, start, end, *_ in await line.ask(SEGMENTS, done.video_id)}
    assert found["ARS 2-1 CHE"] == (0, 5000)
    assert found["Henrik Dahl"] == found["by @NorthBank #goal"] == (1000, 3500)
    assert [found[f"63:{7 + second:02}"] for second in range(5)] == [
        (second * 1000, second * 1000 + 1000) for second in range(5)
    ]
    for _, _, _, owner, is_team, language, _ in await line.ask(SEGMENTS, done.video_id):
        assert (owner, is_team, language in {"eng", None}) == (done.owner, True, True)
    entities = await line.ask(ENTITIES, done.video_id)
    assert {("mention", "@NorthBank", "northbank", None), ("hashtag", "#goal", "goal", None)} <= set(entities)
    assert ("number", "2-1", "2-1", "score") in entities
    assert ("number", "63:07", "63:07", "clock") in entities


async def test_a_second_index_gives_the_same_rows(line: Line, done: Done) -> None:
    before = await line.ask(EVERYTHING, done.video_id)
    await line.world.enqueue(SegmentIndexPayload(video_id=done.video_id))
    await line.complete(await line.claim())
    assert await line.ask(EVERYTHING, done.video_id) == before


class Died(Exception):
    """What kills a worker between two chunks."""


async def test_whoever_comes_after_a_death_goes_on_behind_the_last_chunk(line: Line, done: Done) -> None:
    held = await line.sampled(line.clip)
    told: list[int] = []

    def tell(percent: int) -> None:
        told.append(percent)
        if len(told) == 2:
            raise Died

    payload = OcrPayload.model_validate(held.payload)
    with pytest.raises(Died):
        await line.ocr(frames_per_chunk=2).work(held, payload, tell)
    await line.world.queue().fail(held, failure_of(Died()))
    await line.world.make_due()
    again = await line.claim()
    await line.complete(again, line.ocr(frames_per_chunk=2), told)
    assert told == sorted(set(told)), "nothing was read twice"
    [(chunks,)] = await line.ask(
        "SELECT count(DISTINCT chunk_ms) FROM process.detections WHERE video_id = %(video_id)s", held.video_id
    )
    assert chunks == len(told) > 2
    await line.complete(await line.claim())
    texts = "SELECT text, t_start, t_end FROM process.segments WHERE video_id = %(video_id)s ORDER BY 1, 2"
    assert await line.ask(texts, held.video_id) == await line.ask(texts, done.video_id)


async def test_a_stale_reader_writes_nothing(line: Line, tmp_path: Path) -> None:
    frozen = await line.sampled(make_clip(tmp_path / "clip.mp4", seconds=1))
    late = await line.work(frozen)
    await line.world.expire_leases()
    with pytest.raises(LeaseLost):
        await line.work(frozen)
    with pytest.raises(LeaseLost):
        await line.world.queue().complete(frozen, late.result, late.effects)
    assert await line.world.queue().reclaim()
    await line.complete(await line.claim())
    await line.complete(await line.claim())
    assert await line.status(frozen.video_id) == "ready"


async def test_pictures_that_were_taken_anew_are_read_anew(line: Line, tmp_path: Path) -> None:
    held = await line.sampled(make_clip(tmp_path / "clip.mp4", seconds=1))
    finished = await line.work(held)
    await line.world.enqueue(SamplePayload(video_id=held.video_id, s3_original_path=original_path(held.video_id)))
    await line.complete(await line.claim(JobType.SAMPLE))
    with pytest.raises(FramesReplaced) as raised:
        await line.world.queue().complete(held, finished.result, finished.effects)
    assert (await line.world.queue().fail(held, failure_of(raised.value))).status is JobStatus.QUEUED
    await line.world.make_due()
    await line.complete(await line.claim())
    [(sampling, is_complete)] = await line.ask(
        "SELECT sampling, is_complete FROM process.readings WHERE video_id = %(video_id)s", held.video_id
    )
    assert (sampling, is_complete) == (2, True)
    await line.complete(await line.claim())


async def test_single_pictures_can_be_asked_for(line: Line) -> None:
    video_id = await line.kept([0, 1000, 2000])
    missing = OcrPayload(video_id=video_id, frame_paths=(f"frames/{video_id}/1/77.jpg",))
    await line.world.enqueue(missing)
    failed = await line.fails(await line.claim())
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, "FramesMissing")
    foreign = OcrPayload(video_id=video_id, frame_paths=(f"frames/{uuid4()}/1",))
    await line.world.enqueue(foreign)
    failed = await line.fails(await line.claim())
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, "InvalidInput")


async def test_a_language_that_is_not_installed_fails_for_good_and_names_its_package(line: Line) -> None:
    video_id = await line.kept([0])
    await line.world.enqueue(OcrPayload(video_id=video_id, frame_paths=(f"frames/{video_id}/1",), languages=("xyz",)))
    async with Readers(line.sandbox, ReaderName.TESSERACT) as tesseract:
        failed = await line.fails(await line.claim(), line.ocr(tesseract))
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, "LanguageMissing")
    assert "apt-get install tesseract-ocr-xyz" in failed.error.message


@pytest.mark.parametrize(
    ("original", "error"),
    [(None, "OriginalMissing"), (b"somebody wrote something else there", "NotAVideo"), (b"", "NotAVideo")],
)
async def test_an_original_that_is_gone_or_replaced_fails_for_good_and_takes_nothing_away(
    line: Line, original: bytes | None, error: str
) -> None:
    video_id = await line.world.video()
    if original is not None:
        await line.objects.put_new(original_path(video_id), original)
    await line.world.enqueue(SamplePayload(video_id=video_id, s3_original_path=original_path(video_id)))
    failed = await line.fails(await line.claim())
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, error)
    assert (await line.objects.list(f"frames/{video_id}")).objects == ()


async def test_one_picture_without_text_is_ready_too(line: Line, tmp_path: Path) -> None:
    held = await line.sampled(make_clip(tmp_path / "one.mp4", pictures=1))
    await line.complete(held)
    await line.complete(await line.claim())
    assert await line.status(held.video_id) == "ready"
    assert await line.ask(SEGMENTS, held.video_id) == []


HOSTILE = [
    "\u05e9\u05dc\u05d5\u05dd #\u05e9\u05dc\u05d5\u05dd",  # right to left
    "\u0645\u0631\u062d\u0628\u0627 \u0663-\u0662",
    "\u65e5\u672c\u4ee3\u8868 \uff03\u30b4\u30fc\u30eb",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 @family",
    "'; DROP TABLE process.segments; --",
    "a" * 2000,
]


async def test_text_of_any_script_and_ten_thousand_regions_are_kept(line: Line) -> None:
    video_id = await line.kept([0, 100])
    many = [
        Run(0, 0, Detection(f"word{n % 100}", Box(n % 100 * 60, n // 100 * 30, 50, 20), 0.9)) for n in range(10_000)
    ]
    odd = [Run(100, 100, Detection(text, Box(0, n * 40, 50, 20), 0.9)) for n, text in enumerate(HOSTILE)]
    async with line.world.database.transaction(line.world.tenant_id) as transaction:
        store = ReadingStore(transaction.connection)
        await store.begin(video_id, Request("by hand", 1, None))
        assert await store.add(video_id, 1, Chunk(0, 100, (*many, *odd)))
        assert await store.complete(video_id, 1)
    await line.world.enqueue(SegmentIndexPayload(video_id=video_id))
    finished = await line.complete(await line.claim())
    assert finished.result["segments"] == 10_000 + len(HOSTILE)
    texts = {text for text, *_ in await line.ask(SEGMENTS, video_id)}
    assert set(HOSTILE) <= texts
    values = {value for _, value, *_ in await line.ask(ENTITIES, video_id)}
    assert {"#\u05e9\u05dc\u05d5\u05dd", "\uff03\u30b4\u30fc\u30eb", "@family", "\u0663-\u0662"} <= values


async def test_what_is_not_read_yet_waits(line: Line) -> None:
    video_id = await line.kept([0])
    await line.world.enqueue(SegmentIndexPayload(video_id=video_id))
    failed = await line.fails(await line.claim())
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.QUEUED, "NotReadYet")
    assert await line.status(video_id) == "uploaded"
