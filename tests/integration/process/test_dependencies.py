"""Jobs that wait for others: not before the parent is done, and not after it has failed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from touchline.kernel.errors import Conflict
from touchline.process.queue.administration import JobAdministration
from touchline.process.queue.model import Failure, Job, JobStatus, JobType, Order
from touchline.process.queue.payloads import OcrPayload, SegmentIndexPayload
from touchline.process.queue.service import enqueue

from .conftest import World
from .test_queue import NOT_A_VIDEO, claim_one, no_effects

AWAY = Failure("Unavailable", "the object store is away", retryable=True)
INDEX, OCR = [JobType.SEGMENT_INDEX], [JobType.OCR]


async def child_of(world: World, parent: Job) -> Job:
    return await world.enqueue(SegmentIndexPayload(video_id=parent.video_id), order=Order(depends_on=parent.id))


async def chain(world: World) -> tuple[Job, Job, Job]:
    parent = await world.enqueue()
    child = await child_of(world, parent)
    payload = OcrPayload(video_id=parent.video_id, frame_paths=())
    return parent, child, await world.enqueue(payload, order=Order(depends_on=child.id))


async def test_a_child_waits_until_its_parent_is_done(world: World) -> None:
    parent, child, grandchild = await chain(world)
    assert await world.queue().claim(INDEX + OCR, 5) == []
    await world.queue().complete(await claim_one(world.queue()), {}, no_effects)
    [held] = await world.queue().claim(INDEX + OCR, 5)
    assert held.id == child.id
    await world.queue().complete_all([])
    await world.queue().complete(held, {}, no_effects)
    [last] = await world.queue().claim(INDEX + OCR, 5)
    assert (last.id, last.depends_on) == (grandchild.id, child.id)
    assert parent.depends_on is None


async def test_a_parents_last_failure_fails_the_whole_chain_with_a_reason_that_names_it(world: World) -> None:
    parent, child, grandchild = await chain(world)
    await world.queue("the worker").fail(await claim_one(world.queue("the worker")), NOT_A_VIDEO)
    failed, last = await world.job(child.id), await world.job(grandchild.id)
    for job, cause in ((failed, parent), (last, child)):
        assert job.status is JobStatus.FAILED
        assert job.error
        assert (job.error.type, job.retry_count) == ("ParentFailed", 0)
        assert str(cause.id) in job.error.message
    steps = await world.execute(
        "SELECT from_status, to_status, actor FROM process.job_events WHERE job_id = %(id)s ORDER BY id", id=last.id
    )
    assert steps[1:] == [("queued", "processing", "the worker"), ("processing", "failed", "the worker")]
    assert len(await world.events("video.failed")) == 1, "one video, one cause"
    changed = [data["status"] for _, _, data in await world.events("job.changed")]
    assert changed == ["queued"] * 3 + ["processing"] + ["failed"] * 3


async def test_a_failure_that_is_tried_again_leaves_the_children_waiting(world: World) -> None:
    _, child, _ = await chain(world)
    for _ in range(3):
        await world.queue().fail(await claim_one(world.queue()), AWAY)
        assert (await world.job(child.id)).status is JobStatus.QUEUED
        await world.make_due()
    await claim_one(world.queue())
    await world.expire_leases()
    await world.queue().reclaim()
    assert (await world.job(child.id)).status is JobStatus.FAILED


async def test_who_fails_a_job_by_psql_fails_what_waits_for_it(world: World) -> None:
    parent, _, grandchild = await chain(world)
    await claim_one(world.queue())
    await world.execute(
        "UPDATE process.jobs SET status = 'failed', locked_by = NULL, locked_until = NULL WHERE id = %(id)s",
        id=parent.id,
    )
    assert (await world.job(grandchild.id)).status is JobStatus.FAILED


async def test_a_child_of_a_failed_job_has_failed_and_one_of_a_done_job_can_start(world: World) -> None:
    parent = await world.enqueue()
    await world.queue().fail(await claim_one(world.queue()), NOT_A_VIDEO)
    late = await child_of(world, parent)
    assert (late.status, late.error and late.error.type) == (JobStatus.FAILED, "ParentFailed")
    done = await world.enqueue()
    await world.queue().complete(await claim_one(world.queue()), {}, no_effects)
    ready = await child_of(world, done)
    assert [job.id for job in await world.queue().claim(INDEX, 5)] == [ready.id]


async def test_a_parent_that_ends_while_its_child_is_added_is_not_missed(world: World) -> None:
    """Whoever commits first: the child runs."""
    for _ in range(5):
        parent = await world.enqueue()
        held = await claim_one(world.queue())
        added = asyncio.Event()

        async def add(parent: Job = parent, added: asyncio.Event = added) -> None:
            async with world.database.transaction(world.tenant_id) as transaction:
                payload = SegmentIndexPayload(video_id=parent.video_id)
                await enqueue(transaction, payload, order=Order(depends_on=parent.id))
                added.set()

        async def end(held: Job = held, added: asyncio.Event = added) -> None:
            await added.wait()
            await world.queue().complete(held, {}, no_effects)

        await asyncio.gather(add(), end())
        assert len(await world.queue().claim(INDEX, 5)) == 1


async def test_a_retry_brings_back_what_failed_because_of_it_but_not_a_child_alone(world: World) -> None:
    parent, child, grandchild = await chain(world)
    await world.queue().fail(await claim_one(world.queue()), NOT_A_VIDEO)
    by_hand = JobAdministration(world.database)
    with pytest.raises(Conflict, match="depends on has failed"):
        await by_hand.retry(world.tenant_id, child.id, "anna")
    await by_hand.retry(world.tenant_id, parent.id, "anna")
    assert [(await world.job(each.id)).status for each in (parent, child, grandchild)] == [JobStatus.QUEUED] * 3
    assert await world.queue().claim(INDEX + OCR, 5) == []


async def test_a_delayed_child_waits_for_both(world: World) -> None:
    parent = await world.enqueue()
    later = Order(depends_on=parent.id, run_at=datetime.now(UTC) + timedelta(hours=1))
    await world.enqueue(SegmentIndexPayload(video_id=parent.video_id), order=later)
    await world.queue().complete(await claim_one(world.queue()), {}, no_effects)
    assert await world.queue().claim(INDEX, 5) == []
    await world.make_due()
    assert len(await world.queue().claim(INDEX, 5)) == 1


async def test_an_open_parent_keeps_psql_from_claiming_too(world: World) -> None:
    _, child, _ = await chain(world)
    with pytest.raises(Exception, match="depends on is not done"):
        await world.execute(
            "UPDATE process.jobs SET status = 'processing', locked_by = 'me', locked_until = now() + interval '1 h'"
            " WHERE id = %(id)s",
            id=child.id,
        )
