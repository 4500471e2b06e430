"""Facts in the order of their table, some sessions at a time: an export of any size needs the memory of one portion.

Invariant: every session of the filter that stands still while it is read comes once, whole, in the version that counts.
"""

# ruff: noqa: S608  what is put into the statements are constant names and conditions; values are bound

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import fields
from datetime import date
from enum import StrEnum
from typing import Any, cast

from touchline.kernel import TenantId
from touchline.measure.sessions.model import ParameterRow, SegmentRow, SessionRow
from touchline.platform.clickhouse.client import Analytics, ArrowTable

from .conditions import Condition
from .queries import SESSION_COLUMNS, SETTINGS

PORTION = 5_000  # sessions


class Kind(StrEnum):
    SESSIONS = "sessions"
    SEGMENTS = "segments"
    PARAM_UPDATES = "param_updates"


_PARTS = {Kind.SEGMENTS: ("segments", SegmentRow), Kind.PARAM_UPDATES: ("parameters", ParameterRow)}
COLUMNS: dict[Kind, tuple[str, ...]] = {
    Kind.SESSIONS: tuple(field.name for field in fields(SessionRow)),
    Kind.SEGMENTS: tuple(field.name for field in fields(SegmentRow)),
    Kind.PARAM_UPDATES: tuple(field.name for field in fields(ParameterRow)),
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


def portion(where: str, kind: Kind) -> str:
    if kind is Kind.SESSIONS:
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

    async def portions(self, tenant_id: TenantId, where: Condition, kind: Kind) -> AsyncIterator[ArrowTable]:
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
