"""Who is next: tenants take turns, what must wait is not stepped over, and a claim reads only what it takes.

What a claim reads is counted by Postgres, not timed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.support.events import new_tenant
from tests.support.postgres import PostgresServer
from touchline.kernel import TenantId
from touchline.process.queue.model import Job, Order
from touchline.process.queue.payloads import TranscodePayload
from touchline.process.queue.service import enqueue, enqueue_all

from .conftest import World, original_path
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


async def flood(world: World, count: int, run_at: str = "now()") -> None:
    await world.execute(FLOOD.replace("{run_at}", run_at), count=count)


async def claim_tenants(world: World, count: int) -> list[TenantId]:
    return [job.tenant_id for job in await world.queue().claim(TRANSCODE, count, thorough=False)]


@pytest.fixture
def reading(world: World) -> Any:
    """How many rows of jobs a claim has looked at, by the index that it must use, and by reading all."""

    @asynccontextmanager
    async def looked() -> AsyncGenerator[dict[str, int]]:
        before = await counters(world)
        counted: dict[str, int] = {}
        yield counted
        after = await counters(world)
        counted.update({name: after[name] - before[name] for name in after})

    return looked


async def counters(world: World) -> dict[str, int]:
    """In one session of its own: a session tells of itself when it ends, at the latest."""
    await world.database._pool.check()
    for _ in range(2):
        async with world.database.transaction(world.tenant_id) as transaction:
            await transaction.connection.execute("SELECT pg_stat_force_next_flush()")
    rows = await world.execute(
        "SELECT indexrelname::text, idx_tup_read::bigint FROM pg_stat_user_indexes WHERE relname = 'jobs'"
        " UNION ALL SELECT 'whole table', seq_tup_read FROM pg_stat_user_tables WHERE relname = 'jobs'"
    )
    return dict(rows)


async def test_a_tenant_with_few_jobs_does_not_wait_for_one_with_many(world: World) -> None:
    await flood(world, BACKLOG)
    quiet = world.of(new_tenant())
    await quiet.enqueue()
    await quiet.enqueue()
    assert sorted(await claim_tenants(world, 4)) == sorted([world.tenant_id] * 2 + [quiet.tenant_id] * 2)


async def test_the_turn_holds_while_the_lane_moves_on(world: World) -> None:
    """Whoever comes late is next, not first for ever: both get their half."""
    await flood(world, BACKLOG)
    await world.queue().claim(TRANSCODE, 500)
    await world.queue().claim(TRANSCODE, 100)
    quiet = world.of(new_tenant())
    await flood(quiet, 400)
    assert quiet.tenant_id in await claim_tenants(world, 102)
    shares = await claim_tenants(world, 200)
    assert 80 <= shares.count(quiet.tenant_id) <= 120


async def test_many_tenants_share_alike(world: World) -> None:
    tenants = [world.of(new_tenant()) for _ in range(5)]
    for number, tenant in enumerate(tenants):
        await flood(tenant, 20 * (number + 1))
    taken = await claim_tenants(world, 50)
    assert {taken.count(tenant.tenant_id) for tenant in tenants} == {10}


async def test_a_high_priority_passes_all_turns(world: World) -> None:
    await flood(world, 50)
    urgent = await world.enqueue(order=Order(priority=1))
    assert (await claim_one(world.queue())).id == urgent.id


async def test_a_batch_in_one_statement_is_one_job_each_and_takes_its_turns(world: World) -> None:
    def payload(video_id: UUID) -> TranscodePayload:
        return TranscodePayload(video_id=video_id, s3_original_path=original_path(video_id))

    videos = [await world.video() for _ in range(5)]
    async with world.database.transaction(world.tenant_id) as transaction:
        jobs = await enqueue_all(transaction, [payload(video_id) for video_id in [*videos, videos[0]]])
    assert sorted(job.video_id for job in jobs) == sorted(videos)
    assert [job.video_id for job in await world.queue().claim(TRANSCODE, 9)] == videos
    tags = await world.execute("SELECT start_tag FROM process.jobs ORDER BY start_tag")
    assert [tag - tags[0][0] for (tag,) in tags] == [0, 1, 2, 3, 4]


async def test_a_claim_reads_what_it_takes_however_many_wait(world: World, reading: Any) -> None:
    await flood(world, BACKLOG)  # and nobody has analysed it
    async with reading() as counted:
        assert len(await world.queue().claim(TRANSCODE, 10, thorough=False)) == 10
    assert counted["jobs_claim"] <= 20
    assert counted["whole table"] == 0


async def test_what_waits_for_its_time_or_a_parent_is_not_read(world: World, reading: Any) -> None:
    await flood(world, BACKLOG, "now() + interval '1 hour'")
    job = await world.enqueue()
    async with reading() as counted:
        assert (await claim_one(world.queue())).id == job.id
    assert counted["jobs_claim"] <= 2
    assert counted["jobs_due"] == 0
    assert counted["whole table"] == 0


async def test_what_an_old_transaction_still_sees_is_not_read_again(
    world: World, reading: Any, postgres_server: PostgresServer
) -> None:
    """Claimed rows stay in the index while somebody might look at them; claims start behind them."""
    await flood(world, BACKLOG)
    name = conninfo_to_dict(world.postgres.app_url)["dbname"]
    async with await psycopg.AsyncConnection.connect(postgres_server.superuser(str(name))) as old:
        await old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        await old.execute("SELECT count(*) FROM process.jobs")
        for _ in range(10):
            await world.queue().claim(TRANSCODE, 100, thorough=False)
        async with reading() as counted:
            assert len(await world.queue().claim(TRANSCODE, 10, thorough=False)) == 10
    assert counted["jobs_claim"] <= 10 + 2 * 100
    assert counted["whole table"] == 0


async def test_what_committed_late_is_found_by_a_thorough_claim(world: World) -> None:
    """It got its turn when it was added; by its commit the lane had moved on."""
    quiet = world.of(new_tenant())
    video_id = await quiet.video()
    await flood(world, 400)
    async with world.database.transaction(quiet.tenant_id) as transaction:
        payload = TranscodePayload(video_id=video_id, s3_original_path=original_path(video_id))
        late = await enqueue(transaction, payload)
        for _ in range(3):
            await world.queue().claim(TRANSCODE, 100, thorough=False)
    assert late
    assert late.id not in {job.id for job in await world.queue().claim(TRANSCODE, 1, thorough=False)}
    assert late.id in {job.id for job in await world.queue().claim(TRANSCODE, 1, thorough=True)}


async def test_delayed_jobs_come_when_they_are_due(world: World) -> None:
    later = Order(run_at=datetime.now(UTC) + timedelta(hours=1))
    job: Job = await world.enqueue(order=later)
    assert await world.queue().claim(TRANSCODE, 5) == []
    await world.execute("UPDATE process.jobs SET run_at = now() + interval '20 milliseconds'")
    while not (claimed := await world.queue().claim(TRANSCODE, 5)):
        pass
    assert [each.id for each in claimed] == [job.id]


async def test_the_place_is_not_the_writers_to_set(world: World) -> None:
    job = await world.enqueue()
    before = await world.execute("SELECT lane, parked, start_tag, place FROM process.jobs")
    await world.execute("UPDATE process.jobs SET lane = 9, parked = 'time', start_tag = -5, place = -5")
    assert await world.execute("SELECT lane, parked, start_tag, place FROM process.jobs") == before
    assert (await claim_one(world.queue())).id == job.id


async def test_the_plan_of_a_claim_is_its_index(world: World, postgres_server: PostgresServer) -> None:
    """As the role that claims, with no statistics at all."""
    await flood(world, 200)
    name = conninfo_to_dict(world.postgres.app_url)["dbname"]
    async with await psycopg.AsyncConnection.connect(postgres_server.superuser(str(name))) as connection:
        for forget in NO_STATISTICS:  # the server may have gathered some by itself meanwhile
            await connection.execute(forget)
        await connection.execute("SET LOCAL ROLE touchline_definer")
        cursor = await connection.execute(
            "EXPLAIN SELECT id FROM process.jobs WHERE lane = 1 AND (start_tag, place) >= (0, 0)"
            " ORDER BY start_tag, place LIMIT 10 FOR UPDATE SKIP LOCKED"
        )
        plan = "\n".join(line for (line,) in await cursor.fetchall())
        await connection.rollback()
    assert "Index Scan using jobs_claim" in plan
    assert "Sort" not in plan
