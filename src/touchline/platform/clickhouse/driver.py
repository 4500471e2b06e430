"""clickhouse-connect, with the types that it and pyarrow do not declare, and with the options that we need."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

import clickhouse_connect
import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
from clickhouse_connect.driver import httputil

from touchline.platform.endpoints import ClickHouseEndpoint

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class _NoPandas(MetaPathFinder):
    """With its first array pyarrow looks for pandas, once, to know its objects. We have none of them, and pandas comes
    with chdb: loading it would be a second's work and 58 MiB in the middle of the first events."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ImportError(fullname)


def _settle_pandas() -> None:
    sys.meta_path.insert(0, nothing := _NoPandas())
    try:
        cast("Any", pa).array([])
    finally:
        sys.meta_path.remove(nothing)


_settle_pandas()


class ArrowTable(Protocol):
    """What we use of `pyarrow.Table`."""

    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def schema(self) -> Any: ...
    def column(self, i: str | int) -> Any: ...
    def to_pylist(self) -> list[dict[str, Any]]: ...


class Summary(Protocol):
    @property
    def written_rows(self) -> int: ...


class Driver(Protocol):
    """What we use of `clickhouse_connect.driver.client.Client`. It blocks, and threads may share it."""

    def command(self, cmd: str, parameters: dict[str, Any], *, settings: dict[str, Any]) -> object: ...
    def query_arrow(self, query: str, parameters: dict[str, Any], *, settings: dict[str, Any]) -> ArrowTable: ...
    def insert_arrow(self, table: str, arrow_table: ArrowTable, *, settings: dict[str, Any]) -> Summary: ...
    def ping(self, timeout: float) -> bool: ...
    def close_connections(self) -> None: ...
    def close(self) -> None: ...


def open_driver(endpoint: ClickHouseEndpoint, connections: int, connect_s: float, silence_s: float) -> Driver:
    """Asks the server for its version and settings, so that it may fail like any statement."""
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
