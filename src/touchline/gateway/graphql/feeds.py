"""Live events, from the log to the clients: read once for each tenant and kind, delivered to every client that listens.

Invariant: a client gets every event after its position once and in order. It first reads the log itself, then joins the
tenant's feed. Its queue is bounded: a client that does not keep up is disconnected, and resumes from its cursor. A
connection is closed once, with one code.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactRegistered, ArtifactRenamed
from touchline.gateway.metrics import LIVE_CLOSINGS, LIVE_CONNECTIONS
from touchline.gateway.settings import GraphqlSettings
from touchline.kernel import InvalidInput, TenantId
from touchline.platform.events.log import EVENTS_CHANNEL
from touchline.platform.postgres.database import Database, Wakeups
from touchline.platform.retry import retry_forever

from .store import Bounds, LiveEvent, LiveStore

# --- Close reasons: codes for programs, sentences for people. A code means one thing for ever. After each of them a
# client may connect again and resume from its cursor.


class CloseReason(Enum):
    """Codes from 4000 on are an application's own; graphql-ws treats none of these as final."""

    NOT_SIGNED_IN = (4403, "the token is not valid: get a new one, then connect again")
    TOO_SLOW = (4413, "the client reads events too slowly: connect again and continue from the last cursor")
    TOO_MANY = (4430, "the tenant has too many live connections: connect again later")
    FAILED = (4501, "the event stream was interrupted: connect again and continue from the last cursor")

    @property
    def code(self) -> int:
        return self.value[0]

    @property
    def reason(self) -> str:
        return self.value[1]


# --- Connections: how many a tenant may have, and how the gateway closes one. A client that does not even take the
# close message is dropped.

CLOSE_WITHIN = timedelta(seconds=5)


class LiveConnection:
    def __init__(self, websocket: WebSocket, time: asyncio.Timeout) -> None:
        self._websocket = websocket
        self._time = time  # how long it is served
        self._closing: asyncio.Task[None] | None = None
        self._background: list[asyncio.Task[None]] = []
        self.position = 0  # of the log when the connection said who it is

    @property
    def is_closing(self) -> bool:
        return self._closing is not None

    @property
    def is_accepted(self) -> bool:
        return self._websocket.application_state is WebSocketState.CONNECTED

    def close(self, closing: CloseReason) -> None:
        if self._closing is None:
            LIVE_CLOSINGS.labels(closing.name.lower()).inc()
            self._time.reschedule(asyncio.get_running_loop().time() + CLOSE_WITHIN.total_seconds())
            self._closing = asyncio.create_task(self._close(closing), name="close a live connection")

    def drop(self) -> None:
        """Without a word."""
        self._time.reschedule(asyncio.get_running_loop().time())

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Work that goes on for as long as the connection is served."""
        self._background.append(asyncio.create_task(work, name="background of a live connection"))

    async def end(self) -> None:
        """When it is no longer served: lets a close go out, unless there was time enough for it."""
        if self._closing is not None and not self._time.expired():
            await asyncio.wait([self._closing])
        ending = [*self._background, *([self._closing] if self._closing else [])]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    async def _close(self, closing: CloseReason) -> None:
        with suppress(RuntimeError, WebSocketDisconnect):  # it is gone already
            await self._websocket.close(closing.code, closing.reason)


class ConnectionCounter:
    """How many live connections each tenant has at this gateway."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counted: Counter[TenantId] = Counter()

    def enter(self, tenant_id: TenantId) -> bool:
        """False when the tenant has as many as it may."""
        if self._counted[tenant_id] >= self._most:
            return False
        self._counted[tenant_id] += 1
        LIVE_CONNECTIONS.inc()
        return True

    def leave(self, tenant_id: TenantId) -> None:
        LIVE_CONNECTIONS.dec()
        self._counted[tenant_id] -= 1
        if not self._counted[tenant_id]:
            del self._counted[tenant_id]


# --- Feeds.

# Includes the progress of processing: serve reports it again with the artifact's own revision.
ARTIFACT_TYPES = frozenset({ArtifactRegistered.event_type, ArtifactRenamed.event_type, ArtifactLifecycle.event_type})
PAGE = 200
RETRY_AFTER = timedelta(milliseconds=200)
logger = logging.getLogger(__name__)
Close = Callable[[CloseReason], None]
Kind = tuple[TenantId, frozenset[str]]  # whose events, of which types


@dataclass(eq=False, slots=True)
class Listener:
    """One client of a feed, with what waits for it."""

    close: Close
    queue: asyncio.Queue[LiveEvent]
    delivery_timeout: timedelta

    async def deliver(self, events: Sequence[LiveEvent]) -> bool:
        """False when the queue stayed full for too long."""
        try:
            async with asyncio.timeout(self.delivery_timeout.total_seconds()):
                for event in events:
                    await self.queue.put(event)
        except TimeoutError:
            return False
        return True


class Feed:
    """The events of one tenant and kind as they come, from a position on."""

    def __init__(self, store: LiveStore, position: int, wakeups: Wakeups, poll_interval: timedelta) -> None:
        self._store = store
        self._position = position
        self._wakeup = wakeups.subscribe(EVENTS_CHANNEL)
        self._poll_interval = poll_interval
        self._listeners: set[Listener] = set()

    async def run(self) -> None:
        """Until cancelled, by when nobody listens any more."""
        try:
            await retry_forever(self._turn, RETRY_AFTER, logger)
        except Exception:
            logger.exception("live events were interrupted")
            for listener in self._listeners:
                listener.close(CloseReason.FAILED)

    def join(self, listener: Listener) -> int:
        """The listener gets everything after the position that is answered."""
        self._listeners.add(listener)
        return self._position

    def leave(self, listener: Listener) -> None:
        self._listeners.discard(listener)

    async def _turn(self) -> None:
        page = await self._store.read(self._position, PAGE)
        # Who joins from here on reads up to the new position from the log.
        self._position, listeners = page.reached, tuple(self._listeners)
        in_time = await asyncio.gather(*(listener.deliver(page.events) for listener in listeners))
        for listener, delivered in zip(listeners, in_time, strict=True):
            if not delivered:
                self.leave(listener)
                listener.close(CloseReason.TOO_SLOW)
        if page.reached >= page.bounds.head:
            await self._wakeup.wait(self._poll_interval)


class EventHistory:
    """What a client reads from the log itself, and how far it has come."""

    def __init__(self, store: LiveStore, position: int) -> None:
        self._store = store
        self.position = position

    async def until(self, position: int | None) -> AsyncGenerator[LiveEvent]:
        """Up to a position, or to the end of the log."""
        while position is None or self.position < position:
            page = await self._store.read(self.position, PAGE)
            require_within(self.position, page.bounds)
            for event in page.events:
                yield event
            self.position = page.reached
            if self.position >= page.bounds.head:
                return


@dataclass(slots=True)
class _Running:
    feed: Feed
    task: asyncio.Task[None]
    users: int = 0


class Feeds:
    def __init__(self, database: Database, wakeups: Wakeups, settings: GraphqlSettings, types: frozenset[str]) -> None:
        self._database = database
        self._wakeups = wakeups
        self._settings = settings
        self._types = types
        self._running: dict[Kind, _Running] = {}
        self.connections = ConnectionCounter(settings.connections_per_tenant)  # of every kind

    async def head(self, tenant_id: TenantId) -> int:
        """The last position of the log."""
        return (await LiveStore(self._database, tenant_id, self._types).bounds()).head

    async def reaches(self, tenant_id: TenantId, position: int) -> bool:
        """Whether the log still has everything after this position."""
        return is_within(position, await LiveStore(self._database, tenant_id, self._types).bounds())

    async def heard(self, tenant_id: TenantId, after: int, types: frozenset[str]) -> AsyncGenerator[LiveEvent]:
        """What is in the log by now, and no more."""
        async for event in EventHistory(LiveStore(self._database, tenant_id, types), after).until(None):
            yield event

    async def listen(
        self, tenant_id: TenantId, after: int, close: Close, types: frozenset[str] | None = None
    ) -> AsyncGenerator[LiveEvent]:
        """Every live event of a tenant after a position, for ever; without types: of those that most listen to."""
        kind = tenant_id, self._types if types is None else types
        store = LiveStore(self._database, *kind)
        history = EventHistory(store, after)
        async for event in history.until(None):
            yield event
        listener = Listener(close, asyncio.Queue(self._settings.queue_events), self._settings.queue_timeout)
        with self._joined(kind, store, listener, history.position) as joined:
            async for event in history.until(joined):
                yield event
            while True:
                event = await listener.queue.get()
                if event.position > history.position:
                    yield event

    @contextmanager
    def _joined(self, kind: Kind, store: LiveStore, listener: Listener, position: int) -> Generator[int]:
        running = self._running.get(kind)
        if running is None or running.task.done():
            feed = Feed(store, position, self._wakeups, self._settings.poll_interval)
            running = _Running(feed, asyncio.create_task(feed.run(), name="live feed"))
            self._running[kind] = running
        running.users += 1
        try:
            yield running.feed.join(listener)
        finally:
            running.feed.leave(listener)
            running.users -= 1
            if running.users == 0:
                self._end(kind, running)

    def _end(self, kind: Kind, running: _Running) -> None:
        running.task.cancel()
        if self._running.get(kind) is running:
            del self._running[kind]


def require_within(position: int, bounds: Bounds) -> None:
    """A cursor that the log no longer reaches back to, or does not reach yet, would skip events in silence."""
    if not is_within(position, bounds):
        hint = "Reload the list, then subscribe without a cursor."
        raise InvalidInput(
            "the cursor is too old", field="after", why="the event log no longer has that position", hint=hint
        )


def is_within(position: int, bounds: Bounds) -> bool:
    return bounds.oldest - 1 <= position <= bounds.head
