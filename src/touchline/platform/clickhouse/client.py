"""The one client of ClickHouse: statements with bound parameters, tables as Arrow, errors as the kernel's.

Invariants: values reach a statement only as parameters that the server binds. Nothing here knows whether the embedded
engine or a cluster answers. Unavailable says nothing about the data; a statement that the server does not understand
is our own mistake.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Protocol, Self, TypeAlias, TypeVar, cast
from urllib.parse import urlsplit

import clickhouse_connect
from clickhouse_connect.driver import httputil
from clickhouse_connect.driver.binding import DT64Param
from clickhouse_connect.driver.exceptions import ClickHouseError, Error
from urllib3.exceptions import HTTPError, ReadTimeoutError

from touchline.kernel import TenantId, errors
from touchline.platform.arrow import ArrowTable
from touchline.platform.endpoints import ClickHouseEndpoint
from touchline.platform.settings import ClickHouseSettings

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class InsertSummary(Protocol):
    @property
    def written_rows(self) -> int: ...


class Driver(Protocol):
    """What we use of `clickhouse_connect.driver.client.Client`. It blocks, and threads may share it."""

    def command(self, cmd: str, parameters: dict[str, Any], *, settings: dict[str, Any]) -> object: ...
    def query_arrow(self, query: str, parameters: dict[str, Any], *, settings: dict[str, Any]) -> ArrowTable: ...
    def insert_arrow(self, table: str, arrow_table: ArrowTable, *, settings: dict[str, Any]) -> InsertSummary: ...
    def ping(self, timeout: float) -> bool: ...
    def close_connections(self) -> None: ...
    def close(self) -> None: ...


def open_driver(endpoint: ClickHouseEndpoint, connections: int, connect_s: float, silence_s: float) -> Driver:
    """Requests the server's version and settings, so it may fail like any statement."""
    address = urlsplit(endpoint.url)
    options: dict[str, Any] = {
        "interface": address.scheme,
        "host": address.hostname,
        "port": address.port,
        "username": endpoint.user,
        "password": endpoint.password,
        "database": endpoint.database,
        "compress": address.hostname not in _LOOPBACK,
        "connect_timeout": connect_s,
        "send_receive_timeout": silence_s,
        # A pool of our own: a connection for each thread, and none of this process's proxies.
        "pool_mgr": cast("Any", httputil).get_pool_manager(maxsize=connections, block=True),
        "autogenerate_session_id": False,  # a session runs one statement at a time
        "show_clickhouse_errors": "scrub",
        "tz_mode": "aware",
    }
    return cast("Any", clickhouse_connect).get_client(**options)


Make: TypeAlias = Callable[[str], errors.TouchlineError]

_LONGEST_WHY = 300
_PREFIX = "DB::Exception: "
_NOT_CLICKHOUSE = "received HTTP status"  # without a code of ClickHouse: a proxy, or a server that is going away
_NO_SPACE = ("No space left on device", "Disk quota exceeded")
_CREDENTIALS_HINT = "Check `user`, `password` and the user's rights in the settings of ClickHouse."


def _deadline_exceeded(why: str) -> errors.TouchlineError:
    return errors.DeadlineExceeded("ClickHouse did not finish in time", why=why)


def _limit_exceeded(why: str) -> errors.TouchlineError:
    return errors.LimitExceeded("the statement exceeds a limit of ClickHouse", why=why)


def _storage_full(why: str) -> errors.TouchlineError:
    return errors.StorageFull("the disk of ClickHouse is full", why=why)


def _rate_limited(why: str) -> errors.TouchlineError:
    return errors.RateLimited("ClickHouse is overloaded", why=why)


def _unavailable(why: str) -> errors.TouchlineError:
    return errors.Unavailable("ClickHouse did not answer", why=why)


def _access_refused(why: str) -> errors.TouchlineError:
    return errors.Misconfigured("ClickHouse rejected the user", why=why, hint=_CREDENTIALS_HINT)


_BY_CODE: dict[int, Make] = {
    158: _limit_exceeded,  # TOO_MANY_ROWS
    159: _deadline_exceeded,  # TIMEOUT_EXCEEDED
    160: _deadline_exceeded,  # TOO_SLOW
    192: _access_refused,  # UNKNOWN_USER
    193: _access_refused,  # WRONG_PASSWORD
    194: _access_refused,  # REQUIRED_PASSWORD
    202: _rate_limited,  # TOO_MANY_SIMULTANEOUS_QUERIES
    209: _deadline_exceeded,  # SOCKET_TIMEOUT
    210: _unavailable,  # NETWORK_ERROR
    229: _limit_exceeded,  # QUERY_IS_TOO_LARGE
    236: _unavailable,  # ABORTED
    241: _limit_exceeded,  # MEMORY_LIMIT_EXCEEDED
    243: _storage_full,  # NOT_ENOUGH_SPACE
    252: _rate_limited,  # TOO_MANY_PARTS
    307: _limit_exceeded,  # TOO_MANY_BYTES
    394: _unavailable,  # QUERY_WAS_CANCELLED
    396: _limit_exceeded,  # TOO_MANY_ROWS_OR_BYTES
    439: _rate_limited,  # CANNOT_SCHEDULE_TASK
    516: _access_refused,  # AUTHENTICATION_FAILED
    745: _rate_limited,  # SERVER_OVERLOADED
}


def error_from_client(error: ClickHouseError | HTTPError) -> errors.TouchlineError:
    """A refusal by the server is known by its code; without a code, only the connection has failed."""
    if isinstance(error, Error) and error.code is not None:
        make = _storage_full if _says_full(error) else _BY_CODE.get(error.code, _defect)
        return make(f"{error.name or error.code}: {_short_reason(error)}")
    if any(isinstance(cause, ReadTimeoutError) for cause in _causes(error)):
        return _deadline_exceeded("the connection timed out")
    if any(isinstance(cause, HTTPError) for cause in _causes(error)):
        return _unavailable("the connection failed")
    if _NOT_CLICKHOUSE in str(error):
        return _unavailable(_short_reason(error))
    return _defect(_short_reason(error))


def _says_full(error: Exception) -> bool:
    """A write that fails half-way has one of many codes, and the message of the operating system."""
    return any(words in str(error) for words in _NO_SPACE)


def _defect(why: str) -> errors.TouchlineError:
    return errors.Defect("ClickHouse rejected a statement", why=why)


def _short_reason(error: Exception) -> str:
    """Enough to know what is wrong; a statement with thousands of values in it stays out of the logs."""
    return " ".join(str(error).rpartition(_PREFIX)[2].split())[:_LONGEST_WHY]


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__ or _urllib3_reason(cause)


def _urllib3_reason(error: BaseException) -> BaseException | None:
    reason = getattr(error, "reason", None)  # urllib3 keeps the last failure of its retries here
    return reason if isinstance(reason, BaseException) and reason is not error else None


@contextmanager
def inserting(what: str) -> Generator[None]:
    """Of rows that fit their columns: whatever ClickHouse complains of is no event's fault, and none is set aside."""
    try:
        yield
    except errors.StorageFull:
        raise
    except errors.TouchlineError as error:
        raise errors.Unavailable(f"ClickHouse does not take {what} now", why=str(error), hint=error.hint) from error


__all__ = ["Analytics", "ArrowTable", "Parameters", "TenantAnalytics", "inserting"]

Parameters = Mapping[str, object]
Result = TypeVar("Result")

TENANT_PARAMETER = "tenant_id"
_NONE: Parameters = {}
_READ_TIMEOUT_MARGIN = timedelta(seconds=10)  # the server's own deadline comes first, and says more
_PING_S = 3.0


class Analytics:
    """Blocking calls in a few threads of its own, so that waiting here blocks nothing else."""

    def __init__(self, endpoint: ClickHouseEndpoint, settings: ClickHouseSettings) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._limits = {"max_execution_time": max(1, round(settings.statement_timeout.total_seconds()))}
        self._threads = ThreadPoolExecutor(settings.connections, thread_name_prefix="clickhouse")
        self._opening = threading.Lock()
        self._driver: Driver | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def within(self, tenant_id: TenantId) -> TenantAnalytics:
        """The way to read for everything that serves a user or a program."""
        return TenantAnalytics(self, tenant_id)

    async def command(self, sql: str, parameters: Parameters = _NONE) -> None:
        """A statement that returns no rows."""
        bound = _check_bound(sql, parameters)
        await self._call(lambda driver: driver.command(sql, bound, settings=self._limits))

    async def query_arrow(self, sql: str, parameters: Parameters = _NONE) -> ArrowTable:
        bound = _check_bound(sql, parameters)
        return await self._call(lambda driver: driver.query_arrow(sql, bound, settings=self._limits))

    async def insert_arrow(self, table: str, rows: ArrowTable) -> int:
        """Inserts by column name; returns how many rows were written."""
        if not rows.num_rows:
            return 0
        summary = await self._call(lambda driver: driver.insert_arrow(table, rows, settings=self._limits))
        return summary.written_rows

    async def ping(self) -> None:
        """Raises what is wrong, a wrong password included."""
        if not await self._call(lambda driver: driver.ping(_PING_S)):
            raise errors.Unavailable("ClickHouse did not answer", why=self._endpoint.url)

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        if self._driver:
            self._driver.close_connections()
            self._driver.close()

    async def _call(self, work: Callable[[Driver], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._blocking, work)

    def _blocking(self, work: Callable[[Driver], Result]) -> Result:
        try:
            return work(self._opened())
        except (ClickHouseError, HTTPError) as error:
            raise error_from_client(error) from error

    def _opened(self) -> Driver:
        with self._opening:
            if self._driver is None:
                connect_s = self._settings.connect_timeout.total_seconds()
                silence_s = (self._settings.statement_timeout + _READ_TIMEOUT_MARGIN).total_seconds()
                self._driver = open_driver(self._endpoint, self._settings.connections, connect_s, silence_s)
            return self._driver


class TenantAnalytics:
    """Statements of one tenant: each binds the tenant, or it does not run."""

    def __init__(self, analytics: Analytics, tenant_id: TenantId) -> None:
        self._analytics = analytics
        self._tenant_id = tenant_id

    async def command(self, sql: str, parameters: Parameters = _NONE) -> None:
        await self._analytics.command(sql, self._with_tenant(parameters))

    async def query_arrow(self, sql: str, parameters: Parameters = _NONE) -> ArrowTable:
        return await self._analytics.query_arrow(sql, self._with_tenant(parameters))

    def _with_tenant(self, parameters: Parameters) -> Parameters:
        if TENANT_PARAMETER in parameters:
            raise errors.Defect("a statement names its tenant twice", why="the client binds it")
        return {**parameters, TENANT_PARAMETER: self._tenant_id}


def _check_bound(sql: str, parameters: Parameters) -> dict[str, Any]:
    """The driver would format other parameters into the text, so each must be one that the server binds."""
    missing = [name for name in parameters if f"{{{name}:" not in sql]
    if missing:
        raise errors.Defect("a statement does not use its parameters", why=f"it has no {{{missing[0]}:Type}}")
    return {name: _with_microseconds(value) for name, value in parameters.items()}


def _with_microseconds(value: object) -> object:
    """The driver drops fractions of seconds unless told not to."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise errors.Defect("a parameter is a datetime without a time zone")
        return DT64Param(value) if value.microsecond else value
    if isinstance(value, list | tuple):
        return [_with_microseconds(item) for item in cast("list[object]", value)]
    return value
