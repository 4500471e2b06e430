"""The rules of the queue from plain SQL: whoever comes by psql obeys them too."""

# ruff: noqa: S608  the tests write the statements themselves

from __future__ import annotations

import itertools

import psycopg
import pytest

from tests.support.events import new_tenant
from touchline.process.queue.model import Failure, Job, JobStatus
from touchline.process.queue.store import JobStore

from .conftest import World

ARROWS = {("queued", "processing"), ("processing", "done"), ("processing", "failed"), ("failed", "queued")}
FORBIDDEN = sorted(set(itertools.permutations(JobStatus, 2)) - {(JobStatus(a), JobStatus(b)) for a, b in ARROWS})
LOCK = "locked_by = 'psql', locked_until = now() + interval '1 minute'"
UNLOCK = "locked_by = NULL, locked_until = NULL"


async def in_state(world: World, status: JobStatus) -> Job:
    job = await world.enqueue()
    if status is JobStatus.QUEUED:
        return job
    queue = world.queue()
    [held] = await queue.claim([job.job_type], 1)
    async with world.database.transaction(world.tenant_id) as transaction:
        if status is JobStatus.DONE:
            await JobStore(transaction.connection).complete(held, {})
        if status is JobStatus.FAILED:
            await JobStore(transaction.connection).fail(held, Failure("NotAVideo", "no", retryable=False))
    return await world.job(job.id)


async def move(world: World, job: Job, status: str) -> None:
    lock = LOCK if status == "processing" else UNLOCK
    await world.execute(f"UPDATE process.jobs SET status = %(to)s, {lock} WHERE id = %(id)s", to=status, id=job.id)


async def test_every_other_transition_is_refused(world: World) -> None:
    for before, after in FORBIDDEN:
        job = await in_state(world, before)
        with pytest.raises(psycopg.errors.CheckViolation, match=str(job.id)):
            await move(world, job, after)
        assert await world.job(job.id) == job
        await world.execute("UPDATE process.jobs SET run_at = now() + interval '1 hour' WHERE status = 'queued'")


async def test_the_arrows_of_the_diagram_are_open_and_leave_their_trace(world: World) -> None:
    job = await world.enqueue()
    for status in ("processing", "failed", "queued", "processing", "done"):
        await move(world, job, status)
    done = await world.job(job.id)
    assert (done.status, done.attempt, done.revision) == (JobStatus.DONE, 2, 6)
    steps = [(before, after) for before, after, *_ in await world.history(job.id)]
    assert steps == [
        (None, "queued"),
        ("queued", "processing"),
        ("processing", "failed"),
        ("failed", "queued"),
        ("queued", "processing"),
        ("processing", "done"),
    ]


async def test_the_fence_is_not_the_writers_to_set(world: World) -> None:
    job = await in_state(world, JobStatus.PROCESSING)
    await world.execute("UPDATE process.jobs SET attempt = 7, revision = 7 WHERE id = %(id)s", id=job.id)
    after = await world.job(job.id)
    assert (after.attempt, after.revision) == (job.attempt, job.revision + 1)


async def test_neither_its_place_nor_what_it_was_is_the_writers_to_set(world: World) -> None:
    job, books = (
        await world.enqueue(),
        "SELECT attempt, lane, parked, start_tag, place FROM process.jobs WHERE id = %(id)s",
    )
    [before] = await world.execute(books, id=job.id)
    forged = "attempt = 7, lane = NULL, parked = 'time', start_tag = 7, place = 7, was = 'failed'"
    await world.execute(f"UPDATE process.jobs SET status = 'processing', {LOCK}, {forged} WHERE id = %(id)s", id=job.id)
    assert await world.execute(books, id=job.id) == [(before[0] + 1, *before[1:])]
    assert [step[:2] for step in await world.history(job.id)] == [(None, "queued"), ("queued", "processing")]


CHANGES = [
    "video_id = gen_random_uuid()",
    "job_type = 'sample'",
    "payload = '{}'",
    "created_at = now() - interval '1 day'",
    "unique_key = 'other'",
    "id = gen_random_uuid()",
    "retry_count = 1",
    "locked_by = NULL",
    "max_retries = -1",
    "progress_percent = 101",
]


async def test_what_a_job_is_cannot_change(world: World) -> None:
    job = await in_state(world, JobStatus.PROCESSING)
    for change in CHANGES:
        with pytest.raises(psycopg.errors.CheckViolation):
            await world.execute(f"UPDATE process.jobs SET {change} WHERE id = %(id)s", id=job.id)
    assert await world.job(job.id) == job


async def test_a_dead_letter_comes_back_only_by_a_retry_that_starts_at_zero(world: World) -> None:
    job = await world.enqueue()
    for _ in range(4):
        await world.make_due()
        [held] = await world.queue().claim([job.job_type], 1)
        await world.queue().fail(held, Failure("Unavailable", "away", retryable=True))
    dead = await world.job(job.id)
    assert (dead.status, dead.retry_count) == (JobStatus.FAILED, 3)
    with pytest.raises(psycopg.errors.CheckViolation, match="failed for good"):
        await move(world, dead, "queued")
    await world.execute("UPDATE process.jobs SET status = 'queued', retry_count = 0 WHERE id = %(id)s", id=dead.id)
    assert (await world.job(job.id)).status is JobStatus.QUEUED


BIRTHS = [
    {"was": "'queued'"},
    {"status": "'done'"},
    {"retry_count": "1"},
    {"payload": '\'{"video_id": "00000000-0000-0000-0000-000000000000"}\''},
    {"payload": "'{}'"},
]


async def test_a_job_begins_queued_with_a_payload_for_its_video(world: World) -> None:
    video_id = await world.video()
    for birth in BIRTHS:
        given = {"payload": f'\'{{"video_id": "{video_id}"}}\''} | birth
        with pytest.raises(psycopg.errors.CheckViolation):
            await world.execute(
                f"INSERT INTO process.jobs (tenant_id, video_id, job_type, {', '.join(given)})"
                f" VALUES (platform.current_tenant(), %(video)s, 'transcode', {', '.join(given.values())})",
                video=video_id,
            )


async def test_jobs_and_their_history_cannot_be_removed_or_forged(world: World) -> None:
    job = await world.enqueue()
    forged = "INSERT INTO process.job_events (tenant_id, job_id, to_status, attempt, retry_count, actor)"
    for statement in (
        "DELETE FROM process.jobs",
        "DELETE FROM process.job_events",
        "UPDATE process.job_events SET actor = 'nobody'",
        f"{forged} VALUES (platform.current_tenant(), '{job.id}', 'done', 1, 0, 'me')",
        "SELECT process.record_transitions()",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await world.execute(statement)


async def test_the_history_says_who_and_why(world: World) -> None:
    job = await world.enqueue()
    [held] = await world.queue("first").claim([job.job_type], 1)
    await world.queue("first").fail(held, Failure("Unavailable", "the store is away", retryable=True))
    rows = await world.execute(
        "SELECT to_status, actor, reason FROM process.job_events WHERE job_id = %(id)s ORDER BY id", id=job.id
    )
    assert rows == [
        ("queued", "touchline_worker", None),
        ("processing", "first", None),
        ("failed", "first", "Unavailable: the store is away"),
        ("queued", "first", "Unavailable: the store is away"),
    ]


async def test_another_tenants_job_does_not_exist(world: World) -> None:
    job = await world.enqueue()
    other = world.of(new_tenant())
    assert await other.execute("SELECT 1 FROM process.jobs") == []
    assert await other.execute("SELECT 1 FROM process.job_events") == []
    assert await other.execute("SELECT 1 FROM process.complete('me', %(id)s, 1, '{}')", id=job.id) == []
