"""Hostile videos, payloads and rows through the real stages: a typed failure, nothing lost, and other jobs continue."""

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
from psycopg import sql

from touchline.kernel import artifact_hash
from touchline.media.engines.model import Box, TextRegion
from touchline.media.sandbox import Sandbox
from touchline.platform.files import Scratch, open_scratch
from touchline.platform.objects.store import ObjectStore
from touchline.process.intake import add_video
from touchline.process.ocr.rules import OcrChunk, OcrRequest, TextRun, confident_texts
from touchline.process.ocr.store import ReadingStore
from touchline.process.queue.handler import Finished, ReportProgress
from touchline.process.queue.jobs import (
    Job,
    JobStatus,
    JobType,
    OcrPayload,
    SegmentIndexPayload,
    TranscodePayload,
    parse_payload,
)
from touchline.process.queue.queries import (
    JobFilter,
    JobWindow,
    find_job_of_any_tenant,
    jobs_of_videos,
    list_jobs_of_all_tenants,
    update_gauges,
)
from touchline.process.queue.rules import failure_of
from touchline.process.queue.worker import JobHandlers
from touchline.process.sampling.rules import Sampling
from touchline.process.sampling.store import FrameStore
from touchline.process.sampling.worker import Sampler
from touchline.process.search.service import SearchRequest, VideoSearch
from touchline.process.segments.worker import SegmentIndexer
from touchline.process.settings import ProcessSettings
from touchline.process.transcode.worker import PointerWriter, Publisher, Transcoder

from .conftest import QueueHarness, original_path, until
from .test_consumers import stored
from .test_worker import SETTINGS, ScriptedHandler, finish_at_once, has_status, running_worker
from .videos import HOURS, make_clip, make_long

ADD_JOB = """
INSERT INTO process.jobs (tenant_id, video_id, job_type, payload, unique_key)
VALUES (platform.current_tenant(), %(video_id)s, 'transcode', %(payload)s, '') RETURNING id
"""


@dataclass(frozen=True, slots=True)
class StageHarness:
    """All but the reading, which other tests look at."""

    harness: QueueHarness
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch

    def handlers(self) -> JobHandlers:
        database, settings = self.harness.database, ProcessSettings()
        publisher = Publisher(database, PointerWriter(database, self.objects))
        return {
            JobType.TRANSCODE: Transcoder(self.objects, self.sandbox, self.scratch, publisher, settings),
            JobType.SAMPLE: Sampler(database, self.objects, self.sandbox, self.scratch, settings),
            JobType.SEGMENT_INDEX: SegmentIndexer(database),
        }

    async def take_in(self, original: Path) -> UUID:
        video_id = uuid4()
        await self.objects.put_new(original_path(video_id), original)
        async with self.harness.database.transaction(self.harness.tenant_id) as transaction:
            await add_video(transaction, stored(video_id))
        return video_id

    async def done(self, expected: JobType) -> Finished:
        """The next job, through to its end."""
        held = await self.claim(expected)
        finished = await self.work(held)
        await self.harness.queue().complete(held, finished.result, finished.effects)
        await finished.after_commit()
        return finished

    async def failed(self, expected: JobType) -> Job:
        held = await self.claim(expected)
        with pytest.raises(Exception) as raised:  # noqa: PT011 - which one is what the test looks at
            await self.work(held)
        return await self.harness.queue().fail(held, failure_of(raised.value))

    async def claim(self, expected: JobType) -> Job:
        [held] = await self.harness.queue().claim(list(JobType), 1)
        assert held.job_type is expected
        return held

    async def work(self, held: Job) -> Finished:
        payload = parse_payload(held.job_type, held.payload)
        return await self.handlers()[JobType(held.job_type)].work(held, payload, lambda percent: None)

    async def video(self, video_id: UUID) -> tuple[Any, ...]:
        question = "SELECT status, s3_proxy_path IS NOT NULL, duration_ms FROM process.videos WHERE video_id = %(id)s"
        [row] = await self.harness.execute(question, id=video_id)
        return row

    async def keys(self, prefix: str) -> list[str]:
        return [each.key for each in (await self.objects.list(prefix)).objects]


@pytest.fixture
async def stages(
    harness: QueueHarness, objects: ObjectStore, sandbox: Sandbox, tmp_path: Path
) -> AsyncGenerator[StageHarness]:
    with open_scratch(tmp_path / "scratch") as scratch:
        yield StageHarness(harness, objects, sandbox, scratch)


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


async def test_payloads_from_psql_that_make_no_sense_fail_at_once_and_hold_up_nobody(harness: QueueHarness) -> None:
    jobs: list[UUID] = []
    for number in range(len(wrong_payloads(uuid4()))):
        video_id = await harness.video()
        payload = json.dumps(wrong_payloads(video_id)[number])
        [(job_id,)] = await harness.execute(ADD_JOB, video_id=video_id, payload=payload)
        jobs.append(job_id)
    good, handler = await harness.enqueue(), ScriptedHandler(finish_at_once)
    async with running_worker(harness, handler):
        await until(lambda: has_status(harness, good, JobStatus.DONE))
    assert [job.id for job in handler.begun] == [good.id]
    for job_id in jobs:
        job = await harness.job(job_id)
        assert job.error
        assert (job.status, job.error.type, job.attempt) == (JobStatus.FAILED, "InvalidInput", 1)
        assert job.error.message.startswith("invalid payload for a transcode job")


@pytest.mark.parametrize("payload", ["{}", "[]", '"text"', "null", '{"video_id": "no id"}', '{"video_id": null}'])
async def test_a_job_that_does_not_name_its_video_cannot_be_made(harness: QueueHarness, payload: str) -> None:
    video_id = await harness.video()
    with pytest.raises(psycopg.Error):
        await harness.execute(ADD_JOB, video_id=video_id, payload=payload)
    assert await harness.execute("SELECT count(*) FROM process.jobs") == [(0,)]


ANOTHER = b"another video"  # that plays as well
REPLACEMENTS = [(None, "OriginalMissing"), (b"a letter", "OriginalReplaced"), (ANOTHER, "OriginalReplaced")]


@pytest.mark.parametrize(("replacement", "error"), REPLACEMENTS)
async def test_an_original_that_goes_between_the_stages_leaves_what_was_made_of_it(
    stages: StageHarness, tmp_path: Path, replacement: bytes | None, error: str
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
    assert await stages.harness.queue().claim(list(JobType), 1) == [], "no stage follows"
    [(_, _, told)] = await stages.harness.events("video.failed")
    assert (told["job_type"], told["error_code"]) == ("sample", error)


async def test_sound_without_pictures_ends_at_the_first_stage(stages: StageHarness, tmp_path: Path) -> None:
    video_id = await stages.take_in(make_sound(tmp_path / "sound.mp4"))
    failed = await stages.failed(JobType.TRANSCODE)
    assert failed.error
    assert (failed.status, failed.error.type) == (JobStatus.FAILED, "NoPictures")
    assert (await stages.video(video_id))[:2] == ("failed", False)
    assert await stages.keys(f"videos/proxy/{video_id}/") == []
    assert await stages.harness.queue().claim(list(JobType), 1) == [], "no stage follows"
    [(_, _, told)] = await stages.harness.events("video.failed")
    assert (told["artifact_hash"], told["error_code"]) == (artifact_hash(video_id), "NoPictures")


async def test_one_picture_is_a_video(stages: StageHarness, tmp_path: Path) -> None:
    video_id = await stages.take_in(make_clip(tmp_path / "one.mp4", pictures=1))
    await stages.done(JobType.TRANSCODE)
    assert (await stages.video(video_id))[:2] == ("playable", True)
    await stages.done(JobType.SAMPLE)
    held = await stages.claim(JobType.OCR)
    assert held.payload["frame_paths"] == [f"frames/{video_id}/1"]
    assert await stages.keys(f"frames/{video_id}/") == [f"frames/{video_id}/1/0.jpg"]


async def test_six_hours_play_and_are_sampled_as_any_other_video(stages: StageHarness, tmp_path: Path) -> None:
    """Within the memory and the time that the sandbox gives, whatever stage looks at all of it."""
    video_id = await stages.take_in(make_long(tmp_path / "long.mp4"))
    await stages.done(JobType.TRANSCODE)
    assert await stages.video(video_id) == ("playable", True, HOURS * 3_600_000)
    await stages.done(JobType.SAMPLE)
    times = "SELECT timestamp_ms FROM process.frames WHERE video_id = %(id)s ORDER BY 1"
    changes = [number * 4_000_000 for number in range(6)]
    assert [time for (time,) in await stages.harness.execute(times, id=video_id)] == changes
    [(lasts,)] = await stages.harness.execute(
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


async def test_text_of_any_script_is_kept_and_found(stages: StageHarness) -> None:
    harness, video_id = stages.harness, await stages.harness.video()
    payload = OcrPayload(video_id=video_id, frame_paths=(f"frames/{video_id}/1",))
    regions = [
        TextRegion(text, Box(0, number * 40, 400, 30), 0.9, None, 0) for number, text in enumerate([*SHOWN, *UNSEEN])
    ]
    runs = tuple(TextRun(0, 0, each.detection) for each in confident_texts(regions, payload))
    assert len(runs) == len(SHOWN)
    async with harness.database.transaction(harness.tenant_id) as transaction:
        await FrameStore(transaction.connection).replace(video_id, Sampling(1, 100, 640, 900, 5000, 1), [0])
        store = ReadingStore(transaction.connection)
        await store.begin(video_id, OcrRequest("by hand", 1, None))
        assert await store.add(video_id, 1, OcrChunk(0, 0, runs))
        assert await store.complete(video_id, 1)
    await harness.enqueue(SegmentIndexPayload(video_id=video_id))
    finished = await stages.done(JobType.SEGMENT_INDEX)
    assert finished.result["segments"] == len(SHOWN)
    for text, question in SHOWN.items():
        page = await VideoSearch(harness.database).page(harness.tenant_id, SearchRequest(question))
        assert [hit.video_id for hit in page.hits][:1] == [video_id], (text, question)
    assert (await stages.video(video_id))[0] == "ready"


ADD = """
INSERT INTO process.jobs (tenant_id, video_id, job_type, payload, unique_key, {column})
VALUES (platform.current_tenant(), %(video)s, %(kind)s, %(payload)s, '', %(value)s) RETURNING id
"""
NO_DATES = ["infinity", "-infinity", "20000-01-01", "0044-03-15 BC", "1969-12-31T23:59:59Z"]
OURS = {"type": "Unavailable", "message": "away", "retry_count": 0, "timestamp": "2026-01-01T00:00:00Z"}


def good(video_id: UUID) -> dict[str, Any]:
    return {"video_id": str(video_id), "s3_original_path": original_path(video_id)}


async def add(
    harness: QueueHarness, payload: dict[str, Any], column: str = "trace", value: Any = None, kind: str = "transcode"
) -> UUID:
    values = {"video": payload["video_id"], "payload": json.dumps(payload), "value": value, "kind": kind}
    [(job_id,)] = await harness.execute(ADD.replace("{column}", column), **values)
    return job_id


@pytest.mark.parametrize("column", ["run_at", "created_at", "started_at", "finished_at"])
@pytest.mark.parametrize("value", NO_DATES)
async def test_a_time_that_is_no_date_is_refused(harness: QueueHarness, column: str, value: str) -> None:
    payload = good(await harness.video())
    with pytest.raises(psycopg.errors.CheckViolation, match="times_are_dates"):
        await add(harness, payload, column, value)
    job_id = await add(harness, payload)
    with pytest.raises(psycopg.errors.CheckViolation):
        await harness.execute(f"UPDATE process.jobs SET {column} = %(value)s", value=value)  # noqa: S608
    assert (await harness.job(job_id)).revision == 1


@pytest.mark.parametrize("value", NO_DATES)
async def test_a_lease_and_a_video_have_dates_too(harness: QueueHarness, value: str) -> None:
    job = await harness.enqueue()
    await harness.queue().claim([JobType.TRANSCODE], 1)
    for statement in (
        "UPDATE process.jobs SET locked_until = %(value)s",
        "UPDATE process.videos SET updated_at = %(value)s",
        "UPDATE process.videos SET deleted_at = %(value)s",
    ):
        with pytest.raises(psycopg.errors.CheckViolation):
            await harness.execute(statement, value=value)
    assert await harness.queue().heartbeat(await harness.job(job.id))


@pytest.mark.parametrize(
    ("extra", "why"),
    [
        ({"error": OURS, "original_payload": {}}, "beside an error already"),
        ({"original_payload": {}}, "beside an error already"),
        ({"error": "text"}, "beside an error already"),
        ({"note": "x" * 1_100_000}, "larger than 1 MiB"),
    ],
    ids=["wrapped", "half wrapped", "error", "huge"],
)
async def test_a_payload_that_is_none_is_refused(harness: QueueHarness, extra: dict[str, Any], why: str) -> None:
    video_id = await harness.video()
    with pytest.raises(psycopg.errors.CheckViolation, match=why):
        await add(harness, good(video_id) | extra)
    assert await harness.execute("SELECT count(*) FROM process.jobs") == [(0,)]


@pytest.mark.parametrize(
    "error",
    [
        None,
        7,
        "text",
        {},
        {"type": "X"},
        OURS | {"timestamp": "yesterday"},
        OURS | {"timestamp": None},
        OURS | {"retry_count": "many"},
        OURS | {"message": ["a", "list"]},
        OURS | {"more": 1},
        OURS | {"message": "x" * 3_000_000},
    ],
    ids=lambda value: str(value)[:40],
)
async def test_nobody_writes_another_error_beside_a_payload_than_the_queue_does(
    harness: QueueHarness, error: Any
) -> None:
    payload = good(await harness.video())
    job_id = await add(harness, payload)
    wrapped = json.dumps({"error": error, "original_payload": payload})
    with pytest.raises(psycopg.errors.CheckViolation, match=r"as process\.fail writes it"):
        await harness.execute("UPDATE process.jobs SET payload = %(payload)s", payload=wrapped)
    ours = json.dumps({"error": OURS, "original_payload": payload})
    await harness.execute("UPDATE process.jobs SET payload = %(payload)s", payload=ours)
    job = await harness.job(job_id)
    assert job.error
    assert (job.error.type, job.payload) == ("Unavailable", payload)


async def test_zeros_are_refused_by_the_database_and_by_the_model(harness: QueueHarness) -> None:
    video_id = await harness.video()
    with pytest.raises(psycopg.errors.UntranslatableCharacter):
        await add(harness, good(video_id) | {"note": "a\x00b"})
    assert await harness.execute("SELECT count(*) FROM process.jobs") == [(0,)]


COMPLETE = """
UPDATE process.jobs SET status = 'done', locked_by = NULL, locked_until = NULL, result = %(result)s WHERE id = %(id)s
"""
UNREADABLE_RESULTS = {
    "digits": '{"number": ' + "9" * 5000 + "}",
    "an exponent": '{"number": 1e131000}',
    "deep": '{"deep": ' + "[" * 1500 + "]" * 1500 + "}",
    "a list": "[1, 2]",
}


@pytest.mark.parametrize("result", [*UNREADABLE_RESULTS.values(), "{}"], ids=[*UNREADABLE_RESULTS, "any"])
async def test_only_what_is_done_has_a_result(harness: QueueHarness, result: str) -> None:
    """A worker reads it with the job that it claims."""
    payload = good(await harness.video())
    with pytest.raises(psycopg.errors.CheckViolation, match="results_are_of_done"):
        await add(harness, payload, "result", result)
    job_id = await add(harness, payload)
    with pytest.raises(psycopg.errors.CheckViolation, match="results_are_of_done"):
        await harness.execute("UPDATE process.jobs SET result = %(result)s", result=result)
    await harness.queue().claim([JobType.TRANSCODE], 1)
    large = json.dumps({"note": "x" * 1_100_000})
    with pytest.raises(psycopg.errors.CheckViolation, match="results_are_of_done"):
        await harness.execute(COMPLETE, id=job_id, result=large)


async def test_results_that_nobody_can_read_are_shown_as_such(harness: QueueHarness) -> None:
    fine = await harness.enqueue()
    for name, result in UNREADABLE_RESULTS.items():
        job_id = await add(harness, good(await harness.video()))
        await harness.queue(name).claim([JobType.TRANSCODE], 2)
        await harness.execute(COMPLETE, id=job_id, result=result)
        found = await find_job_of_any_tenant(harness.database, job_id)
        assert found
        assert found[0].status is JobStatus.DONE
        assert found[0].result
        assert found[0].result["unreadable"].startswith(result[:10]) or name == "an exponent"
    page = await list_jobs_of_all_tenants(harness.database, JobFilter(), JobWindow(10))
    assert len(page.jobs) == 1 + len(UNREADABLE_RESULTS)
    assert (await harness.job(fine.id)).result is None


@pytest.mark.parametrize("how", ["add", "change"])
async def test_a_trace_is_short(harness: QueueHarness, how: str) -> None:
    """A claim tells of all its jobs in one text: a few hundred such would be more than a text can hold."""
    payload, long = good(await harness.video()), "x" * 1001
    with pytest.raises(psycopg.errors.CheckViolation, match="traces_are_short"):
        if how == "add":
            await add(harness, payload, "trace", long)
        else:
            await add(harness, payload)
            await harness.execute("UPDATE process.jobs SET trace = %(trace)s", trace=long)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("attempt", 2**31 - 1),
        ("revision", 2**63 - 1),
        ("start_tag", 2**63 - 1),
        ("place", -(2**63)),
        ("band", 2**31 - 1),
        ("parked", "parent"),
        ("was", "done"),
    ],
)
async def test_nobody_but_the_queue_counts(harness: QueueHarness, column: str, value: Any) -> None:
    """The next claim would count on from the largest number that there is."""
    job_id = await add(harness, good(await harness.video()))
    await harness.execute(f"UPDATE process.jobs SET {column} = %(value)s", value=value)  # noqa: S608
    fine = await harness.enqueue()
    async with running_worker(harness, ScriptedHandler(finish_at_once)):
        for job in (fine, await harness.job(job_id)):
            await until(lambda job=job: has_status(harness, job, JobStatus.DONE))
    assert (await harness.job(job_id)).attempt == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [("priority", 101), ("priority", -101), ("max_retries", -1), ("retry_count", -1), ("progress_percent", 101)],
)
async def test_numbers_that_mean_nothing_are_refused(harness: QueueHarness, column: str, value: int) -> None:
    payload = good(await harness.video())
    with pytest.raises(psycopg.errors.CheckViolation):
        await add(harness, payload, column, value)
    job_id = await add(harness, payload)
    with pytest.raises(psycopg.errors.CheckViolation):
        await harness.execute(f"UPDATE process.jobs SET {column} = %(value)s", value=value)  # noqa: S608
    assert (await harness.job(job_id)).revision == 1


async def test_jobs_of_a_newer_version_are_listed_and_left_to_its_workers(harness: QueueHarness) -> None:
    async with await psycopg.AsyncConnection.connect(harness.postgres.owner_url, autocommit=True) as owner:
        await owner.execute("ALTER TYPE process.job_type ADD VALUE 'narrate'")
    payload = good(await harness.video())
    newer = await add(harness, payload, kind="narrate")
    fine = await harness.enqueue()
    await update_gauges(harness.database)
    async with running_worker(harness, ScriptedHandler(finish_at_once)):
        await until(lambda: has_status(harness, fine, JobStatus.DONE))
    page = await list_jobs_of_all_tenants(harness.database, JobFilter(), JobWindow(10))
    assert {job.id: job.job_type for job in page.jobs} == {newer: "narrate", fine.id: JobType.TRANSCODE}
    async with harness.database.transaction(harness.tenant_id) as transaction:
        assert (await jobs_of_videos(transaction, [UUID(payload["video_id"])])).keys() == {UUID(payload["video_id"])}
    assert (await harness.job(newer)).status is JobStatus.QUEUED


CHAIN = """
INSERT INTO process.jobs (tenant_id, id, video_id, job_type, payload, unique_key, depends_on)
SELECT platform.current_tenant(), link.id, %(video)s, 'clip_generate',
       jsonb_build_object('video_id', %(video)s::uuid, 't_start', link.number), '', link.parent
  FROM unnest(%(ids)s::uuid[], %(parents)s::uuid[]) WITH ORDINALITY AS link (id, parent, number)
"""


async def test_a_chain_of_jobs_is_short_and_begins_with_its_first(harness: QueueHarness) -> None:
    """All that waits for a job that failed fails with it, in one go: thousands are more than the database can bear."""
    video, ids = await harness.video(), [uuid4() for _ in range(33)]
    await harness.execute(CHAIN, video=video, ids=ids, parents=[None, *ids[:-1]])
    for parents, refusal, why in (
        ([ids[-1]], psycopg.errors.CheckViolation, "more than 32"),
        ([uuid4()], psycopg.errors.ForeignKeyViolation, "not there"),
    ):
        with pytest.raises(refusal, match=why):
            await harness.execute(CHAIN, video=await harness.video(), ids=[uuid4()], parents=parents)
    one, two = uuid4(), uuid4()
    with pytest.raises(psycopg.errors.ForeignKeyViolation, match="not there"):  # they wait for each other
        await harness.execute(CHAIN, video=await harness.video(), ids=[one, two], parents=[two, one])
    [first] = await harness.queue("dead").claim([JobType.CLIP_GENERATE], 1)
    assert first.id == ids[0]
    await harness.execute("SELECT process.fail('dead', %(id)s, 1, 'Broken', 'it broke', false)", id=first.id)
    assert await harness.execute("SELECT count(*) FROM process.jobs WHERE dead") == [(33,)]


async def test_a_job_that_psql_adds_later_is_newer(harness: QueueHarness) -> None:
    """Which of two runs is the newer one decides whether an artifact that failed comes back."""
    found = [
        (await harness.enqueue()).id if number % 2 else await add(harness, good(await harness.video()))
        for number in range(8)
    ]
    assert found == sorted(found)
    assert {job_id.version for job_id in found} == {7}


async def plant(harness: QueueHarness, job_id: UUID, column: str, value: str) -> None:
    """As a version without these rules, or a hand with all rights, left it."""
    async with await psycopg.AsyncConnection.connect(harness.postgres.owner_url) as owner:
        await owner.execute("ALTER TABLE process.jobs DROP CONSTRAINT IF EXISTS jobs_times_are_dates")
        await owner.execute("ALTER TABLE process.jobs DISABLE TRIGGER USER")
        await owner.execute("SET LOCAL ROLE touchline_definer")
        statement = sql.SQL("UPDATE process.jobs SET {} = %s WHERE id = %s").format(sql.Identifier(column))
        await owner.execute(statement, [value, job_id])
        await owner.execute("RESET ROLE")
        await owner.execute("ALTER TABLE process.jobs ENABLE TRIGGER USER")


def unreadable(payload: dict[str, Any]) -> dict[str, str]:
    inner = json.dumps(payload)
    deep = "[" * 900 + "]" * 900
    return {
        "no error": f'{{"error": 7, "original_payload": {inner}}}',
        "half an error": f'{{"error": {{"type": "X"}}, "original_payload": {inner}}}',
        "wrapped twice": json.dumps({"error": OURS, "original_payload": {"error": OURS, "original_payload": payload}}),
        "deep": f'{{"deep": {deep}}}',
        "a number": f'{{"number": {"9" * 5000}}}',
        "a list": "[1, 2]",
        "a later version": json.dumps(payload | {"version": 2}),
        "other types": json.dumps(payload | {"s3_original_path": {"a": [1]}}),
    }


async def test_what_a_worker_cannot_read_fails_for_good_and_the_others_go_on(harness: QueueHarness) -> None:
    planted: dict[str, UUID] = {}
    for name in unreadable(good(uuid4())):
        payload = good(await harness.video())
        planted[name] = await add(harness, payload)
        await plant(harness, planted[name], "payload", unreadable(payload)[name])
    fine, handler = await harness.enqueue(), ScriptedHandler(finish_at_once)
    async with running_worker(harness, handler):
        await until(lambda: has_status(harness, fine, JobStatus.DONE))
        for job_id in planted.values():
            await until(lambda job_id=job_id: failed(harness, job_id))
        after = await harness.enqueue()
        await until(lambda: has_status(harness, after, JobStatus.DONE))
    assert {job.id for job in handler.begun} == {fine.id, after.id}
    for name, job_id in planted.items():
        job = await harness.job(job_id)
        assert job.error, name
        assert (job.status, job.error.type, job.retry_count) == (JobStatus.FAILED, "InvalidInput", 0), name
        assert job.error.message.startswith(("this job cannot be read", "invalid payload for a transcode job")), name


async def failed(harness: QueueHarness, job_id: UUID) -> bool:
    return (await harness.job(job_id)).status is JobStatus.FAILED


async def test_a_time_without_a_date_is_drawn_near_in_lists_claims_and_reclaims(harness: QueueHarness) -> None:
    early, late, fine = [await harness.enqueue() for _ in range(3)]
    await plant(harness, early.id, "run_at", "-infinity")
    await plant(harness, late.id, "created_at", "infinity")
    page = await list_jobs_of_all_tenants(harness.database, JobFilter(), JobWindow(10))
    assert {job.id for job in page.jobs} == {early.id, late.id, fine.id}
    assert {job.id: job.run_at.year for job in page.jobs}[early.id] == 1
    shown = await find_job_of_any_tenant(harness.database, late.id)
    assert shown
    assert shown[0].created_at.year == 9999
    async with harness.database.transaction(harness.tenant_id) as transaction:
        assert (await jobs_of_videos(transaction, [early.video_id]))[early.video_id][0].id == early.id
    await harness.queue("dead").claim([JobType.TRANSCODE], 3)
    await harness.expire_leases()
    async with running_worker(harness, ScriptedHandler(finish_at_once)):
        for job in (early, late, fine):
            await until(lambda job=job: has_status(harness, job, JobStatus.DONE))


async def test_a_result_that_cannot_be_written_down_fails_its_own_job(harness: QueueHarness) -> None:
    """Completions go together: one that the database refuses does not take the others along."""

    class Results:
        async def work(self, job: Job, payload: TranscodePayload, report: ReportProgress) -> Finished:
            return Finished({"text": "a\x00b" if job.id == bad.id else "fine"})

    bad, *others = [await harness.enqueue() for _ in range(6)]
    wide = SETTINGS.model_copy(update={"concurrency": 6})
    async with running_worker(harness, Results(), wide):
        for job in others:
            await until(lambda job=job: has_status(harness, job, JobStatus.DONE))

        async def retried() -> bool:
            return (await harness.job(bad.id)).retry_count == 1

        await until(retried)
    assert [(await harness.job(job.id)).attempt for job in others] == [1] * 5
