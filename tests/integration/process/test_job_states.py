"""Transitions and dependencies of jobs; the rules hold for plain SQL, too."""

# ruff: noqa: S608  the tests write the statements themselves

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tests.support.events import new_tenant
from touchline.kernel import Conflict
from touchline.process.queue.jobs import (
    FailureReason,
    Job,
    JobSchedule,
    JobStatus,
    JobType,
    OcrPayload,
    SegmentIndexPayload,
)
from touchline.process.queue.service import JobAdministration, enqueue
from touchline.process.queue.store import JobStore

from .conftest import QueueHarness
from .test_queue import NOT_A_VIDEO, claim_one, no_effects

ARROWS = {("queued", "processing"), ("processing", "done"), ("processing", "failed"), ("failed", "queued")}
FORBIDDEN = sorted(set(itertools.permutations(JobStatus, 2)) - {(JobStatus(a), JobStatus(b)) for a, b in ARROWS})
LOCK = "locked_by = 'psql', locked_until = now() + interval '1 minute'"
UNLOCK = "locked_by = NULL, locked_until = NULL"


async def in_state(harness: QueueHarness, status: JobStatus) -> Job:
    job = await harness.enqueue()
    if status is JobStatus.QUEUED:
        return job
    queue = harness.queue()
    [held] = await queue.claim([job.job_type], 1)
    async with harness.database.transaction(harness.tenant_id) as transaction:
        if status is JobStatus.DONE:
            await JobStore(transaction.connection).complete(held, {})
        if status is JobStatus.FAILED:
            await JobStore(transaction.connection).fail(held, FailureReason("NotAVideo", "no", retryable=False))
    return await harness.job(job.id)


async def move(harness: QueueHarness, job: Job, status: str) -> None:
    lock = LOCK if status == "processing" else UNLOCK
    await harness.execute(f"UPDATE process.jobs SET status = %(to)s, {lock} WHERE id = %(id)s", to=status, id=job.id)


async def test_every_other_transition_is_refused(harness: QueueHarness) -> None:
    for before, after in FORBIDDEN:
        job = await in_state(harness, before)
        with pytest.raises(psycopg.errors.CheckViolation, match=str(job.id)):
            await move(harness, job, after)
        assert await harness.job(job.id) == job
        await harness.execute("UPDATE process.jobs SET run_at = now() + interval '1 hour' WHERE status = 'queued'")


async def test_the_arrows_of_the_diagram_are_open_and_leave_their_trace(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    for status in ("processing", "failed", "queued", "processing", "done"):
        await move(harness, job, status)
    done = await harness.job(job.id)
    assert (done.status, done.attempt, done.revision) == (JobStatus.DONE, 2, 6)
    steps = [(before, after) for before, after, *_ in await harness.history(job.id)]
    assert steps == [
        (None, "queued"),
        ("queued", "processing"),
        ("processing", "failed"),
        ("failed", "queued"),
        ("queued", "processing"),
        ("processing", "done"),
    ]


async def test_the_fence_is_not_the_writers_to_set(harness: QueueHarness) -> None:
    job = await in_state(harness, JobStatus.PROCESSING)
    await harness.execute("UPDATE process.jobs SET attempt = 7, revision = 7 WHERE id = %(id)s", id=job.id)
    after = await harness.job(job.id)
    assert (after.attempt, after.revision) == (job.attempt, job.revision + 1)


async def test_neither_its_place_nor_what_it_was_is_the_writers_to_set(harness: QueueHarness) -> None:
    job, books = (
        await harness.enqueue(),
        "SELECT attempt, band, parked, start_tag, place FROM process.jobs WHERE id = %(id)s",
    )
    [before] = await harness.execute(books, id=job.id)
    forged = "attempt = 7, band = NULL, parked = 'time', start_tag = 7, place = 7, was = 'failed'"
    await harness.execute(
        f"UPDATE process.jobs SET status = 'processing', {LOCK}, {forged} WHERE id = %(id)s", id=job.id
    )
    assert await harness.execute(books, id=job.id) == [(before[0] + 1, *before[1:])]
    assert [step[:2] for step in await harness.history(job.id)] == [(None, "queued"), ("queued", "processing")]


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


async def test_what_a_job_is_cannot_change(harness: QueueHarness) -> None:
    job = await in_state(harness, JobStatus.PROCESSING)
    for change in CHANGES:
        with pytest.raises(psycopg.errors.CheckViolation):
            await harness.execute(f"UPDATE process.jobs SET {change} WHERE id = %(id)s", id=job.id)
    assert await harness.job(job.id) == job


async def test_a_dead_letter_comes_back_only_by_a_retry_that_starts_at_zero(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    for _ in range(4):
        await harness.make_due()
        [held] = await harness.queue().claim([job.job_type], 1)
        await harness.queue().fail(held, FailureReason("Unavailable", "away", retryable=True))
    dead = await harness.job(job.id)
    assert (dead.status, dead.retry_count) == (JobStatus.FAILED, 3)
    with pytest.raises(psycopg.errors.CheckViolation, match="failed for good"):
        await move(harness, dead, "queued")
    await harness.execute("UPDATE process.jobs SET status = 'queued', retry_count = 0 WHERE id = %(id)s", id=dead.id)
    assert (await harness.job(job.id)).status is JobStatus.QUEUED


BIRTHS = [
    {"was": "'queued'"},
    {"status": "'done'"},
    {"retry_count": "1"},
    {"payload": '\'{"video_id": "00000000-0000-0000-0000-000000000000"}\''},
    {"payload": "'{}'"},
]


async def test_a_job_begins_queued_with_a_payload_for_its_video(harness: QueueHarness) -> None:
    video_id = await harness.video()
    for birth in BIRTHS:
        given = {"payload": f'\'{{"video_id": "{video_id}"}}\''} | birth
        with pytest.raises(psycopg.errors.CheckViolation):
            await harness.execute(
                f"INSERT INTO process.jobs (tenant_id, video_id, job_type, {', '.join(given)})"
                f" VALUES (platform.current_tenant(), %(video)s, 'transcode', {', '.join(given.values())})",
                video=video_id,
            )


async def test_jobs_and_their_history_cannot_be_removed_or_forged(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    forged = "INSERT INTO process.job_events (tenant_id, job_id, to_status, attempt, retry_count, actor)"
    for statement in (
        "DELETE FROM process.jobs",
        "DELETE FROM process.job_events",
        "UPDATE process.job_events SET actor = 'nobody'",
        f"{forged} VALUES (platform.current_tenant(), '{job.id}', 'done', 1, 0, 'me')",
        "SELECT process.record_transitions()",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await harness.execute(statement)


async def test_the_history_says_who_and_why(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    [held] = await harness.queue("first").claim([job.job_type], 1)
    await harness.queue("first").fail(held, FailureReason("Unavailable", "the store is away", retryable=True))
    rows = await harness.execute(
        "SELECT to_status, actor, reason FROM process.job_events WHERE job_id = %(id)s ORDER BY id", id=job.id
    )
    assert rows == [
        ("queued", "touchline_worker", None),
        ("processing", "first", None),
        ("failed", "first", "Unavailable: the store is away"),
        ("queued", "first", "Unavailable: the store is away"),
    ]


async def test_another_tenants_job_does_not_exist(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    other = harness.of(new_tenant())
    assert await other.execute("SELECT 1 FROM process.jobs") == []
    assert await other.execute("SELECT 1 FROM process.job_events") == []
    assert await other.execute("SELECT 1 FROM process.complete('me', %(id)s, 1, '{}')", id=job.id) == []


AWAY = FailureReason("Unavailable", "the object store is away", retryable=True)
INDEX, OCR = [JobType.SEGMENT_INDEX], [JobType.OCR]


async def child_of(harness: QueueHarness, parent: Job) -> Job:
    return await harness.enqueue(
        SegmentIndexPayload(video_id=parent.video_id), schedule=JobSchedule(depends_on=parent.id)
    )


async def chain(harness: QueueHarness) -> tuple[Job, Job, Job]:
    parent = await harness.enqueue()
    child = await child_of(harness, parent)
    payload = OcrPayload(video_id=parent.video_id, frame_paths=())
    return parent, child, await harness.enqueue(payload, schedule=JobSchedule(depends_on=child.id))


async def test_a_child_waits_until_its_parent_is_done(harness: QueueHarness) -> None:
    parent, child, grandchild = await chain(harness)
    assert await harness.queue().claim(INDEX + OCR, 5) == []
    await harness.queue().complete(await claim_one(harness.queue()), {}, no_effects)
    [held] = await harness.queue().claim(INDEX + OCR, 5)
    assert held.id == child.id
    await harness.queue().complete_all([])
    await harness.queue().complete(held, {}, no_effects)
    [last] = await harness.queue().claim(INDEX + OCR, 5)
    assert (last.id, last.depends_on) == (grandchild.id, child.id)
    assert parent.depends_on is None


async def test_a_parents_last_failure_fails_the_whole_chain_with_a_reason_that_names_it(harness: QueueHarness) -> None:
    parent, child, grandchild = await chain(harness)
    await harness.queue("the worker").fail(await claim_one(harness.queue("the worker")), NOT_A_VIDEO)
    failed, last = await harness.job(child.id), await harness.job(grandchild.id)
    for job, cause in ((failed, parent), (last, child)):
        assert job.status is JobStatus.FAILED
        assert job.error
        assert (job.error.type, job.retry_count) == ("ParentFailed", 0)
        assert str(cause.id) in job.error.message
    steps = await harness.execute(
        "SELECT from_status, to_status, actor FROM process.job_events WHERE job_id = %(id)s ORDER BY id", id=last.id
    )
    assert steps[1:] == [("queued", "processing", "the worker"), ("processing", "failed", "the worker")]
    assert len(await harness.events("video.failed")) == 1, "one video, one cause"
    changed = [data["status"] for _, _, data in await harness.events("job.changed")]
    assert changed == ["queued"] * 3 + ["processing"] + ["failed"] * 3


async def test_a_failure_that_is_tried_again_leaves_the_children_waiting(harness: QueueHarness) -> None:
    _, child, _ = await chain(harness)
    for _ in range(3):
        await harness.queue().fail(await claim_one(harness.queue()), AWAY)
        assert (await harness.job(child.id)).status is JobStatus.QUEUED
        await harness.make_due()
    await claim_one(harness.queue())
    await harness.expire_leases()
    await harness.queue().reclaim()
    assert (await harness.job(child.id)).status is JobStatus.FAILED


async def test_who_fails_a_job_by_psql_fails_what_waits_for_it(harness: QueueHarness) -> None:
    parent, _, grandchild = await chain(harness)
    await claim_one(harness.queue())
    await harness.execute(
        "UPDATE process.jobs SET status = 'failed', locked_by = NULL, locked_until = NULL WHERE id = %(id)s",
        id=parent.id,
    )
    assert (await harness.job(grandchild.id)).status is JobStatus.FAILED


async def test_a_child_of_a_failed_job_has_failed_and_one_of_a_done_job_can_start(harness: QueueHarness) -> None:
    parent = await harness.enqueue()
    await harness.queue().fail(await claim_one(harness.queue()), NOT_A_VIDEO)
    late = await child_of(harness, parent)
    assert (late.status, late.error and late.error.type) == (JobStatus.FAILED, "ParentFailed")
    done = await harness.enqueue()
    await harness.queue().complete(await claim_one(harness.queue()), {}, no_effects)
    ready = await child_of(harness, done)
    assert [job.id for job in await harness.queue().claim(INDEX, 5)] == [ready.id]


async def test_a_parent_that_ends_while_its_child_is_added_is_not_missed(harness: QueueHarness) -> None:
    """Whoever commits first: the child runs."""
    for _ in range(5):
        parent = await harness.enqueue()
        held = await claim_one(harness.queue())
        added = asyncio.Event()

        async def add(parent: Job = parent, added: asyncio.Event = added) -> None:
            async with harness.database.transaction(harness.tenant_id) as transaction:
                payload = SegmentIndexPayload(video_id=parent.video_id)
                await enqueue(transaction, payload, schedule=JobSchedule(depends_on=parent.id))
                added.set()

        async def end(held: Job = held, added: asyncio.Event = added) -> None:
            await added.wait()
            await harness.queue().complete(held, {}, no_effects)

        await asyncio.gather(add(), end())
        assert len(await harness.queue().claim(INDEX, 5)) == 1


async def test_a_retry_brings_back_what_failed_because_of_it_but_not_a_child_alone(harness: QueueHarness) -> None:
    parent, child, grandchild = await chain(harness)
    await harness.queue().fail(await claim_one(harness.queue()), NOT_A_VIDEO)
    by_hand = JobAdministration(harness.database)
    with pytest.raises(Conflict, match="depends on has failed"):
        await by_hand.retry(harness.tenant_id, child.id, "anna")
    await by_hand.retry(harness.tenant_id, parent.id, "anna")
    assert [(await harness.job(each.id)).status for each in (parent, child, grandchild)] == [JobStatus.QUEUED] * 3
    assert await harness.queue().claim(INDEX + OCR, 5) == []


async def test_a_delayed_child_waits_for_both(harness: QueueHarness) -> None:
    parent = await harness.enqueue()
    later = JobSchedule(depends_on=parent.id, run_at=datetime.now(UTC) + timedelta(hours=1))
    await harness.enqueue(SegmentIndexPayload(video_id=parent.video_id), schedule=later)
    await harness.queue().complete(await claim_one(harness.queue()), {}, no_effects)
    assert await harness.queue().claim(INDEX, 5) == []
    await harness.make_due()
    assert len(await harness.queue().claim(INDEX, 5)) == 1


async def test_an_open_parent_keeps_psql_from_claiming_too(harness: QueueHarness) -> None:
    _, child, _ = await chain(harness)
    with pytest.raises(Exception, match="depends on is not done"):
        await harness.execute(
            "UPDATE process.jobs SET status = 'processing', locked_by = 'me', locked_until = now() + interval '1 h'"
            " WHERE id = %(id)s",
            id=child.id,
        )
