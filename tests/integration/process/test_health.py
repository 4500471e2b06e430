"""A process that can be asked how it is."""

from __future__ import annotations

import httpx
import pytest

from tests.support.owner import free_port
from touchline.apps.health import answering
from touchline.kernel.errors import Misconfigured, Unavailable
from touchline.process.queue import queries

from .conftest import World, until


async def test_a_port_that_is_taken_is_a_matter_of_settings() -> None:
    async def fine() -> None:
        """Always ready."""

    port = free_port()
    async with answering("127.0.0.1", port, fine):
        with pytest.raises(Misconfigured, match=str(port)):
            async with answering("127.0.0.1", port, fine):
                pass


async def test_a_worker_says_whether_it_is_ready_and_what_it_counted(world: World) -> None:
    port, away = free_port(), False

    async def check() -> None:
        if away:
            raise Unavailable("the database is away")
        await queries.observe(world.database)

    await world.enqueue()
    async with (
        answering("127.0.0.1", port, check),
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
