"""procrastinate, one worker process with as many jobs at once as the batch says."""

# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import time

from actor import PAUSE_S, go, run, say, tell
from procrastinate import App, PsycopgConnector

CHUNK = 1000


def app(url: str) -> App:
    made = App(connector=PsycopgConnector(conninfo=url))

    @made.task(name="nothing")
    async def nothing(number: int) -> None:
        if number >= 0:
            tell(number)

    return made


async def fill(url: str, count: int) -> None:
    async with app(url).open_async() as made:
        if not await made.check_connection_async():
            await made.schema_manager.apply_schema_async()
        for _ in range(0, count, CHUNK):
            await made.tasks["nothing"].batch_defer_async(*[{"number": -1}] * CHUNK)


async def drain(url: str, batch: int) -> None:
    async with app(url).open_async() as made:
        await go()
        await made.run_worker_async(wait=False, concurrency=batch, listen_notify=False, install_signal_handlers=False)
        say("done")


async def serve(url: str, _: int) -> None:
    async with app(url).open_async() as made:
        running = asyncio.create_task(made.run_worker_async(install_signal_handlers=False))
        await asyncio.sleep(1)
        await go()
        running.cancel()
        await asyncio.wait([running])


async def add(url: str, count: int) -> None:
    async with app(url).open_async() as made:
        for number in range(count):
            begun = time.time()
            await made.tasks["nothing"].defer_async(number=number)
            say(f"{number} {begun:.6f}")
            await asyncio.sleep(PAUSE_S)


if __name__ == "__main__":
    run(fill=fill, drain=drain, serve=serve, add=add)
