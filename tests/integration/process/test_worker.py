"""The worker around jobs that do what the test says: claims, leases, ends, and parts that go away."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.support.events import new_tenant
from tests.support.postgres import PostgresServer
from touchline.kernel.errors import Unavailable
from touchline.platform.postgres.database import Database, Transaction
from touchline.platform.postgres.wakeups import Wakeups
from touchline.process.queue.administration import JobAdministration
from touchline.process.queue.handler import Finished, Handler, Tell, no_effects, nobody_waits
from touchline.process.queue.model import Failure, Job, JobStatus, JobType, Order
from touchline.process.queue.payloads import ClipGeneratePayload, OcrPayload, SegmentIndexPayload, TranscodePayload
from touchline.process.queue.rules import Slot
from touchline.process.queue.service import Effects, Queue
from touchline.process.queue.settings import WorkerSettings
from touchline.process.queue.worker import CHANNELS, Worker

from .conftest import World, original_path, until

SETTINGS = WorkerSettings(
    concurrency=2,
    poll_interval=timedelta(milliseconds=50),
    reclaim_interval=timedelta(milliseconds=50),
    retry_delay=timedelta(milliseconds=20),
)
QUICK = SETTINGS.model_copy(update={"lease": timedelta(seconds=3), "heartbeat_interval": timedelta(milliseconds=200)})


class Errand:
    """A job whose work is what the test says; it remembers who came and how it ended."""

    def __init__(self, act: Callable[[Job, Tell], Awaitable[None]] | None = None) -> None:
        self.act = act
        self.begun: list[Job] = []
        self.cancelled: list[Job] = []
        self.effects: list[Job] = []
        self.open = asyncio.Event()

    async def work(self, job: Job, payload: TranscodePayload, tell: Tell) -> Finished:
        self.begun.append(job)
        try:
            await (self.act(job, tell) if self.act else self.open.wait())
        except asyncio.CancelledError:
            self.cancelled.append(job)
            raise

        async def effects(transaction: Transaction) -> None:
            self.effects.append(job)

        return Finished({"video": str(payload.video_id)}, effects)


async def at_once(job: Job, tell: Tell) -> None:
    """Nothing to do."""


@asynccontextmanager
async def working(
    world: World,
    errand: Handler[Any],
    settings: WorkerSettings = SETTINGS,
    name: str = "worker",
    types: Sequence[JobType] = (JobType.TRANSCODE,),
) -> AsyncGenerator[Worker]:
    wakeups = Wakeups(world.postgres.worker_url, CHANNELS)
    handlers = dict.fromkeys(types, errand)
    worker = Worker(world.queue(name, settings.lease), handlers, wakeups, settings)
    async with wakeups.listening():
        running = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.stop()
            await running


async def is_(world: World, job: Job, status: JobStatus) -> bool:
    return (await world.job(job.id)).status is status


async def test_jobs_are_done_as_they_come(world: World) -> None:
    errand = Errand(at_once)
    async with working(world, errand):
        jobs = [await world.enqueue() for _ in range(5)]
        for job in jobs:
            await until(lambda job=job: is_(world, job, JobStatus.DONE))
    assert {job.id for job in errand.effects} == {job.id for job in jobs}
    assert (await world.job(jobs[0].id)).result == {"video": str(jobs[0].video_id)}


async def test_a_wake_up_is_enough_and_polling_is_enough(world: World) -> None:
    errand = Errand(at_once)
    patient = SETTINGS.model_copy(update={"poll_interval": timedelta(hours=1)})
    async with working(world, errand, patient):
        job = await world.enqueue()
        await until(lambda: is_(world, job, JobStatus.DONE))
    deaf = Worker(world.queue(), {JobType.TRANSCODE: errand}, Wakeups(world.postgres.worker_url, []), SETTINGS)
    running = asyncio.create_task(deaf.run())
    job = await world.enqueue()
    await until(lambda: is_(world, job, JobStatus.DONE))
    deaf.stop()
    await running


async def test_no_more_at_once_than_it_may(world: World) -> None:
    errand = Errand()
    jobs = [await world.enqueue() for _ in range(4)]
    async with working(world, errand):

        async def two() -> bool:
            return len(errand.begun) == 2

        await until(two)
        assert await world.execute("SELECT count(*) FROM process.jobs WHERE status = 'processing'") == [(2,)]
        errand.open.set()
        for job in jobs:
            await until(lambda job=job: is_(world, job, JobStatus.DONE))


async def test_other_types_are_left_alone(world: World) -> None:
    errand = Errand(at_once)
    async with working(world, errand):
        job = await world.enqueue()
        index = await world.enqueue(SegmentIndexPayload(video_id=job.video_id))
        await until(lambda: is_(world, job, JobStatus.DONE))
        assert await is_(world, index, JobStatus.QUEUED)


async def test_a_video_is_made_playable_while_others_are_read(world: World) -> None:
    errand, videos = Errand(), [await world.video() for _ in range(3)]
    for video in videos:
        await world.enqueue(OcrPayload(video_id=video, frame_paths=(f"frames/{video}/1",)))
    async with working(world, errand, types=(JobType.OCR, JobType.TRANSCODE)):

        async def reading() -> bool:
            return len(errand.begun) == 1

        await until(reading)
        job = await world.enqueue()
        await until(lambda: is_(world, job, JobStatus.PROCESSING))
        assert [each.job_type for each in errand.begun] == [JobType.OCR, JobType.TRANSCODE]


async def test_a_video_that_plays_leaves_its_slot_to_another_and_not_without_end(world: World) -> None:
    errand = Errand()

    async def play(job: Job, tell: Tell) -> None:
        if job.id == first.id:
            nobody_waits()
        await errand.open.wait()

    errand.act = play
    first, second, third = [await world.enqueue() for _ in range(3)]
    single = SETTINGS.model_copy(update={"concurrency": 1})
    async with working(world, errand, single):
        await until(lambda: is_(world, second, JobStatus.PROCESSING))
        assert await is_(world, first, JobStatus.PROCESSING)
        assert await is_(world, third, JobStatus.QUEUED)
        errand.open.set()
        await until(lambda: is_(world, third, JobStatus.DONE))


async def test_one_tenants_long_jobs_hold_up_neither_anothers_nor_what_is_short(world: World) -> None:
    """Four transcodes of one tenant have all slots. Then somebody else wants a clip, and a third one a video."""
    errand, clip, video = Errand(), world.of(new_tenant()), world.of(new_tenant())
    many = [await world.enqueue() for _ in range(6)]
    four = SETTINGS.model_copy(update={"concurrency": 4})
    async with working(world, errand, four, types=(JobType.TRANSCODE, JobType.CLIP_GENERATE)):

        async def full() -> bool:
            return len(errand.begun) == 4

        await until(full)
        source = await clip.video()
        cut = await clip.enqueue(
            ClipGeneratePayload(
                video_id=source, s3_original_path=original_path(source), clip_id=uuid4(), t_start=0, t_end=5000
            )
        )
        await until(lambda: is_(clip, cut, JobStatus.PROCESSING))
        other = await video.enqueue()
        await until(lambda: is_(video, other, JobStatus.PROCESSING))
        waiting = [job for job in many if await is_(world, job, JobStatus.QUEUED)]
        assert len(waiting) == 2, "the tenant itself gets no more for it"
        errand.open.set()
        for job in many:
            await until(lambda job=job: is_(world, job, JobStatus.DONE))


async def test_the_last_slot_is_for_another_tenant_if_one_waits(world: World) -> None:
    errand, other = Errand(), world.of(new_tenant())
    many = [await world.enqueue() for _ in range(3)]
    await world.execute("UPDATE process.jobs SET priority = 9")  # they come first wherever tenants take turns
    theirs = await other.enqueue()
    async with working(world, errand):

        async def full() -> bool:
            return len(errand.begun) == 2

        await until(full)
        assert {job.tenant_id for job in errand.begun} == {world.tenant_id, other.tenant_id}
        errand.open.set()
        for job in many:
            await until(lambda job=job: is_(world, job, JobStatus.DONE))
        await until(lambda: is_(other, theirs, JobStatus.DONE))


async def test_no_backlog_is_gone_through_to_find_another_tenants_job(world: World) -> None:
    for _ in range(200):
        await world.enqueue()
    queue, other = world.queue(), world.of(new_tenant())
    assert await queue.claim_from_others([JobType.TRANSCODE], {world.tenant_id}) == []
    theirs = await other.enqueue()
    [found] = await queue.claim_from_others([JobType.TRANSCODE], {world.tenant_id})
    assert (found.id, found.attempt, found.status) == (theirs.id, 1, JobStatus.PROCESSING)
    changes = [data["status"] for _, _, data in await world.events("job.changed") if data["job_id"] == str(theirs.id)]
    assert changes == ["queued", "processing"]
    await queue.complete(found, {}, no_effects)


async def test_a_clean_stop_gives_the_job_back_and_costs_no_attempt(world: World) -> None:
    errand = Errand()
    job = await world.enqueue()
    async with working(world, errand) as worker:
        await until(lambda: is_(world, job, JobStatus.PROCESSING))
        worker.stop()
        await until(lambda: is_(world, job, JobStatus.QUEUED))
    assert [each.id for each in errand.cancelled] == [job.id]
    after = await world.job(job.id)
    assert (after.retry_count, after.attempt, after.locked_by) == (0, 1, None)
    assert errand.effects == []


async def test_work_that_fails_while_the_worker_stops_costs_no_attempt_either(world: World) -> None:
    async def complain(job: Job, tell: Tell) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise OSError("the child was killed") from None

    job = await world.enqueue()
    async with working(world, Errand(complain)):
        await until(lambda: is_(world, job, JobStatus.PROCESSING))
    assert ((await world.job(job.id)).status, (await world.job(job.id)).retry_count) == (JobStatus.QUEUED, 0)


async def test_a_stop_in_the_moment_of_the_claim_gives_back_too(world: World) -> None:
    jobs = [await world.enqueue() for _ in range(2)]
    errand = Errand()
    worker = Worker(world.queue(), {JobType.TRANSCODE: errand}, Wakeups(world.database.url, []), SETTINGS)
    start = worker._start

    def start_and_stop(job: Job, slot: Slot = Slot.USUAL) -> None:
        start(job, slot)
        worker.stop()

    worker._start = start_and_stop
    await worker.run()
    assert [(await world.job(job.id)).status for job in jobs] == [JobStatus.QUEUED] * 2
    assert await world.execute("SELECT DISTINCT retry_count FROM process.jobs") == [(0,)]


async def test_a_job_that_is_cancelled_stops_at_once(world: World) -> None:
    """Long before the next heartbeat: whoever takes a running job away wakes its worker."""
    errand = Errand()
    job = await world.enqueue()
    async with working(world, errand):
        await until(lambda: is_(world, job, JobStatus.PROCESSING))
        await JobAdministration(world.database).cancel(world.tenant_id, job.id, "anna")

        async def stopped() -> bool:
            return bool(errand.cancelled)

        await until(stopped)
    after = await world.job(job.id)
    assert (after.status, after.error and after.error.type) == (JobStatus.FAILED, "Cancelled")
    assert errand.effects == []


async def test_work_that_blocks_its_worker_does_not_stop_the_heartbeats(world: World) -> None:
    async def hog(job: Job, tell: Tell) -> None:
        with psycopg.connect(world.postgres.owner_url, autocommit=True) as connection:
            connection.execute("SET ROLE touchline_system")
            renewed = (False,)
            while renewed != (True,):
                renewed = connection.execute(
                    "SELECT locked_until > %s FROM process.jobs", [job.locked_until]
                ).fetchone()

    job = await world.enqueue()
    async with working(world, Errand(hog), QUICK):
        await until(lambda: is_(world, job, JobStatus.DONE))
    assert (await world.job(job.id)).attempt == 1


async def test_jobs_that_change_nothing_else_end_together(world: World) -> None:
    class Idle:
        async def work(self, job: Job, payload: TranscodePayload, tell: Tell) -> Finished:
            return Finished({"attempt": job.attempt})

    jobs = [await world.enqueue() for _ in range(20)]
    wide = SETTINGS.model_copy(update={"concurrency": 20})
    worker = Worker(world.queue(), {JobType.TRANSCODE: Idle()}, Wakeups(world.database.url, []), wide)
    running = asyncio.create_task(worker.run())
    for job in jobs:
        await until(lambda job=job: is_(world, job, JobStatus.DONE))
    worker.stop()
    await running
    assert (await world.job(jobs[0].id)).result == {"attempt": 1}
    changes = [data["status"] for _, _, data in await world.events("job.changed")]
    assert changes.count("done") == changes.count("processing") == 20


async def test_nothing_is_kept_in_a_session_between_transactions(world: World) -> None:
    """As behind a pooler that gives every transaction another one: no LISTEN, no settings, no locks, no plans."""

    async def forget(connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.set_autocommit(True)
        await connection.execute("DISCARD ALL", prepare=False)
        await connection.set_autocommit(False)

    async with Database(world.postgres.worker_url) as pooled:
        pooled._pool._reset = forget
        job = await world.enqueue()
        child = await world.enqueue(SegmentIndexPayload(video_id=job.video_id), order=Order(depends_on=job.id))
        handlers = {JobType.TRANSCODE: Errand(at_once), JobType.SEGMENT_INDEX: Errand(at_once)}
        queue = Queue(pooled, "worker", SETTINGS.lease)
        worker = Worker(queue, handlers, Wakeups(world.database.url, []), SETTINGS)
        running = asyncio.create_task(worker.run())
        await until(lambda: is_(world, child, JobStatus.DONE))
        worker.stop()
        await running


async def test_heartbeats_keep_a_job_that_takes_longer_than_its_lease(world: World) -> None:
    errand = Errand()
    job = await world.enqueue()
    async with working(world, errand, QUICK):
        await until(lambda: is_(world, job, JobStatus.PROCESSING))
        claimed = await world.job(job.id)

        async def outlived() -> bool:
            now = await world.job(job.id)
            assert now.locked_until
            assert claimed.locked_until
            return now.locked_until > claimed.locked_until + QUICK.lease

        async with working(world, Errand(), QUICK, "rival"):
            await until(outlived)
            errand.open.set()
            await until(lambda: is_(world, job, JobStatus.DONE))
    assert (await world.job(job.id)).attempt == 1


async def test_a_lost_lease_stops_the_work_and_another_does_it_once(world: World) -> None:
    slow = Errand()
    job = await world.enqueue()
    async with working(world, slow, QUICK, "slow"):
        await until(lambda: is_(world, job, JobStatus.PROCESSING))
        await world.execute("UPDATE process.jobs SET locked_until = now() - interval '1 second'")
        quick = Errand(at_once)
        async with working(world, quick, QUICK, "quick"):

            async def stopped() -> bool:
                return bool(slow.cancelled)

            await until(stopped)
            slow.open.set()  # the next claim of either ends at once
            await until(lambda: is_(world, job, JobStatus.DONE))
    done = await world.job(job.id)
    assert (done.attempt, done.retry_count) == (2, 1)
    assert len([*slow.effects, *quick.effects]) == 1


@pytest.mark.parametrize("fails", [False, True], ids=["done", "failed"])
async def test_a_heartbeat_that_races_the_end_of_a_job_warns_of_nothing(
    world: World, caplog: pytest.LogCaptureFixture, fails: bool
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

        async def fail(self, held: Job, failure: Failure) -> Job:
            answer = await Queue.fail(self, held, failure)
            await self.wait_for_heartbeat()
            return answer

        async def wait_for_heartbeat(self) -> None:
            ended.set()
            async with asyncio.timeout(60):
                await seen.wait()
            await asyncio.sleep(0)  # what the heartbeat said of it comes first

    async def act(job: Job, tell: Tell) -> None:
        if fails:
            raise KeyError("a defect")

    loop, ended, seen = asyncio.get_running_loop(), threading.Event(), asyncio.Event()
    job, quick = await world.enqueue(), QUICK.model_copy(update={"heartbeat_interval": timedelta(milliseconds=20)})
    queue = LateAnswers(world.database, "worker", quick.lease)
    worker = Worker(queue, {JobType.TRANSCODE: Errand(act)}, Wakeups(world.database.url, []), quick)
    with caplog.at_level(logging.WARNING):
        running = asyncio.create_task(worker.run())
        async with asyncio.timeout(60):
            await seen.wait()
        worker.stop()
        await running
    after = await world.job(job.id)
    assert (after.status, after.retry_count) == ((JobStatus.QUEUED, 1) if fails else (JobStatus.DONE, 0))
    assert "lease lost" not in caplog.messages


async def test_an_unexpected_error_is_tried_again_later_and_the_worker_goes_on(world: World) -> None:
    async def break_first(job: Job, tell: Tell) -> None:
        if job.id == bad.id:
            raise KeyError("a defect")

    bad, good = await world.enqueue(), await world.enqueue()
    async with working(world, Errand(break_first)):
        await until(lambda: is_(world, good, JobStatus.DONE))

        async def failed() -> bool:
            return (await world.job(bad.id)).retry_count == 1

        await until(failed)
    after = await world.job(bad.id)
    assert (after.status, after.error.type if after.error else None) == (JobStatus.QUEUED, "KeyError")


async def test_a_poison_job_ends_in_the_dead_letters_after_four_runs_while_others_go_on(world: World) -> None:
    async def refuse(job: Job, tell: Tell) -> None:
        if job.id == poison.id:
            raise Unavailable("the store is away")

    errand = Errand(refuse)
    poison = await world.enqueue()
    async with working(world, errand):
        for retry in range(3):

            async def waits(retry: int = retry) -> bool:
                now = await world.job(poison.id)
                return now.status is JobStatus.QUEUED and now.retry_count == retry + 1

            await until(waits)
            other = await world.enqueue()
            await until(lambda other=other: is_(world, other, JobStatus.DONE))
            await world.make_due()
        await until(lambda: is_(world, poison, JobStatus.FAILED))
    assert len([job for job in errand.begun if job.id == poison.id]) == 4
    assert len(await world.events("video.failed")) == 1


@pytest.mark.parametrize("field", ["surprise", "s3_original_path"])
async def test_a_bad_payload_is_final_and_never_reaches_the_work(world: World, field: str) -> None:
    """By psql nobody checks the fields: the claim does."""
    errand = Errand(at_once)
    video_id = await world.video()
    [(job_id,)] = await world.execute(
        "SELECT id FROM process.enqueue(gen_random_uuid(), 'transcode', %(video)s,"
        " jsonb_build_object('video_id', %(video)s::text, 's3_original_path',"
        " 'videos/original/' || %(video)s::text || '/master.mp4') || jsonb_build_object(%(field)s::text, '../x'))",
        video=video_id,
        field=field,
    )
    job = await world.job(job_id)
    async with working(world, errand):
        await until(lambda: is_(world, job, JobStatus.FAILED))
    failed = await world.job(job_id)
    assert errand.begun == []
    assert failed.error
    assert (failed.error.type, failed.retry_count) == ("InvalidInput", 0)
    assert field in failed.error.message


async def test_progress_is_told_but_not_too_often(world: World) -> None:
    errand = Errand()

    async def creep(job: Job, tell: Tell) -> None:
        for percent in range(100):
            tell(percent)
            await asyncio.sleep(0)
        await errand.open.wait()

    errand.act = creep
    job = await world.enqueue()
    async with working(world, errand):

        async def told() -> bool:
            return bool(await world.events("video.progressed"))

        await until(told)
        errand.open.set()
        await until(lambda: is_(world, job, JobStatus.DONE))
    steps = [data["progress_percent"] for _, _, data in await world.events("video.progressed")]
    assert steps == sorted(set(steps))
    assert all(later - earlier >= 5 for earlier, later in pairwise(steps))
    assert (await world.job(job.id)).progress_percent == 100


async def test_a_claim_whose_answer_was_lost_is_given_back(world: World) -> None:
    job = await world.enqueue()
    [claimed] = await world.queue("worker").claim([JobType.TRANSCODE], 1)  # and nobody heard of it
    errand = Errand(at_once)
    worker = Worker(world.queue("worker"), {JobType.TRANSCODE: errand}, Wakeups(world.database.url, []), SETTINGS)
    worker._in_doubt = True
    running = asyncio.create_task(worker.run())
    await until(lambda: is_(world, job, JobStatus.DONE))
    worker.stop()
    await running
    done = await world.job(job.id)
    assert (claimed.attempt, done.attempt, done.retry_count) == (1, 2, 0)


async def test_killed_backends_cost_nothing_but_a_moment(world: World, postgres_server: PostgresServer) -> None:
    """In the middle of jobs, of claims and of completions."""
    errand = Errand()
    jobs = [await world.enqueue() for _ in range(6)]

    async def kill_backends() -> None:
        async with await psycopg.AsyncConnection.connect(postgres_server.superuser_url) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE usename = 'touchline_worker' AND pid <> pg_backend_pid()"
            )

    async def done() -> int:
        try:
            [(count,)] = await world.execute("SELECT count(*) FROM process.jobs WHERE status = 'done'")
        except Unavailable:
            return 0
        return count

    async with working(world, errand):
        await until(lambda: is_(world, jobs[0], JobStatus.PROCESSING))
        await kill_backends()
        errand.open.set()
        for so_far in range(1, 6):

            async def reached(so_far: int = so_far) -> bool:
                return await done() >= so_far

            await until(reached)
            await kill_backends()

        async def all_done() -> bool:
            return await done() == 6

        await until(all_done)
    assert await world.execute("SELECT DISTINCT retry_count FROM process.jobs") == [(0,)]
