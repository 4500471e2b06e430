"""The event log: what a log must be able to do, the one in Postgres, its archive in the object store, its sequencer.

Invariant: positions have no gaps, and a reader never notices where an event is stored. Rows are deleted only in the
transaction that records the object they are in; a pass that dies leaves an object that the next pass finds and uses.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from prometheus_client import Counter
from pydantic import TypeAdapter

from touchline.contracts.events import Event
from touchline.kernel import Clock, Defect
from touchline.platform.postgres.database import Database, Transaction, Wakeups
from touchline.platform.retry import retry_forever
from touchline.platform.settings import EventSettings

from .store import ArchiveChunk, LogBounds, LogStore


@dataclass(frozen=True, slots=True)
class EventBatch:
    events: Sequence[Event]
    reached: int  # everything up to this position was read, whether or not its type was wanted


class EventSource(Protocol):
    """A log of events with gapless positions from 1."""

    async def head(self) -> int:
        """The last position."""
        ...

    async def read(self, after: int, limit: int, types: frozenset[str] | None = None) -> EventBatch:
        """What follows a position, in order: at most `limit` events, of these types only."""
        ...

    async def wait(self, after: int, at_most: timedelta) -> None:
        """Returns as soon as there is an event after the position, or after `at_most`."""
        ...


class EventHandler(Protocol):
    """One consumer: a name for its cursor, the types it wants, and its effects."""

    @property
    def name(self) -> str: ...

    @property
    def types(self) -> frozenset[str] | None: ...

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        """Processes events of one tenant, in order, in that tenant's transaction. Commits with the cursor."""
        ...


_EVENT = TypeAdapter(Event)


class ArchiveObjects(Protocol):
    """What the archive needs of an object store."""

    async def put_once(self, key: str, data: bytes, /, *, content_type: str) -> object: ...
    async def get(self, key: str, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class ArchivePass:
    chunks: int
    more: bool  # the limit was reached: call again


class Archive:
    def __init__(self, database: Database, objects: ArchiveObjects, settings: EventSettings, clock: Clock) -> None:
        self._database = database
        self._objects = objects
        self._settings = settings
        self._clock = clock
        self._latest: tuple[ArchiveChunk, list[Event]] | None = (
            None  # cached: a reader needs the same object many times
        )

    async def run_pass(self) -> ArchivePass:
        """Archives old events, oldest first, never more than the settings allow."""
        for done in range(self._settings.archive_most_chunks):
            if not await self._archive_oldest():
                return ArchivePass(chunks=done, more=False)
        return ArchivePass(chunks=self._settings.archive_most_chunks, more=True)

    async def read(self, after: int, limit: int, types: frozenset[str] | None) -> EventBatch:
        async with self._database.system("read archived events") as transaction:
            chunk = await LogStore(transaction.connection).archive_after(after)
        if chunk is None:
            raise Defect(f"position {after + 1} is neither in the log nor in its archive")
        events = await self._events_of(chunk)
        reached = min(after + limit, chunk.last_position)
        wanted = (event for event in events if after < event.position <= reached)
        return EventBatch([event for event in wanted if types is None or event.type in types], reached)

    async def _events_of(self, chunk: ArchiveChunk) -> list[Event]:
        if self._latest is None or self._latest[0] != chunk:
            self._latest = (chunk, decode(await self._objects.get(chunk.object_key), chunk))
        return self._latest[1]

    async def _archive_oldest(self) -> bool:
        events = await self._due()
        if not events:
            return False
        body = encode(events)
        digest = hashlib.sha256(body).hexdigest()
        first, last = events[0].position, events[-1].position
        key = f"events/{first:020}-{last:020}-{digest[:16]}.jsonl.gz"
        await self._objects.put_once(key, body, content_type="application/gzip")
        async with self._database.system("forget archived events") as transaction:
            return await LogStore(transaction.connection).record_archive(ArchiveChunk(first, last, key, digest))

    async def _due(self) -> list[Event]:
        async with self._database.system("read old events") as transaction:
            store = LogStore(transaction.connection)
            first = (await store.bounds()).oldest
            last = first + self._settings.archive_chunk - 1
            if not await store.chunk_is_due(first, last, self._clock.now() - self._settings.keep_for):
                return []
            return await store.read(first - 1, last, None)


def encode(events: Iterable[Event]) -> bytes:
    lines = (json.dumps(_EVENT.dump_python(event, mode="json"), sort_keys=True) + "\n" for event in events)
    return gzip.compress("".join(lines).encode(), mtime=0)


def decode(body: bytes, chunk: ArchiveChunk) -> list[Event]:
    if hashlib.sha256(body).hexdigest() != chunk.sha256:
        raise Defect(f"{chunk.object_key} is not what was archived", why="its checksum differs")
    return [_EVENT.validate_json(line) for line in gzip.decompress(body).splitlines()]


EVENTS_CHANNEL = "touchline_events"


class PostgresLog:
    def __init__(self, database: Database, wakeups: Wakeups, archive: Archive) -> None:
        self._database = database
        self._wakeups = wakeups
        self._archive = archive

    async def head(self) -> int:
        return (await self._bounds()).head

    async def read(self, after: int, limit: int, types: frozenset[str] | None = None) -> EventBatch:
        async with self._database.system("read the event log") as transaction:
            store = LogStore(transaction.connection)
            bounds = await store.bounds()
            if after + 1 >= bounds.oldest:
                reached = min(after + limit, bounds.head)
                return EventBatch(await store.read(after, reached, types), max(reached, after))
        return await self._archive.read(after, limit, types)

    async def wait(self, after: int, at_most: timedelta) -> None:
        wakeup = self._wakeups.subscribe(
            EVENTS_CHANNEL
        )  # first, so that no event is missed between the check and the wait
        if await self.head() <= after:
            await wakeup.wait(at_most)

    async def _bounds(self) -> LogBounds:
        async with self._database.system("read the event log") as transaction:
            return await LogStore(transaction.connection).bounds()


INBOX_CHANNEL = "touchline_inbox"
SEQUENCED = Counter("touchline_events_sequenced", "Events that were given their position by this process.")

logger = logging.getLogger(__name__)


class Sequencer:
    def __init__(self, database: Database, wakeups: Wakeups, settings: EventSettings) -> None:
        self._database = database
        self._wakeup = wakeups.subscribe(INBOX_CHANNEL)
        self._settings = settings

    async def run(self) -> None:
        """Until cancelled. Retries while the database is unavailable."""
        await retry_forever(self._turn, self._settings.retry_delay, logger)

    async def _turn(self) -> None:
        while await self.step() >= self._settings.sequence_batch:
            pass
        await self._wakeup.wait(self._settings.poll_interval)

    async def step(self) -> int:
        async with self._database.system("give events their positions") as transaction:
            moved = await LogStore(transaction.connection).sequence(self._settings.sequence_batch)
        SEQUENCED.inc(max(moved, 0))
        return moved
