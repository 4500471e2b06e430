"""The worker with scripted handlers: claims, leases, outcomes, and services that become unavailable."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.support.events import new_tenant
from tests.support.postgres import PostgresServer
from touchline.kernel import Unavailable
from touchline.platform.foreground import Foreground, open_foreground
from touchline.platform.postgres.database import Database, Transaction, Wakeups
from touchline.process.queue.handler import Finished, JobHandler, ReportProgress, continue_in_background, no_effects
from touchline.process.queue.jobs import (
    ClipGeneratePayload,
    FailureReason,
    Job,
    JobSchedule,
    JobStatus,
    JobType,
    OcrPayload,
    SegmentIndexPayload,
    TranscodePayload,
)
from touchline.process.queue.service import Effects, JobAdministration, Queue
from touchline.process.queue.worker import CHANNELS, Worker
from touchline.process.settings import WorkerSettings

from .conftest import LEASE, QueueHarness, original_path, until

SETTINGS = WorkerSettings(
    concurrency=2,
    poll_interval=timedelta(milliseconds=50),
    reclaim_interval=timedelta(milliseconds=50),
    retry_delay=timedelta(milliseconds=20),
)
QUICK = SETTINGS.model_copy(update={"lease": timedelta(seconds=3), "heartbeat_interval": timedelta(milliseconds=200)})


class ScriptedHandler:
    """A job whose work is what the test says; it remembers who came and how it ended."""

    def __init__(self, act: Callable[[Job, ReportProgress], Awaitable[None]] | None = None) -> None:
        self.act = act
        self.begun: list[Job] = []
        self.cancelled: list[Job] = []
        self.effects: list[Job] = []
        self.open = asyncio.Event()

    async def work(self, job: Job, payload: TranscodePayload, report: ReportProgress) -> Finished:
        self.begun.append(job)
        try:
            await (self.act(job, report) if self.act else self.open.wait())
        except asyncio.CancelledError:
            self.cancelled.append(job)
            raise

        async def effects(transaction: Transaction) -> None:
            self.effects.append(job)

        return Finished({"video": str(payload.video_id)}, effects)


async def finish_at_once(job: Job, report: ReportProgress) -> None:
    """Nothing to do."""


@asynccontextmanager
async def running_worker(
    harness: QueueHarness,
    handler: JobHandler[Any],
    settings: WorkerSettings = SETTINGS,
    name: str = "worker",
    types: Sequence[JobType] = (JobType.TRANSCODE,),
    foreground: Foreground | None = None,
) -> AsyncGenerator[Worker]:
    wakeups = Wakeups(harness.postgres.worker_url, CHANNELS)
    handlers = dict.fromkeys(types, handler)
    worker = Worker(harness.queue(name, settings.lease), handlers, wakeups, settings, foreground=foreground)
    async with wakeups.listening():
        running = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.stop()
            await running


async def has_status(harness: QueueHarness, job: Job, status: JobStatus) -> bool:
    return (await harness.job(job.id)).status is status


async def test_jobs_are_done_as_they_come(harness: QueueHarness) -> None:
    handler = ScriptedHandler(finish_at_once)
    async with running_worker(harness, handler):
        jobs = [await harness.enqueue() for _ in range(5)]
        for job in jobs:
            await until(lambda job=job: has_status(harness, job, JobStatus.DONE))
    assert {job.id for job in handler.effects} == {job.id for job in jobs}
    assert (await harness.job(jobs[0].id)).result == {"video": str(jobs[0].video_id)}


async def test_a_wake_up_is_enough_and_polling_is_enough(harness: QueueHarness) -> None:
    handler = ScriptedHandler(finish_at_once)
    patient = SETTINGS.model_copy(update={"poll_interval": timedelta(hours=1)})
    async with running_worker(harness, handler, patient):
        job = await harness.enqueue()
        await until(lambda: has_status(harness, job, JobStatus.DONE))
    deaf = Worker(harness.queue(), {JobType.TRANSCODE: handler}, Wakeups(harness.postgres.worker_url, []), SETTINGS)
    running = asyncio.create_task(deaf.run())
    job = await harness.enqueue()
    await until(lambda: has_status(harness, job, JobStatus.DONE))
    deaf.stop()
    await running


async def test_no_more_at_once_than_it_may(harness: QueueHarness) -> None:
    handler = ScriptedHandler()
    jobs = [await harness.enqueue() for _ in range(4)]
    async with running_worker(harness, handler):

        async def two() -> bool:
            return len(handler.begun) == 2

        await until(two)
        assert await harness.execute("SELECT count(*) FROM process.jobs WHERE status = 'processing'") == [(2,)]
        handler.open.set()
        for job in jobs:
            await until(lambda job=job: has_status(harness, job, JobStatus.DONE))


async def test_other_types_are_left_alone(harness: QueueHarness) -> None:
    handler = ScriptedHandler(finish_at_once)
    async with running_worker(harness, handler):
        job = await harness.enqueue()
        index = await harness.enqueue(SegmentIndexPayload(video_id=job.video_id))
        await until(lambda: has_status(harness, job, JobStatus.DONE))
        assert await has_status(harness, index, JobStatus.QUEUED)


async def test_a_video_is_made_playable_while_others_are_read(harness: QueueHarness) -> None:
    handler, videos = ScriptedHandler(), [await harness.video() for _ in range(3)]
    for video in videos:
        await harness.enqueue(OcrPayload(video_id=video, frame_paths=(f"frames/{video}/1",)))
    async with running_worker(harness, handler, types=(JobType.OCR, JobType.TRANSCODE)):

        async def reading() -> bool:
            return len(handler.begun) == 1

        await until(reading)
        job = await harness.enqueue()
        await until(lambda: has_status(harness, job, JobStatus.PROCESSING))
        assert [each.job_type for each in handler.begun] == [JobType.OCR, JobType.TRANSCODE]


async def test_a_video_that_plays_leaves_its_slot_to_another_and_not_without_end(harness: QueueHarness) -> None:
    handler = ScriptedHandler()

    async def play(job: Job, report: ReportProgress) -> None:
        if job.id == first.id:
            continue_in_background()
        await handler.open.wait()

    handler.act = play
    first, second, third = [await harness.enqueue() for _ in range(3)]
    single = SETTINGS.model_copy(update={"concurrency": 1})
    async with running_worker(harness, handler, single):
        await until(lambda: has_status(harness, second, JobStatus.PROCESSING))
        assert await has_status(harness, first, JobStatus.PROCESSING)
        assert await has_status(harness, third, JobStatus.QUEUED)
        handler.open.set()
        await until(lambda: has_status(harness, third, JobStatus.DONE))


async def test_the_background_of_the_machine_stands_back_until_a_video_plays(
    harness: QueueHarness, tmp_path: Path
) -> None:
    handler, plays = ScriptedHandler(), asyncio.Event()

    async def play(job: Job, report: ReportProgress) -> None:
        await plays.wait()
        continue_in_background()
        await handler.open.wait()

    video = await harness.video()
    with open_foreground(tmp_path) as foreground, open_foreground(tmp_path) as theirs:

        async def busy() -> bool:
            return theirs.is_busy()

        async def idle() -> bool:
            return not theirs.is_busy()

        async with running_worker(harness, handler, types=(JobType.OCR, JobType.TRANSCODE), foreground=foreground):
            reading = await harness.enqueue(OcrPayload(video_id=video, frame_paths=(f"frames/{video}/1",)))
            await until(lambda: has_status(harness, reading, JobStatus.PROCESSING))
            assert not theirs.is_busy(), "nobody waits for what is read"
            handler.act = play
            job = await harness.enqueue()
            await until(busy)
            plays.set()
            await until(idle)
            assert await has_status(harness, job, JobStatus.PROCESSING)
            handler.open.set()
            await until(lambda: has_status(harness, job, JobStatus.DONE))


async def test_a_job_that_fails_holds_nothing_back(harness: QueueHarness, tmp_path: Path) -> None:
    with open_foreground(tmp_path) as foreground, open_foreground(tmp_path) as theirs:

        async def fail(job: Job, report: ReportProgress) -> None:
            assert theirs.is_busy()
            raise Unavailable("for a moment")

        async with running_worker(harness, ScriptedHandler(fail), foreground=foreground):
            job = await harness.enqueue()

            async def failed() -> bool:
                return (await harness.job(job.id)).retry_count == 1

            await until(failed)
            assert not theirs.is_busy()


async def test_one_tenants_long_jobs_hold_up_neither_anothers_nor_what_is_short(harness: QueueHarness) -> None:
    """Four transcodes of one tenant have all slots. Then somebody else wants a clip, and a third one a video."""
    handler, clip, video = ScriptedHandler(), harness.of(new_tenant()), harness.of(new_tenant())
    many = [await harness.enqueue() for _ in range(6)]
    four = SETTINGS.model_copy(update={"concurrency": 4})
    async with running_worker(harness, handler, four, types=(JobType.TRANSCODE, JobType.CLIP_GENERATE)):

        async def full() -> bool:
            return len(handler.begun) == 4

        await until(full)
        source = await clip.video()
        cut = await clip.enqueue(
            ClipGeneratePayload(
                video_id=source, s3_original_path=original_path(source), clip_id=uuid4(), t_start=0, t_end=5000
            )
        )
        await until(lambda: has_status(clip, cut, JobStatus.PROCESSING))
        other = await video.enqueue()
        await until(lambda: has_status(video, other, JobStatus.PROCESSING))
        waiting = [job for job in many if await has_status(harness, job, JobStatus.QUEUED)]
        assert len(waiting) == 2, "the tenant itself gets no more for it"
        handler.open.set()
        for job in many:
            await until(lambda job=job: has_status(harness, job, JobStatus.DONE))


async def test_the_last_slot_is_for_another_tenant_if_one_waits(harness: QueueHarness) -> None:
    handler, other = ScriptedHandler(), harness.of(new_tenant())
    many = [await harness.enqueue() for _ in range(3)]
    await harness.execute("UPDATE process.jobs SET priority = 9")  # they come first wherever tenants take turns
    theirs = await other.enqueue()
    async with running_worker(harness, handler):

        async def full() -> bool:
            return len(handler.begun) == 2

        await until(full)
        assert {job.tenant_id for job in handler.begun} == {harness.tenant_id, other.tenant_id}
        handler.open.set()
        for job in many:
            await until(lambda job=job: has_status(harness, job, JobStatus.DONE))
        await until(lambda: has_status(other, theirs, JobStatus.DONE))


async def test_no_backlog_is_gone_through_to_find_another_tenants_job(harness: QueueHarness) -> None:
    for _ in range(200):
        await harness.enqueue()
    queue, other = harness.queue(), harness.of(new_tenant())
    assert await queue.claim_from_others([JobType.TRANSCODE], {harness.tenant_id}) == []
    theirs = await other.enqueue()
    [found] = await queue.claim_from_others([JobType.TRANSCODE], {harness.tenant_id})
    assert (found.id, found.attempt, found.status) == (theirs.id, 1, JobStatus.PROCESSING)
    changes = [data["status"] for _, _, data in await harness.events("job.changed") if data["job_id"] == str(theirs.id)]
    assert changes == ["queued", "processing"]
    await queue.complete(found, {}, no_effects)


async def test_a_clean_stop_gives_the_job_back_and_costs_no_attempt(harness: QueueHarness) -> None:
    handler = ScriptedHandler()
    job = await harness.enqueue()
    async with running_worker(harness, handler) as worker:
        await until(lambda: has_status(harness, job, JobStatus.PROCESSING))
        worker.stop()
        await until(lambda: has_status(harness, job, JobStatus.QUEUED))
    assert [each.id for each in handler.cancelled] == [job.id]
    after = await harness.job(job.id)
    assert (after.retry_count, after.attempt, after.locked_by) == (0, 1, None)
    assert handler.effects == []


async def test_work_that_fails_while_the_worker_stops_costs_no_attempt_either(harness: QueueHarness) -> None:
    async def complain(job: Job, report: ReportProgress) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise OSError("the child was killed") from None

    job = await harness.enqueue()
    async with running_worker(harness, ScriptedHandler(complain)):
        await until(lambda: has_status(harness, job, JobStatus.PROCESSING))
    assert ((await harness.job(job.id)).status, (await harness.job(job.id)).retry_count) == (JobStatus.QUEUED, 0)


@dataclass(frozen=True)
class InterruptedQueue(Queue):
    """Something happens when jobs are claimed, before the worker hears of them."""

    then: Callable[[], None]

    async def claim(self, types: Sequence[JobType | str], most: int, *, thorough: bool = True) -> Sequence[Job]:
        jobs = await super().claim(types, most, thorough=thorough)
        if jobs:
            self.then()
        return jobs


async def test_a_stop_in_the_moment_of_the_claim_gives_back_too(harness: QueueHarness) -> None:
    jobs = [await harness.enqueue() for _ in range(2)]

    def stop() -> None:
        worker.stop()

    queue = InterruptedQueue(harness.database, "worker", LEASE, stop)
    worker = Worker(queue, {JobType.TRANSCODE: ScriptedHandler()}, Wakeups(harness.database.url, []), SETTINGS)
    await worker.run()
    assert [(await harness.job(job.id)).status for job in jobs] == [JobStatus.QUEUED] * 2
    assert await harness.execute("SELECT DISTINCT retry_count FROM process.jobs") == [(0,)]


async def test_a_job_that_is_cancelled_stops_at_once(harness: QueueHarness) -> None:
    """Long before the next heartbeat: whoever takes a running job away wakes its worker."""
    handler = ScriptedHandler()
    job = await harness.enqueue()
    async with running_worker(harness, handler):
        await until(lambda: has_status(harness, job, JobStatus.PROCESSING))
        await JobAdministration(harness.database).cancel(harness.tenant_id, job.id, "anna")

        async def stopped() -> bool:
            return bool(handler.cancelled)

        await until(stopped)
    after = await harness.job(job.id)
    assert (after.status, after.error and after.error.type) == (JobStatus.FAILED, "Cancelled")
    assert handler.effects == []


async def test_work_that_blocks_its_worker_does_not_stop_the_heartbeats(harness: QueueHarness) -> None:
    async def hog(job: Job, report: ReportProgress) -> None:
        with psycopg.connect(harness.postgres.owner_url, autocommit=True) as connection:
            connection.execute("SET ROLE touchline_system")
            renewed = (False,)
            while renewed != (True,):
                renewed = connection.execute(
                    "SELECT locked_until > %s FROM process.jobs", [job.locked_until]
                ).fetchone()

    job = await harness.enqueue()
    async with running_worker(harness, ScriptedHandler(hog), QUICK):
        await until(lambda: has_status(harness, job, JobStatus.DONE))
    assert (await harness.job(job.id)).attempt == 1


async def test_jobs_that_change_nothing_else_end_together(harness: QueueHarness) -> None:
    class Idle:
        async def work(self, job: Job, payload: TranscodePayload, report: ReportProgress) -> Finished:
            return Finished({"attempt": job.attempt})

    jobs = [await harness.enqueue() for _ in range(20)]
    wide = SETTINGS.model_copy(update={"concurrency": 20})
    worker = Worker(harness.queue(), {JobType.TRANSCODE: Idle()}, Wakeups(harness.database.url, []), wide)
    running = asyncio.create_task(worker.run())
    for job in jobs:
        await until(lambda job=job: has_status(harness, job, JobStatus.DONE))
    worker.stop()
    await running
    assert (await harness.job(jobs[0].id)).result == {"attempt": 1}
    changes = [data["status"] for _, _, data in await harness.events("job.changed")]
    assert changes.count("done") == changes.count("processing") == 20


async def test_nothing_is_kept_in_a_session_between_transactions(harness: QueueHarness) -> None:
    """As behind a pooler that gives every transaction another one: no LISTEN, no settings, no locks, no plans."""

    async def forget(connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.set_autocommit(True)
        await connection.execute("DISCARD ALL", prepare=False)
        await connection.set_autocommit(False)

    async with Database(harness.postgres.worker_url) as pooled:
        pooled._pool._reset = forget
        job = await harness.enqueue()
        child = await harness.enqueue(
            SegmentIndexPayload(video_id=job.video_id), schedule=JobSchedule(depends_on=job.id)
        )
        handlers = {
            JobType.TRANSCODE: ScriptedHandler(finish_at_once),
            JobType.SEGMENT_INDEX: ScriptedHandler(finish_at_once),
        }
        queue = Queue(pooled, "worker", SETTINGS.lease)
        worker = Worker(queue, handlers, Wakeups(harness.database.url, []), SETTINGS)
        running = asyncio.create_task(worker.run())
        await until(lambda: has_status(harness, child, JobStatus.DONE))
        worker.stop()
        await running


async def test_heartbeats_keep_a_job_that_takes_longer_than_its_lease(harness: QueueHarness) -> None:
    handler = ScriptedHandler()
    job = await harness.enqueue()
    async with running_worker(harness, handler, QUICK):
        await until(lambda: has_status(harness, job, JobStatus.PROCESSING))
        claimed = await harness.job(job.id)

        async def outlived() -> bool:
            now = await harness.job(job.id)
            assert now.locked_until
            assert claimed.locked_until
            return now.locked_until > claimed.locked_until + QUICK.lease

        async with running_worker(harness, ScriptedHandler(), QUICK, "rival"):
            await until(outlived)
            handler.open.set()
            await until(lambda: has_status(harness, job, JobStatus.DONE))
    assert (await harness.job(job.id)).attempt == 1


async def test_a_lost_lease_stops_the_work_and_another_does_it_once(harness: QueueHarness) -> None:
    slow = ScriptedHandler()
    job = await harness.enqueue()
    async with running_worker(harness, slow, QUICK, "slow"):
        await until(lambda: has_status(harness, job, JobStatus.PROCESSING))
        await harness.execute("UPDATE process.jobs SET locked_until = now() - interval '1 second'")
        quick = ScriptedHandler(finish_at_once)
        async with running_worker(harness, quick, QUICK, "quick"):

            async def stopped() -> bool:
                return bool(slow.cancelled)

            await until(stopped)
            slow.open.set()  # the next claim of either ends at once
            await until(lambda: has_status(harness, job, JobStatus.DONE))
    done = await harness.job(job.id)
    assert (done.attempt, done.retry_count) == (2, 1)
    assert len([*slow.effects, *quick.effects]) == 1


@pytest.mark.parametrize("fails", [False, True], ids=["done", "failed"])
async def test_a_heartbeat_that_races_the_end_of_a_job_warns_of_nothing(
    harness: QueueHarness, caplog: pytest.LogCaptureFixture, fails: bool
) -> None:
    """The end is committed, a heartbeat finds the job ended, and only then the worker hears of its own end."""

    class LateAnswers(Queue):
        async def heartbeats(self, held: Sequence[Job]) -> frozenset[UUID]:
            found = await Queue.heartbeats(self, held)
            if ended.is_set() and held:
                loop.call_soon_threadsafe(seen.set)
            return found

        async def complete(self, held: Job, result: dict[str, Any], effects: Effects) -> None:
            await Queue.complete(self, held, result, effects)
            await self.wait_for_heartbeat()

        async def fail(self, held: Job, failure: FailureReason) -> Job:
            answer = await Queue.fail(self, held, failure)
            await self.wait_for_heartbeat()
            return answer

        async def wait_for_heartbeat(self) -> None:
            ended.set()
            async with asyncio.timeout(60):
                await seen.wait()
            await asyncio.sleep(0)  # what the heartbeat said of it comes first

    async def act(job: Job, report: ReportProgress) -> None:
        if fails:
            raise KeyError("a defect")

    loop, ended, seen = asyncio.get_running_loop(), threading.Event(), asyncio.Event()
    job, quick = await harness.enqueue(), QUICK.model_copy(update={"heartbeat_interval": timedelta(milliseconds=20)})
    queue = LateAnswers(harness.database, "worker", quick.lease)
    worker = Worker(queue, {JobType.TRANSCODE: ScriptedHandler(act)}, Wakeups(harness.database.url, []), quick)
    with caplog.at_level(logging.WARNING):
        running = asyncio.create_task(worker.run())
        async with asyncio.timeout(60):
            await seen.wait()
        worker.stop()
        await running
    after = await harness.job(job.id)
    assert (after.status, after.retry_count) == ((JobStatus.QUEUED, 1) if fails else (JobStatus.DONE, 0))
    assert "lease lost" not in caplog.messages


class Panic(BaseException):
    """As libraries raise that are written in Rust."""


@pytest.mark.parametrize("error", [KeyError("a defect"), asyncio.CancelledError("of a library"), Panic()], ids=repr)
async def test_an_unexpected_error_is_tried_again_later_and_the_worker_goes_on(
    harness: QueueHarness, error: BaseException
) -> None:
    async def break_first(job: Job, report: ReportProgress) -> None:
        if job.id == bad.id:
            raise error

    bad, good = await harness.enqueue(), await harness.enqueue()
    async with running_worker(harness, ScriptedHandler(break_first)):
        await until(lambda: has_status(harness, good, JobStatus.DONE))

        async def failed() -> bool:
            return (await harness.job(bad.id)).retry_count == 1

        await until(failed)
    after = await harness.job(bad.id)
    assert (after.status, after.error.type if after.error else None) == (JobStatus.QUEUED, type(error).__name__)


async def test_a_poison_job_ends_in_the_dead_letters_after_four_runs_while_others_go_on(harness: QueueHarness) -> None:
    async def refuse(job: Job, report: ReportProgress) -> None:
        if job.id == poison.id:
            raise Unavailable("the store is away")

    handler = ScriptedHandler(refuse)
    poison = await harness.enqueue()
    async with running_worker(harness, handler):
        for retry in range(3):

            async def waits(retry: int = retry) -> bool:
                now = await harness.job(poison.id)
                return now.status is JobStatus.QUEUED and now.retry_count == retry + 1

            await until(waits)
            other = await harness.enqueue()
            await until(lambda other=other: has_status(harness, other, JobStatus.DONE))
            await harness.make_due()
        await until(lambda: has_status(harness, poison, JobStatus.FAILED))
    assert len([job for job in handler.begun if job.id == poison.id]) == 4
    assert len(await harness.events("video.failed")) == 1


@pytest.mark.parametrize("field", ["surprise", "s3_original_path"])
async def test_a_bad_payload_is_final_and_never_reaches_the_work(harness: QueueHarness, field: str) -> None:
    """By psql nobody checks the fields: the claim does."""
    handler = ScriptedHandler(finish_at_once)
    video_id = await harness.video()
    [(job_id,)] = await harness.execute(
        "SELECT id FROM process.enqueue(gen_random_uuid(), 'transcode', %(video)s,"
        " jsonb_build_object('video_id', %(video)s::text, 's3_original_path',"
        " 'videos/original/' || %(video)s::text || '/master.mp4') || jsonb_build_object(%(field)s::text, '../x'))",
        video=video_id,
        field=field,
    )
    job = await harness.job(job_id)
    async with running_worker(harness, handler):
        await until(lambda: has_status(harness, job, JobStatus.FAILED))
    failed = await harness.job(job_id)
    assert handler.begun == []
    assert failed.error
    assert (failed.error.type, failed.retry_count) == ("InvalidInput", 0)
    assert field in failed.error.message


async def test_progress_is_told_but_not_too_often(harness: QueueHarness) -> None:
    handler = ScriptedHandler()

    async def creep(job: Job, report: ReportProgress) -> None:
        for percent in range(100):
            report(percent)
            await asyncio.sleep(0)
        await handler.open.wait()

    handler.act = creep
    job = await harness.enqueue()
    async with running_worker(harness, handler):

        async def told() -> bool:
            return bool(await harness.events("video.progressed"))

        await until(told)
        handler.open.set()
        await until(lambda: has_status(harness, job, JobStatus.DONE))
    steps = [data["progress_percent"] for _, _, data in await harness.events("video.progressed")]
    assert steps == sorted(set(steps))
    assert all(later - earlier >= 5 for earlier, later in pairwise(steps))
    assert (await harness.job(job.id)).progress_percent == 100


async def test_a_claim_whose_answer_was_lost_is_given_back(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    lost = iter([Unavailable("the connection was lost behind the claim")])

    def lose() -> None:
        for error in lost:
            raise error

    queue, handler = InterruptedQueue(harness.database, "worker", LEASE, lose), ScriptedHandler(finish_at_once)
    worker = Worker(queue, {JobType.TRANSCODE: handler}, Wakeups(harness.database.url, []), SETTINGS)
    running = asyncio.create_task(worker.run())
    await until(lambda: has_status(harness, job, JobStatus.DONE))
    worker.stop()
    await running
    done = await harness.job(job.id)
    assert (done.attempt, done.retry_count) == (2, 0), "the first attempt was nobody's"


async def test_killed_backends_cost_nothing_but_a_moment(
    harness: QueueHarness, postgres_server: PostgresServer
) -> None:
    """In the middle of jobs, of claims and of completions."""
    handler = ScriptedHandler()
    jobs = [await harness.enqueue() for _ in range(6)]

    async def kill_backends() -> None:
        async with await psycopg.AsyncConnection.connect(postgres_server.superuser_url) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE usename = 'touchline_worker' AND pid <> pg_backend_pid()"
            )

    async def done() -> int:
        try:
            [(count,)] = await harness.execute("SELECT count(*) FROM process.jobs WHERE status = 'done'")
        except Unavailable:
            return 0
        return count

    async with running_worker(harness, handler):
        await until(lambda: has_status(harness, jobs[0], JobStatus.PROCESSING))
        await kill_backends()
        handler.open.set()
        for so_far in range(1, 6):

            async def reached(so_far: int = so_far) -> bool:
                return await done() >= so_far

            await until(reached)
            await kill_backends()

        async def all_done() -> bool:
            return await done() == 6

        await until(all_done)
    assert await harness.execute("SELECT DISTINCT retry_count FROM process.jobs") == [(0,)]
