"""The one client of ClickHouse: statements with bound parameters, tables as Arrow.

Invariant: values reach a statement only as parameters that the server binds. Nothing here knows whether the
embedded engine or a cluster answers.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, Self, TypeVar, cast

from clickhouse_connect.driver.binding import DT64Param
from clickhouse_connect.driver.exceptions import ClickHouseError
from urllib3.exceptions import HTTPError

from touchline.kernel import TenantId
from touchline.kernel.errors import Defect, Unavailable
from touchline.platform.endpoints import ClickHouseEndpoint

from .driver import ArrowTable, Driver, open_driver
from .errors import from_client
from .settings import ClickHouseSettings

__all__ = ["Analytics", "ArrowTable", "Parameters", "TenantAnalytics"]

Parameters = Mapping[str, object]
Result = TypeVar("Result")

TENANT = "tenant_id"
_NONE: Parameters = {}
_SILENCE_SLACK = timedelta(seconds=10)  # the server's own deadline comes first, and says more
_PING_S = 3.0


class Analytics:
    """Blocking calls in a few threads of its own: what waits here holds up nobody else."""

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
        """The door for everything that answers a person or a program."""
        return TenantAnalytics(self, tenant_id)

    async def command(self, sql: str, parameters: Parameters = _NONE) -> None:
        """A statement that returns no rows."""
        bound = _bound(sql, parameters)
        await self._call(lambda driver: driver.command(sql, bound, settings=self._limits))

    async def query_arrow(self, sql: str, parameters: Parameters = _NONE) -> ArrowTable:
        bound = _bound(sql, parameters)
        return await self._call(lambda driver: driver.query_arrow(sql, bound, settings=self._limits))

    async def insert_arrow(self, table: str, rows: ArrowTable) -> int:
        """By the names of the columns; how many rows were written."""
        if not rows.num_rows:
            return 0
        summary = await self._call(lambda driver: driver.insert_arrow(table, rows, settings=self._limits))
        return summary.written_rows

    async def ping(self) -> None:
        """Raises what is wrong; a wrong password counts."""
        if not await self._call(lambda driver: driver.ping(_PING_S)):
            raise Unavailable("ClickHouse did not answer", why=self._endpoint.url)

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
            raise from_client(error) from error

    def _opened(self) -> Driver:
        with self._opening:
            if self._driver is None:
                connect_s = self._settings.connect_timeout.total_seconds()
                silence_s = (self._settings.statement_timeout + _SILENCE_SLACK).total_seconds()
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
        if TENANT in parameters:
            raise Defect("a statement names its tenant twice", why="the door binds it")
        return {**parameters, TENANT: self._tenant_id}


def _bound(sql: str, parameters: Parameters) -> dict[str, Any]:
    """The driver would put other parameters into the text by itself, so each must be one that the server binds."""
    missing = [name for name in parameters if f"{{{name}:" not in sql]
    if missing:
        raise Defect("a statement does not use its parameters", why=f"it has no {{{missing[0]}:Type}}")
    return {name: _precise(value) for name, value in parameters.items()}


def _precise(value: object) -> object:
    """The driver drops fractions of seconds unless told not to."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise Defect("a parameter is a time without a zone")
        return DT64Param(value) if value.microsecond else value
    if isinstance(value, list | tuple):
        return [_precise(item) for item in cast("list[object]", value)]
    return value
