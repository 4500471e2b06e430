"""Which job is claimed next: tenants take turns, waiting jobs are not scanned, and a claim reads only what it takes.

What a claim reads is counted by Postgres, not timed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.support.events import new_tenant
from tests.support.postgres import PostgresServer
from touchline.kernel import TenantId
from touchline.process.queue.jobs import Job, JobSchedule, TranscodePayload
from touchline.process.queue.service import enqueue, enqueue_all

from .conftest import QueueHarness, original_path
from .test_queue import TRANSCODE, claim_one

# Rows as a backlog of a tenant would leave them; the triggers place them as they place every job.
FLOOD = """
WITH made AS (
  INSERT INTO process.videos (tenant_id, video_id, s3_original_path, size_bytes, content_type)
  SELECT platform.current_tenant(), gen_random_uuid(), 'x', 1, 'video/mp4' FROM generate_series(1, %(count)s)
  RETURNING video_id
)
INSERT INTO process.jobs (tenant_id, video_id, job_type, run_at, payload)
SELECT platform.current_tenant(), video_id, 'transcode', {run_at}, jsonb_build_object(
         'video_id', video_id, 's3_original_path', 'videos/original/' || video_id || '/master.mp4')
  FROM made
"""
NO_STATISTICS = (
    "DELETE FROM pg_statistic WHERE starelid = 'process.jobs'::regclass",
    "UPDATE pg_class SET reltuples = -1 WHERE oid = 'process.jobs'::regclass",
)
BACKLOG = 1500  # a hundred thousand and more are the bench's


async def flood(harness: QueueHarness, count: int, run_at: str = "now()") -> None:
    await harness.execute(FLOOD.replace("{run_at}", run_at), count=count)


async def claim_tenants(harness: QueueHarness, count: int) -> list[TenantId]:
    return [job.tenant_id for job in await harness.queue().claim(TRANSCODE, count, thorough=False)]


@pytest.fixture
def reading(harness: QueueHarness) -> Any:
    """How many rows of jobs a claim has looked at, by the index that it must use, and by reading all."""

    @asynccontextmanager
    async def looked() -> AsyncGenerator[dict[str, int]]:
        before = await counters(harness)
        counted: dict[str, int] = {}
        yield counted
        after = await counters(harness)
        counted.update({name: after[name] - before[name] for name in after})

    return looked


async def counters(harness: QueueHarness) -> dict[str, int]:
    """Each connection of the pool reports what it has read: all are taken at once, so that none is left out."""
    pool = harness.database._pool
    async with AsyncExitStack() as stack:
        for _ in range(pool.get_stats()["pool_size"]):
            transaction = await stack.enter_async_context(harness.database.transaction(harness.tenant_id))
            await transaction.connection.execute("SELECT pg_stat_force_next_flush()")
    rows = await harness.execute(
        "SELECT indexrelname::text, idx_tup_read::bigint FROM pg_stat_user_indexes WHERE relname = 'jobs'"
        " UNION ALL SELECT 'whole table', seq_tup_read FROM pg_stat_user_tables WHERE relname = 'jobs'"
    )
    return dict(rows)


async def test_a_tenant_with_few_jobs_does_not_wait_for_one_with_many(harness: QueueHarness) -> None:
    await flood(harness, BACKLOG)
    quiet = harness.of(new_tenant())
    await quiet.enqueue()
    await quiet.enqueue()
    assert sorted(await claim_tenants(harness, 4)) == sorted([harness.tenant_id] * 2 + [quiet.tenant_id] * 2)


async def test_the_turn_holds_while_the_lane_moves_on(harness: QueueHarness) -> None:
    """Whoever comes late is next, not first for ever: both get their half."""
    await flood(harness, BACKLOG)
    await harness.queue().claim(TRANSCODE, 500)
    await harness.queue().claim(TRANSCODE, 100)
    quiet = harness.of(new_tenant())
    await flood(quiet, 400)
    assert quiet.tenant_id in await claim_tenants(harness, 102)
    shares = await claim_tenants(harness, 200)
    assert 80 <= shares.count(quiet.tenant_id) <= 120


async def test_many_tenants_share_alike(harness: QueueHarness) -> None:
    tenants = [harness.of(new_tenant()) for _ in range(5)]
    for number, tenant in enumerate(tenants):
        await flood(tenant, 20 * (number + 1))
    taken = await claim_tenants(harness, 50)
    assert {taken.count(tenant.tenant_id) for tenant in tenants} == {10}


async def test_a_high_priority_passes_all_turns(harness: QueueHarness) -> None:
    await flood(harness, 50)
    urgent = await harness.enqueue(schedule=JobSchedule(priority=1))
    assert (await claim_one(harness.queue())).id == urgent.id


async def test_a_batch_in_one_statement_is_one_job_each_and_takes_its_turns(harness: QueueHarness) -> None:
    def payload(video_id: UUID) -> TranscodePayload:
        return TranscodePayload(video_id=video_id, s3_original_path=original_path(video_id))

    videos = [await harness.video() for _ in range(5)]
    async with harness.database.transaction(harness.tenant_id) as transaction:
        jobs = await enqueue_all(transaction, [payload(video_id) for video_id in [*videos, videos[0]]])
    assert sorted(job.video_id for job in jobs) == sorted(videos)
    assert [job.video_id for job in await harness.queue().claim(TRANSCODE, 9)] == videos
    tags = await harness.execute("SELECT start_tag FROM process.jobs ORDER BY start_tag")
    assert [tag - tags[0][0] for (tag,) in tags] == [0, 1, 2, 3, 4]


async def test_a_claim_reads_what_it_takes_however_many_wait(harness: QueueHarness, reading: Any) -> None:
    await flood(harness, BACKLOG)  # and nobody has analysed it
    async with reading() as counted:
        assert len(await harness.queue().claim(TRANSCODE, 10, thorough=False)) == 10
    assert counted["jobs_claim"] <= 20
    assert counted["whole table"] == 0


async def test_what_waits_for_its_time_or_a_parent_is_not_read(harness: QueueHarness, reading: Any) -> None:
    await flood(harness, BACKLOG, "now() + interval '1 hour'")
    job = await harness.enqueue()
    async with reading() as counted:
        assert (await claim_one(harness.queue())).id == job.id
    assert counted["jobs_claim"] <= 2
    assert counted["jobs_due"] == 0
    assert counted["whole table"] == 0


async def test_what_an_old_transaction_still_sees_is_not_read_again(
    harness: QueueHarness, reading: Any, postgres_server: PostgresServer
) -> None:
    """Claimed rows stay in the index while somebody might look at them; claims start behind them."""
    await flood(harness, BACKLOG)
    name = conninfo_to_dict(harness.postgres.app_url)["dbname"]
    async with await psycopg.AsyncConnection.connect(postgres_server.superuser(str(name))) as old:
        await old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        await old.execute("SELECT count(*) FROM process.jobs")
        for _ in range(10):
            await harness.queue().claim(TRANSCODE, 100, thorough=False)
        async with reading() as counted:
            assert len(await harness.queue().claim(TRANSCODE, 10, thorough=False)) == 10
    assert counted["jobs_claim"] <= 10 + 2 * 100
    assert counted["whole table"] == 0


async def test_what_committed_late_is_found_by_a_thorough_claim(harness: QueueHarness) -> None:
    """It got its turn when it was added; by its commit the band had moved on."""
    quiet = harness.of(new_tenant())
    video_id = await quiet.video()
    await flood(harness, 400)
    async with harness.database.transaction(quiet.tenant_id) as transaction:
        payload = TranscodePayload(video_id=video_id, s3_original_path=original_path(video_id))
        late = await enqueue(transaction, payload)
        for _ in range(3):
            await harness.queue().claim(TRANSCODE, 100, thorough=False)
    assert late
    assert late.id not in {job.id for job in await harness.queue().claim(TRANSCODE, 1, thorough=False)}
    assert late.id in {job.id for job in await harness.queue().claim(TRANSCODE, 1, thorough=True)}


async def test_delayed_jobs_come_when_they_are_due(harness: QueueHarness) -> None:
    later = JobSchedule(run_at=datetime.now(UTC) + timedelta(hours=1))
    job: Job = await harness.enqueue(schedule=later)
    assert await harness.queue().claim(TRANSCODE, 5) == []
    await harness.execute("UPDATE process.jobs SET run_at = now() + interval '20 milliseconds'")
    while not (claimed := await harness.queue().claim(TRANSCODE, 5)):
        pass
    assert [each.id for each in claimed] == [job.id]


async def test_the_place_is_not_the_writers_to_set(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    before = await harness.execute("SELECT band, parked, start_tag, place FROM process.jobs")
    await harness.execute("UPDATE process.jobs SET band = 9, parked = 'time', start_tag = -5, place = -5")
    assert await harness.execute("SELECT band, parked, start_tag, place FROM process.jobs") == before
    assert (await claim_one(harness.queue())).id == job.id


async def test_the_plan_of_a_claim_is_its_index(harness: QueueHarness, postgres_server: PostgresServer) -> None:
    """As the role that claims, with no statistics at all."""
    await flood(harness, 200)
    name = conninfo_to_dict(harness.postgres.app_url)["dbname"]
    async with await psycopg.AsyncConnection.connect(postgres_server.superuser(str(name))) as connection:
        for forget in NO_STATISTICS:  # the server may have gathered some by itself meanwhile
            await connection.execute(forget)
        await connection.execute("SET LOCAL ROLE touchline_definer")
        cursor = await connection.execute(
            "EXPLAIN SELECT id FROM process.jobs WHERE band = 1 AND (start_tag, place) >= (0, 0)"
            " ORDER BY start_tag, place LIMIT 10 FOR UPDATE SKIP LOCKED"
        )
        plan = "\n".join(line for (line,) in await cursor.fetchall())
        await connection.rollback()
    assert "Index Scan using jobs_claim" in plan
    assert "Sort" not in plan
