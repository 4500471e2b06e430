"""The event log on a disk that is really full: what was acknowledged is there when there is space again.

Only root may put PostgreSQL's folder on a file system of its own and still have it run as another user.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from secrets import token_hex

import psycopg

from tests.support.events import Noted, announce, new_tenant
from tests.support.stack import RunningStack, StackPlan, running_stack, temporary_root
from tests.support.wait import eventually
from touchline.kernel import StorageFull, Unavailable, surface
from touchline.platform.events.log import Sequencer
from touchline.platform.postgres.database import Database, Wakeups
from touchline.platform.postgres.migrations import migrate
from touchline.platform.settings import EventSettings
from touchline.platform.stack.status import PartState, stack_report

from .test_log import log

DISK_MIB = 320
LEFT_BYTES = 2 * 1024**2
TEXT_BYTES = 50_000  # of one event; they do not shrink when they are packed
SOON = EventSettings(poll_interval=timedelta(milliseconds=50))
# Goes to the write-ahead log and nowhere else.
FILL_LOG = "SELECT pg_logical_emit_message(true, 'ballast', %s)"


@asynccontextmanager
async def sequencing(database: Database) -> AsyncGenerator[None]:
    running = asyncio.create_task(Sequencer(database, Wakeups(database.url, []), SOON).run())
    try:
        yield
    finally:
        assert not running.done(), "it tries again as long as there is no space"
        running.cancel()
        await asyncio.wait([running])


async def write(database: Database) -> str:
    name = token_hex(TEXT_BYTES)
    await announce(database, new_tenant(), Noted(name=name))
    return name


async def written_until_refused(database: Database) -> tuple[list[str], Unavailable]:
    taken = list[str]()
    while True:
        try:
            taken.append(await write(database))
        except Unavailable as error:
            return taken, error


def begin_a_file_of_the_write_ahead_log(stack: RunningStack) -> None:
    """Which has space for longer than the tables."""
    with psycopg.connect(stack.superuser_url, autocommit=True) as connection:
        connection.execute("SELECT pg_switch_wal()")
        connection.execute(FILL_LOG, ("x",))


def use_up_the_write_ahead_log(stack: RunningStack) -> None:
    try:
        with psycopg.connect(stack.superuser_url, autocommit=True) as connection:
            while True:
                connection.execute(FILL_LOG, ("x" * 1024**2,))
    except psycopg.OperationalError:
        return


def state(stack: RunningStack) -> PartState:
    [part] = stack_report(stack.seen).parts
    return part.status.state


async def sooner_or_later(look: Callable[[], bool]) -> None:
    await asyncio.to_thread(eventually, look)


if os.geteuid() == 0:

    async def test_what_was_acknowledged_is_there_when_there_is_space_again() -> None:
        """First its tables have no space, then its write-ahead log, without which the server cannot even start."""
        with (
            temporary_root() as root,
            running_stack(StackPlan(root, only={"postgres"}), disk_mib=DISK_MIB) as stack,
        ):
            where = stack.endpoints.postgres
            await migrate(where.owner_url)
            async with Database(where.app_url) as database, sequencing(database):
                begin_a_file_of_the_write_ahead_log(stack)
                stack.disk.fill(LEFT_BYTES)
                taken, refused = await written_until_refused(database)
                assert isinstance(refused, StorageFull)
                assert (surface(refused).http, refused.why) == (507, "nothing was changed")
                assert state(stack) is PartState.DISK_FULL

                use_up_the_write_ahead_log(stack)
                _, gone = await written_until_refused(database)
                assert gone.retryable
                await sooner_or_later(lambda: stack.part("postgres").restarts > 0)
                assert state(stack) is PartState.DISK_FULL

                stack.disk.free()
                await sooner_or_later(lambda: state(stack) is PartState.READY)
                taken.append(await write(database))
                async with asyncio.timeout(60):
                    while [name for _, name, _ in await log(database)] != taken:
                        await asyncio.sleep(0.05)
