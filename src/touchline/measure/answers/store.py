"""Reads answers about sessions from ClickHouse, inside one tenant.

Invariant: a question is bounded before it comes here, and every statement is bounded again by its own limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from touchline.kernel import TenantId
from touchline.measure.answers.sums.model import Asked
from touchline.measure.answers.sums.queries import key
from touchline.measure.answers.sums.rules import behind
from touchline.measure.answers.sums.store import SumStore
from touchline.platform.clickhouse.client import Analytics

from . import queries, rules
from .model import (
    Board,
    Bucket,
    Dimension,
    Distribution,
    Group,
    Leaders,
    Metric,
    Open,
    Order,
    Percentiles,
    Place,
    Range,
    Session,
    SessionPage,
    Summary,
    Tally,
    Window,
)
from .queries import Listing, Source
from .rows import session

MOST_EMPTY_DAYS = 8
_NAMES = ("sessions", "known", "success", "excused", "unexcused", "swapped", "errors")


class AnswerStore:
    def __init__(self, analytics: Analytics) -> None:
        self._analytics = analytics
        self._sums = SumStore(analytics)

    async def summary(self, tenant_id: TenantId, source: Source, metrics: Sequence[Metric]) -> Summary:
        [row] = await self._rows(tenant_id, queries.summary(source, metrics), source.values)
        unsettled = await self._unsettled(tenant_id, source, "0")
        return Summary(_seen(_tally(row), unsettled, 0), _metrics(row))

    async def series(self, tenant_id: TenantId, source: Source, seconds: int) -> Sequence[Bucket]:
        """Those in which sessions start."""
        values = source.values | {"step_ms": seconds * 1_000, "most": rules.MOST_BUCKETS}
        rows = await self._rows(tenant_id, queries.series(source), values)
        unsettled = await self._unsettled(tenant_id, source, queries.bucket_key(), step_ms=seconds * 1_000)
        buckets = [_bucket(row) for row in rows]
        return [replace(one, tally=_seen(one.tally, unsettled, one.start_ms)) for one in buckets]

    async def distribution(self, tenant_id: TenantId, source: Source, metric: Metric) -> Distribution:
        values = source.values | {"edges": list(rules.BAR_EDGES)}
        *bars, whole = await self._rows(tenant_id, queries.distribution(source, metric), values)
        counts = {row["from_ms"]: row[f"{metric}_count"] for row in bars}
        return Distribution(metric, _percentiles(whole, metric), rules.bars_of(counts))

    async def breakdown(
        self, tenant_id: TenantId, source: Source, by: Dimension, first: int, metrics: Sequence[Metric]
    ) -> list[Group]:
        values = source.values | {"first": first}
        rows = await self._rows(tenant_id, queries.breakdown(source, by, metrics), values)
        return await self._groups(tenant_id, source, by, rows)

    async def leaders(self, tenant_id: TenantId, source: Source, board: Board) -> list[Group]:
        values = source.values | {"first": board.first, "at_least": board.at_least}
        rows = await self._rows(tenant_id, queries.leaders(source, board), values)
        found = await self._groups(tenant_id, source, board.by, rows)
        return [one for one in found if one.tally.unexcused] if board.kind is Leaders.FAILURES else found

    async def _groups(
        self, tenant_id: TenantId, source: Source, by: Dimension, rows: Sequence[Mapping[str, Any]]
    ) -> list[Group]:
        unsettled, groups = await self._unsettled(tenant_id, source, key(by)), [_group(row) for row in rows]
        return [replace(one, tally=_seen(one.tally, unsettled, one.key or "")) for one in groups]

    async def _unsettled(
        self, tenant_id: TenantId, source: Source, key_sql: str, **values: object
    ) -> Mapping[object, Open]:
        """Open sessions by their key. Sums count them as they are written; here they are taken out again."""
        sql = queries.unsettled(source.where, key_sql)
        rows = await self._rows(tenant_id, sql, {**source.where.values, **values})
        return {row["group_key"]: Open(row["running"], row["cancelled"]) for row in rows}

    async def page(self, tenant_id: TenantId, source: Source, order: Order, window: Window) -> SessionPage:
        """What sums say of its reach is only where to look first: a page that does not fill up is looked for again."""
        between, values = _between(window, order)
        listing = Listing(source.where.sql, between, order, window)
        values = source.where.values | values | {"limit": window.size + 1}
        if source.summed and not window.from_the_end and not window.before:
            reach = await self._sums.reach(tenant_id, source.summed, _asked(order, window))
            if reach:
                near = replace(listing, reach=reach)
                found = _page(await self._rows(tenant_id, queries.page(near), {**values, **_reach(near)}), window)
                if found.more:
                    return found
        return _page(await self._rows(tenant_id, queries.page(listing), values), window)

    async def session(self, tenant_id: TenantId, session_id: str) -> Session | None:
        rows = await self._rows(tenant_id, queries.SESSION, {"session_id": session_id})
        return session(rows[0]) if rows else None

    async def span(self, tenant_id: TenantId) -> Range | None:
        """Two days are looked at, and before them days of which nothing is left; when those are many, all at once."""
        first = await self._edge(tenant_id, queries.FIRST, 0, 1)
        last = await self._edge(tenant_id, queries.LAST, queries.LATEST_DAY, -1)
        if first is not None and last is not None:
            return Range(first, last)
        [row] = await self._rows(tenant_id, queries.SPAN, {})
        return Range(row["first_ms"], row["last_ms"]) if row["sessions"] else None

    async def _edge(self, tenant_id: TenantId, sql: str, day: int, step: int) -> int | None:
        for _ in range(MOST_EMPTY_DAYS):
            [row] = await self._rows(tenant_id, sql, {"day": day})
            if row["sessions"]:
                return row["edge_ms"]
            if row["day"] is None:
                return None
            day = min(max(row["day"] + step, 0), queries.LATEST_DAY)
        return None

    async def _rows(self, tenant_id: TenantId, sql: str, values: Mapping[str, object]) -> list[dict[str, Any]]:
        return (await self._analytics.within(tenant_id).query_arrow(sql, values)).to_pylist()


def _between(window: Window, order: Order) -> tuple[str, dict[str, object]]:
    parts: list[str] = ["1"]
    values: dict[str, object] = {}
    for name, sign, place in (("after", "<", window.after), ("before", ">", window.before)):
        if place:
            parts.append(queries.between(name, sign, order))
            values |= _place(name, place)
    return " AND ".join(parts), values


def _asked(order: Order, window: Window) -> Asked:
    column, after = queries.SORTED_COLUMNS.get(order), window.after
    place = behind(after.value if column else 0, after.start_ms) if after else None
    return Asked(column, window.size + 1, place)


def _reach(listing: Listing) -> Mapping[str, object]:
    """What the statement uses of it."""
    if not listing.reach:
        return {}
    low = {"reach_low": listing.reach.low} if listing.order in queries.SORTED_COLUMNS else {}
    return low | ({"reach_day": listing.reach.day} if listing.reach.day else {})


def _page(rows: Sequence[Mapping[str, Any]], window: Window) -> SessionPage:
    found = [session(row) for row in rows if row["workflow_session_id"]]
    kept = found[: window.size]
    return SessionPage(kept[::-1] if window.from_the_end else kept, len(found) > window.size, rows[0]["total_count"])


def _place(name: str, place: Place) -> dict[str, object]:
    return {f"{name}_value": place.value, f"{name}_start": place.start_ms, f"{name}_digest": place.digest}


def _bucket(row: Mapping[str, Any]) -> Bucket:
    metric = Metric.STARTUP
    p50, p95 = row[f"{metric}_levels"] if row[f"{metric}_count"] else (None, None)
    return Bucket(row["start_ms"], _tally(row), p50, p95)


def _group(row: Mapping[str, Any]) -> Group:
    return Group(row["key"], _tally(row), _metrics(row))


def _seen(tally: Tally, unsettled: Mapping[object, Open], key_value: object) -> Tally:
    found = unsettled.get(key_value)
    return tally.without(found) if found else tally


def _tally(row: Mapping[str, Any]) -> Tally:
    return Tally(**{name: row[name] for name in _NAMES})


def _metrics(row: Mapping[str, Any]) -> dict[Metric, Percentiles]:
    return {metric: _percentiles(row, metric) for metric in Metric if f"{metric}_count" in row}


def _percentiles(row: Mapping[str, Any], metric: Metric) -> Percentiles:
    count = row[f"{metric}_count"]
    return Percentiles(count, *(row[f"{metric}_levels"] if count else (None,) * 4))
