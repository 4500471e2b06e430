"""What is written down of jobs: lines while they run, and a document when they have ended."""

from __future__ import annotations

import json
import logging
from typing import Any
from uuid import uuid4

import pytest

from touchline.contracts.events import Event
from touchline.kernel import SystemClock, uuid7
from touchline.kernel.trace import tracing
from touchline.platform.objects.store import ObjectStore
from touchline.process.logs.consumer import PipelineLogs
from touchline.process.queue.administration import JobAdministration
from touchline.process.queue.model import Failure, Job, JobStatus, JobType

from .conftest import World, until
from .test_worker import Errand, Tell, at_once, is_, working

SECRET = "s3cr3t-of-the-house"


def hidden(text: str) -> str:
    return text.replace(SECRET, "********")


async def deliver(world: World, objects: ObjectStore) -> None:
    """All that the log has of jobs, once more each time."""
    now, tenant_id = SystemClock().now(), world.tenant_id
    events = [
        Event(uuid7(now), kind, 1, tenant_id, f"job:{data['job_id']}", revision, now, None, data, 1)
        for kind, revision, data in await world.events("job.changed")
    ]
    async with world.database.transaction(tenant_id) as transaction:
        await PipelineLogs(objects, hidden).handle(transaction, events)


async def written(objects: ObjectStore) -> dict[str, dict[str, Any]]:
    keys = [each.key for each in (await objects.list("logs/")).objects]
    return {key: json.loads(await objects.get(key)) for key in keys}


async def test_a_job_that_ended_is_one_document_with_all_its_attempts(world: World, objects: ObjectStore) -> None:
    with tracing("story"):
        job, waiting = await world.enqueue(), await world.enqueue()
    queue = world.queue("first")
    [held] = await queue.claim([JobType.TRANSCODE], 1)
    await queue.fail(held, Failure("Unavailable", f"key={SECRET}", retryable=True))
    await world.make_due()
    [held] = [each for each in await queue.claim([JobType.TRANSCODE], 2) if each.id == job.id]
    await deliver(world, objects)
    assert await written(objects) == {}, "nothing has ended"
    await queue.complete(held, {"width": 640}, no_effects)
    for _ in range(2):
        await deliver(world, objects)
    [(key, document)] = (await written(objects)).items()
    assert key == f"logs/pipeline/{job.id}.json"
    shown = {name: document[name] for name in ("job_id", "video_id", "job_type", "status", "attempt", "trace")}
    assert shown == {
        "job_id": str(job.id),
        "video_id": str(job.video_id),
        "job_type": "transcode",
        "status": "done",
        "attempt": 2,
        "trace": "story",
    }
    assert (document["tenant_id"], document["result"]) == (str(world.tenant_id), {"width": 640})
    assert document["payload"] == dict(job.payload)
    assert document["duration_ms"] >= 0
    steps = [(step["to_status"], step["attempt"]) for step in document["history"]]
    assert steps == [("queued", 0), ("processing", 1), ("failed", 1), ("queued", 1), ("processing", 2), ("done", 2)]
    assert SECRET not in json.dumps(document)
    assert "key=********" in document["history"][2]["reason"]

    await JobAdministration(world.database).cancel(world.tenant_id, waiting.id, "ana")
    await deliver(world, objects)
    documents = await written(objects)
    assert documents[f"logs/pipeline/{waiting.id}.json"]["error"]["type"] == "Cancelled"


async def test_a_job_that_is_gone_leaves_no_document(world: World, objects: ObjectStore) -> None:
    now, data = SystemClock().now(), {"job_id": str(uuid4()), "status": "failed"}
    event = Event(uuid7(now), "job.changed", 1, world.tenant_id, "job", 1, now, None, data, 1)
    async with world.database.transaction(world.tenant_id) as transaction:
        await PipelineLogs(objects, hidden).handle(transaction, [event])
    assert await written(objects) == {}


async def test_every_line_of_a_job_says_whose_it_is(world: World, caplog: pytest.LogCaptureFixture) -> None:
    async def fails(job: Job, tell: Tell) -> None:
        if job.id == bad.id:
            raise ValueError("no")
        await at_once(job, tell)

    caplog.set_level(logging.INFO, "touchline.process.queue.attendance")
    with tracing("story"):
        bad, good = await world.enqueue(), await world.enqueue()
    async with working(world, Errand(fails)):
        await until(lambda: is_(world, good, JobStatus.DONE))
        await until(lambda: _ended(caplog, bad))
    lines = [record for record in caplog.records if record.name == "touchline.process.queue.attendance"]
    for job, expected in ((bad, ["job begun", "job failed", "job ended"]), (good, ["job begun", "job ended"])):
        own = [vars(record) for record in lines if vars(record)["job_id"] == str(job.id)]
        assert [record["message"] for record in own] == expected
        for record in own:
            named = {name: record[name] for name in ("video_id", "job_type", "attempt", "tenant", "trace")}
            assert named == {
                "video_id": str(job.video_id),
                "job_type": "transcode",
                "attempt": 1,
                "tenant": str(world.tenant_id),
                "trace": "story",
            }


async def _ended(caplog: pytest.LogCaptureFixture, job: Job) -> bool:
    return any(
        record.getMessage() == "job ended" and vars(record)["job_id"] == str(job.id) for record in caplog.records
    )


async def no_effects(transaction: object) -> None:
    """Only the completion."""
