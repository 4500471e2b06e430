"""Cancelling, retrying and reprioritising jobs: what changes, and what is refused."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.support.events import new_tenant
from touchline.kernel import Conflict, InvalidInput, LeaseLost, NotFound, artifact_hash
from touchline.process.queue.jobs import JobStatus, TranscodePayload
from touchline.process.queue.service import JobAdministration
from touchline.process.search.service import hide_video, unhide_video

from .conftest import QueueHarness, original_path
from .test_queue import NOT_A_VIDEO, TRANSCODE, claim_one, no_effects


async def steps(harness: QueueHarness, job_id: object) -> list[tuple[object, ...]]:
    return await harness.execute(
        "SELECT from_status, to_status, actor, reason FROM process.job_events WHERE job_id = %(id)s ORDER BY id",
        id=job_id,
    )


async def test_cancelling_what_waits_walks_the_diagram_and_is_final(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    cancelled = await JobAdministration(harness.database).cancel(harness.tenant_id, job.id, "anna")
    assert cancelled.status is JobStatus.FAILED
    assert cancelled.error
    assert (cancelled.error.type, cancelled.retry_count) == ("Cancelled", 0)
    why = "Cancelled: cancelled by anna"
    assert (await steps(harness, job.id))[1:] == [
        ("queued", "processing", "anna", None),
        ("processing", "failed", "anna", why),
    ]
    assert await harness.queue().claim(TRANSCODE, 1) == []
    assert len(await harness.events("video.failed")) == 1
    with pytest.raises(Conflict, match="is failed"):
        await JobAdministration(harness.database).cancel(harness.tenant_id, job.id, "anna")


async def test_cancelling_what_runs_takes_its_lease(harness: QueueHarness) -> None:
    await harness.enqueue()
    held = await claim_one(harness.queue())
    await JobAdministration(harness.database).cancel(harness.tenant_id, held.id, "anna")
    assert not await harness.queue().heartbeat(held)
    with pytest.raises(LeaseLost):
        await harness.queue().complete(held, {}, no_effects)


async def test_a_dead_letter_starts_again_with_all_its_retries_and_its_original_payload(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    await harness.queue().fail(await claim_one(harness.queue()), NOT_A_VIDEO)
    again = await JobAdministration(harness.database).retry(harness.tenant_id, job.id, "anna")
    assert (again.status, again.retry_count, again.payload) == (JobStatus.QUEUED, 0, job.payload)
    assert (await steps(harness, job.id))[-1] == ("failed", "queued", "anna", "retried by a user")
    held = await claim_one(harness.queue())
    assert held.attempt == 2
    await harness.queue().fail(held, NOT_A_VIDEO)
    [(payload,)] = await harness.execute("SELECT payload FROM process.jobs")
    assert set(payload) == {"error", "original_payload"}
    assert payload["original_payload"] == job.payload, "wrapped once, however often it fails"


async def test_a_retry_says_which_video_is_processed_again_and_by_which_run(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    await harness.queue().fail(await claim_one(harness.queue()), NOT_A_VIDEO)
    await JobAdministration(harness.database).retry(harness.tenant_id, job.id, "anna")
    [(_, revision, told)] = await harness.events("video.retried")
    assert told["artifact_hash"] == artifact_hash(job.video_id)
    assert (told["job_id"], told["attempt"], told["job_type"]) == (str(job.id), 2, "transcode")
    assert await harness.execute("SELECT status, revision FROM process.videos") == [("uploaded", revision)]
    assert (await claim_one(harness.queue())).attempt == told["attempt"]


async def test_what_belongs_to_a_deleted_video_is_not_retried(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    await harness.queue().fail(await claim_one(harness.queue()), NOT_A_VIDEO)
    async with harness.database.transaction(harness.tenant_id) as transaction:
        await hide_video(transaction, job.video_id)
    with pytest.raises(Conflict, match="its video was deleted"):
        await JobAdministration(harness.database).retry(harness.tenant_id, job.id, "anna")
    assert await harness.events("video.retried") == []
    async with harness.database.transaction(harness.tenant_id) as transaction:
        await unhide_video(transaction, job.video_id)
    assert (
        await JobAdministration(harness.database).retry(harness.tenant_id, job.id, "anna")
    ).status is JobStatus.QUEUED


async def test_only_a_dead_letter_is_retried_and_not_while_one_like_it_is_active(harness: QueueHarness) -> None:
    by_hand = JobAdministration(harness.database)
    job = await harness.enqueue()
    with pytest.raises(Conflict, match="is queued"):
        await by_hand.retry(harness.tenant_id, job.id, "anna")
    await harness.queue().fail(await claim_one(harness.queue()), NOT_A_VIDEO)
    await harness.enqueue(TranscodePayload(video_id=job.video_id, s3_original_path=original_path(job.video_id)))
    with pytest.raises(Conflict, match="an identical job"):
        await by_hand.retry(harness.tenant_id, job.id, "anna")


async def test_a_new_priority_changes_the_order_and_is_in_the_history(harness: QueueHarness) -> None:
    await harness.enqueue()
    second = await harness.enqueue()
    by_hand = JobAdministration(harness.database)
    changed = await by_hand.reprioritise(harness.tenant_id, second.id, "anna", 7)
    assert changed.priority == 7
    assert (await claim_one(harness.queue())).id == second.id
    assert ("queued", "queued", "anna", "priority 7, was 0") in await steps(harness, second.id)
    for priority in (-101, 101):
        with pytest.raises(InvalidInput, match="priority"):
            await by_hand.reprioritise(harness.tenant_id, second.id, "anna", priority)


async def test_a_foreign_job_and_one_that_never_was_are_the_same(harness: QueueHarness) -> None:
    job = await harness.enqueue()
    by_hand, stranger = JobAdministration(harness.database), new_tenant()
    for job_id in (job.id, uuid4()):
        for act in (
            by_hand.cancel(stranger, job_id, "x"),
            by_hand.retry(stranger, job_id, "x"),
            by_hand.reprioritise(stranger, job_id, "x", 1),
        ):
            with pytest.raises(NotFound, match=f"there is no job {job_id}"):
                await act
    assert await harness.job(job.id) == job
