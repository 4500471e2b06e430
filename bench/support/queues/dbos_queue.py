"""DBOS queues: a durable workflow a job, polled as often as it goes well."""

# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import os
import time

from actor import PAUSE_S, go, run, say, tell
from dbos import DBOS, DBOSClient, DBOSConfig

POLL_S = 0.01
AS_QUEUED = {"queue_name": "nothing", "workflow_name": "nothing", "app_version": "1"}


@DBOS.workflow(name="nothing")
def nothing(number: int) -> None:
    if number >= 0:
        tell(number)


def launch(url: str) -> None:
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": url,
        "application_version": "1",
        "executor_id": str(os.getpid()),
        "console_log_level": "CRITICAL",
        "log_level": "CRITICAL",
    }
    DBOS(config=config)
    DBOS.launch()


def begin(concurrency: int) -> None:
    DBOS.register_queue("nothing", worker_concurrency=concurrency, polling_interval_sec=POLL_S)


async def fill(url: str, count: int) -> None:
    def add() -> None:
        launch(url)  # makes the tables
        if DBOS.retrieve_queue("nothing"):
            DBOS.delete_queue("nothing")  # or workers would begin before they are told to
        DBOS.destroy()
        client = DBOSClient(system_database_url=url)
        for _ in range(count):
            client.enqueue(AS_QUEUED, -1)
        client.destroy()

    await asyncio.to_thread(add)


async def drain(url: str, batch: int) -> None:
    await asyncio.to_thread(launch, url)
    client = DBOSClient(system_database_url=url)
    await go()
    await asyncio.to_thread(begin, batch)
    while await client.list_workflows_async(status=["ENQUEUED", "PENDING"], limit=1):
        await asyncio.sleep(0.02)
    say("done")
    client.destroy()
    await asyncio.to_thread(DBOS.destroy)


async def serve(url: str, _: int) -> None:
    await asyncio.to_thread(launch, url)
    await asyncio.to_thread(begin, 50)
    await asyncio.sleep(1)
    await go()
    await asyncio.to_thread(DBOS.destroy)


async def add(url: str, count: int) -> None:
    client = DBOSClient(system_database_url=url)
    for number in range(count):
        begun = time.time()
        await client.enqueue_async(AS_QUEUED, number)
        say(f"{number} {begun:.6f}")
        await asyncio.sleep(PAUSE_S)
    client.destroy()


if __name__ == "__main__":
    run(fill=fill, drain=drain, serve=serve, add=add)
