"""The engine as a library: loaded once, lean, and with its doors to this machine closed.

Invariant: nothing but this module imports chdb, and only in the process that owns the data.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, cast


class Result(Protocol):
    def bytes(self) -> bytes: ...
    def elapsed(self) -> float: ...
    def rows_read(self) -> int: ...
    def bytes_read(self) -> int: ...
    def rows_written(self) -> int: ...
    def bytes_written(self) -> int: ...
    def storage_rows_read(self) -> int: ...
    def storage_bytes_read(self) -> int: ...


class QueryClass(Protocol):
    @property
    def name(self) -> str: ...


class Connection(Protocol):
    """A session of its own: what one sets, another does not see."""

    def query(self, query_str: str, format: str = ..., *, params: Mapping[str, str] = ...) -> Result: ...  # noqa: A002
    def classify_query(self, sql: str) -> Mapping[str, Any]: ...
    def send_insert(self, query_str: str, format: str) -> object: ...  # noqa: A002
    def insert_append(self, insert_result: object, data: bytes) -> None: ...
    def insert_done(self, insert_result: object) -> Result: ...
    def insert_cancel(self, insert_result: object) -> None: ...
    def close(self) -> None: ...


class Library(Protocol):
    def connect(self, connection_string: str) -> Connection: ...
    def create_function(self, name: str, func: object, arg_types: object, return_type: object) -> None: ...


# chdb imports them if it can; it needs them only to hand out their objects, which we never ask for.
_NOT_NEEDED = ("pyarrow", "pandas")


def load(configuration: Path) -> Library:
    """Once in a process; the working folder becomes the one of the configuration."""
    # Importing chdb starts an engine with the `config.xml` of the working folder, and pools are made once a process.
    os.chdir(configuration.parent)
    os.environ["TZ"] = "UTC"  # the zone of times that name none
    for module in _NOT_NEEDED:
        sys.modules.setdefault(module, cast("Any", None))
    from chdb import _chdb  # pyright: ignore[reportMissingTypeStubs, reportAttributeAccessIssue, reportPrivateUsage]

    library = cast("Library", _chdb)
    # The built-in function `file` reads any file of this machine, by many spellings and without asking for a right.
    # A function of our own takes precedence over it, and having no arguments this one is never even called.
    library.create_function("file", _no_file, [], "String")
    return library


def _no_file() -> str:
    return ""
