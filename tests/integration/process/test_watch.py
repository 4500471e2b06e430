"""The watch over the queue: samples, alerts, and a webhook that hears of each change."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.support.owner import free_port
from touchline.apps.running import Server
from touchline.kernel import SystemClock
from touchline.process.queue.alerts.rules import MOST_TRIES, signature
from touchline.process.queue.alerts.service import Watch
from touchline.process.queue.alerts.settings import AlertSettings, SecretStr

from .conftest import World, until
from .test_queue import NOT_A_VIDEO, claim_one


class Receiver:
    """A webhook that refuses as often as it is told to."""

    def __init__(self) -> None:
        self.heard: list[tuple[dict[str, str], bytes]] = []
        self.refusals = 0
        self.port = free_port()

    async def receive(self, request: Request) -> Response:
        if self.refusals:
            self.refusals -= 1
            return Response(status_code=503)
        self.heard.append((dict(request.headers), await request.body()))
        return Response()


@pytest.fixture
async def receiver() -> AsyncGenerator[Receiver]:
    import asyncio

    import uvicorn

    made = Receiver()
    routes = [Route("/hook", made.receive, methods=["POST"])]
    server = Server(uvicorn.Config(Starlette(routes=routes), port=made.port, log_config=None))
    running = asyncio.create_task(server.serve())

    async def started() -> bool:
        return server.started

    await until(started)
    yield made
    server.stop()
    await running


def watch(world: World, **settings: Any) -> Watch:
    return Watch(world.database, AlertSettings(dead_letters=0, **settings), SystemClock())


async def kill_one(world: World) -> None:
    await world.enqueue()
    await world.queue().fail(await claim_one(world.queue()), NOT_A_VIDEO)


async def alerts(world: World) -> list[tuple[str, bool]]:
    return [(data["kind"], data["raised"]) for _, _, data in await world.events("job.alert")]


async def test_an_alert_is_announced_when_it_begins_and_when_it_ends(world: World) -> None:
    for _ in range(2):
        await watch(world).run_pass()
    assert await alerts(world) == []
    await kill_one(world)
    for _ in range(2):
        await watch(world).run_pass()
    assert await alerts(world) == [("dead_letters", True)]
    await world.execute("UPDATE process.jobs SET status = 'queued', retry_count = 0 WHERE status = 'failed'")
    for _ in range(2):
        await watch(world).run_pass()
    assert await alerts(world) == [("dead_letters", True), ("dead_letters", False)]


async def test_an_old_queue_is_noticed_and_its_depth_is_sampled(world: World) -> None:
    await world.enqueue()
    await world.execute("UPDATE process.jobs SET run_at = now() - interval '1 hour'")
    await watch(world, queue_age=timedelta(minutes=30)).run_pass()
    assert await alerts(world) == [("queue_age", True)]
    [(job_type, queued, processing, oldest_s)] = await world.execute(
        "SELECT job_type, queued, processing, oldest_s FROM process.job_samples"
    )
    assert (job_type, queued, processing) == ("transcode", 1, 0)
    assert oldest_s >= 3600


async def test_the_webhook_hears_of_each_change_once_it_listens_and_can_trust_it(
    world: World, receiver: Receiver
) -> None:
    await kill_one(world)
    receiver.refusals = 2
    by_webhook = watch(
        world, webhook_url=f"http://127.0.0.1:{receiver.port}/hook", webhook_secret=SecretStr("only for this test")
    )
    for _ in range(5):
        await by_webhook.run_pass()
    [(headers, body)] = receiver.heard
    assert json.loads(body)["kind"] == "dead_letters"
    expected = signature("only for this test", int(headers["x-touchline-timestamp"]), body)
    assert headers["x-touchline-signature"] == expected


async def test_a_webhook_that_never_answers_is_given_up(world: World) -> None:
    await kill_one(world)
    dead = watch(world, webhook_url=f"http://127.0.0.1:{free_port()}/hook")
    for _ in range(MOST_TRIES + 2):
        await dead.run_pass()
    assert await world.execute("SELECT told, tries FROM process.job_alerts") == [(False, MOST_TRIES)]
