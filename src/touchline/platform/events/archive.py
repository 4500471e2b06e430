"""Old events in the object store: whole ranges of positions as compressed JSON lines, one immutable object each.

Invariant: rows go only in the transaction that records the object they are in. A pass that dies leaves an object
that the next pass finds and uses.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from pydantic import TypeAdapter

from touchline.contracts.events import Event
from touchline.kernel import Clock
from touchline.kernel.errors import Defect
from touchline.platform.postgres.database import Database

from .port import Batch
from .settings import EventSettings
from .store import Chunk, LogStore

_EVENT = TypeAdapter(Event)


class ArchiveObjects(Protocol):
    """The two things that the archive asks of an object store."""

    async def put_once(self, key: str, data: bytes, /, *, content_type: str) -> object: ...
    async def get(self, key: str, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class ArchivePass:
    chunks: int
    more: bool  # the limit was reached: say so, and come back


class Archive:
    def __init__(self, database: Database, objects: ArchiveObjects, settings: EventSettings, clock: Clock) -> None:
        self._database = database
        self._objects = objects
        self._settings = settings
        self._clock = clock
        self._latest: tuple[Chunk, list[Event]] | None = None  # a reader asks for the same object many times

    async def run_pass(self) -> ArchivePass:
        """Moves what is old, oldest first, never more than the settings allow."""
        for done in range(self._settings.archive_most_chunks):
            if not await self._archive_oldest():
                return ArchivePass(chunks=done, more=False)
        return ArchivePass(chunks=self._settings.archive_most_chunks, more=True)

    async def read(self, after: int, limit: int, types: frozenset[str] | None) -> Batch:
        async with self._database.system("read archived events") as transaction:
            chunk = await LogStore(transaction.connection).archive_after(after)
        if chunk is None:
            raise Defect(f"position {after + 1} is neither in the log nor in its archive")
        events = await self._events_of(chunk)
        reached = min(after + limit, chunk.last_position)
        wanted = (event for event in events if after < event.position <= reached)
        return Batch([event for event in wanted if types is None or event.type in types], reached)

    async def _events_of(self, chunk: Chunk) -> list[Event]:
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
            return await LogStore(transaction.connection).record_archive(Chunk(first, last, key, digest))

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


def decode(body: bytes, chunk: Chunk) -> list[Event]:
    if hashlib.sha256(body).hexdigest() != chunk.sha256:
        raise Defect(f"{chunk.object_key} is not what was archived", why="its checksum differs")
    return [_EVENT.validate_json(line) for line in gzip.decompress(body).splitlines()]
