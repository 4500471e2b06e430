"""Operations on jobs: what each changes, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from psycopg.errors import ForeignKeyViolation, UniqueViolation

from tests.support.events import new_tenant
from touchline.kernel import LeaseLost, tracing
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database, Transaction
from touchline.process.queue import queries
from touchline.process.queue.jobs import (
    NO_TENANT,
    ClipGeneratePayload,
    DeadWorkers,
    FailureReason,
    Job,
    JobCompletion,
    JobSchedule,
    JobStatus,
    JobType,
    SegmentIndexPayload,
    TranscodePayload,
)
from touchline.process.queue.service import Queue, enqueue
from touchline.process.queue.store import AlertStore, JobStore

from .conftest import QueueHarness, original_path

TRANSCODE = [JobType.TRANSCODE]
AWAY = FailureReason("Unavailable", "the object store is away", retryable=True)
NOT_A_VIDEO = FailureReason("NotAVideo", "this is not a video", retryable=False)


@pytest.fixture
async def any_jobs(any_postgres: PostgresEndpoint) -> AsyncGenerator[QueueHarness]:
    async with Database(any_postgres.worker_url) as database:
        yield QueueHarness(any_postgres, database, new_tenant())


async def no_effects(transaction: Transaction) -> None:
    """Only the completion itself."""


async def claim_one(queue: Queue) -> Job:
    [job] = await queue.claim(TRANSCODE, 1)
    return job


async def test_a_claimed_job_is_nobody_elses(harness: QueueHarness) -> None:
    wanted = {(await harness.enqueue()).id for _ in range(20)}
    claims = await asyncio.gather(*(harness.queue(f"worker-{n}").claim(TRANSCODE, 3) for n in range(8)))
    taken = [job.id for jobs in claims for job in jobs]
    assert len(taken) == len(set(taken))
    assert set(taken) == wanted
    job = await harness.job(taken[0])
    assert (job.status, job.attempt, job.retry_count) == (JobStatus.PROCESSING, 1, 0)
    assert (job.locked_by or "").startswith("worker-")


async def test_events_of_one_claim_and_of_one_completion_are_of_their_jobs_and_their_tenants(
    harness: QueueHarness,
) -> None:
    worlds = [harness, harness.of(new_tenant())]
    jobs = {job.id: job for each in worlds for job in [await each.enqueue(), await each.enqueue()]}
    held = await harness.queue().claim(TRANSCODE, 4)
    assert await harness.queue().complete_all([JobCompletion(job, {}) for job in held]) == frozenset()
    async with harness.database.system("test: read events") as transaction:
        found = await transaction.connection.execute(
            "SELECT key, tenant_id, revision, data ->> 'status', id FROM platform.waiting_events"
            " ORDER BY sequence, number"
        )
        events = await found.fetchall()
    assert len({event_id for *_, event_id in events}) == len(events)
    for job in jobs.values():
        steps = [event[1:4] for event in events if event[0] == f"job:{job.id}"]
        assert steps == [(job.tenant_id, n, status) for n, status in enumerate(("queued", "processing", "done"), 1)]


async def test_only_what_another_attempt_holds_is_refused_among_many_completions(harness: QueueHarness) -> None:
    for _ in range(3):
        await harness.enqueue()
    kept, stale, again = await harness.queue().claim(TRANSCODE, 3)
    await harness.queue().release(stale, "tried elsewhere")
    assert await harness.queue().complete_all([JobCompletion(again, {})]) == frozenset()
    refused = await harness.queue().complete_all([JobCompletion(job, {}) for job in (kept, stale, again)])
    assert refused == {stale.id}, "what this attempt has done already is as good"


async def test_priority_first_then_whoever_waits_longest_and_nothing_before_its_time(harness: QueueHarness) -> None:
    first, second = await harness.enqueue(), await harness.enqueue()
    urgent = await harness.enqueue(schedule=JobSchedule(priority=5))
    later = await harness.enqueue()
    await harness.execute("UPDATE process.jobs SET run_at = now() + interval '1 hour' WHERE id = %(id)s", id=later.id)
    claimed = [await claim_one(harness.queue()) for _ in range(3)]
    assert [job.id for job in claimed] == [urgent.id, first.id, second.id]
    assert await harness.queue().claim(TRANSCODE, 1) == []


async def test_a_worker_gets_only_the_types_it_takes_in_the_order_it_asks(harness: QueueHarness) -> None:
    transcode = await harness.enqueue()
    index = await harness.enqueue(SegmentIndexPayload(video_id=transcode.video_id))
    assert await harness.queue().claim([JobType.OCR, JobType.SAMPLE], 5) == []
    claimed = await harness.queue().claim([JobType.SEGMENT_INDEX, JobType.TRANSCODE], 5)
    assert [job.id for job in claimed] == [index.id, transcode.id]


async def test_jobs_of_all_tenants_are_claimed_and_each_is_worked_on_inside_its_own(harness: QueueHarness) -> None:
    ours = await harness.enqueue()
    other = harness.of(new_tenant())
    theirs = await other.enqueue()
    claimed = await harness.queue().claim(TRANSCODE, 10)
    assert {(job.id, job.tenant_id) for job in claimed} == {
        (ours.id, harness.tenant_id),
        (theirs.id, other.tenant_id),
    }
    for job in claimed:
        await harness.queue().complete(job, {}, no_effects)
    changes = [data["status"] for _, _, data in await harness.events("job.changed")]
    assert sorted(changes) == ["done", "done", "processing", "processing", "queued", "queued"]


async def test_one_job_of_a_type_for_a_video_at_a_time(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    payload = TranscodePayload(video_id=job.video_id, s3_original_path=original_path(job.video_id))
    async with harness.database.transaction(harness.tenant_id) as transaction:
        assert await enqueue(transaction, payload) is None
    held = await claim_one(harness.queue())
    async with harness.database.transaction(harness.tenant_id) as transaction:
        assert await enqueue(transaction, payload) is None
    await harness.queue().complete(held, {}, no_effects)
    again = await harness.enqueue(payload)
    assert again.id != job.id


async def test_a_later_job_of_the_same_kind_counts_its_attempts_on(harness: QueueHarness) -> None:
    """Outputs lie under the attempt's number: no two runs may share one."""
    held = await claim_one(harness.queue()) if await harness.enqueue() else None
    assert held
    await harness.queue().complete(held, {}, no_effects)
    await harness.enqueue(
        TranscodePayload(video_id=held.video_id, s3_original_path=original_path(held.video_id)),
    )
    assert (await claim_one(harness.queue())).attempt == held.attempt + 1


async def test_the_same_clip_twice_is_one_job_and_another_clip_is_another(harness: QueueHarness) -> None:
    video_id = await harness.video()

    def clip(start: int) -> ClipGeneratePayload:
        path = original_path(video_id)
        return ClipGeneratePayload(video_id=video_id, clip_id=uuid4(), t_start=start, t_end=3000, s3_original_path=path)

    await harness.enqueue(clip(1500))
    async with harness.database.transaction(harness.tenant_id) as transaction:
        assert await enqueue(transaction, clip(1500)) is None
    await harness.enqueue(clip(1600))


async def test_of_many_who_enqueue_the_same_at_once_one_does(harness: QueueHarness) -> None:
    video_id = await harness.video()

    async def attempt() -> bool:
        payload = TranscodePayload(video_id=video_id, s3_original_path=original_path(video_id))
        async with harness.database.transaction(harness.tenant_id) as transaction:
            return await enqueue(transaction, payload) is not None

    assert sorted(await asyncio.gather(*(attempt() for _ in range(6)))) == [False] * 5 + [True]


async def test_a_foreign_video_cannot_be_worked_on(harness: QueueHarness) -> None:
    theirs = await harness.of(new_tenant()).video()
    payload = TranscodePayload(video_id=theirs, s3_original_path=original_path(theirs))
    with pytest.raises(Exception, match="foreign key"):
        async with harness.database.transaction(harness.tenant_id) as transaction:
            await enqueue(transaction, payload)


async def test_retries_wait_longer_each_time_and_a_poison_job_ends_after_four_runs(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    waits: list[float] = []
    for _ in range(4):
        await harness.make_due()
        held = await claim_one(harness.queue())
        failed = await harness.queue().fail(held, AWAY)
        [(wait,)] = await harness.execute(
            "SELECT extract(epoch FROM j.run_at - e.occurred_at)::float FROM process.jobs AS j, process.job_events AS e"
            " WHERE e.job_id = j.id AND j.id = %(id)s ORDER BY e.id DESC LIMIT 1",
            id=job.id,
        )
        waits.append(wait)
        assert failed.attempt == held.attempt
    for wait, base in zip(waits, (60, 300, 900), strict=False):
        assert 0.8 * base - 1 <= wait <= 1.2 * base
    dead = await harness.job(job.id)
    assert (dead.status, dead.attempt, dead.retry_count) == (JobStatus.FAILED, 4, 3)
    await harness.make_due()
    assert await harness.queue().claim(TRANSCODE, 1) == []
    assert len(await harness.events("video.failed")) == 1


async def test_the_jitter_stays_within_its_bounds_and_is_none_of_them(harness: QueueHarness) -> None:
    rows = await harness.execute(
        "SELECT extract(epoch FROM process.retry_delay(2))::float FROM generate_series(1, 500)"
    )
    waits = [wait for (wait,) in rows]
    assert 240 <= min(waits) < 250
    assert 350 < max(waits) <= 360


async def test_what_no_retry_would_help_fails_at_once_and_is_told(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    await harness.queue().fail(await claim_one(harness.queue()), NOT_A_VIDEO)
    dead = await harness.job(job.id)
    assert (dead.status, dead.retry_count, dead.attempt) == (JobStatus.FAILED, 0, 1)
    [(_, revision, told)] = await harness.events("video.failed")
    assert (told["artifact_hash"], told["job_type"], told["attempt"]) == (job.video_id.hex, "transcode", 1)
    assert (told["error_code"], told["error_message"]) == ("NotAVideo", "this is not a video")
    assert await harness.execute("SELECT status, revision FROM process.videos") == [("failed", revision)]


async def test_the_payload_is_wrapped_once_and_always_read_as_it_was(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    for _ in range(3):
        await harness.make_due()
        await harness.queue().fail(await claim_one(harness.queue()), AWAY)
    [(document,)] = await harness.execute("SELECT payload FROM process.jobs")
    assert set(document) == {"error", "original_payload"}
    assert document["original_payload"] == job.payload
    assert {"type", "message", "timestamp", "retry_count"} == set(document["error"])
    after = await harness.job(job.id)
    assert after.payload == job.payload
    assert after.error
    assert (after.error.type, after.error.retry_count) == ("Unavailable", 2)


async def test_giving_a_job_back_costs_nothing_and_keeps_its_place(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    await harness.enqueue()
    for _ in range(6):
        held = await claim_one(harness.queue())
        assert held.id == job.id
        await harness.queue().release(held, "the worker stops")
    after = await harness.job(job.id)
    assert (after.status, after.retry_count, after.attempt) == (JobStatus.QUEUED, 0, 6)
    assert (after.run_at, after.locked_by) == (job.run_at, None)
    assert (await harness.history(job.id))[-2:] == [("processing", "failed", 6, 0), ("failed", "queued", 6, 0)]


async def test_the_last_run_can_be_given_back_too(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    for _ in range(3):
        await harness.make_due()
        await harness.queue().fail(await claim_one(harness.queue()), AWAY)
    await harness.make_due()
    await harness.queue().release(await claim_one(harness.queue()), "the worker stops")
    after = await harness.job(job.id)
    assert (after.status, after.retry_count) == (JobStatus.QUEUED, 3)


async def test_a_lease_that_is_over_is_taken_by_any_worker_and_counts(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    await claim_one(harness.queue("dead"))
    assert await harness.queue("living").reclaim() is None
    await harness.expire_leases()
    reclaimed = await harness.queue("living").reclaim()
    assert reclaimed
    assert (reclaimed.id, reclaimed.status, reclaimed.retry_count) == (job.id, JobStatus.QUEUED, 1)
    assert reclaimed.error
    assert reclaimed.error.type == "LeaseExpired"
    assert "dead" in reclaimed.error.message
    assert (await claim_one(harness.queue("living"))).attempt == 2  # at once: the lease was wait enough


async def test_nobody_looks_for_leases_where_another_does_and_what_that_one_leaves_is_found(
    harness: QueueHarness,
) -> None:
    jobs = {(await harness.enqueue()).id for _ in range(3)}
    await harness.queue("dead").claim(TRANSCODE, 3)
    await harness.expire_leases()
    living = harness.queue("living")
    async with harness.database.transaction(NO_TENANT) as transaction:
        first = await JobStore(transaction.connection).reclaim("first", 1)
        assert await living.reclaim() is None, "all three are in one job claim"
    taken = [job.id for _ in range(2) if (job := await living.reclaim())]
    assert {first[0].id, *taken} == jobs
    assert await living.reclaim() is None
    assert await harness.execute("SELECT 1 FROM process.job_claims") == []


async def test_a_job_that_kills_its_workers_ends_after_four_runs(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    for _ in range(4):
        await claim_one(harness.queue())
        await harness.expire_leases()
        assert await harness.queue().reclaim()
    dead = await harness.job(job.id)
    assert (dead.status, dead.attempt) == (JobStatus.FAILED, 4)
    assert len(await harness.events("video.failed")) == 1
    assert await harness.execute("SELECT status FROM process.videos") == [("failed",)]


async def test_a_heartbeat_keeps_the_lease_and_only_a_living_one(harness: QueueHarness) -> None:
    await harness.enqueue()
    queue = harness.queue(lease=timedelta(minutes=5))
    held = await claim_one(queue)
    await harness.execute("UPDATE process.jobs SET locked_until = now() + interval '1 second'")
    assert await queue.heartbeat(held)
    [(left,)] = await harness.execute("SELECT locked_until - now() FROM process.jobs")
    assert left > timedelta(minutes=4)
    await harness.expire_leases()
    assert not await queue.heartbeat(held)


async def test_whoever_slept_through_its_lease_cannot_write_whether_or_not_another_has_the_job(
    harness: QueueHarness,
) -> None:
    await harness.enqueue()
    frozen, living = harness.queue("frozen"), harness.queue("living")
    held = await claim_one(frozen)
    await harness.expire_leases()
    await refuse_all(frozen, held)
    assert await living.reclaim()
    await refuse_all(frozen, held)
    current = await claim_one(living)
    await refuse_all(frozen, held)
    await living.complete(current, {"by": "living"}, no_effects)
    await refuse_all(frozen, held)
    job = await harness.job(held.id)
    assert (job.status, job.attempt, job.result) == (JobStatus.DONE, 2, {"by": "living"})
    assert await harness.events("video.progressed") == []


async def refuse_all(queue: Queue, held: Job) -> None:
    async def effects(transaction: Transaction) -> None:
        raise AssertionError("effects of a stale attempt")

    assert not await queue.heartbeat(held)
    for write in (
        queue.complete(held, {"by": "frozen"}, effects),
        queue.fail(held, NOT_A_VIDEO),
        queue.release(held, "too late"),
        queue.report(held, 50),
    ):
        with pytest.raises(LeaseLost):
            await write


async def test_completing_twice_is_as_good_as_once(harness: QueueHarness) -> None:
    """The answer to the first try may have been lost."""
    await harness.enqueue()
    held, count = await claim_one(harness.queue()), 0

    async def effects(transaction: Transaction) -> None:
        nonlocal count
        count += 1

    await harness.queue().complete(held, {}, effects)
    await harness.queue().complete(held, {}, effects)
    assert count == 1


async def test_a_completion_whose_effects_fail_leaves_nothing(harness: QueueHarness) -> None:
    await harness.enqueue()
    held = await claim_one(harness.queue())

    async def effects(transaction: Transaction) -> None:
        raise UniqueViolation("broken")

    with pytest.raises(UniqueViolation):
        await harness.queue().complete(held, {}, effects)
    assert (await harness.job(held.id)).status is JobStatus.PROCESSING
    assert [data["status"] for _, _, data in await harness.events("job.changed")] == ["queued", "processing"]


async def test_events_carry_growing_revisions_and_the_trace_of_the_story(harness: QueueHarness) -> None:
    with tracing("story"):
        await harness.enqueue()
    held = await claim_one(harness.queue())
    await harness.queue().report(held, 10)
    await harness.queue().report(held, 20)
    await harness.queue().complete(held, {}, no_effects)
    revisions = [revision for _, revision, _ in await harness.events("job.changed")]
    assert revisions == sorted(set(revisions))
    progress = [(revision, data["progress_percent"]) for _, revision, data in await harness.events("video.progressed")]
    assert progress == [(2, 10), (3, 20)]
    async with harness.database.system("test: read traces") as transaction:
        cursor = await transaction.connection.execute(
            "SELECT trace FROM platform.waiting_events WHERE type = 'job.changed' ORDER BY sequence LIMIT 2"
        )
        assert await cursor.fetchall() == [("story",), ("story",)]


async def test_the_jobs_of_videos_are_read_in_one_statement_behind_the_wall(harness: QueueHarness) -> None:
    first, second = await harness.enqueue(), await harness.enqueue()
    index = await harness.enqueue(SegmentIndexPayload(video_id=first.video_id))
    wanted = [first.video_id, second.video_id, uuid4()]
    async with harness.database.transaction(harness.tenant_id) as transaction:
        found = await queries.jobs_of_videos(transaction, wanted)
        steps = await queries.job_history(transaction, first.id)
    assert found == {first.video_id: [first, index], second.video_id: [second]}
    assert [(step.from_status, step.to_status) for step in steps] == [(None, "queued")]
    async with harness.database.transaction(new_tenant()) as transaction:
        assert await queries.jobs_of_videos(transaction, wanted) == {}


async def test_the_state_of_the_queue_has_every_type(harness: QueueHarness) -> None:
    await harness.enqueue()
    await harness.enqueue()
    await claim_one(harness.queue())
    found = {each.job_type: each for each in await queries.queue_state(harness.database)}
    assert set(found) == set(JobType)
    assert (found["transcode"].queued, found["transcode"].processing) == (1, 1)
    assert found["transcode"].age_s > 0
    assert found["ocr"].age_s == 0


async def test_a_long_queue_is_not_counted_by_everybody_who_asks(harness: QueueHarness) -> None:
    """Beyond a limit it is what the watch has seen last."""
    for _ in range(3):
        await harness.enqueue()
    async with harness.database.system("test: sample") as transaction:
        await AlertStore(transaction.connection).sample()
    await harness.enqueue()
    by_limit = {most: await queries.queue_state(harness.database, most) for most in (2, 4, 5)}
    depths = {most: {each.job_type: each.queued for each in found}["transcode"] for most, found in by_limit.items()}
    assert depths == {2: 3, 4: 3, 5: 4}
    assert {each.job_type for each in by_limit[2]} == set(JobType)


# --- the jobs of a video


async def test_jobs_are_found_by_their_video_and_their_attempts_count_on(any_jobs: QueueHarness) -> None:
    other = any_jobs.of(new_tenant())
    video_id = (await any_jobs.enqueue()).video_id
    held = await claim_one(any_jobs.queue())
    await any_jobs.queue().complete(held, {}, no_effects)
    again = await any_jobs.enqueue(TranscodePayload(video_id=video_id, s3_original_path=original_path(video_id)))
    assert again.attempt == held.attempt, "the next claim counts on"
    for each, wanted in ((any_jobs, {video_id: {held.id, again.id}}), (other, {})):
        assert await ids_of_video(each, video_id) == wanted


async def ids_of_video(harness: QueueHarness, video_id: UUID) -> dict[UUID, set[UUID]]:
    async with harness.database.transaction(harness.tenant_id) as transaction:
        found = await queries.jobs_of_videos(transaction, [video_id])
    return {video: {job.id for job in jobs} for video, jobs in found.items()}


async def test_no_job_without_its_video(harness: QueueHarness) -> None:
    with pytest.raises(ForeignKeyViolation):
        await harness.enqueue(SegmentIndexPayload(video_id=uuid4()))
    assert await harness.execute("SELECT 1 FROM process.jobs") == []


async def test_one_claim_of_two_tenants_is_held_and_taken_back(any_jobs: QueueHarness) -> None:
    tenants = [any_jobs, any_jobs.of(new_tenant())]
    jobs = {(await each.enqueue()).id for each in tenants for _ in range(2)}
    assert {job.id for job in await any_jobs.queue("one").claim(TRANSCODE, 4)} == jobs
    assert {job.id for job in await any_jobs.queue("one").held()} == jobs
    for each in tenants:
        await each.expire_leases()
    taken = {job.id for _ in jobs if (job := await any_jobs.queue("another").reclaim())}
    assert taken == jobs
    assert await any_jobs.queue("another").reclaim() is None


async def test_what_a_dead_worker_held_goes_back_at_once_and_counts(harness: QueueHarness) -> None:
    job, kept = await harness.enqueue(), await harness.enqueue()
    held = await claim_one(harness.queue("here/1/dead"))
    other = await claim_one(harness.queue("here/1/living"))
    assert (held.id, other.id) == (job.id, kept.id)
    successor = harness.queue("here/2/new")
    reclaimed = await successor.reclaim(DeadWorkers(["here/1/dead", "here/1/unknown"]))
    assert reclaimed
    assert reclaimed.error
    assert (reclaimed.id, reclaimed.retry_count, reclaimed.error.type) == (job.id, 1, "WorkerDied")
    assert await successor.reclaim(DeadWorkers(["here/1/dead"])) is None
    assert await harness.queue("here/1/living").heartbeat(other), "whose name is another keeps what it has"
    again = await claim_one(successor)
    assert (again.id, again.attempt) == (job.id, 2)
    await refuse_all(harness.queue("here/1/dead"), held)
    assert await successor.reclaim(DeadWorkers(["here/1/dead"])) is None, "what was its is the new one's"


async def test_a_job_that_cannot_be_taken_back_does_not_hold_up_the_others(harness: QueueHarness) -> None:
    jobs = {(await harness.enqueue()).id for _ in range(3)}
    held = await harness.queue("dead").claim(TRANSCODE, 3)
    first = await harness.queue().reclaim(DeadWorkers(["dead"], excluded=[held[0].id, held[1].id]))
    assert first
    assert {first.id} == jobs - {held[0].id, held[1].id}
    assert await harness.queue().reclaim(DeadWorkers(["dead"], excluded=[held[0].id, held[1].id])) is None
