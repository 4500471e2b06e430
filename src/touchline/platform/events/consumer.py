"""Runs one consumer of the log.

Invariant: an event's effects and the cursor that passes it commit together, so each effect happens once, whatever
dies in between. An event that cannot be processed is set aside, visibly, and never blocks the ones behind it.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta

from prometheus_client import Counter

from touchline.contracts.events import Event
from touchline.kernel import LeaseLost, NotFound, TenantId
from touchline.platform.postgres.database import Database, Transaction
from touchline.platform.retry import backoff_seconds, is_transient, retry_forever
from touchline.platform.settings import EventSettings

from .log import EventBatch, EventHandler, EventSource
from .store import ConsumerStore

logger = logging.getLogger(__name__)

CONSUMED = Counter("touchline_events_consumed", "Events that a consumer has processed, by this process.", ["consumer"])
SET_ASIDE = Counter("touchline_events_set_aside", "Events that a consumer could not process.", ["consumer"])


class Consumer:
    """With `gather` it waits a short time after the first event, so that it processes those that follow with it."""

    def __init__(
        self,
        database: Database,
        source: EventSource,
        handler: EventHandler,
        settings: EventSettings,
        gather: timedelta = timedelta(0),
    ) -> None:
        self._database = database
        self._source = source
        self._handler = handler
        self._settings = settings
        self._gather = gather
        self._position: int | None = None  # the cursor, cached until it may have changed
        self._looked_at = -math.inf

    async def run(self) -> None:
        """Until cancelled. Retries while a server is unavailable; the lag shows it."""
        await retry_forever(self._turn, self._settings.retry_delay, logger)

    async def _turn(self) -> None:
        position = await self.position() if self._position is None else self._position
        self._position = None
        try:
            position = await self._catch_up(position)
        except LeaseLost:
            await asyncio.sleep(self._settings.poll_interval.total_seconds())  # another process holds the lease
            return
        if self._is_time_to_look():
            while await self.retry_set_aside():
                pass
        else:
            self._position = position
        await self._source.wait(position, self._settings.poll_interval)
        await asyncio.sleep(self._gather.total_seconds())

    async def _catch_up(self, position: int) -> int:
        """Until a batch is not full: then `wait` notices what has come since."""
        while True:
            before, position = position, await self.step(position)
            if position - before < self._settings.consume_batch:
                return position

    def _is_time_to_look(self) -> bool:
        """For what no event announces: a cursor that was moved, and events that an operator wants to retry."""
        now = time.monotonic()
        if now - self._looked_at < self._settings.poll_interval.total_seconds():
            return False
        self._looked_at = now
        return True

    async def position(self) -> int:
        async with self._database.system("find a consumer's cursor") as transaction:
            store = ConsumerStore(transaction.connection, self._handler.name)
            await store.register()
            return await store.position()

    async def step(self, position: int) -> int:
        """Processes the next batch and returns the new position; the same one when there is nothing to do."""
        batch = await self._source.read(position, self._settings.consume_batch, self._handler.types)
        if batch.reached == position:
            return position
        try:
            return await self._apply(position, batch)
        except Exception as error:
            if _is_unrelated_to_event(error):
                raise
            logger.warning("processing events one by one", extra={"consumer": self._handler.name, "reason": str(error)})
        return await self._apply_one_by_one(position, batch)

    async def retry_set_aside(self) -> bool:
        """Processes one event that an operator wants to retry; false when there is none."""
        async with self._database.system("retry an event that was set aside") as transaction:
            store = ConsumerStore(transaction.connection, self._handler.name)
            position = await store.wanted_again()
            if position is None:
                return False
            event = (await self._source.read(position - 1, 1)).events[0]
            try:
                async with transaction.connection.transaction():
                    await self._handle(transaction, [event])
                    await transaction.enter_system()
                    await store.resolve(position)
            except Exception as error:
                if is_transient(error):
                    raise
                transaction.announced.clear()
                await transaction.enter_system()
                await store.set_aside(event, _reason(error))
        return True

    async def _apply(self, position: int, batch: EventBatch) -> int:
        async with self._database.system("consume events") as transaction:
            store = ConsumerStore(transaction.connection, self._handler.name)
            await self._require_lease(store, position)
            await self._handle(transaction, batch.events)
            await transaction.enter_system()
            await store.advance(batch.reached)
        CONSUMED.labels(self._handler.name).inc(len(batch.events))
        return batch.reached

    async def _require_lease(self, store: ConsumerStore, position: int) -> None:
        if not await store.lease(position):
            raise LeaseLost(
                f"the consumer {self._handler.name} lost its lease",
                why="another process holds it or has moved its cursor",
            )

    async def _handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        for tenant_id, of_tenant in group_by_tenant(events):
            await transaction.enter_tenant(tenant_id)
            await self._handler.handle(transaction, of_tenant)

    async def _apply_one_by_one(self, position: int, batch: EventBatch) -> int:
        for event in batch.events:
            position = await self._apply_or_set_aside(position, event)
        return await self._apply(position, EventBatch([], batch.reached)) if position < batch.reached else position

    async def _apply_or_set_aside(self, position: int, event: Event) -> int:
        failure = ""
        for attempt in range(self._settings.poison_after):
            try:
                return await self._apply(position, EventBatch([event], event.position))
            except Exception as error:
                if _is_unrelated_to_event(error):
                    raise
                failure = _reason(error)
            await asyncio.sleep(backoff_seconds(self._settings.retry_delay, attempt))
        return await self._set_aside(position, event, failure)

    async def _set_aside(self, position: int, event: Event, failure: str) -> int:
        async with self._database.system("set an event aside") as transaction:
            store = ConsumerStore(transaction.connection, self._handler.name)
            await self._require_lease(store, position)
            await store.set_aside(event, failure)
            await store.advance(event.position)
        SET_ASIDE.labels(self._handler.name).inc()
        logger.error("event set aside", extra={"consumer": self._handler.name, "position": event.position})
        return event.position


def group_by_tenant(events: Sequence[Event]) -> Iterator[tuple[TenantId, list[Event]]]:
    """One group per tenant, each in order. A key belongs to one tenant, so the order of every key is kept."""
    groups: dict[TenantId, list[Event]] = {}
    for event in events:
        groups.setdefault(event.tenant_id, []).append(event)
    yield from groups.items()


def _is_unrelated_to_event(error: Exception) -> bool:
    """Whether the failure would happen with any event: then this one is not to blame."""
    return is_transient(error) or isinstance(error, LeaseLost)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:1000]


async def retry_set_aside(database: Database, consumer: str, position: int) -> None:
    """The consumer processes it again at its next turn, out of order."""
    await _decide(database, consumer, position, "retry")


async def dismiss_set_aside(database: Database, consumer: str, position: int) -> None:
    await _decide(database, consumer, position, "dismissed")


async def _decide(database: Database, consumer: str, position: int, state: str) -> None:
    async with database.system("decide on an event that was set aside") as transaction:
        if not await ConsumerStore(transaction.connection, consumer).decide(position, state):
            raise NotFound(f"{consumer} has no event set aside at position {position}")
