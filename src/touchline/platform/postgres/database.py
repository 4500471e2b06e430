"""The only way to a database connection: transactions of one tenant, and the events that commit with them.

Invariant: a statement runs either under one tenant's row-level security or, with a stated reason, as the system; which
of the two is set inside the transaction and ends with it. The events that a transaction announces commit with it or not
at all.

Wake-ups by NOTIFY, one listening connection per process.

Invariant: a wake-up may be lost or come twice, so it only ever shortens a wait: every waiter also polls.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import select
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, LiteralString, Self, TypeVar
from weakref import WeakSet

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.rows import kwargs_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from touchline.contracts.events import Envelope, Payload
from touchline.kernel import Clock, Principal, SystemClock, TenantId, current_trace, errors, uuid7
from touchline.platform.settings import PostgresSettings

_ROW = "(%s, %s, %s, %s, %s, %s, %s, %s, %s)"

# The rows of one transaction in the order in which they were announced: values are read in order, and the
# identity column counts them as they come.
_APPEND = """
INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, trace, data)
VALUES {rows}
"""
MOST_ROWS = 1000  # a statement takes at most 65,535 parameters


async def append_events(connection: AsyncConnection[Any], envelopes: Sequence[Envelope]) -> None:
    for start in range(0, len(envelopes), MOST_ROWS):
        chunk = envelopes[start : start + MOST_ROWS]
        values = [value for envelope in chunk for value in _event_values(envelope)]
        await connection.execute(_APPEND.format(rows=", ".join([_ROW] * len(chunk))).encode(), values)


def _event_values(envelope: Envelope) -> tuple[object, ...]:
    return (
        envelope.id,
        envelope.tenant_id,
        envelope.type,
        envelope.version,
        envelope.key,
        envelope.revision,
        envelope.occurred_at,
        envelope.trace,
        Jsonb(dict(envelope.data)),
    )


SYSTEM_ROLE, SYSTEM_ACTOR = "touchline_system", "system"
_ENTER: LiteralString = "SELECT set_config('role', %s, true), set_config('request.jwt.claims', %s, true)"
_BEGIN = sql.SQL(
    "BEGIN; SELECT set_config('role', {}, true), set_config('request.jwt.claims', {}, true)"
)  # in one round trip


class Transaction:
    """One transaction, of one tenant or of the system. `connection` is for the stores, `announce` for the services.

    `actor` is who acts: the caller, or the part of Touchline that sets it. Events that have the field carry it.
    """

    def __init__(
        self, connection: AsyncConnection[Any], clock: Clock, tenant_id: TenantId | None, actor: str = SYSTEM_ACTOR
    ) -> None:
        self.connection = connection
        self.actor = actor
        self._clock = clock
        self._tenant_id = tenant_id
        self.announced: list[Envelope] = []

    @property
    def tenant_id(self) -> TenantId:
        if self._tenant_id is None:
            raise errors.Defect("this transaction belongs to no tenant")
        return self._tenant_id

    def now(self) -> datetime:
        """By the clock that its events are stamped with."""
        return self._clock.now()

    def announce(self, payload: Payload, *, revision: int = 1, tenant_id: TenantId | None = None) -> None:
        """Puts an event into the log when, and only if, this transaction commits."""
        now, data = self._clock.now(), payload.model_dump(mode="json")
        if payload.names_actor:
            data["actor"] = data["actor"] or self.actor
        self.announced.append(
            Envelope(
                id=uuid7(now),
                type=payload.event_type,
                version=payload.event_version,
                tenant_id=tenant_id or self.tenant_id,
                key=payload.key,
                revision=revision,
                occurred_at=now,
                trace=current_trace(),
                data=data,
            )
        )

    async def enter_tenant(self, tenant_id: TenantId, claims: dict[str, str] | None = None) -> None:
        """Narrows this transaction to one tenant, as the role that logged in."""
        await self.connection.execute(_ENTER, ("none", _claims_json(tenant_id, claims or {})))
        self._tenant_id = tenant_id

    async def enter_system(self) -> None:
        await self.connection.execute(_ENTER, (SYSTEM_ROLE, ""))
        self._tenant_id = None

    async def flush(self) -> None:
        await append_events(self.connection, self.announced)
        self.announced = []


class Database:
    """A pool of connections to one database, as one database role."""

    def __init__(self, url: str, settings: PostgresSettings | None = None, clock: Clock | None = None) -> None:
        self._settings = settings = settings or PostgresSettings()
        self.url = url
        self._clock = clock or SystemClock()
        milliseconds = int(settings.statement_timeout.total_seconds() * 1000)
        self._pool = AsyncConnectionPool(
            url,
            min_size=1,
            max_size=settings.pool_size,
            timeout=settings.acquire_timeout.total_seconds(),
            kwargs={"options": f"-c statement_timeout={milliseconds}", "autocommit": True},  # we send BEGIN ourselves
            check=_check_connection,
            open=False,
        )

    def dedicated(self) -> Database:
        """The same with one connection, not opened yet: for a few frequent statements, which are then planned once,
        whatever other statements run."""
        return Database(self.url, self._settings.model_copy(update={"pool_size": 1}), self._clock)

    async def __aenter__(self) -> Self:
        await self._pool.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def transaction(self, tenant: TenantId | Principal, actor: str = SYSTEM_ACTOR) -> AsyncGenerator[Transaction]:
        """A transaction that sees one tenant and nothing else. A principal acts in their own name."""
        tenant_id, claims = _claims(tenant)
        async with self._begin("none", _claims_json(tenant_id, claims), tenant_id) as transaction:
            transaction.actor = tenant.actor if isinstance(tenant, Principal) else actor
            yield transaction
            await transaction.flush()

    @asynccontextmanager
    async def system(self, reason: str) -> AsyncGenerator[Transaction]:
        """A transaction across tenants. Every caller and its reason is listed in one test."""
        if not reason:
            raise errors.Defect("a system transaction needs a reason")
        async with self._begin(SYSTEM_ROLE, "", None) as transaction:
            yield transaction
            if transaction.announced:
                await transaction.enter_system()  # a consumer may have ended in one tenant; its events are of many
                await transaction.flush()

    @asynccontextmanager
    async def _begin(self, role: str, claims: str, tenant_id: TenantId | None) -> AsyncGenerator[Transaction]:
        async with self.without_tenant() as connection:  # which commits, or rolls back
            await connection.execute(_BEGIN.format(role, claims))
            yield Transaction(connection, self._clock, tenant_id)

    @asynccontextmanager
    async def without_tenant(self) -> AsyncGenerator[AsyncConnection[Any]]:
        """For single statements, each its own transaction: without a tenant, row-level security shows nothing but
        what SECURITY DEFINER functions return. One round trip to the server instead of three."""
        asked = _cancel_requests()
        try:
            async with self._pool.connection() as connection:
                if _cancel_requests() > asked:
                    raise asyncio.CancelledError  # the pool mistakes a cancellation for an error of its own
                yield connection
        except PoolTimeout as error:
            raise errors.Unavailable("the database did not answer", why="no connection became free in time") from error
        except psycopg.errors.QueryCanceled as error:
            raise errors.DeadlineExceeded(
                "a statement took too long", why="it was cancelled; nothing was changed"
            ) from error
        except psycopg.errors.DiskFull as error:
            raise errors.StorageFull("the disk of PostgreSQL is full", why=_left_behind(error)) from error
        except psycopg.OperationalError as error:
            if not is_connection_lost(error):
                raise
            raise errors.Unavailable(
                "the connection to the database was lost", why="whether the change was committed is unknown"
            ) from error


def _cancel_requests() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task else 0


async def _check_connection(connection: AsyncConnection[Any]) -> None:
    """Before a connection is used. A server that closed it has sent something: only then is it checked."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        await AsyncConnectionPool.check_connection(connection)


def _left_behind(error: psycopg.errors.DiskFull) -> str:
    """Without space for its log, the server ends in the middle of a commit, which it may have written by then."""
    refused = error.diag.severity_nonlocalized == "ERROR"
    return "nothing was changed" if refused else "whether the change was committed is unknown"


def is_connection_lost(error: psycopg.OperationalError) -> bool:
    """Without an SQLSTATE there was no response; class 08 and 57P mean that the server closed the connection."""
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


def _claims_json(tenant_id: TenantId, claims: dict[str, str]) -> str:
    return json.dumps({"tenant_id": str(tenant_id)} | claims)


def _claims(tenant: TenantId | Principal) -> tuple[TenantId, dict[str, str]]:
    if isinstance(tenant, Principal):
        return tenant.tenant_id, {"sub": str(tenant.user_id), "role": tenant.role}
    return tenant, {}


Row = TypeVar("Row")


async def fetch_one(
    connection: AsyncConnection[Any], make: Callable[..., Row], query: LiteralString, **values: Any
) -> Row | None:
    async with connection.cursor(row_factory=kwargs_row(make)) as cursor:
        await cursor.execute(query, values)
        return await cursor.fetchone()


async def fetch_all(
    connection: AsyncConnection[Any], make: Callable[..., Row], query: LiteralString, **values: Any
) -> Sequence[Row]:
    async with connection.cursor(row_factory=kwargs_row(make)) as cursor:
        await cursor.execute(query, values)
        return await cursor.fetchall()


RECONNECT_AFTER_SECONDS = 0.5

logger = logging.getLogger(__name__)


class Wakeup:
    """One waiter. What arrives while it works is kept for its next wait."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def wait(self, at_most: timedelta) -> bool:
        """Whether it was woken; false after the timeout."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(at_most.total_seconds()):
                await self._woken.wait()
        woken = self._woken.is_set()
        self._woken.clear()
        return woken


class Wakeups:
    def __init__(self, url: str, channels: Iterable[str]) -> None:
        self._url = url
        self._channels = tuple(channels)
        self._waiting: dict[str, WeakSet[Wakeup]] = defaultdict(WeakSet)

    def subscribe(self, channel: str) -> Wakeup:
        wakeup = Wakeup()
        self._waiting[channel].add(wakeup)
        return wakeup

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncGenerator[Wakeups]:
        task = asyncio.create_task(self._listen_always(), name="wakeups")
        try:
            yield self
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _listen_always(self) -> None:
        while True:
            try:
                await self._listen()
            except (psycopg.Error, OSError) as error:
                logger.warning("reconnecting the listener", extra={"reason": type(error).__name__})
            await asyncio.sleep(RECONNECT_AFTER_SECONDS)

    async def _listen(self) -> None:
        async with await AsyncConnection.connect(self._url, autocommit=True, connect_timeout=5) as connection:
            for channel in self._channels:
                await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                self._wake(channel)  # a notification may have been missed before LISTEN
            async for notification in connection.notifies():
                self._wake(notification.channel)

    def _wake(self, channel: str) -> None:
        for wakeup in self._waiting[channel]:
            wakeup.wake()
