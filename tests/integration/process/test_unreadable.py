"""Rows that nobody can read: the database refuses them, and where one is there all the same it ends alone."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from touchline.process.queue.handler import Finished, Tell
from touchline.process.queue.listing.queries import JobFilter, JobWindow, job_of_any, jobs_of_all
from touchline.process.queue.model import Job, JobStatus, JobType
from touchline.process.queue.payloads import TranscodePayload
from touchline.process.queue.queries import jobs_of_videos

from .conftest import World, original_path, until
from .test_worker import SETTINGS, Errand, at_once, is_, working

ADD = """
INSERT INTO process.jobs (tenant_id, video_id, job_type, payload, unique_key, {column})
VALUES (platform.current_tenant(), %(video)s, 'transcode', %(payload)s, '', %(value)s) RETURNING id
"""
NO_DATES = ["infinity", "-infinity", "20000-01-01", "0044-03-15 BC", "1969-12-31T23:59:59Z"]
OURS = {"type": "Unavailable", "message": "away", "retry_count": 0, "timestamp": "2026-01-01T00:00:00Z"}


def good(video_id: UUID) -> dict[str, Any]:
    return {"video_id": str(video_id), "s3_original_path": original_path(video_id)}


async def add(world: World, payload: dict[str, Any], column: str = "trace", value: Any = None) -> UUID:
    statement = ADD.replace("{column}", column)
    [(job_id,)] = await world.execute(statement, video=payload["video_id"], payload=json.dumps(payload), value=value)
    return job_id


@pytest.mark.parametrize("column", ["run_at", "created_at", "started_at", "finished_at"])
@pytest.mark.parametrize("value", NO_DATES)
async def test_a_time_that_is_no_date_is_refused(world: World, column: str, value: str) -> None:
    payload = good(await world.video())
    with pytest.raises(psycopg.errors.CheckViolation, match="times_are_dates"):
        await add(world, payload, column, value)
    job_id = await add(world, payload)
    with pytest.raises(psycopg.errors.CheckViolation):
        await world.execute(f"UPDATE process.jobs SET {column} = %(value)s", value=value)  # noqa: S608
    assert (await world.job(job_id)).revision == 1


@pytest.mark.parametrize("value", NO_DATES)
async def test_a_lease_and_a_video_have_dates_too(world: World, value: str) -> None:
    job = await world.enqueue()
    await world.queue().claim([JobType.TRANSCODE], 1)
    for statement in (
        "UPDATE process.jobs SET locked_until = %(value)s",
        "UPDATE process.videos SET updated_at = %(value)s",
        "UPDATE process.videos SET deleted_at = %(value)s",
    ):
        with pytest.raises(psycopg.errors.CheckViolation):
            await world.execute(statement, value=value)
    assert await world.queue().heartbeat(await world.job(job.id))


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
async def test_a_payload_that_is_none_is_refused(world: World, extra: dict[str, Any], why: str) -> None:
    video_id = await world.video()
    with pytest.raises(psycopg.errors.CheckViolation, match=why):
        await add(world, good(video_id) | extra)
    assert await world.execute("SELECT count(*) FROM process.jobs") == [(0,)]


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
async def test_nobody_writes_another_error_beside_a_payload_than_the_queue_does(world: World, error: Any) -> None:
    payload = good(await world.video())
    job_id = await add(world, payload)
    wrapped = json.dumps({"error": error, "original_payload": payload})
    with pytest.raises(psycopg.errors.CheckViolation, match=r"as process\.fail writes it"):
        await world.execute("UPDATE process.jobs SET payload = %(payload)s", payload=wrapped)
    ours = json.dumps({"error": OURS, "original_payload": payload})
    await world.execute("UPDATE process.jobs SET payload = %(payload)s", payload=ours)
    job = await world.job(job_id)
    assert job.error
    assert (job.error.type, job.payload) == ("Unavailable", payload)


async def test_zeros_are_refused_by_the_database_and_by_the_model(world: World) -> None:
    video_id = await world.video()
    with pytest.raises(psycopg.errors.UntranslatableCharacter):
        await add(world, good(video_id) | {"note": "a\x00b"})
    assert await world.execute("SELECT count(*) FROM process.jobs") == [(0,)]


async def plant(world: World, job_id: UUID, column: str, value: str) -> None:
    """As a version without these rules, or a hand with all rights, left it."""
    async with await psycopg.AsyncConnection.connect(world.postgres.owner_url) as owner:
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


async def test_what_a_worker_cannot_read_fails_for_good_and_the_others_go_on(world: World) -> None:
    planted: dict[str, UUID] = {}
    for name in unreadable(good(uuid4())):
        payload = good(await world.video())
        planted[name] = await add(world, payload)
        await plant(world, planted[name], "payload", unreadable(payload)[name])
    fine, errand = await world.enqueue(), Errand(at_once)
    async with working(world, errand):
        await until(lambda: is_(world, fine, JobStatus.DONE))
        for job_id in planted.values():
            await until(lambda job_id=job_id: failed(world, job_id))
        after = await world.enqueue()
        await until(lambda: is_(world, after, JobStatus.DONE))
    assert {job.id for job in errand.begun} == {fine.id, after.id}
    for name, job_id in planted.items():
        job = await world.job(job_id)
        assert job.error, name
        assert (job.status, job.error.type, job.retry_count) == (JobStatus.FAILED, "InvalidInput", 0), name
        assert job.error.message.startswith(("this job cannot be read", "not a payload of transcode")), name


async def failed(world: World, job_id: UUID) -> bool:
    return (await world.job(job_id)).status is JobStatus.FAILED


async def test_a_time_without_a_date_is_drawn_near_in_lists_claims_and_reclaims(world: World) -> None:
    early, late, fine = [await world.enqueue() for _ in range(3)]
    await plant(world, early.id, "run_at", "-infinity")
    await plant(world, late.id, "created_at", "infinity")
    page = await jobs_of_all(world.database, JobFilter(), JobWindow(10))
    assert {job.id for job in page.jobs} == {early.id, late.id, fine.id}
    assert {job.id: job.run_at.year for job in page.jobs}[early.id] == 1
    shown = await job_of_any(world.database, late.id)
    assert shown
    assert shown[0].created_at.year == 9999
    async with world.database.transaction(world.tenant_id) as transaction:
        assert (await jobs_of_videos(transaction, [early.video_id]))[early.video_id][0].id == early.id
    await world.queue("dead").claim([JobType.TRANSCODE], 3)
    await world.expire_leases()
    async with working(world, Errand(at_once)):
        for job in (early, late, fine):
            await until(lambda job=job: is_(world, job, JobStatus.DONE))


async def test_a_result_that_cannot_be_written_down_fails_its_own_job(world: World) -> None:
    """Completions go together: one that the database refuses does not take the others along."""

    class Results:
        async def work(self, job: Job, payload: TranscodePayload, tell: Tell) -> Finished:
            return Finished({"text": "a\x00b" if job.id == bad.id else "fine"})

    bad, *others = [await world.enqueue() for _ in range(6)]
    wide = SETTINGS.model_copy(update={"concurrency": 6})
    async with working(world, Results(), wide):
        for job in others:
            await until(lambda job=job: is_(world, job, JobStatus.DONE))

        async def retried() -> bool:
            return (await world.job(bad.id)).retry_count == 1

        await until(retried)
    assert [(await world.job(job.id)).attempt for job in others] == [1] * 5
