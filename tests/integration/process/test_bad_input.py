"""What strangers send, through the real stages: a typed end, nothing lost, and the others go on."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import av
import psycopg
import pytest
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream

from touchline.kernel.ids import artifact_hash
from touchline.media.engines.model import Box, TextRegion
from touchline.media.sandbox import Sandbox
from touchline.platform.objects.store import ObjectStore
from touchline.platform.scratch import Scratch, open_scratch
from touchline.process.intake.consumer import take_in
from touchline.process.ocr.model import Chunk, Request, Run
from touchline.process.ocr.rules import kept
from touchline.process.ocr.store import ReadingStore
from touchline.process.queue.handler import Finished
from touchline.process.queue.model import Job, JobStatus, JobType
from touchline.process.queue.payloads import OcrPayload, SegmentIndexPayload, parse_payload
from touchline.process.queue.rules import failure_of
from touchline.process.queue.worker import Handlers
from touchline.process.sampling.model import Sampling
from touchline.process.sampling.store import FrameStore
from touchline.process.sampling.worker import Sampler
from touchline.process.search.service import Question, Search
from touchline.process.segments.worker import SegmentIndexer
from touchline.process.settings import ProcessSettings
from touchline.process.transcode.pointers import PointerWriter
from touchline.process.transcode.publishing import Publisher
from touchline.process.transcode.worker import Transcoder

from .clips import HOURS, make_clip, make_long
from .conftest import World, original_path, until
from .test_intake import stored
from .test_worker import Errand, at_once, is_, working

ADD_JOB = """
INSERT INTO process.jobs (tenant_id, video_id, job_type, payload, unique_key)
VALUES (platform.current_tenant(), %(video_id)s, 'transcode', %(payload)s, '') RETURNING id
"""


@dataclass(frozen=True, slots=True)
class Stages:
    """All but the reading, which other tests look at."""

    world: World
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch

    def handlers(self) -> Handlers:
        database, settings = self.world.database, ProcessSettings()
        publisher = Publisher(database, PointerWriter(database, self.objects))
        return {
            JobType.TRANSCODE: Transcoder(self.objects, self.sandbox, self.scratch, publisher, settings),
            JobType.SAMPLE: Sampler(database, self.objects, self.sandbox, self.scratch, settings),
            JobType.SEGMENT_INDEX: SegmentIndexer(database),
        }

    async def take_in(self, original: Path) -> UUID:
        video_id = uuid4()
        await self.objects.put_new(original_path(video_id), original)
        async with self.world.database.transaction(self.world.tenant_id) as transaction:
            await take_in(transaction, stored(video_id))
        return video_id

    async def done(self, expected: JobType) -> Finished:
        """The next job, through to its end."""
        held = await self.claim(expected)
        finished = await self.work(held)
        await self.world.queue().complete(held, finished.result, finished.effects)
        await finished.afterwards()
        return finished

    async def failed(self, expected: JobType) -> Job:
        held = await self.claim(expected)
        with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is what the test looks at
            await self.work(held)
        return await self.world.queue().fail(held, failure_of(raised.value))

    async def claim(self, expected: JobType) -> Job:
        [held] = await self.world.queue().claim(list(JobType), 1)
        assert held.job_type is expected
        return held

    async def work(self, held: Job) -> Finished:
        payload = parse_payload(held.job_type, held.payload)
        return await self.handlers()[held.job_type].work(held, payload, lambda percent: None)

    async def video(self, video_id: UUID) -> tuple[Any, ...]:
        question = "SELECT status, s3_proxy_path IS NOT NULL, duration_ms FROM process.videos WHERE video_id = %(id)s"
        [row] = await self.world.execute(question, id=video_id)
        return row

    async def keys(self, prefix: str) -> list[str]:
        return [each.key for each in (await self.objects.list(prefix)).objects]


@pytest.fixture
async def stages(world: World, objects: ObjectStore, sandbox: Sandbox, tmp_path: Path) -> AsyncGenerator[Stages]:
    with open_scratch(tmp_path / "scratch") as scratch:
        yield Stages(world, objects, sandbox, scratch)


def wrong_payloads(video_id: UUID) -> list[dict[str, Any]]:
    good = {"video_id": str(video_id), "s3_original_path": original_path(video_id)}
    return [
        good | {"surprise": 1},
        {"video_id": str(video_id)},
        good | {"s3_original_path": original_path(uuid4())},
        good | {"s3_original_path": f"videos/original/{video_id}/../../../etc/passwd"},
        good | {"s3_original_path": 7},
        good | {"s3_original_path": None},
    ]


async def test_payloads_from_psql_that_make_no_sense_fail_at_once_and_hold_up_nobody(world: World) -> None:
    jobs: list[UUID] = []
    for number in range(len(wrong_payloads(uuid4()))):
        video_id = await world.video()
        payload = json.dumps(wrong_payloads(video_id)[number])
        [(job_id,)] = await world.execute(ADD_JOB, video_id=video_id, payload=payload)
        jobs.append(job_id)
    good, errand = await world.enqueue(), Errand(at_once)
    async with working(world, errand):
        await until(lambda: is_(world, good, JobStatus.DONE))
    assert [job.id for job in errand.begun] == [good.id]
    for job_id in jobs:
        job = await world.job(job_id)
        assert job.error
        assert (job.status, job.error.type, job.attempt) == (JobStatus.FAILED, "InvalidInput", 1)
        assert job.error.message.startswith("not a payload of transcode")


@pytest.mark.parametrize("payload", ["{}", "[]", '"text"', "null", '{"video_id": "no id"}', '{"video_id": null}'])
async def test_a_job_that_does_not_name_its_video_cannot_be_made(world: World, payload: str) -> None:
    video_id = await world.video()
    with pytest.raises(psycopg.Error):
        await world.execute(ADD_JOB, video_id=video_id, payload=payload)
    assert await world.execute("SELECT count(*) FROM process.jobs") == [(0,)]


ANOTHER = b"another video"  # that plays as well
REPLACEMENTS = [(None, "OriginalMissing"), (b"a letter", "OriginalReplaced"), (ANOTHER, "OriginalReplaced")]


@pytest.mark.parametrize(("replacement", "error"), REPLACEMENTS)
async def test_an_original_that_goes_between_the_stages_leaves_what_was_made_of_it(
    stages: Stages, tmp_path: Path, replacement: bytes | None, error: str
) -> None:
    """Nor is the text of another video found in this one."""
    video_id = await stages.take_in(make_clip(tmp_path / "clip.mp4", pictures=3))
    await stages.done(JobType.TRANSCODE)
    made = await stages.keys(f"videos/proxy/{video_id}/")
    await stages.objects.delete(original_path(video_id))
    if replacement == ANOTHER:
        await stages.objects.put_new(original_path(video_id), make_clip(tmp_path / "another.mp4", pictures=4))
    elif replacement:
        await stages.objects.put_new(original_path(video_id), replacement)
    failed = await stages.failed(JobType.SAMPLE)
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, error)
    assert (await stages.video(video_id))[:2] == ("failed", True), "it plays"
    assert await stages.keys(f"videos/proxy/{video_id}/") == made
    assert await stages.keys(f"frames/{video_id}/") == []
    assert await stages.world.queue().claim(list(JobType), 1) == [], "no stage follows"
    [(_, _, told)] = await stages.world.events("video.failed")
    assert (told["job_type"], told["error_code"]) == ("sample", error)


async def test_sound_without_pictures_ends_at_the_first_stage(stages: Stages, tmp_path: Path) -> None:
    video_id = await stages.take_in(make_sound(tmp_path / "sound.mp4"))
    failed = await stages.failed(JobType.TRANSCODE)
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, "NoPictures")
    assert (await stages.video(video_id))[:2] == ("failed", False)
    assert await stages.keys(f"videos/proxy/{video_id}/") == []
    assert await stages.world.queue().claim(list(JobType), 1) == [], "no stage follows"
    [(_, _, told)] = await stages.world.events("video.failed")
    assert (told["artifact_hash"], told["error_code"]) == (artifact_hash(video_id), "NoPictures")


async def test_one_picture_is_a_video(stages: Stages, tmp_path: Path) -> None:
    video_id = await stages.take_in(make_clip(tmp_path / "one.mp4", pictures=1))
    await stages.done(JobType.TRANSCODE)
    assert (await stages.video(video_id))[:2] == ("playable", True)
    await stages.done(JobType.SAMPLE)
    held = await stages.claim(JobType.OCR)
    assert held.payload["frame_paths"] == [f"frames/{video_id}/1"]
    assert await stages.keys(f"frames/{video_id}/") == [f"frames/{video_id}/1/0.jpg"]


async def test_six_hours_play_and_are_sampled_as_any_other_video(stages: Stages, tmp_path: Path) -> None:
    """Within the memory and the time that the sandbox gives, whatever stage looks at all of it."""
    video_id = await stages.take_in(make_long(tmp_path / "long.mp4"))
    await stages.done(JobType.TRANSCODE)
    assert await stages.video(video_id) == ("playable", True, HOURS * 3_600_000)
    await stages.done(JobType.SAMPLE)
    times = "SELECT timestamp_ms FROM process.frames WHERE video_id = %(id)s ORDER BY 1"
    changes = [number * 4_000_000 for number in range(6)]
    assert [time for (time,) in await stages.world.execute(times, id=video_id)] == changes
    [(lasts,)] = await stages.world.execute(
        "SELECT duration_ms FROM process.samplings WHERE video_id = %(id)s", id=video_id
    )
    assert lasts == HOURS * 3_600_000


def make_sound(path: Path) -> Path:
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=48_000, layout="mono")
        assert isinstance(stream, AudioStream)
        frame = AudioFrame("fltp", "mono", 1024)
        frame.planes[0].update(bytes(frame.planes[0].buffer_size))
        frame.sample_rate, frame.pts = 48_000, 0
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


SHOWN = {
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd": "\u05e9\u05dc\u05d5\u05dd",  # right to left
    "\u0647\u062f\u0641 \u0631\u0627\u0626\u0639 \u0663-\u0662": "\u0647\u062f\u0641",
    "\u65e5\u672c\u4ee3\u8868": "\u65e5\u672c",
    "\u0e17\u0e35\u0e21\u0e0a\u0e32\u0e15\u0e34": "\u0e17\u0e35\u0e21",
    "go\u200bal\u2060 of \ufeffthe day": "goal",  # zero width
    "turned \u202eenil\u202c around": "turned",  # direction marks
    "bell\x07 and\x00 null\x1b[31m": "null",  # control characters
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 @family": "@family",
    "'; DROP TABLE process.segments; --": "segments",
    "\ud800 lone": "lone",  # half a character
    "word" * 600: "wordword*",
}
UNSEEN = ["\u200b\u200e\u2066", "\x00\x07", " \t\n "]


async def test_text_of_any_script_is_kept_and_found(stages: Stages) -> None:
    world, video_id = stages.world, await stages.world.video()
    payload = OcrPayload(video_id=video_id, frame_paths=(f"frames/{video_id}/1",))
    regions = [
        TextRegion(text, Box(0, number * 40, 400, 30), 0.9, None, 0) for number, text in enumerate([*SHOWN, *UNSEEN])
    ]
    runs = tuple(Run(0, 0, each.detection) for each in kept(regions, payload))
    assert len(runs) == len(SHOWN)
    async with world.database.transaction(world.tenant_id) as transaction:
        await FrameStore(transaction.connection).replace(video_id, Sampling(1, 100, 640, 900, 5000, 1), [0])
        store = ReadingStore(transaction.connection)
        await store.begin(video_id, Request("by hand", 1, None))
        assert await store.add(video_id, 1, Chunk(0, 0, runs))
        assert await store.complete(video_id, 1)
    await world.enqueue(SegmentIndexPayload(video_id=video_id))
    finished = await stages.done(JobType.SEGMENT_INDEX)
    assert finished.result["segments"] == len(SHOWN)
    for text, question in SHOWN.items():
        page = await Search(world.database).page(world.tenant_id, Question(question))
        assert [hit.video_id for hit in page.hits][:1] == [video_id], (text, question)
    assert (await stages.video(video_id))[0] == "ready"
