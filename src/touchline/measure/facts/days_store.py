"""All SQL of days: how often rows were written under each of them.

Invariant: a write is noted before it begins and after it has ended. Who has seen a day with as many of both notes as it
has now has seen everything that is in it; a writer that died in between leaves one more beginning than there are ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any, cast

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

from touchline.kernel import TenantId
from touchline.platform.clickhouse.client import Analytics

CREATE_DAYS = """
-- Counters, so that writers need not know of each other: nobody can undo or repeat what another one noted.
CREATE TABLE IF NOT EXISTS session_days (
    tenant_id UUID,
    start_day Date,
    begun SimpleAggregateFunction(sum, UInt64),
    ended SimpleAggregateFunction(sum, UInt64),
    noted_at SimpleAggregateFunction(max, DateTime64(6, 'UTC')) DEFAULT now64(6)
) ENGINE = AggregatingMergeTree
ORDER BY (tenant_id, start_day)
"""

ADOPT = """
-- Days of rows that were written before days were noted.
INSERT INTO session_days (tenant_id, start_day, begun, ended)
SELECT DISTINCT tenant_id, start_day, 0, 0 FROM session_rows
"""

_arrow = cast("Any", pa)  # it declares no types
_DAYS = _arrow.schema(
    [
        ("tenant_id", _arrow.string()),
        ("start_day", _arrow.date32()),
        ("begun", _arrow.uint64()),
        ("ended", _arrow.uint64()),
    ]
)


class DayStore:
    """Of one tenant."""

    def __init__(self, analytics: Analytics, tenant_id: TenantId) -> None:
        self._analytics = analytics
        self._tenant_id = tenant_id

    async def begin(self, days: Iterable[date]) -> None:
        await self._note(days, begun=1, ended=0)

    async def end(self, days: Iterable[date]) -> None:
        await self._note(days, begun=0, ended=1)

    async def _note(self, days: Iterable[date], **counted: int) -> None:
        rows = [{"tenant_id": str(self._tenant_id), "start_day": day, **counted} for day in days]
        await self._analytics.insert_arrow("session_days", _arrow.Table.from_pylist(rows, schema=_DAYS))
