"""A tenant with a video, and the queue as a worker sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.support.events import new_tenant
from touchline.kernel import TenantId
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database
from touchline.process.queue.jobs import Job, JobPayload, TranscodePayload
from touchline.process.queue.service import Queue, enqueue
from touchline.process.queue.store import JobStore
from touchline.process.videos.store import NewVideo, VideoStore

LEASE = timedelta(minutes=5)


def original_path(video_id: UUID) -> str:
    return f"videos/original/{video_id}/master.mp4"


@dataclass(frozen=True, slots=True)
class QueueHarness:
    postgres: PostgresEndpoint
    database: Database  # as a worker
    tenant_id: TenantId

    def queue(self, worker: str = "worker", lease: timedelta = LEASE) -> Queue:
        return Queue(self.database, worker, lease)

    def of(self, tenant_id: TenantId) -> QueueHarness:
        return replace(self, tenant_id=tenant_id)

    async def video(self) -> UUID:
        video_id = uuid4()
        async with self.database.transaction(self.tenant_id) as transaction:
            video = NewVideo(video_id, None, original_path(video_id), 1000, "video/mp4")
            assert await VideoStore(transaction.connection).add(video)
        return video_id

    async def enqueue(self, payload: JobPayload | None = None, **options: Any) -> Job:
        """Without a payload: a transcode of a new video."""
        if payload is None:
            video_id = await self.video()
            payload = TranscodePayload(video_id=video_id, s3_original_path=original_path(video_id))
        async with self.database.transaction(self.tenant_id) as transaction:
            job = await enqueue(transaction, payload, **options)
        assert job
        return job

    async def job(self, job_id: UUID) -> Job:
        async with self.database.transaction(self.tenant_id) as transaction:
            found = await JobStore(transaction.connection).find(job_id)
        assert found
        return found

    async def execute(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """Plain SQL as a worker of this tenant."""
        async with self.database.transaction(self.tenant_id) as transaction:
            cursor = await transaction.connection.execute(statement.encode(), values)
            return await cursor.fetchall() if cursor.description else []

    async def history(self, job_id: UUID) -> list[tuple[Any, ...]]:
        return await self.execute(
            "SELECT from_status, to_status, attempt, retry_count FROM process.job_events"
            " WHERE job_id = %(id)s ORDER BY id",
            id=job_id,
        )

    async def expire_leases(self) -> None:
        """As if the time had passed."""
        await self.execute("UPDATE process.jobs SET locked_until = now() WHERE status = 'processing'")

    async def make_due(self) -> None:
        await self.execute("UPDATE process.jobs SET run_at = now() WHERE status = 'queued'")

    async def events(self, event_type: str = "") -> list[tuple[str, int, dict[str, Any]]]:
        async with self.database.system("test: read events") as transaction:
            cursor = await transaction.connection.execute(
                "SELECT type, revision, data FROM platform.waiting_events WHERE type = %(type)s OR %(type)s = ''"
                " ORDER BY sequence, number",
                {"type": event_type},
            )
            return await cursor.fetchall()


@pytest.fixture
async def harness(postgres: PostgresEndpoint) -> AsyncGenerator[QueueHarness]:
    async with Database(postgres.worker_url) as database:
        yield QueueHarness(postgres, database, new_tenant())


async def until(condition: Callable[[], Awaitable[Any]], within_s: float = 60.0) -> Any:
    """The first thing that `look` finds."""
    async with asyncio.timeout(within_s):
        while not (found := await condition()):
            await asyncio.sleep(0.02)
    return found
