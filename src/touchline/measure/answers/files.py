"""Tables of facts as the bytes of a file, portion by portion: CSV for spreadsheets, Parquet for everything else.

Invariant: no cell of a CSV file is a formula. A text that a spreadsheet would take for one gets an apostrophe before
it, which spreadsheets do not show; Parquet keeps every text as it is.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from enum import StrEnum
from typing import Any, cast

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.compute as pc  # pyright: ignore[reportMissingTypeStubs]
from pyarrow import csv, parquet  # pyright: ignore[reportMissingTypeStubs]

from touchline.platform.clickhouse.client import ArrowTable

# What spreadsheets begin a formula with, also behind blanks and in full width; a quote is guarded to stay readable.
FORMULA = r"^[\s\x00]*[=+\-@＝＋－＠\t\r\n]"  # noqa: RUF001

_arrow, _compute, _csv, _parquet = cast("Any", pa), cast("Any", pc), cast("Any", csv), cast("Any", parquet)


class Format(StrEnum):
    CSV = "csv"
    PARQUET = "parquet"


MEDIA_TYPES = {Format.CSV: "text/csv; charset=utf-8", Format.PARQUET: "application/vnd.apache.parquet"}


async def encoded(tables: AsyncIterator[ArrowTable], wanted: Format) -> AsyncIterator[bytes]:
    """Each portion as soon as it is there."""
    sink = _Sink()
    writer: Any = None
    async for table in tables:
        ready = plain(table) if wanted is Format.CSV else named_types(table)
        writer = writer or _writer(sink, ready.schema, wanted)
        writer.write_table(ready)
        if content := sink.take():
            yield content
    if writer:
        writer.close()
    yield sink.take()


def plain(table: ArrowTable) -> Any:
    """Texts, numbers and nothing else: lists as JSON, and no formula."""
    columns = [_plain(named_types(table).column(name)) for name in table.column_names]
    return _arrow.table(columns, names=table.column_names)


def named_types(table: ArrowTable) -> Any:
    """Texts as such: the engine sends some of them as numbers of a dictionary."""
    whole = cast("Any", table)
    schema = _arrow.schema([(field.name, _decoded(field.type)) for field in whole.schema])
    return whole.cast(schema)


def _decoded(kind: Any) -> Any:
    if _arrow.types.is_dictionary(kind):
        return _decoded(kind.value_type)
    if _arrow.types.is_list(kind):
        return _arrow.list_(_decoded(kind.value_type))
    return _arrow.string() if _arrow.types.is_binary(kind) else kind


def _plain(column: Any) -> Any:
    if _arrow.types.is_list(column.type):
        column = _compute.binary_join(column, ";")
    if not _arrow.types.is_string(column.type):
        return column
    risky = _compute.match_substring_regex(column, FORMULA)
    return _compute.if_else(risky, _compute.binary_join_element_wise("'", column, ""), column)


def _writer(sink: _Sink, schema: Any, wanted: Format) -> Any:
    if wanted is Format.PARQUET:
        return _parquet.ParquetWriter(sink, schema, compression="zstd")
    return _csv.CSVWriter(sink, schema, write_options=_csv.WriteOptions(quoting_style="needed"))


class _Sink(io.RawIOBase):
    """Keeps what was written until it is taken, and knows how much that was in all: Parquet notes places."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._waiting.append(bytes(content))
        self._size += len(self._waiting[-1])
        return len(self._waiting[-1])

    def tell(self) -> int:
        return self._size

    def take(self) -> bytes:
        content = b"".join(self._waiting)
        self._waiting.clear()
        return content
