"""Touchline's queue with the whole contract on: leases, fences, history, events, turns of tenants, typed payloads."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from uuid import UUID, uuid4

from actor import PAUSE_S, go, run, say

from touchline.apps.runtime import keep_what_is_loaded, process_name
from touchline.kernel import TenantId
from touchline.platform.postgres.database import Database, Wakeups
from touchline.process.queue.handler import Finished, ReportProgress
from touchline.process.queue.jobs import Job, JobType, TranscodePayload
from touchline.process.queue.service import Queue, enqueue, enqueue_all
from touchline.process.queue.worker import CHANNELS, Worker
from touchline.process.settings import WorkerSettings

TENANT = TenantId(UUID(int=7))
CHUNK = 500
VIDEOS = """
INSERT INTO process.videos (tenant_id, video_id, s3_original_path, size_bytes, content_type)
SELECT platform.current_tenant(), id, 'x', 1, 'video/mp4' FROM unnest(%s::uuid[]) AS id
"""


def path(video_id: UUID) -> str:
    return f"videos/original/{video_id}/master.mp4"


async def add_videos(database: Database, count: int) -> list[TranscodePayload]:
    ids = [uuid4() for _ in range(count)]
    async with database.transaction(TENANT) as transaction:
        await transaction.connection.execute(VIDEOS, [ids])
    return [TranscodePayload(video_id=video_id, s3_original_path=path(video_id)) for video_id in ids]


async def fill(url: str, count: int) -> None:
    async with Database(url) as database:
        for _ in range(0, count, CHUNK):
            payloads = await add_videos(database, CHUNK)
            async with database.transaction(TENANT) as transaction:
                assert len(await enqueue_all(transaction, payloads)) == CHUNK


class NoOperation:
    def __init__(self) -> None:
        self.told = False

    async def work(self, job: Job, payload: TranscodePayload, report: ReportProgress) -> Finished:
        if self.told:
            say(f"{job.id} {time.time():.6f}")
        return Finished({})


async def drain(url: str, batch: int) -> None:
    settings = WorkerSettings(concurrency=batch, reclaim_interval=timedelta(minutes=10))
    async with Database(url) as database, database.dedicated() as looking:
        queue = Queue(database, process_name(), settings.lease)
        worker = Worker(queue, {JobType.TRANSCODE: NoOperation()}, Wakeups(url, []), settings)
        keep_what_is_loaded()
        await go()
        running = asyncio.create_task(worker.run())
        while worker.running_jobs or await _left(looking):  # looking costs: only when it has nothing to do
            await asyncio.sleep(0.01)
        say("done")
        worker.stop()
        await running


async def _left(database: Database) -> bool:
    async with database.transaction(TENANT) as transaction:
        found = await transaction.connection.execute(
            "SELECT EXISTS (SELECT 1 FROM process.jobs WHERE band IS NOT NULL)"
        )
        [(left,)] = await found.fetchall()
    return left


async def serve(url: str, _: int) -> None:
    handler, settings, wakeups = NoOperation(), WorkerSettings(), Wakeups(url, CHANNELS)
    handler.told = True
    async with Database(url) as database, wakeups.listening():
        worker = Worker(
            Queue(database, process_name(), settings.lease), {JobType.TRANSCODE: handler}, wakeups, settings
        )
        keep_what_is_loaded()
        running = asyncio.create_task(worker.run())
        await go()
        worker.stop()
        await running


async def add(url: str, count: int) -> None:
    async with Database(url) as database:
        for payload in await add_videos(database, count):
            begun = time.time()
            async with database.transaction(TENANT) as transaction:
                job = await enqueue(transaction, payload)
            assert job
            say(f"{job.id} {begun:.6f}")
            await asyncio.sleep(PAUSE_S)


if __name__ == "__main__":
    run(fill=fill, drain=drain, serve=serve, add=add)
