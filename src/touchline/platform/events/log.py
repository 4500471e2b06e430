"""The log as Postgres keeps it, with the archive behind it: a reader never notices where an event lies."""

from __future__ import annotations

from datetime import timedelta

from touchline.platform.postgres.database import Database
from touchline.platform.postgres.wakeups import Wakeups

from .archive import Archive
from .port import Batch
from .store import Bounds, LogStore

EVENTS_CHANNEL = "touchline_events"


class PostgresLog:
    def __init__(self, database: Database, wakeups: Wakeups, archive: Archive) -> None:
        self._database = database
        self._wakeups = wakeups
        self._archive = archive

    async def head(self) -> int:
        return (await self._bounds()).head

    async def read(self, after: int, limit: int, types: frozenset[str] | None = None) -> Batch:
        async with self._database.system("read the event log") as transaction:
            store = LogStore(transaction.connection)
            bounds = await store.bounds()
            if after + 1 >= bounds.oldest:
                reached = min(after + limit, bounds.head)
                return Batch(await store.read(after, reached, types), max(reached, after))
        return await self._archive.read(after, limit, types)

    async def wait(self, after: int, at_most: timedelta) -> None:
        wakeup = self._wakeups.subscribe(EVENTS_CHANNEL)  # first, so that nothing comes between look and wait
        if await self.head() <= after:
            await wakeup.wait(at_most)

    async def _bounds(self) -> Bounds:
        async with self._database.system("read the event log") as transaction:
            return await LogStore(transaction.connection).bounds()
