"""Workers die, freeze, stop and lose their database in the middle of transcodes. Then everything is counted."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid4

import psutil
import psycopg
import pytest

from tests.integration.process.conftest import QueueHarness, original_path, until
from tests.integration.process.videos import RE_ENCODED, make_clip
from tests.support.clickhouse_owner import free_port
from tests.support.events import announce, new_tenant
from tests.support.postgres import PostgresServer
from tests.support.stack import RunningStack
from touchline.contracts.events.artifacts import OriginalStored
from touchline.kernel import LeaseLost, Unavailable
from touchline.platform.endpoints import ObjectsEndpoint, PostgresEndpoint
from touchline.platform.events.log import Sequencer
from touchline.platform.foreground import open_foreground
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction, Wakeups
from touchline.platform.settings import EventSettings, ObjectsSettings
from touchline.process.queue.jobs import FailureReason, JobStatus, JobType, SamplePayload
from touchline.process.queue.service import Queue
from touchline.process.transcode.worker import PointerWriter

from .conftest import Chaos

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 300.0
IN_HAND = """
SELECT split_part(locked_by, '/', 2)::int FROM process.jobs
 WHERE status = 'processing' AND progress_percent >= %(percent)s AND retry_count < max_retries
"""

ALL_DONE = "SELECT count(*) > 0 AND bool_and(status = 'done') FROM process.jobs WHERE job_type = 'transcode'"
STATES = "SELECT status::text, count(*) FROM process.jobs WHERE job_type = 'transcode' GROUP BY status"


class Workers:
    """Real worker processes of the product, by their number."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self.running: dict[int, subprocess.Popen[bytes]] = {}

    def doing(self, job_types: str) -> Workers:
        return Workers({**self._environment, "TOUCHLINE_WORKER_JOB_TYPES": job_types, "TOUCHLINE_WORKER_LEASE": "2s"})

    def with_lease(self, lease: str) -> Workers:
        return Workers({**self._environment, "TOUCHLINE_WORKER_LEASE": lease})

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.chaos.worker_process"]
        environment = {**self._environment, "TOUCHLINE_WORKER_PORT": str(free_port())}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL)
        self.running[process.pid] = process

    def end(self, pid: int, number: signal.Signals) -> int:
        process = self.running.pop(pid)
        process.send_signal(number)
        return process.wait()

    def close(self) -> None:
        for pid in list(self.running):
            self.end(pid, signal.SIGKILL)


@contextmanager
def running_workers(workers: Workers, count: int) -> Generator[Workers]:
    try:
        for _ in range(count):
            workers.start()
        yield workers
    finally:
        workers.close()


@dataclass(frozen=True, slots=True)
class WorkerHarness:
    harness: QueueHarness
    objects: ObjectStore
    workers: Workers
    clip: Path

    async def videos(self, count: int) -> list[UUID]:
        """Uploaded and announced, as serve does it."""
        found = [uuid4() for _ in range(count)]
        for video_id in found:
            key = original_path(video_id)
            await self.objects.put_new(key, self.clip)
            stored = OriginalStored(
                artifact_hash=video_id.hex, original_key=key, size_bytes=1, content_type="video/mp4"
            )
            await announce(self.harness.database, self.harness.tenant_id, stored)
        await Sequencer(self.harness.database, Wakeups(self.harness.database.url, []), EventSettings()).step()
        return found

    async def ask(self, question: str, **values: Any) -> list[tuple[Any, ...]]:
        """Nothing while the connections are being killed."""
        try:
            return await self.harness.execute(question, **values)
        except Unavailable:
            return []

    async def busy_worker(self, percent: int = 10) -> int:
        """A worker that is that far with a job, and not with its last try; 0 when all jobs are done."""

        async def look() -> list[int]:
            holders = [pid for (pid,) in await self.ask(IN_HAND, percent=percent) if pid in self.workers.running]
            return holders or [0 for (all_done,) in await self.ask(ALL_DONE) if all_done]

        return (await until(look, TIMEOUT_S))[0]

    async def until_done(self, count: int) -> None:
        async def look() -> bool:
            rows = dict(await self.ask(STATES))
            assert "failed" not in rows, await self.ask("SELECT payload FROM process.jobs WHERE status = 'failed'")
            return rows == {"done": count}

        await until(look, TIMEOUT_S)

    def reading(self) -> Workers:
        """Workers for what comes behind the transcode."""
        return self.workers.doing("sample,ocr,segment_index")

    async def jobs(self) -> list[tuple[Any, ...]]:
        return await self.harness.execute(
            "SELECT attempt, retry_count, status::text FROM process.jobs WHERE job_type = 'transcode'"
        )


@pytest.fixture
async def worker_harness(
    shared_stack: RunningStack,
    postgres: PostgresEndpoint,
    bucket: ObjectsEndpoint,
    tmp_path: Path,
) -> AsyncGenerator[WorkerHarness]:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "TOUCHLINE_DATA": str(shared_stack.folder.root),
        "TOUCHLINE_POSTGRES_URL": postgres.app_url,
        "TOUCHLINE_POSTGRES_OWNER_URL": postgres.owner_url,
        "TOUCHLINE_POSTGRES_WORKER_URL": postgres.worker_url,
        "TOUCHLINE_OBJECTS_URL": bucket.url,
        "TOUCHLINE_OBJECTS_BUCKET": bucket.bucket,
        "TOUCHLINE_OBJECTS_ACCESS_KEY": bucket.access_key,
        "TOUCHLINE_OBJECTS_SECRET_KEY": bucket.secret_key,
        "TMPDIR": str(tmp_path / "temporary"),
        "TOUCHLINE_PROCESS_SCRATCH": str(tmp_path / "scratch"),
        "TOUCHLINE_WORKER_CONCURRENCY": "1",
        "TOUCHLINE_WORKER_JOB_TYPES": "transcode",
        "TOUCHLINE_WORKER_LEASE": "5s",
        "TOUCHLINE_WORKER_HEARTBEAT_INTERVAL": "500ms",
        "TOUCHLINE_WORKER_RECLAIM_INTERVAL": "200ms",
        "TOUCHLINE_WORKER_POLL_INTERVAL": "200ms",
        "TOUCHLINE_LOG_LEVEL": "error",
    }
    (tmp_path / "temporary").mkdir()
    clip = make_clip(tmp_path / "clip.mp4", seconds=10, codec=RE_ENCODED, size=(640, 360))
    async with Database(postgres.worker_url) as database, ObjectStore(bucket, ObjectsSettings()) as objects:
        harness = QueueHarness(postgres, database, new_tenant())
        yield WorkerHarness(harness, objects, Workers(environment), clip)


@pytest.mark.chaos(seconds=22)
@pytest.mark.timeout(1800)
async def test_each_video_is_made_once_whoever_dies(
    worker_harness: WorkerHarness, chaos: Chaos, postgres_server: PostgresServer
) -> None:
    count, deaths = (12, 24) if chaos.full else (2, 3)
    chance = chaos.random("worker")
    with running_workers(worker_harness.workers, 2) as workers:
        videos = await worker_harness.videos(count)
        for _ in range(deaths):
            victim = await worker_harness.busy_worker(chance.randrange(5, 95, 5))
            if not victim:
                break
            if chance.random() < 0.3:
                await kill_sessions(postgres_server)
            workers.end(victim, signal.SIGKILL)
            workers.start()
        await worker_harness.until_done(count)
    await check(worker_harness, videos)


@pytest.mark.chaos(seconds=10)
async def test_a_worker_that_is_killed_and_started_again_does_not_wait_for_its_lease(
    worker_harness: WorkerHarness,
) -> None:
    """Its lease is of an hour: nobody could wait for it. Another that lives beside it keeps what it has."""
    with running_workers(worker_harness.workers.with_lease("1h"), 1) as workers:
        [video] = await worker_harness.videos(1)
        victim = await replace(worker_harness, workers=workers).busy_worker()
        assert victim
        workers.end(victim, signal.SIGKILL)
        workers.start()
        await worker_harness.until_done(1)
    assert await worker_harness.jobs() == [(2, 1, "done")]
    [(why,)] = await worker_harness.harness.execute(
        "SELECT DISTINCT reason FROM process.job_events WHERE reason LIKE %(like)s", like="WorkerDied%"
    )
    assert f"/{victim}/" in why
    await check(worker_harness, [video])


async def check(worker_harness: WorkerHarness, videos: list[UUID]) -> None:
    await worker_harness.harness.execute(
        "UPDATE process.videos SET updated_at = now() - interval '1 hour' WHERE NOT pointers_written"
    )
    await PointerWriter(worker_harness.harness.database, worker_harness.objects).run_pass()
    all_told = [data for _, _, data in await all_events(worker_harness.harness, "video.transcoded")]
    told = [data for data in all_told if data["storyboard_key"]]  # complete; before, each may have become playable
    assert Counter(data["artifact_hash"] for data in told) == Counter(video_id.hex for video_id in videos), "each once"
    assert await all_events(worker_harness.harness, "video.failed") == []
    rows = await worker_harness.harness.execute("SELECT video_id, s3_proxy_path, s3_thumb_path FROM process.videos")
    assert {(video.hex, proxy, thumb) for video, proxy, thumb in rows} == {
        (data["artifact_hash"], data["manifest_key"], data["poster_key"]) for data in told
    }, "one set of pointers"
    for video_id, proxy, _ in rows:
        await check_fixed_keys(worker_harness.objects, video_id, attempt=proxy.split("/")[-2])


async def check_fixed_keys(objects: ObjectStore, video_id: UUID, attempt: str) -> None:
    """Everything that the fixed playlist leads to is there and of one attempt."""
    master = (await objects.get(f"videos/proxy/{video_id}/index.m3u8")).decode()
    [variant] = [line for line in master.splitlines() if line and not line.startswith("#")]
    assert variant.startswith(f"{attempt}/")
    folder = f"videos/proxy/{video_id}/{variant.rpartition('/')[0]}"
    playlist = (await objects.get(f"{folder}/index.m3u8")).decode()
    for segment in (line for line in playlist.splitlines() if line and not line.startswith("#")):
        assert await objects.exists(f"{folder}/{segment}")
    fixed = await objects.get(f"thumbs/{video_id}/poster.jpg")
    assert fixed == await objects.get(f"thumbs/{video_id}/{attempt}/poster.jpg")


async def all_events(harness: QueueHarness, event_type: str) -> list[tuple[str, int, dict[str, Any]]]:
    """Nobody sequences what the workers announce: it lies in the inbox."""
    return await harness.events(event_type)


async def kill_sessions(server: PostgresServer) -> None:
    async with await psycopg.AsyncConnection.connect(server.superuser_url) as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'touchline_worker'"
        )


@pytest.mark.chaos(seconds=10)
@pytest.mark.timeout(600)
async def test_a_clean_stop_in_the_middle_costs_no_attempt(worker_harness: WorkerHarness) -> None:
    with running_workers(worker_harness.workers, 1) as workers:
        await worker_harness.videos(1)
        assert workers.end(await worker_harness.busy_worker(), signal.SIGTERM) == 0
        assert await worker_harness.jobs() == [(1, 0, "queued")]
        workers.start()
        await worker_harness.until_done(1)
    assert await worker_harness.jobs() == [(2, 0, "done")]


@pytest.mark.chaos(seconds=12)
@pytest.mark.timeout(600)
async def test_a_worker_that_froze_past_its_lease_writes_nothing_when_it_wakes(worker_harness: WorkerHarness) -> None:
    with running_workers(worker_harness.workers, 1) as workers:
        videos = await worker_harness.videos(1)
        frozen = await worker_harness.busy_worker()
        os.kill(frozen, signal.SIGSTOP)
        workers.start()
        await worker_harness.until_done(1)
        os.kill(frozen, signal.SIGCONT)
        assert workers.end(frozen, signal.SIGTERM) == 0  # it has noticed, and has nothing to give back
    assert await worker_harness.jobs() == [(2, 1, "done")]
    await check(worker_harness, videos)


@pytest.mark.chaos(seconds=2)
@pytest.mark.timeout(3600)
async def test_the_write_of_a_frozen_worker_is_refused_every_time(postgres: PostgresEndpoint, chaos: Chaos) -> None:
    """Whatever it wants to write, and however far the others have come meanwhile."""
    chance, runs = chaos.random("fence"), 10_000 if chaos.full else 60
    async with Database(postgres.worker_url) as database:
        harness = QueueHarness(postgres, database, new_tenant())
        for _ in range(runs):
            await freeze_once(harness, chance)
        [(done,)] = await harness.execute("SELECT count(*) FROM process.jobs WHERE status = 'done'")
        assert done == runs


async def freeze_once(harness: QueueHarness, chance: Random) -> None:
    frozen, living = harness.queue("frozen"), harness.queue("living", timedelta(minutes=5))
    job = await harness.enqueue()
    [held] = await frozen.claim([JobType.TRANSCODE], 1)
    await harness.expire_leases()
    moments = [chance.random() < 0.5 for _ in range(4)]
    if moments[0]:
        await refused(frozen, held, chance)
    assert await living.reclaim()
    if moments[1]:
        await refused(frozen, held, chance)
    [current] = await living.claim([JobType.TRANSCODE], 1)
    if moments[2] or not any(moments):
        await refused(frozen, held, chance)
    await living.complete(current, {"by": "living"}, nothing)
    if moments[3]:
        await refused(frozen, held, chance)
    done = await harness.job(job.id)
    assert (done.status, done.attempt, done.result) == (JobStatus.DONE, 2, {"by": "living"})


async def refused(queue: Queue, held: Any, chance: Random) -> None:
    writes = {
        "complete": lambda: queue.complete(held, {"by": "frozen"}, nothing),
        "fail": lambda: queue.fail(held, FailureReason("Late", "too late", retryable=False)),
        "release": lambda: queue.release(held, "too late"),
        "progress": lambda: queue.report(held, 50),
    }
    with pytest.raises(LeaseLost):
        await writes[chance.choice(sorted(writes))]()
    assert not await queue.heartbeat(held)


async def nothing(transaction: Transaction) -> None:
    """No effects but the completion."""


READ_BY = """
SELECT split_part(locked_by, '/', 2)::int FROM process.jobs
 WHERE job_type = 'ocr' AND status = 'processing' AND progress_percent >= 50
"""
READING = "SELECT read_until_ms, is_complete, revision FROM process.readings"


@pytest.mark.chaos(seconds=20)
@pytest.mark.timeout(600)
async def test_a_reader_killed_in_the_middle_is_followed_by_one_who_goes_on(
    worker_harness: WorkerHarness, tmp_path: Path
) -> None:
    """A hundred pictures are two chunks: begun twice, each kept once, completed once. What the first left is gone."""
    harness = worker_harness.harness
    video_id = await harness.video()
    await worker_harness.objects.put_new(original_path(video_id), worker_harness.clip)
    await harness.enqueue(SamplePayload(video_id=video_id, s3_original_path=original_path(video_id)))

    def has_pictures() -> bool:
        return any(files and "touchline-pixels-" in folder for folder, _, files in os.walk(tmp_path))

    async def reader() -> list[int]:
        return [pid for (pid,) in await worker_harness.ask(READ_BY) if has_pictures()]

    async def ready() -> bool:
        return await worker_harness.ask("SELECT status FROM process.videos") == [("ready",)]

    with running_workers(worker_harness.reading(), 1) as workers:
        [victim] = await until(reader, TIMEOUT_S)
        workers.end(victim, signal.SIGKILL)
        [(read_until_ms, is_complete, _)] = await harness.execute(READING)
        assert (read_until_ms > 0, is_complete) == (True, False)
        assert len([*(tmp_path / "scratch").glob("worker-*")]) == 1
        workers.start()
        await until(ready, TIMEOUT_S)
        assert len([*(tmp_path / "scratch").glob("worker-*")]) == 1, "its own"
        assert [*(tmp_path / "temporary").iterdir()] == []
    [(_, is_complete, revision)] = await harness.execute(READING)
    assert (is_complete, revision) == (True, 5)
    attempts = await harness.execute("SELECT job_type::text, attempt FROM process.jobs ORDER BY created_at")
    assert attempts == [("sample", 1), ("ocr", 2), ("segment_index", 1)]


@pytest.mark.chaos(seconds=20)
async def test_a_reader_rests_while_something_waits_to_play_and_leaves_nothing_that_rests(
    worker_harness: WorkerHarness, tmp_path: Path
) -> None:
    """The foreground is that of the machine, held here by another process than the worker. A worker that is killed
    while its child rests takes it along, and the next one goes on when nothing waits any more."""
    harness = worker_harness.harness
    video_id = await harness.video()
    await worker_harness.objects.put_new(original_path(video_id), worker_harness.clip)
    job = await harness.enqueue(SamplePayload(video_id=video_id, s3_original_path=original_path(video_id)))
    workers = worker_harness.workers.doing("sample")
    with open_foreground(tmp_path / "scratch") as foreground:
        with running_workers(workers, 1):
            [victim] = workers.running

            def at_work() -> list[tuple[psutil.Process, str]]:
                """The children of the zygote, which itself never rests."""
                with suppress(psutil.NoSuchProcess):  # one may end while they are looked at
                    below = psutil.Process(victim).children(recursive=True)
                    zygotes = {each.pid for each in below if each.name() != "bwrap"}
                    return [(each, each.status()) for each in below if each.ppid() in zygotes]
                return []

            async def rested() -> list[psutil.Process]:
                """One that is seen at work may end before it is told to rest: then the next one is waited for."""
                assert (await harness.job(job.id)).status is not JobStatus.DONE
                if not at_work():
                    return []
                with foreground.working():
                    while states := at_work():
                        if stopped := [each for each, status in states if status == psutil.STATUS_STOPPED]:
                            workers.end(victim, signal.SIGKILL)
                            return stopped
                        await asyncio.sleep(0.02)
                return []

            assert psutil.wait_procs(await until(rested, TIMEOUT_S), timeout=TIMEOUT_S)[1] == []
        with running_workers(workers, 1):

            async def done() -> bool:
                return (await harness.job(job.id)).status is JobStatus.DONE

            await until(done, TIMEOUT_S)
