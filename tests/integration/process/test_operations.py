"""Operating the queue: samples, alerts and their webhook; health and metrics of a process; `touchline jobs`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.integration.gateway.test_commands import Terminal, terminal
from tests.support.clickhouse_owner import free_port
from touchline.apps.runtime import Server, health_server
from touchline.kernel import Misconfigured, SystemClock, Unavailable
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database
from touchline.process.queue import queries
from touchline.process.queue.alerts import QueueMonitor
from touchline.process.queue.jobs import FailureReason, Job, JobType
from touchline.process.queue.rules import MAX_DELIVERY_ATTEMPTS, webhook_signature
from touchline.process.settings import AlertSettings, SecretStr

from .conftest import QueueHarness, new_tenant, until
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


def watch(harness: QueueHarness, **settings: Any) -> QueueMonitor:
    return QueueMonitor(harness.database, AlertSettings(dead_letters=0, **settings), SystemClock())


async def kill_one(harness: QueueHarness) -> None:
    await harness.enqueue()
    await harness.queue().fail(await claim_one(harness.queue()), NOT_A_VIDEO)


async def alerts(harness: QueueHarness) -> list[tuple[str, bool]]:
    return [(data["kind"], data["raised"]) for _, _, data in await harness.events("job.alert")]


async def test_an_alert_is_announced_when_it_begins_and_when_it_ends(harness: QueueHarness) -> None:
    for _ in range(2):
        await watch(harness).run_pass()
    assert await alerts(harness) == []
    await kill_one(harness)
    for _ in range(2):
        await watch(harness).run_pass()
    assert await alerts(harness) == [("dead_letters", True)]
    await harness.execute("UPDATE process.jobs SET status = 'queued', retry_count = 0 WHERE status = 'failed'")
    for _ in range(2):
        await watch(harness).run_pass()
    assert await alerts(harness) == [("dead_letters", True), ("dead_letters", False)]


async def test_an_old_queue_is_noticed_and_its_depth_is_sampled(harness: QueueHarness) -> None:
    await harness.enqueue()
    await harness.execute("UPDATE process.jobs SET run_at = now() - interval '1 hour'")
    await watch(harness, queue_age=timedelta(minutes=30)).run_pass()
    assert await alerts(harness) == [("queue_age", True)]
    [(job_type, queued, processing, oldest_s)] = await harness.execute(
        "SELECT job_type, queued, processing, oldest_s FROM process.job_samples"
    )
    assert (job_type, queued, processing) == ("transcode", 1, 0)
    assert oldest_s >= 3600


async def test_the_webhook_hears_of_each_change_once_it_listens_and_can_trust_it(
    harness: QueueHarness, receiver: Receiver
) -> None:
    await kill_one(harness)
    receiver.refusals = 2
    by_webhook = watch(
        harness, webhook_url=f"http://127.0.0.1:{receiver.port}/hook", webhook_secret=SecretStr("only for this test")
    )
    for _ in range(5):
        await by_webhook.run_pass()
    [(headers, body)] = receiver.heard
    assert json.loads(body)["kind"] == "dead_letters"
    expected = webhook_signature("only for this test", int(headers["x-touchline-timestamp"]), body)
    assert headers["x-touchline-signature"] == expected


async def test_a_webhook_that_never_answers_is_given_up(harness: QueueHarness) -> None:
    await kill_one(harness)
    dead = watch(harness, webhook_url=f"http://127.0.0.1:{free_port()}/hook")
    for _ in range(MAX_DELIVERY_ATTEMPTS + 2):
        await dead.run_pass()
    assert await harness.execute("SELECT reported, tries FROM process.job_alerts") == [(False, MAX_DELIVERY_ATTEMPTS)]


async def test_a_port_that_is_taken_is_a_matter_of_settings() -> None:
    async def fine() -> None:
        """Always ready."""

    port = free_port()
    async with health_server("127.0.0.1", port, "worker.port", fine):
        with pytest.raises(Misconfigured, match=str(port)):
            async with health_server("127.0.0.1", port, "worker.port", fine):
                pass


async def test_a_worker_says_whether_it_is_ready_and_what_it_counted(harness: QueueHarness) -> None:
    port, away = free_port(), False

    async def check() -> None:
        if away:
            raise Unavailable("the database is away")
        await queries.update_gauges(harness.database)

    await harness.enqueue()
    async with (
        health_server("127.0.0.1", port, "worker.port", check),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client,
    ):

        async def status(path: str) -> int:
            try:
                return (await client.get(path)).status_code
            except httpx.ConnectError:
                return 0

        assert await until(lambda: status("/health/live")) == 200
        assert await status("/health/ready") == 200
        text = (await client.get("/metrics")).text
        assert 'touchline_jobs_depth{job_type="transcode",status="queued"} 1.0' in text
        assert await status("/elsewhere") == 404
        away = True
        assert await status("/health/ready") == 503
        assert await status("/health/live") == 200


__all__ = ["terminal"]


@pytest.fixture
async def dead(postgres: PostgresEndpoint) -> Job:
    """One that has failed, beside one that waits."""
    async with Database(postgres.worker_url) as database:
        harness = QueueHarness(postgres, database, new_tenant())
        job = await harness.enqueue()
        [held] = await harness.queue("first").claim([JobType.TRANSCODE], 1)
        await harness.queue("first").fail(held, FailureReason("NotAVideo", "this is not a video", retryable=False))
        await harness.enqueue()
    return job


def test_jobs_are_listed_shown_and_changed(dead: Job, terminal: Terminal) -> None:
    listed = terminal.json("jobs", "list")
    assert [job["status"] for job in listed["jobs"]] == ["queued", "failed"]
    waiting = listed["jobs"][0]["id"]
    first = terminal.json("jobs", "list", "--limit", "1")
    assert first["more"]
    after = terminal.json("jobs", "list", "--after", waiting, "--status", "failed", "--type", "transcode")
    assert [job["id"] for job in after["jobs"]] == [str(dead.id)]
    assert [job["id"] for job in terminal.json("jobs", "list", "--cause", "NotAVideo")["jobs"]] == [str(dead.id)]
    assert terminal.json("jobs", "list", "--cause", "Forbidden")["jobs"] == []
    assert terminal.json("jobs", "list", "--video", str(uuid4()))["jobs"] == []
    assert terminal.json("jobs", "list", "--tenant", str(uuid4()))["jobs"] == []
    assert "NotAVideo: this is not a video" in terminal.run("jobs", "list")
    shown = terminal.json("jobs", "show", str(dead.id))
    assert [step["to_status"] for step in shown["history"]] == ["queued", "processing", "failed"]
    assert shown["error"]["type"] == "NotAVideo"
    assert "by psql" not in terminal.run("jobs", "show", str(dead.id))
    assert terminal.json("jobs", "retry", str(dead.id))["status"] == "queued"
    assert terminal.json("jobs", "priority", str(dead.id), "9")["priority"] == 9
    assert terminal.json("jobs", "cancel", str(dead.id))["error"]["message"] == "cancelled by cli"
    [shown_line] = [line for line in terminal.run("jobs", "list").splitlines() if str(dead.id) in line]
    assert " cancelled " in shown_line
    assert " failed " not in shown_line


def test_what_cannot_be_done_says_why(dead: Job, terminal: Terminal) -> None:
    [waiting] = terminal.json("jobs", "list", "--status", "queued")["jobs"]
    refused = terminal.json("jobs", "retry", waiting["id"], code=5)
    assert refused["error"]["code"] == "conflict"
    assert terminal.json("jobs", "show", str(uuid4()), code=3)["error"]["code"] == "not_found"
    assert terminal.json("jobs", "cancel", "x", code=2)["error"]["code"] == "invalid_input"
    assert terminal.json("jobs", "priority", waiting["id"], "101", code=2)["error"]["code"] == "invalid_input"
