"""pgqueuer, by its own drain mode, on asyncpg."""

# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import asyncpg
from actor import PAUSE_S, go, run, say, tell
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

CHUNK = 1000


async def fill(url: str, count: int) -> None:
    connection = await asyncpg.connect(url)
    queries = Queries(AsyncpgDriver(connection))
    if not await connection.fetchval("SELECT to_regclass('pgqueuer')"):
        await queries.install()
    for _ in range(0, count, CHUNK):
        await queries.enqueue(["nothing"] * CHUNK, [None] * CHUNK, [0] * CHUNK)
    await connection.close()


async def _manager(url: str, told: bool) -> tuple[asyncpg.Connection, QueueManager]:
    connection = await asyncpg.connect(url)
    manager = QueueManager(Queries(AsyncpgDriver(connection)))

    @manager.entrypoint("nothing")
    async def nothing(job: Job) -> None:
        if told and job.payload:
            tell(job.payload.decode())

    return connection, manager


async def drain(url: str, batch: int) -> None:
    connection, manager = await _manager(url, told=False)
    await go()
    await manager.run(batch_size=batch, mode=QueueExecutionMode.drain, dequeue_timeout=timedelta(seconds=1))
    say("done")
    await connection.close()


async def serve(url: str, _: int) -> None:
    connection, manager = await _manager(url, told=True)
    running = asyncio.create_task(manager.run(dequeue_timeout=timedelta(seconds=1)))
    await asyncio.sleep(1)
    await go()
    manager.shutdown.set()
    await running
    await connection.close()


async def add(url: str, count: int) -> None:
    connection = await asyncpg.connect(url)
    queries = Queries(AsyncpgDriver(connection))
    for number in range(count):
        begun = time.time()
        await queries.enqueue("nothing", str(number).encode())
        say(f"{number} {begun:.6f}")
        await asyncio.sleep(PAUSE_S)
    await connection.close()


if __name__ == "__main__":
    run(fill=fill, drain=drain, serve=serve, add=add)
