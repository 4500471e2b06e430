"""The embedded engine: its configuration, the library, which statements may run, and running them.

Invariants: a limit that protects this machine is a constraint, so that no statement can lift it. Nothing but this
module imports chdb, and only in the process that owns the data. Each statement has a session of its own: settings,
parameters and the current database of one request are gone before the next one runs.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast
from xml.etree.ElementTree import Element, SubElement, tostring

from touchline.kernel import Misconfigured, SetupError

from . import queries
from .options import MIB, OwnerLimits
from .protocol import ErrorCode, InsertHead, ServerException, from_engine, refusal

_SMALL_CACHE = 32 * MIB
_CACHES = (
    "mark_cache_size",
    "primary_index_cache_size",
    "index_mark_cache_size",
    "query_condition_cache_size",
    "parquet_metadata_cache_size",
    "iceberg_metadata_files_cache_size",
    "vector_similarity_index_cache_size",
    "text_index_tokens_cache_size",
    "text_index_header_cache_size",
    "text_index_postings_cache_size",
)
_POOL_THREADS = 4
_FREE_MEMORY_SHARE = (
    8  # a statement takes fewer threads when less than this fraction of the memory is free for each of them
)
_POOLS = (
    "background_schedule_pool_size",
    "max_thread_pool_free_size",
    "max_io_thread_pool_size",
    "max_parts_cleaning_thread_pool_size",
    "max_active_parts_loading_thread_pool_size",
    "max_outdated_parts_loading_thread_pool_size",
    "max_unexpected_parts_loading_thread_pool_size",
    "max_format_parsing_thread_pool_size",
    "max_prefixes_deserialization_thread_pool_size",
    "database_catalog_drop_table_concurrency",
)

# Their values name files, addresses or another language, or enable what is disabled: no request may change them.
_FIXED = {
    "allow_python_table_function": "0",
    "allow_introspection_functions": "0",
    "allow_experimental_eval_table_function": "0",
    "allow_experimental_ai_functions": "0",
    "dialect": "clickhouse",
    "implicit_select": "0",
    "format_schema": "",
    "format_schema_source": "file",
    "format_template_row": "",
    "format_template_resultset": "",
    "format_avro_schema_registry_url": "",
    "input_format_record_errors_file_path": "",
}
_FIXED_TABLE_SETTINGS = ("merge_tree_disk", "merge_tree_storage_policy")

# Defaults that a request may change: no JIT compilation for few rows, and an acknowledged insert is in its table.
_DEFAULTS = {
    "async_insert": "0",
    "compile_expressions": "0",
    "compile_aggregate_expressions": "0",
    "compile_sort_description": "0",
    "result_overflow_mode": "throw",
    "timeout_overflow_mode": "throw",
}


def write_configuration(folder: Path, limits: OwnerLimits) -> Path:
    """Writes two files at every start; returns the path of `config.xml`, which names the other."""
    users = folder / "users.xml"
    users.write_bytes(tostring(_users_config(limits)))
    server = folder / "config.xml"
    server.write_bytes(tostring(_server_config(limits, users)))
    return server


def _server_config(limits: OwnerLimits, users: Path) -> Element:
    root = Element("clickhouse")
    values: dict[str, object] = {
        "users_config": users,
        "max_server_memory_usage": limits.memory_bytes,
        "merges_mutations_memory_usage_soft_limit": limits.memory_bytes // 2,
        "background_pool_size": 2,
        "background_common_pool_size": 2,
        "max_thread_pool_size": 64 + limits.concurrent_statements * (limits.threads + 4),
        "uncompressed_cache_size": 0,
        **dict.fromkeys(_CACHES, _SMALL_CACHE),
        **dict.fromkeys(_POOLS, _POOL_THREADS),
    }
    _add_all(root, values)
    # An insert is acknowledged once, and its source then moves on: it must outlive a power cut.
    _add_all(SubElement(root, "merge_tree"), {"fsync_after_insert": 1, "fsync_part_directory": 1})
    return root


def _users_config(limits: OwnerLimits) -> Element:
    bounded = {
        "max_memory_usage": limits.statement_memory_bytes,
        "max_threads": limits.threads,
        "max_execution_time": limits.longest_statement_s,
        "max_result_bytes": limits.result_bytes,
        "max_query_size": limits.statement_bytes,
    }
    root = Element("clickhouse")
    profile = SubElement(SubElement(root, "profiles"), "default")
    # The engine's own threshold, a gibibyte of free memory for every thread, is more than it gets: one thread for all.
    pressed = {"max_threads_min_free_memory_per_thread": limits.memory_bytes // _FREE_MEMORY_SHARE}
    _add_all(profile, {**_DEFAULTS, **_FIXED, **bounded, **pressed})
    constraints = SubElement(profile, "constraints")
    for name, most in bounded.items():
        _add_all(SubElement(constraints, name), {"min": 1, "max": most})  # zero would mean: no limit
    for name in (*_FIXED, *_FIXED_TABLE_SETTINGS):
        SubElement(SubElement(constraints, name), "readonly")
    _add_user(root, queries.GRANTS)
    return root


def _add_user(root: Element, grants: Iterable[str]) -> None:
    user = SubElement(SubElement(root, "users"), "default")
    _add_all(user, {"password": "", "profile": "default", "quota": "default"})
    _add_all(SubElement(user, "networks"), {"ip": "::/0"})  # nobody connects to it: there is no socket
    rights = SubElement(user, "grants")
    for grant in grants:
        SubElement(rights, "query").text = grant
    SubElement(SubElement(root, "quotas"), "default")


def _add_all(parent: Element, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        SubElement(parent, name).text = str(value)


class ChdbResult(Protocol):
    def bytes(self) -> bytes: ...
    def elapsed(self) -> float: ...
    def rows_read(self) -> int: ...
    def bytes_read(self) -> int: ...
    def rows_written(self) -> int: ...
    def bytes_written(self) -> int: ...
    def storage_rows_read(self) -> int: ...
    def storage_bytes_read(self) -> int: ...


class ChdbConnection(Protocol):
    """A separate session: its settings are not visible to others."""

    def query(self, query_str: str, format: str = ..., *, params: Mapping[str, str] = ...) -> ChdbResult: ...  # noqa: A002
    def classify_query(self, sql: str) -> Mapping[str, Any]: ...
    def send_insert(self, query_str: str, format: str) -> object: ...  # noqa: A002
    def insert_append(self, insert_result: object, data: bytes) -> None: ...
    def insert_done(self, insert_result: object) -> ChdbResult: ...
    def insert_cancel(self, insert_result: object) -> None: ...
    def close(self) -> None: ...


class ChdbLibrary(Protocol):
    def connect(self, connection_string: str) -> ChdbConnection: ...
    def create_function(self, name: str, func: object, arg_types: object, return_type: object) -> None: ...


# chdb imports them if it can; it needs them only to hand out their objects, which we never ask for.
_NOT_NEEDED = ("pyarrow", "pandas")


def load_chdb(configuration: Path) -> ChdbLibrary:
    """Once per process; changes the working folder to that of the configuration."""
    # Importing chdb starts an engine with the `config.xml` of the working folder, and pools are made once a process.
    os.chdir(configuration.parent)
    os.environ["TZ"] = "UTC"  # the time zone of times without one
    for module in _NOT_NEEDED:
        sys.modules.setdefault(module, cast("Any", None))
    from chdb import _chdb  # pyright: ignore[reportMissingTypeStubs, reportAttributeAccessIssue, reportPrivateUsage]

    library = cast("ChdbLibrary", _chdb)
    # The built-in function `file` reads any file of this machine, under many spellings and without a permission check.
    # A function of our own takes precedence over it, and having no arguments this one is never even called.
    library.create_function("file", _disabled_file_function, [], "String")
    return library


def _disabled_file_function() -> str:
    return ""


READ_ONLY = "READ_ONLY"
_MUTATING = "MUTATING"
_INLINE_DATA = "INSERT with inline data"  # the parser's complaint when it is asked for such a tree
_ENGINE_KINDS = frozenset({"TABLE_ENGINE", "DATABASE_ENGINE"})

_REFUSED = (
    "This server refuses the statement: it runs SELECT, SHOW, DESCRIBE, EXPLAIN, INSERT, CREATE, ALTER, DROP, DELETE, "
    "UPDATE, TRUNCATE, RENAME, EXCHANGE and OPTIMIZE, without temporary tables, without files (INTO OUTFILE, FROM "
    "INFILE), and with settings for synchronous work given beside the text"
)


def check_statement(connection: ChdbConnection, sql: str) -> str:
    """The class of a statement that may run. The request's settings come later: they would change how it is parsed."""
    report = connection.classify_query(sql)
    query_class = str(report["query_class"].name)
    if report["statement_count"] != 1:
        raise _syntax_error(connection, sql)
    if query_class not in {READ_ONLY, _MUTATING}:
        raise refusal(ErrorCode.QUERY_IS_PROHIBITED, _REFUSED)
    if query_class == _MUTATING:
        _check_mutation(connection, sql)
    return query_class


def _check_mutation(connection: ChdbConnection, sql: str) -> None:
    """Two things that the engine allows every user: reading a file into an INSERT, and tables of dangerous engines."""
    try:
        tree = _parse(connection, sql)
    except RuntimeError as error:
        if _INLINE_DATA in str(error) and "infile" not in sql.casefold():
            return
        raise refusal(ErrorCode.QUERY_IS_PROHIBITED, _REFUSED) from None
    if "infile" in tree:
        raise refusal(ErrorCode.QUERY_IS_PROHIBITED, _REFUSED)
    for name in _engines(tree):
        if name not in queries.ENGINES:
            known = ", ".join(queries.ENGINES)
            raise refusal(
                ErrorCode.QUERY_IS_PROHIBITED, f"This server does not allow the engine {name}; it allows {known}"
            )


def _syntax_error(connection: ChdbConnection, sql: str) -> Exception:
    """In the engine's words if it has any."""
    try:
        _parse(connection, sql)
    except RuntimeError as error:
        if _INLINE_DATA not in str(error):
            return from_engine(error)
    return refusal(ErrorCode.SYNTAX_ERROR, "Send one statement per request")


def _parse(connection: ChdbConnection, sql: str) -> dict[str, Any]:
    return json.loads(connection.query(queries.PARSE, "RawBLOB", params={"sql": queries.as_parameter(sql)}).bytes())


def _engines(tree: object) -> Iterator[str]:
    if isinstance(tree, dict):
        node = cast("dict[str, object]", tree)
        if node.get("kind") in _ENGINE_KINDS:
            yield str(node.get("name"))
        for child in node.values():
            yield from _engines(child)
    elif isinstance(tree, list):
        for child in cast("list[object]", tree):
            yield from _engines(child)


# One block however many rows: if a late row cannot be read, none of the earlier ones stays.
ONE_BLOCK = {
    name: str(2**40) for name in ("max_insert_block_size", "min_insert_block_size_rows", "min_insert_block_size_bytes")
}
_CONNECTION_STRING_MARKS = frozenset("?&#%")


@dataclass(frozen=True, slots=True)
class Statement:
    sql: str
    query_id: str
    database: str
    format: str = "TabSeparated"
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class StatementResult:
    body: bytes
    returns_rows: bool
    summary: Mapping[str, str]


class EmbeddedEngine:
    """Its calls block and are safe from many threads: each opens a connection, which is cheap."""

    def __init__(self, library: ChdbLibrary, address: str, limits: OwnerLimits) -> None:
        self._library = library
        self._address = address
        self._limits = limits
        self._anchor = _connect(library, address)  # the engine lives as long as it has one connection

    def run(self, statement: Statement) -> StatementResult:
        with self._connection() as connection:
            returns_rows = check_statement(connection, statement.sql) == READ_ONLY
            _prepare(connection, statement)
            result = connection.query(statement.sql, statement.format, params=dict(statement.parameters))
            body = result.bytes()
            if len(body) > self._limits.result_bytes:
                raise refusal(
                    ErrorCode.TOO_MANY_ROWS_OR_BYTES, f"The result has {len(body)} bytes, more than the limit"
                )
            return StatementResult(body, returns_rows, _summary(result))

    def insert(self, statement: Statement, head: InsertHead, source: BinaryIO) -> StatementResult:
        """Inserts everything that the source still holds, in the statement's format, or nothing.

        By way of a temporary table: the library does not report what goes wrong when a streamed insert is written to
        its table (a full disk, a view that fails), and answers as if all rows were there. An INSERT SELECT reports it.
        """
        with self._connection() as connection:
            check_statement(connection, f"{statement.sql} FORMAT {statement.format}")
            _prepare(connection, statement, ONE_BLOCK)
            connection.query(queries.create_stage(head.table))
            _stage_rows(connection, head, source)
            result = connection.query(queries.insert_staged(head.table))
            return StatementResult(b"", returns_rows=False, summary=_summary(result))

    def cancel(self, query_id: str) -> None:
        with self._connection() as connection:
            connection.query(queries.CANCEL, params={"query_id": queries.as_parameter(query_id)})

    def close(self) -> None:
        self._anchor.close()

    @contextmanager
    def _connection(self) -> Generator[ChdbConnection]:
        connection: ChdbConnection | None = None
        try:
            connection = self._library.connect(self._address)
            yield connection
        except RuntimeError as error:
            raise from_engine(error) from None
        finally:
            if connection is not None:
                connection.close()


def open_engine(library: ChdbLibrary, configuration: Path, database: str, limits: OwnerLimits) -> EmbeddedEngine:
    """Starts the engine on the data next to its configuration, and creates the database if it is missing."""
    folder = configuration.parent
    if _CONNECTION_STRING_MARKS & set(str(folder)):
        raise Misconfigured(f"the embedded ClickHouse cannot work in {folder}", why="its path holds one of ? & # %")
    engine = EmbeddedEngine(library, f"{folder / 'engine'}?config-file={configuration}", limits)
    _require_file_access_denied(engine, configuration)
    engine.run(_owner_statement(queries.create_database(database)))
    return engine


def _require_file_access_denied(engine: EmbeddedEngine, path: Path) -> None:
    """Another version of the library might let SQL read files again: then the start fails."""
    try:
        engine.run(_owner_statement(queries.read_file(path)))
    except ServerException as error:
        if error.code == ErrorCode.ACCESS_DENIED:
            return
    raise SetupError(
        "SQL can read files through the embedded ClickHouse",
        why="this version of chdb does not let us disable its function `file`",
        hint="Install the version of chdb that Touchline was built with.",
    )


def _owner_statement(sql: str) -> Statement:
    return Statement(sql, query_id="owner", database="system")


def _connect(library: ChdbLibrary, address: str) -> ChdbConnection:
    try:
        return library.connect(address)
    except RuntimeError as error:
        hint = "The log lines above say why; if the data is damaged, restore it or start with an empty folder."
        raise SetupError("the embedded ClickHouse does not start", why=str(error), hint=hint) from error


def _prepare(connection: ChdbConnection, statement: Statement, more: Mapping[str, str] | None = None) -> None:
    connection.query(queries.use_database(statement.database))
    settings = {**(more or {}), **statement.settings, "log_comment": statement.query_id}
    connection.query(queries.set_settings(settings))


def _stage_rows(connection: ChdbConnection, head: InsertHead, source: BinaryIO) -> None:
    stream = connection.send_insert(queries.insert_into(queries.STAGE, head.columns), head.format)
    try:
        while chunk := source.read(MIB):
            connection.insert_append(stream, chunk)
        staged = connection.insert_done(stream).rows_written()
    except BaseException:
        with suppress(RuntimeError):
            connection.insert_cancel(stream)
        raise
    found = int(connection.query(queries.COUNT_STAGED).bytes())
    if found != staged:
        message = f"Only {found} of {staged} rows of the insert could be held in memory"
        raise refusal(ErrorCode.MEMORY_LIMIT_EXCEEDED, message)


def _summary(result: ChdbResult) -> dict[str, str]:
    numbers = {
        "read_rows": result.storage_rows_read(),
        "read_bytes": result.storage_bytes_read(),
        "written_rows": result.rows_written(),
        "written_bytes": result.bytes_written(),
        "result_rows": result.rows_read(),
        "result_bytes": result.bytes_read(),
        "elapsed_ns": int(result.elapsed() * 1_000_000_000),
    }
    return {name: str(number) for name, number in numbers.items()}
