"""Who waits for a hand of the heavy queue gets it in the order of urgency, on a real Temporal server."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from secrets import token_hex

import pytest
from temporalio import activity, workflow
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.worker import Worker

from tests.support.clickhouse_owner import until
from touchline.platform.endpoints import Endpoints
from touchline.platform.settings import TemporalSettings
from touchline.platform.temporal.client import connect, ensure_namespace
from touchline.watch.model import HEAVY_QUEUE, TASK_QUEUE

with workflow.unsafe.imports_passed_through():
    from touchline.watch.downloads.workflow import (
        DOWNLOAD_SINGLE_VIDEO,
        GENERATE_VIDEO_HASH,
        HASH_FIRST,
        VALIDATE_FIRST,
        VALIDATE_VIDEO_IS_SOCCER,
        Arrived,
        Hashed,
        Judged,
        VideoOutcome,
    )

IN_TURN = [HASH_FIRST, VALIDATE_FIRST, DOWNLOAD_SINGLE_VIDEO, GENERATE_VIDEO_HASH, VALIDATE_VIDEO_IS_SOCCER]
BUILD = "test"


@pytest.fixture
async def temporal(endpoints: Endpoints) -> Client:
    settings = TemporalSettings()
    client = await connect(replace(endpoints.temporal, namespace=f"test-{token_hex(6)}"), settings)
    await ensure_namespace(client, settings)
    return client


@workflow.defn
class Crowd:
    """Calls everything at once, what is least urgent first."""

    @workflow.run
    async def run(self, each: int) -> None:
        await asyncio.gather(*(call() for call in reversed(IN_TURN) for _ in range(each)))


class OneHand:
    """Busy with the first thing that it is asked for, until it is told to go on. It may have seen the next already."""

    def __init__(self) -> None:
        self.did = list[int | None]()
        self.is_busy, self.goes_on = asyncio.Event(), asyncio.Event()

    @activity.defn(name=DOWNLOAD_SINGLE_VIDEO.name)
    async def download(self) -> Arrived:
        await self._do()
        return Arrived(VideoOutcome.DONE)

    @activity.defn(name=VALIDATE_VIDEO_IS_SOCCER.name)
    async def validate(self) -> Judged:
        await self._do()
        return Judged(VideoOutcome.DONE)

    @activity.defn(name=GENERATE_VIDEO_HASH.name)
    async def fingerprint(self) -> Hashed:
        await self._do()
        return Hashed(VideoOutcome.DONE)

    async def _do(self) -> None:
        self.did.append(activity.info().priority.priority_key)
        self.is_busy.set()
        await self.goes_on.wait()


async def waiting(client: Client, many: int) -> bool:
    """Whether so many wait for a hand."""
    queue = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=HEAVY_QUEUE),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        report_stats=True,
    )
    return (await client.workflow_service.describe_task_queue(queue)).stats.approximate_backlog_count == many


async def test_what_is_nearest_to_the_archive_goes_first(temporal: Client) -> None:
    hand = OneHand()
    heavy = Worker(
        temporal,
        task_queue=HEAVY_QUEUE,
        activities=[hand.download, hand.validate, hand.fingerprint],
        max_concurrent_activities=1,
        build_id=BUILD,
    )
    async with Worker(temporal, task_queue=TASK_QUEUE, workflows=[Crowd], build_id=BUILD), heavy:
        first = await temporal.start_workflow(Crowd.run, 1, id=token_hex(4), task_queue=TASK_QUEUE)
        await hand.is_busy.wait()
        crowd = await temporal.start_workflow(Crowd.run, 2, id=token_hex(4), task_queue=TASK_QUEUE)
        await until(lambda: waiting(temporal, 3 * len(IN_TURN) - 1))
        hand.goes_on.set()
        await asyncio.gather(first.result(), crowd.result())
    ranks = [[call.urgency for call in IN_TURN].index(key or 0) for key in hand.did[1:]]
    assert any(is_in_turn(ranks[:place] + ranks[place + 1 :]) for place in range(len(ranks))), hand.did


def is_in_turn(ranks: list[int]) -> bool:
    return ranks == sorted(ranks)
