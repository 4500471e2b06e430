"""Exports facts in the order of their table, some sessions at a time: any export needs the memory of one portion only.

Invariants: every session of the filter that does not change while it is read comes once, whole, in the version that
counts. No cell of a CSV file is a formula: text that a spreadsheet would take for one gets an apostrophe in front,
which spreadsheets do not show. Parquet keeps every text as it is.
"""

# ruff: noqa: S608  what is put into the statements are constant names and conditions; values are bound

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from dataclasses import fields
from datetime import date
from enum import StrEnum
from typing import Any, cast

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.compute as pc  # pyright: ignore[reportMissingTypeStubs]
from pyarrow import csv, parquet  # pyright: ignore[reportMissingTypeStubs]

from touchline.kernel import TenantId
from touchline.measure.sessions.model import ParameterRow, SegmentRow, SessionRow
from touchline.platform.clickhouse.client import Analytics, ArrowTable

from .filters import Condition
from .queries import SESSION_COLUMNS, SETTINGS

PORTION = 5_000  # sessions


class ExportKind(StrEnum):
    SESSIONS = "sessions"
    SEGMENTS = "segments"
    PARAM_UPDATES = "param_updates"


_PARTS = {ExportKind.SEGMENTS: ("segments", SegmentRow), ExportKind.PARAM_UPDATES: ("parameters", ParameterRow)}
COLUMNS: dict[ExportKind, tuple[str, ...]] = {
    ExportKind.SESSIONS: tuple(field.name for field in fields(SessionRow)),
    ExportKind.SEGMENTS: tuple(field.name for field in fields(SegmentRow)),
    ExportKind.PARAM_UPDATES: tuple(field.name for field in fields(ParameterRow)),
}

_FROM = """
FROM session_rows FINAL
WHERE {where}
    AND start_day >= {{after_day:Date}} AND (start_day, workflow_session_id) > ({{after_day:Date}}, {{after_id:String}})
    AND {more}
ORDER BY start_day, workflow_session_id
LIMIT {{limit:UInt32}}
"""


def count(where: str) -> str:
    return f"""
SELECT count() AS sessions FROM (SELECT 1 FROM session_rows FINAL WHERE {where} LIMIT {{most:UInt64}})
{SETTINGS}"""


def portion(where: str, kind: ExportKind) -> str:
    if kind is ExportKind.SESSIONS:
        columns = f"SELECT {SESSION_COLUMNS}, start_day"
        return f"{columns}{_FROM.format(where=where, more='1')}{SETTINGS}"
    array, row = _PARTS[kind]
    own = ", ".join(f"part.{field.name} AS {field.name}" for field in fields(row)[1:])
    inner = f"SELECT start_day, workflow_session_id, {array}{_FROM.format(where=where, more=f'notEmpty({array})')}"
    order = f"start_day, workflow_session_id, {fields(row)[1].name}"
    return f"""
SELECT workflow_session_id, {own}, start_day
FROM ({inner}) ARRAY JOIN {array} AS part
ORDER BY {order}
{SETTINGS}"""


class ExportStore:
    def __init__(self, analytics: Analytics) -> None:
        self._analytics = analytics

    async def count(self, tenant_id: TenantId, where: Condition, most: int) -> int:
        """Up to `most`."""
        values = where.values | {"most": most}
        [row] = (await self._analytics.within(tenant_id).query_arrow(count(where.sql), values)).to_pylist()
        return row["sessions"]

    async def portions(self, tenant_id: TenantId, where: Condition, kind: ExportKind) -> AsyncIterator[ArrowTable]:
        """At least one table, so that the columns are known even when there are no rows."""
        sql, after_day, after_id = portion(where.sql, kind), date(1970, 1, 1), ""
        first = True
        while True:
            values = where.values | {"after_day": after_day, "after_id": after_id, "limit": PORTION}
            table = cast("Any", await self._analytics.within(tenant_id).query_arrow(sql, values))
            if not table.num_rows and not first:
                return
            yield table.drop_columns(["start_day"])
            if not table.num_rows:
                return
            first = False
            after_day = table.column("start_day")[-1].as_py()
            after_id = table.column("workflow_session_id")[-1].as_py()


# Files: CSV for spreadsheets, Parquet for everything else.

# What spreadsheets begin a formula with, also behind blanks and in full width; a quote is guarded to stay readable.
FORMULA = r"^[\s\x00]*[=+\-@＝＋－＠\t\r\n]"  # noqa: RUF001
_arrow, _compute, _csv, _parquet = cast("Any", pa), cast("Any", pc), cast("Any", csv), cast("Any", parquet)


class ExportFormat(StrEnum):
    CSV = "csv"
    PARQUET = "parquet"


MEDIA_TYPES = {ExportFormat.CSV: "text/csv; charset=utf-8", ExportFormat.PARQUET: "application/vnd.apache.parquet"}


async def encode_tables(tables: AsyncIterator[ArrowTable], wanted: ExportFormat) -> AsyncIterator[bytes]:
    """Each portion as soon as it is there."""
    sink = _Sink()
    writer: Any = None
    async for table in tables:
        ready = plain(table) if wanted is ExportFormat.CSV else named_types(table)
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


def _writer(sink: _Sink, schema: Any, wanted: ExportFormat) -> Any:
    if wanted is ExportFormat.PARQUET:
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
