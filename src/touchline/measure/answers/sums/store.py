"""Makes sums of days, and says which of them count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from uuid import UUID, uuid4

from touchline.kernel import TenantId
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.store import ensure_schema

from . import queries
from .model import Asked, DueDay, Reach, Summed, Week
from .rules import EVERY_DAY, step

MODULE = "sums"
MOST = 2**62


async def ensure_tables(analytics: Analytics) -> None:
    await ensure_schema(analytics, MODULE, queries.SCHEMA)


class SumStore:
    def __init__(self, analytics: Analytics) -> None:
        self._analytics = analytics

    async def fresh(self, tenant_id: TenantId, first: date, last: date) -> dict[date, UUID]:
        """Days of which the sum holds everything, each with the name of its sum."""
        values = {"first_whole": first, "last_whole": last}
        table = await self._analytics.within(tenant_id).query_arrow(queries.FRESH, values)
        return {row["start_day"]: UUID(row["made"]) for row in table.to_pylist()}

    async def weeks(self, tenant_id: TenantId, names: Sequence[UUID]) -> dict[UUID, UUID]:
        """Those that are summed, with the names of their sums."""
        if not names:
            return {}
        table = await self._analytics.within(tenant_id).query_arrow(queries.WEEKS, {"names": list(names)})
        return {UUID(row["week"]): UUID(row["sum"]) for row in table.to_pylist()}

    async def reach(self, tenant_id: TenantId, summed: Summed, asked: Asked) -> Reach | None:
        """None when sums know of too few sessions."""
        below, before = asked.behind or (MOST, EVERY_DAY[0])
        values = {"below": below, "before": before, "needed": asked.needed}
        sql = queries.reach(asked.column, summed.key is not None)
        rows = (await self._analytics.within(tenant_id).query_arrow(sql, {**values, **summed.values})).to_pylist()
        if not rows:
            return None
        exact = asked.column is None or step(rows[0]["low"]) == 1
        return Reach(rows[0]["low"], rows[0]["start_day"] if exact else None, rows[0]["total"])

    async def due(self, quiet: timedelta, longest: timedelta, limit: int) -> Sequence[DueDay]:
        """Days to be summed, of all tenants: nobody has written there for so long."""
        values = {"quiet_s": _seconds(quiet), "longest_s": _seconds(longest), "limit": limit}
        rows = (await self._analytics.query_arrow(queries.DUE, values)).to_pylist()
        return [DueDay(TenantId(UUID(row["tenant"])), row["start_day"], row["begun"], row["ended"]) for row in rows]

    async def sum(self, due: DueDay) -> None:
        """Whatever is written meanwhile is noted first, so that this sum does not count then."""
        own, made = self._analytics.within(due.tenant_id), uuid4()
        await own.command(queries.SUM, {"day": due.start_day, "made": made})
        notes = {"begun": due.begun, "ended": due.ended}
        await own.command(queries.COUNTS, {"day": due.start_day, "made": made} | notes)

    async def sum_week(self, tenant_id: TenantId, week: Week) -> None:
        """It holds for as long as every one of these days does."""
        own, made = self._analytics.within(tenant_id), uuid4()
        values = {"day": week.monday, "made": made}
        await own.command(queries.SUM_WEEK, values | {"days": list(week.days)})
        await own.command(queries.WEEK_COUNTS, values | {"name": week.name})

    async def wrong_of_day(self, tenant_id: TenantId, day: date, made: UUID) -> list[str]:
        """Dimensions and keys in which a sum is not what its sessions give; nothing while they are written."""
        wrong = await self._wrong(tenant_id, queries.disagrees(queries.DAY), {"day": day, "made": made})
        return wrong if wrong and (await self.fresh(tenant_id, day, day)).get(day) == made else []

    async def wrong_of_week(self, tenant_id: TenantId, week: Week, made: UUID) -> list[str]:
        values = {"day": week.monday, "made": made, "days": list(week.days)}
        return await self._wrong(tenant_id, queries.disagrees(queries.WEEK), values)

    async def _wrong(self, tenant_id: TenantId, sql: str, values: Mapping[str, object]) -> list[str]:
        rows = (await self._analytics.within(tenant_id).query_arrow(sql, values)).to_pylist()
        return sorted({f"{row['by']} {row['key']}" for row in rows})

    async def tenants(self) -> list[TenantId]:
        """Of which days were summed in the last day."""
        rows = (await self._analytics.query_arrow(queries.SUMMED)).to_pylist()
        return [TenantId(UUID(row["tenant"])) for row in rows]

    async def forget(self, after: timedelta) -> None:
        """Sums in whose place others have been for so long."""
        values = {"after_s": _seconds(after)}
        [row] = (await self._analytics.query_arrow(queries.FORGOTTEN, values)).to_pylist()
        if row["rows"]:
            await self._analytics.command(queries.FORGET, values)


def _seconds(length: timedelta) -> int:
    return int(length.total_seconds())
