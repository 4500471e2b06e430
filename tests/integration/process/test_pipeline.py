"""From the event of an upload to a video that can be searched, with everything real, OCR included."""

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
from touchline.kernel import LeaseLost
from touchline.media.engines.model import Box, ReaderName
from touchline.media.sandbox import Sandbox
from touchline.media.vision.readers import installed_folders
from touchline.platform.files import Scratch, open_scratch
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.settings import ObjectsSettings
from touchline.process.intake import add_video
from touchline.process.ocr.rules import OcrChunk, OcrRequest, TextRun
from touchline.process.ocr.store import ReadingStore
from touchline.process.ocr.worker import FramesReplaced, OcrEngines, OcrWorker
from touchline.process.queue.handler import Finished, JobHandler, no_effects
from touchline.process.queue.jobs import (
    Job,
    JobStatus,
    JobType,
    OcrPayload,
    SamplePayload,
    SegmentIndexPayload,
    parse_payload,
)
from touchline.process.queue.rules import failure_of
from touchline.process.queue.worker import JobHandlers
from touchline.process.sampling.rules import Sampling
from touchline.process.sampling.store import FrameStore
from touchline.process.sampling.worker import Sampler
from touchline.process.segments.rules import Detection
from touchline.process.segments.worker import SegmentIndexer
from touchline.process.settings import ProcessSettings
from touchline.process.transcode.worker import PointerWriter, Publisher, Transcoder

from .conftest import QueueHarness, original_path
from .videos import make_captions, make_clip, make_still

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
class Pipeline:
    harness: QueueHarness
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch
    readers: OcrEngines
    clip: Path

    def handlers(self, settings: ProcessSettings = AS_INSTALLED) -> JobHandlers:
        database = self.harness.database
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
        async with self.harness.database.transaction(self.harness.tenant_id) as transaction:
            await add_video(transaction, stored)
        return video_id

    async def claim(self, *types: JobType) -> Job:
        [held] = await self.harness.queue().claim(types or STAGES, 1)
        return held

    async def work(self, held: Job, handler: JobHandler[Any] | None = None, told: list[int] | None = None) -> Finished:
        payload = parse_payload(held.job_type, held.payload)
        report = told.append if told is not None else lambda percent: None
        return await (handler or self.handlers()[JobType(held.job_type)]).work(held, payload, report)

    def ocr(self, readers: OcrEngines | None = None, frames_per_chunk: int = 64) -> OcrWorker:
        database, objects, settings = self.harness.database, self.objects, ProcessSettings()
        return OcrWorker(
            database, objects, self.sandbox, self.scratch, readers or self.readers, settings, frames_per_chunk
        )

    async def sampled(self, original: Path, settings: ProcessSettings = AS_INSTALLED) -> Job:
        """The job to read the pictures of a new video, in hand."""
        video_id = await self.harness.video()
        await self.objects.put_new(original_path(video_id), original)
        await self.harness.enqueue(SamplePayload(video_id=video_id, s3_original_path=original_path(video_id)))
        await self.complete(await self.claim(JobType.SAMPLE), self.handlers(settings)[JobType.SAMPLE])
        return await self.claim(JobType.OCR)

    async def kept(self, times: list[int]) -> UUID:
        """A video whose pictures are listed, though nobody took them."""
        video_id, sampling = await self.harness.video(), Sampling(1, 100, 6000, 3000, 200, len(times))
        async with self.harness.database.transaction(self.harness.tenant_id) as transaction:
            await FrameStore(transaction.connection).replace(video_id, sampling, times)
        return video_id

    async def complete(
        self, held: Job, handler: JobHandler[Any] | None = None, told: list[int] | None = None
    ) -> Finished:
        finished = await self.work(held, handler, told)
        await self.harness.queue().complete(held, finished.result, finished.effects)
        await finished.after_commit()
        return finished

    async def fails(self, held: Job, handler: JobHandler[Any] | None = None) -> Job:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is what the test looks at
            await self.work(held, handler)
        return await self.harness.queue().fail(held, failure_of(raised.value))

    async def ask(self, question: str, video_id: UUID) -> list[tuple[Any, ...]]:
        return await self.harness.execute(question, video_id=video_id)

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
async def pipeline(
    postgres_server: PostgresServer, buckets: Buckets, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Pipeline]:
    folder = tmp_path_factory.mktemp("line")
    async with (
        postgres_server.migrated_database() as postgres,
        Database(postgres.worker_url) as database,
        buckets.bucket() as bucket,
        ObjectStore(bucket, ObjectsSettings()) as objects,
        OcrEngines(sandbox, ReaderName.RAPIDOCR) as readers,
    ):
        with open_scratch(folder / "scratch") as scratch:
            harness = QueueHarness(postgres, database, new_tenant())
            yield Pipeline(harness, objects, sandbox, scratch, readers, make_captions(folder / "captions.mp4"))


@pytest.fixture(autouse=True)
async def quiet(pipeline: Pipeline, done: Done) -> None:
    """What another test left is nobody's business here."""
    await pipeline.harness.execute("UPDATE process.jobs SET run_at = 'infinity' WHERE status = 'queued'")


@pytest.fixture(scope="module")
async def done(pipeline: Pipeline) -> Done:
    owner, told = uuid4(), list[int]()
    video_id = await pipeline.upload(pipeline.clip, owner)
    jobs: list[Job] = []
    for _ in STAGES:
        held = await pipeline.claim()
        jobs.append(held)
        await pipeline.complete(held, told=told if held.job_type is JobType.OCR else None)
    return Done(video_id, owner, jobs, told)


async def test_the_settings_say_how_many_pictures_are_looked_at(pipeline: Pipeline) -> None:
    await pipeline.upload(pipeline.clip)
    transcoder = pipeline.handlers(ProcessSettings(sample_fps=2))[JobType.TRANSCODE]
    await pipeline.complete(await pipeline.claim(JobType.TRANSCODE), transcoder)
    held = await pipeline.claim(JobType.SAMPLE)
    assert held.payload["target_fps"] == 2
    await pipeline.harness.queue().complete(held, {}, no_effects)  # nobody else is to find it


async def test_each_stage_leads_to_the_next_until_the_video_is_ready(pipeline: Pipeline, done: Done) -> None:
    assert [job.job_type for job in done.jobs] == STAGES
    assert await pipeline.status(done.video_id) == "ready"
    assert await pipeline.harness.queue().claim(STAGES, 1) == []
    [(_, _, told)] = await pipeline.harness.events("video.indexed")
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


async def test_the_pictures_are_listed_and_lie_where_the_list_says(pipeline: Pipeline, done: Done) -> None:
    frames = await pipeline.ask(
        "SELECT timestamp_ms, s3_path FROM process.frames WHERE video_id = %(video_id)s ORDER BY 1", done.video_id
    )
    times = [time for time, _ in frames]
    assert {0, 1000, 2000, 3000, 3500, 4000} <= set(times), "every change"
    assert len(times) < 20, "and little more"
    for time, path in frames:
        assert path == f"frames/{done.video_id}/1/{time}.jpg"
        assert (await pipeline.objects.head(path)).content_type == "image/jpeg"


async def test_what_stands_on_the_screen_is_found_with_its_times(pipeline: Pipeline, done: Done) -> None:
    found = {text: (start, end) for text, start, end, *_ in await pipeline.ask(SEGMENTS, done.video_id)}
    assert found["ARS 2-1 CHE"] == (0, 5000)
    assert found["Henrik Dahl"] == found["by @NorthBank #goal"] == (1000, 3500)
    assert [found[f"63:{7 + second:02}"] for second in range(5)] == [
        (second * 1000, second * 1000 + 1000) for second in range(5)
    ]
    for _, _, _, owner, is_team, language, _ in await pipeline.ask(SEGMENTS, done.video_id):
        assert (owner, is_team, language in {"eng", None}) == (done.owner, True, True)
    entities = await pipeline.ask(ENTITIES, done.video_id)
    assert {("mention", "@NorthBank", "northbank", None), ("hashtag", "#goal", "goal", None)} <= set(entities)
    assert ("number", "2-1", "2-1", "score") in entities
    assert ("number", "63:07", "63:07", "clock") in entities


async def test_a_second_index_gives_the_same_rows(pipeline: Pipeline, done: Done) -> None:
    before = await pipeline.ask(EVERYTHING, done.video_id)
    await pipeline.harness.enqueue(SegmentIndexPayload(video_id=done.video_id))
    await pipeline.complete(await pipeline.claim())
    assert await pipeline.ask(EVERYTHING, done.video_id) == before


class Died(Exception):
    """What kills a worker between two chunks."""


async def test_whoever_comes_after_a_death_goes_on_behind_the_last_chunk(pipeline: Pipeline, done: Done) -> None:
    held = await pipeline.sampled(pipeline.clip)
    told: list[int] = []

    def report(percent: int) -> None:
        told.append(percent)
        if len(told) == 2:
            raise Died

    payload = OcrPayload.model_validate(held.payload)
    with pytest.raises(Died):
        await pipeline.ocr(frames_per_chunk=2).work(held, payload, report)
    await pipeline.harness.queue().fail(held, failure_of(Died()))
    await pipeline.harness.make_due()
    again = await pipeline.claim()
    await pipeline.complete(again, pipeline.ocr(frames_per_chunk=2), told)
    assert told == sorted(set(told)), "nothing was read twice"
    [(chunks,)] = await pipeline.ask(
        "SELECT count(DISTINCT chunk_ms) FROM process.detections WHERE video_id = %(video_id)s", held.video_id
    )
    assert chunks == len(told) > 2
    await pipeline.complete(await pipeline.claim())
    texts = "SELECT text, t_start, t_end FROM process.segments WHERE video_id = %(video_id)s ORDER BY 1, 2"
    assert await pipeline.ask(texts, held.video_id) == await pipeline.ask(texts, done.video_id)


async def test_a_stale_reader_writes_nothing(pipeline: Pipeline, tmp_path: Path) -> None:
    frozen = await pipeline.sampled(make_clip(tmp_path / "clip.mp4", seconds=1))
    late = await pipeline.work(frozen)
    await pipeline.harness.expire_leases()
    with pytest.raises(LeaseLost):
        await pipeline.work(frozen)
    with pytest.raises(LeaseLost):
        await pipeline.harness.queue().complete(frozen, late.result, late.effects)
    assert await pipeline.harness.queue().reclaim()
    await pipeline.complete(await pipeline.claim())
    await pipeline.complete(await pipeline.claim())
    assert await pipeline.status(frozen.video_id) == "ready"


async def test_pictures_that_were_taken_anew_are_read_anew(pipeline: Pipeline, tmp_path: Path) -> None:
    held = await pipeline.sampled(make_clip(tmp_path / "clip.mp4", seconds=1))
    finished = await pipeline.work(held)
    await pipeline.harness.enqueue(SamplePayload(video_id=held.video_id, s3_original_path=original_path(held.video_id)))
    await pipeline.complete(await pipeline.claim(JobType.SAMPLE))
    with pytest.raises(FramesReplaced) as raised:
        await pipeline.harness.queue().complete(held, finished.result, finished.effects)
    assert (await pipeline.harness.queue().fail(held, failure_of(raised.value))).status is JobStatus.QUEUED
    await pipeline.harness.make_due()
    await pipeline.complete(await pipeline.claim())
    [(sampling, is_complete)] = await pipeline.ask(
        "SELECT sampling, is_complete FROM process.readings WHERE video_id = %(video_id)s", held.video_id
    )
    assert (sampling, is_complete) == (2, True)
    await pipeline.complete(await pipeline.claim())


async def test_single_pictures_can_be_asked_for(pipeline: Pipeline) -> None:
    video_id = await pipeline.kept([0, 1000, 2000])
    missing = OcrPayload(video_id=video_id, frame_paths=(f"frames/{video_id}/1/77.jpg",))
    await pipeline.harness.enqueue(missing)
    failed = await pipeline.fails(await pipeline.claim())
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, "FramesMissing")
    foreign = OcrPayload(video_id=video_id, frame_paths=(f"frames/{uuid4()}/1",))
    await pipeline.harness.enqueue(foreign)
    failed = await pipeline.fails(await pipeline.claim())
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, "InvalidInput")


@pytest.mark.parametrize(
    ("language", "drawn", "text"),
    [("rus", "MOCKBA", "МОСКВА"), ("ell", "NIKH", "ΝΙΚΗ"), ("xyz", "GOAL", "")],  # noqa: RUF001 - letters of the script
)
async def test_a_script_that_rapidocr_does_not_know_is_read_or_fails_for_good_and_names_its_package(
    language: str, drawn: str, text: str, pipeline: Pipeline, tmp_path: Path
) -> None:
    """Whether its data is installed depends on the machine. Capitals are drawn as the Latin letters that look alike."""
    held = await pipeline.sampled(make_still(tmp_path / "still.mp4", drawn), ProcessSettings(ocr_languages=(language,)))
    if any((folder / f"{language}.traineddata").is_file() for folder in installed_folders()):
        await pipeline.complete(held)
        await pipeline.complete(await pipeline.claim())
        assert [row[0] for row in await pipeline.ask(SEGMENTS, held.video_id)] == [text]
        return
    failed = await pipeline.fails(held)
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, "LanguageMissing")
    assert f"apt-get install tesseract-ocr-{language}" in failed.error.message


@pytest.mark.parametrize(
    ("original", "error"),
    [(None, "OriginalMissing"), (b"somebody wrote something else there", "NotAVideo"), (b"", "NotAVideo")],
)
async def test_an_original_that_is_gone_or_replaced_fails_for_good_and_takes_nothing_away(
    pipeline: Pipeline, original: bytes | None, error: str
) -> None:
    video_id = await pipeline.harness.video()
    if original is not None:
        await pipeline.objects.put_new(original_path(video_id), original)
    await pipeline.harness.enqueue(SamplePayload(video_id=video_id, s3_original_path=original_path(video_id)))
    failed = await pipeline.fails(await pipeline.claim())
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, error)
    assert (await pipeline.objects.list(f"frames/{video_id}")).objects == ()


async def test_one_picture_without_text_is_ready_too(pipeline: Pipeline, tmp_path: Path) -> None:
    held = await pipeline.sampled(make_clip(tmp_path / "one.mp4", pictures=1))
    await pipeline.complete(held)
    await pipeline.complete(await pipeline.claim())
    assert await pipeline.status(held.video_id) == "ready"
    assert await pipeline.ask(SEGMENTS, held.video_id) == []


HOSTILE = [
    "\u05e9\u05dc\u05d5\u05dd #\u05e9\u05dc\u05d5\u05dd",  # right to left
    "\u0645\u0631\u062d\u0628\u0627 \u0663-\u0662",
    "\u65e5\u672c\u4ee3\u8868 \uff03\u30b4\u30fc\u30eb",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 @family",
    "'; DROP TABLE process.segments; --",
    "a" * 2000,
]


async def test_text_of_any_script_and_ten_thousand_regions_are_kept(pipeline: Pipeline) -> None:
    video_id = await pipeline.kept([0, 100])
    many = [
        TextRun(0, 0, Detection(f"word{n % 100}", Box(n % 100 * 60, n // 100 * 30, 50, 20), 0.9)) for n in range(10_000)
    ]
    odd = [TextRun(100, 100, Detection(text, Box(0, n * 40, 50, 20), 0.9)) for n, text in enumerate(HOSTILE)]
    async with pipeline.harness.database.transaction(pipeline.harness.tenant_id) as transaction:
        store = ReadingStore(transaction.connection)
        await store.begin(video_id, OcrRequest("by hand", 1, None))
        assert await store.add(video_id, 1, OcrChunk(0, 100, (*many, *odd)))
        assert await store.complete(video_id, 1)
    await pipeline.harness.enqueue(SegmentIndexPayload(video_id=video_id))
    finished = await pipeline.complete(await pipeline.claim())
    assert finished.result["segments"] == 10_000 + len(HOSTILE)
    texts = {text for text, *_ in await pipeline.ask(SEGMENTS, video_id)}
    assert set(HOSTILE) <= texts
    values = {value for _, value, *_ in await pipeline.ask(ENTITIES, video_id)}
    assert {"#\u05e9\u05dc\u05d5\u05dd", "\uff03\u30b4\u30fc\u30eb", "@family", "\u0663-\u0662"} <= values


async def test_what_is_not_read_yet_waits(pipeline: Pipeline) -> None:
    video_id = await pipeline.kept([0])
    await pipeline.harness.enqueue(SegmentIndexPayload(video_id=video_id))
    failed = await pipeline.fails(await pipeline.claim())
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.QUEUED, "NotReadYet")
    assert await pipeline.status(video_id) == "uploaded"
