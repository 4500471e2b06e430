"""`touchline jobs` against a real database, as a person types it."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.integration.gateway.test_commands import Terminal, terminal
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database
from touchline.process.queue.model import Failure, Job, JobType

from .conftest import World, new_tenant

__all__ = ["terminal"]


@pytest.fixture
async def dead(postgres: PostgresEndpoint) -> Job:
    """One that has failed, beside one that waits."""
    async with Database(postgres.worker_url) as database:
        world = World(postgres, database, new_tenant())
        job = await world.enqueue()
        [held] = await world.queue("first").claim([JobType.TRANSCODE], 1)
        await world.queue("first").fail(held, Failure("NotAVideo", "this is not a video", retryable=False))
        await world.enqueue()
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
