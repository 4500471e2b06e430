"""The embedded engine behind blocking calls: one fresh session a statement, nothing carried over.

Invariant: settings, parameters and the current database of one request are gone before the next one runs.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from touchline.kernel.errors import Misconfigured, SetupError

from . import queries
from .inserts import InsertHead
from .library import Connection, Library, Result
from .limits import MIB, OwnerLimits
from .protocol import Code, ServerException, from_engine, refusal
from .review import READ_ONLY, review

# One block however many rows: a row that cannot be read at the end leaves nothing of those before it.
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
class Answer:
    body: bytes
    returns_rows: bool
    summary: Mapping[str, str]


class Engine:
    """Its calls block and are safe from many threads: each opens a connection, which is cheap."""

    def __init__(self, library: Library, address: str, limits: OwnerLimits) -> None:
        self._library = library
        self._address = address
        self._limits = limits
        self._anchor = _connected(library, address)  # the engine lives as long as it has one connection

    def run(self, statement: Statement) -> Answer:
        with self._connection() as connection:
            returns_rows = review(connection, statement.sql) == READ_ONLY
            _prepare(connection, statement)
            result = connection.query(statement.sql, statement.format, params=dict(statement.parameters))
            body = result.bytes()
            if len(body) > self._limits.result_bytes:
                raise refusal(Code.TOO_MANY_ROWS_OR_BYTES, f"The answer has {len(body)} bytes, more than is allowed")
            return Answer(body, returns_rows, _summary(result))

    def insert(self, statement: Statement, head: InsertHead, source: BinaryIO) -> Answer:
        """Everything that the source still holds, in the statement's format, or nothing.

        By way of a temporary table: the library does not report what goes wrong when a streamed insert is written to
        its table (a full disk, a view that fails), and answers as if all rows were there. An INSERT SELECT reports it.
        """
        with self._connection() as connection:
            review(connection, f"{statement.sql} FORMAT {statement.format}")
            _prepare(connection, statement, ONE_BLOCK)
            connection.query(queries.create_stage(head.table))
            _stage(connection, head, source)
            result = connection.query(queries.insert_staged(head.table))
            return Answer(b"", returns_rows=False, summary=_summary(result))

    def cancel(self, query_id: str) -> None:
        with self._connection() as connection:
            connection.query(queries.CANCEL, params={"query_id": queries.as_parameter(query_id)})

    def close(self) -> None:
        self._anchor.close()

    @contextmanager
    def _connection(self) -> Generator[Connection]:
        connection: Connection | None = None
        try:
            connection = self._library.connect(self._address)
            yield connection
        except RuntimeError as error:
            raise from_engine(error) from None
        finally:
            if connection is not None:
                connection.close()


def open_engine(library: Library, configuration: Path, database: str, limits: OwnerLimits) -> Engine:
    """Starts the engine on the data beside its configuration, and makes sure of the database."""
    folder = configuration.parent
    if _CONNECTION_STRING_MARKS & set(str(folder)):
        raise Misconfigured(f"the embedded ClickHouse cannot work in {folder}", why="its path holds one of ? & # %")
    engine = Engine(library, f"{folder / 'engine'}?config-file={configuration}", limits)
    _prove_wall(engine, configuration)
    engine.run(_own(queries.create_database(database)))
    return engine


def _prove_wall(engine: Engine, path: Path) -> None:
    """Another version of the library may let SQL read files again: then nothing starts."""
    try:
        engine.run(_own(queries.read_file(path)))
    except ServerException as error:
        if error.code == Code.ACCESS_DENIED:
            return
    raise SetupError(
        "the embedded ClickHouse reads files for anybody",
        why="this version of chdb does not let us close its function `file`",
        hint="Install the version of chdb that Touchline was built with.",
    )


def _own(sql: str) -> Statement:
    return Statement(sql, query_id="owner", database="system")


def _connected(library: Library, address: str) -> Connection:
    try:
        return library.connect(address)
    except RuntimeError as error:
        hint = "The lines above name the cause; if the data is damaged, restore it or begin with an empty folder."
        raise SetupError("the embedded ClickHouse does not start", why=str(error), hint=hint) from error


def _prepare(connection: Connection, statement: Statement, more: Mapping[str, str] | None = None) -> None:
    connection.query(queries.use(statement.database))
    settings = {**(more or {}), **statement.settings, "log_comment": statement.query_id}
    connection.query(queries.set_all(settings))


def _stage(connection: Connection, head: InsertHead, source: BinaryIO) -> None:
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
        raise refusal(Code.MEMORY_LIMIT_EXCEEDED, message)


def _summary(result: Result) -> dict[str, str]:
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
