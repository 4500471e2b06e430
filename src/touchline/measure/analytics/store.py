"""Reads analytics about sessions from ClickHouse, inside one tenant.

Invariants: a question is bounded before it comes here, and every statement is bounded again by its own limit. A
timeline shows what the fold counts: of the copies of one event, the same one. Its rows and bytes are limited, from the
session's beginning, and it says when there is more.
"""

# ruff: noqa: S608  what is put into the statements are constant names and conditions; values are bound

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import groupby
from typing import Any, TypeVar, cast

from touchline.kernel import TenantId
from touchline.measure.analytics.rollups.rules import ReachRequest, behind
from touchline.measure.analytics.rollups.store import RollupStore, key
from touchline.measure.sessions.evidence import winner
from touchline.measure.sessions.model import (
    Event,
    Moment,
    ParameterRow,
    Problem,
    SegmentRow,
    SessionRow,
    trace_category,
)
from touchline.measure.sessions.parser import Accepted, read_text
from touchline.measure.sessions.rules import Rules, excuses
from touchline.measure.settings import SessionSettings
from touchline.platform.clickhouse.client import Analytics

from . import queries, rules

# Rows of the fact tables, back into the types that the fold made.

RowType = TypeVar("RowType", SessionRow, SegmentRow, ParameterRow)


def session(row: Mapping[str, Any]) -> rules.ListedSession:
    own = {"workflow_session_id": row["workflow_session_id"]}
    return rules.ListedSession(
        row=_read(SessionRow, row),
        place=rules.PagePlace(row["order_value"], row["session_start_ts"], row["digest"]),
        segments=[_read(SegmentRow, part | own) for part in row["segments"]],
        parameters=[_read(ParameterRow, part | own) for part in row["parameters"]],
    )


def _read(kind: type[RowType], row: Mapping[str, Any]) -> RowType:
    return kind(**{field.name: _value(row[field.name]) for field in fields(kind)})


def _value(value: Any) -> Any:
    return tuple(cast("list[str]", value)) if isinstance(value, list) else value


MOST_EMPTY_DAYS = 8
_NAMES = ("sessions", "known", "success", "excused", "unexcused", "swapped", "errors")


class AnalyticsStore:
    def __init__(self, analytics: Analytics) -> None:
        self._analytics = analytics
        self._rollups = RollupStore(analytics)

    async def summary(
        self, tenant_id: TenantId, source: queries.AnalyticsSource, metrics: Sequence[rules.Metric]
    ) -> rules.SessionSummary:
        [row] = await self._rows(tenant_id, queries.summary(source, metrics), source.values)
        unsettled = await self._unsettled(tenant_id, source, "0")
        return rules.SessionSummary(_seen(_tally(row), unsettled, 0), _metrics(row))

    async def series(
        self, tenant_id: TenantId, source: queries.AnalyticsSource, seconds: int
    ) -> Sequence[rules.Bucket]:
        """Those in which sessions start."""
        values = source.values | {"step_ms": seconds * 1_000, "most": rules.MOST_BUCKETS}
        rows = await self._rows(tenant_id, queries.series(source), values)
        unsettled = await self._unsettled(tenant_id, source, queries.bucket_key(), step_ms=seconds * 1_000)
        buckets = [_bucket(row) for row in rows]
        return [replace(one, tally=_seen(one.tally, unsettled, one.start_ms)) for one in buckets]

    async def distribution(
        self, tenant_id: TenantId, source: queries.AnalyticsSource, metric: rules.Metric
    ) -> rules.Distribution:
        values = source.values | {"edges": list(rules.BAR_EDGES)}
        *bars, whole = await self._rows(tenant_id, queries.distribution(source, metric), values)
        counts = {row["from_ms"]: row[f"{metric}_count"] for row in bars}
        return rules.Distribution(metric, _percentiles(whole, metric), rules.bars_of(counts))

    async def breakdown(
        self,
        tenant_id: TenantId,
        source: queries.AnalyticsSource,
        by: rules.Dimension,
        first: int,
        metrics: Sequence[rules.Metric],
    ) -> list[rules.SessionGroup]:
        values = source.values | {"first": first}
        rows = await self._rows(tenant_id, queries.breakdown(source, by, metrics), values)
        return await self._groups(tenant_id, source, by, rows)

    async def leaders(
        self, tenant_id: TenantId, source: queries.AnalyticsSource, board: rules.Board
    ) -> list[rules.SessionGroup]:
        values = source.values | {"first": board.first, "at_least": board.at_least}
        rows = await self._rows(tenant_id, queries.leaders(source, board), values)
        found = await self._groups(tenant_id, source, board.by, rows)
        return [one for one in found if one.tally.unexcused] if board.kind is rules.Leaders.FAILURES else found

    async def _groups(
        self,
        tenant_id: TenantId,
        source: queries.AnalyticsSource,
        by: rules.Dimension,
        rows: Sequence[Mapping[str, Any]],
    ) -> list[rules.SessionGroup]:
        unsettled, groups = await self._unsettled(tenant_id, source, key(by)), [_group(row) for row in rows]
        return [replace(one, tally=_seen(one.tally, unsettled, one.key or "")) for one in groups]

    async def _unsettled(
        self, tenant_id: TenantId, source: queries.AnalyticsSource, key_sql: str, **values: object
    ) -> Mapping[object, rules.OpenSessions]:
        """Open sessions by their key. Sums count them as they are written; here they are taken out again."""
        sql = queries.unsettled(source.where, key_sql)
        rows = await self._rows(tenant_id, sql, {**source.where.values, **values})
        return {row["group_key"]: rules.OpenSessions(row["running"], row["cancelled"]) for row in rows}

    async def page(
        self, tenant_id: TenantId, source: queries.AnalyticsSource, order: rules.Order, window: rules.SessionWindow
    ) -> rules.SessionPage:
        """What sums say of its reach is only where to look first: a page that does not fill up is looked for again."""
        between, values = _between(window, order)
        listing = queries.SessionListing(source.where.sql, between, order, window)
        values = source.where.values | values | {"limit": window.size + 1}
        if source.summed and not window.from_the_end and not window.before:
            reach = await self._rollups.reach(tenant_id, source.summed, _asked(order, window))
            if reach:
                near = replace(listing, reach=reach)
                found = _page(await self._rows(tenant_id, queries.page(near), {**values, **_reach(near)}), window)
                if found.more:
                    return found
        return _page(await self._rows(tenant_id, queries.page(listing), values), window)

    async def session(self, tenant_id: TenantId, session_id: str) -> rules.ListedSession | None:
        rows = await self._rows(tenant_id, queries.SESSION, {"session_id": session_id})
        return session(rows[0]) if rows else None

    async def span(self, tenant_id: TenantId) -> rules.TimeRange | None:
        """Two days are looked at, and before them days of which nothing is left; when those are many, all at once."""
        first = await self._edge(tenant_id, queries.FIRST, 0, 1)
        last = await self._edge(tenant_id, queries.LAST, queries.LATEST_DAY, -1)
        if first is not None and last is not None:
            return rules.TimeRange(first, last)
        [row] = await self._rows(tenant_id, queries.SPAN, {})
        return rules.TimeRange(row["first_ms"], row["last_ms"]) if row["sessions"] else None

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


def _between(window: rules.SessionWindow, order: rules.Order) -> tuple[str, dict[str, object]]:
    parts: list[str] = ["1"]
    values: dict[str, object] = {}
    for name, sign, place in (("after", "<", window.after), ("before", ">", window.before)):
        if place:
            parts.append(queries.between(name, sign, order))
            values |= _place(name, place)
    return " AND ".join(parts), values


def _asked(order: rules.Order, window: rules.SessionWindow) -> ReachRequest:
    column, after = queries.SORTED_COLUMNS.get(order), window.after
    place = behind(after.value if column else 0, after.start_ms) if after else None
    return ReachRequest(column, window.size + 1, place)


def _reach(listing: queries.SessionListing) -> Mapping[str, object]:
    """What the statement uses of it."""
    if not listing.reach:
        return {}
    low = {"reach_low": listing.reach.low} if listing.order in queries.SORTED_COLUMNS else {}
    return low | ({"reach_day": listing.reach.day} if listing.reach.day else {})


def _page(rows: Sequence[Mapping[str, Any]], window: rules.SessionWindow) -> rules.SessionPage:
    found = [session(row) for row in rows if row["workflow_session_id"]]
    kept = found[: window.size]
    return rules.SessionPage(
        kept[::-1] if window.from_the_end else kept, len(found) > window.size, rows[0]["total_count"]
    )


def _place(name: str, place: rules.PagePlace) -> dict[str, object]:
    return {f"{name}_value": place.value, f"{name}_start": place.start_ms, f"{name}_digest": place.digest}


def _bucket(row: Mapping[str, Any]) -> rules.Bucket:
    metric = rules.Metric.STARTUP
    p50, p95 = row[f"{metric}_levels"] if row[f"{metric}_count"] else (None, None)
    return rules.Bucket(row["start_ms"], _tally(row), p50, p95)


def _group(row: Mapping[str, Any]) -> rules.SessionGroup:
    return rules.SessionGroup(row["key"], _tally(row), _metrics(row))


def _seen(
    tally: rules.OutcomeTally, unsettled: Mapping[object, rules.OpenSessions], key_value: object
) -> rules.OutcomeTally:
    found = unsettled.get(key_value)
    return tally.without(found) if found else tally


def _tally(row: Mapping[str, Any]) -> rules.OutcomeTally:
    return rules.OutcomeTally(**{name: row[name] for name in _NAMES})


def _metrics(row: Mapping[str, Any]) -> dict[rules.Metric, rules.Percentiles]:
    return {metric: _percentiles(row, metric) for metric in rules.Metric if f"{metric}_count" in row}


def _percentiles(row: Mapping[str, Any], metric: rules.Metric) -> rules.Percentiles:
    count = row[f"{metric}_count"]
    return rules.Percentiles(count, *(row[f"{metric}_levels"] if count else (None,) * 4))


# Timelines.

LONGEST_MESSAGE = 2_000


def timeline(rows: Sequence[Mapping[str, Any]], session_rules: Rules) -> rules.SessionTimeline:
    """Rows with a body are events, the others samples; each says how many of its kind there are."""
    bodies, samples = [row for row in rows if row["body"]], [row for row in rows if not row["body"]]
    events = sorted(_counted(bodies), key=lambda event: (event.ts, event.uid))
    return rules.SessionTimeline(
        edges=[
            rules.TimelineEdge(one.ts, one.trace_type, trace_category(one.trace_type))
            for one in events
            if one.trace_type
        ],
        errors=[_error(event, session_rules) for event in events if event.error is not None],
        samples=[
            rules.TimelineSample(row["ts"], row["output_fps"], row["input_fps"], row["jitter_ms"]) for row in samples
        ],
        truncated=any(len(part) < max((row["total"] for row in part), default=0) for part in (bodies, samples)),
    )


def _counted(rows: Iterable[Mapping[str, Any]]) -> Iterable[Event]:
    """Each event once."""
    readings = (read_text(row["body"].encode()) for row in rows)
    accepted = sorted((one for one in readings if isinstance(one, Accepted)), key=lambda one: one.uid)
    for _, copies in groupby(accepted, key=lambda one: one.uid):
        if event := winner(copies).event:
            yield event


def _error(event: Event, session_rules: Rules) -> rules.TimelineError:
    message = event.error or ""
    [patterns] = excuses([Problem(Moment(event.ts, event.uid), message)], session_rules)
    return rules.TimelineError(event.ts, message[:LONGEST_MESSAGE], bool(patterns))


MOST_ROWS = 5_000  # samples, and events, of one session
LARGEST_BODIES = 4 * 2**20
# Only these two families have edges and errors. A copy of an event is a row, too: which one counts is decided later.
TIMELINES = f"""
SELECT session_id, ts, uid, output_fps, input_fps, jitter_ms, body, total
FROM (
    SELECT session_id, assumeNotNull(event_ts) AS ts, uid, NULL AS output_fps, NULL AS input_fps, NULL AS jitter_ms,
        body, count() OVER (PARTITION BY session_id) AS total,
        sum(length(body)) OVER (PARTITION BY session_id ORDER BY ts, uid ROWS UNBOUNDED PRECEDING) AS bytes
    FROM raw_events FINAL
    WHERE tenant_id = {{tenant_id:UUID}} AND session_id IN {{sessions:Array(String)}}
        AND verdict = 'accepted' AND type IN ('stream_trace', 'ai_stream_events')
    ORDER BY session_id, ts, uid
    LIMIT {MOST_ROWS} BY session_id
)
WHERE bytes <= {LARGEST_BODIES}
UNION ALL
SELECT workflow_session_id AS session_id, ts, uid, output_fps, input_fps, jitter_ms, '' AS body,
    count() OVER (PARTITION BY session_id) AS total
FROM workflow_samples FINAL
WHERE tenant_id = {{tenant_id:UUID}} AND workflow_session_id IN {{sessions:Array(String)}}
ORDER BY session_id, ts, uid
LIMIT {MOST_ROWS} BY session_id
"""

# A window reaches into at most three bins of its own length, so that an update meets only the samples near it.
CHANGES = f"""
SELECT workflow_session_id, update_index,
    avgIf(output_fps, ts < update_ts) AS fps_before, avgIf(output_fps, ts >= update_ts) AS fps_after,
    avgIf(jitter_ms, ts < update_ts) AS jitter_before, avgIf(jitter_ms, ts >= update_ts) AS jitter_after
FROM (
    SELECT workflow_session_id, update.update_index AS update_index, update.update_ts AS update_ts,
        arrayJoin([-1, 0, 1]) + intDiv(update.update_ts, {{window_ms:Int64}}) AS bin
    FROM session_rows FINAL
    ARRAY JOIN arraySlice(parameters, 1, {queries.MOST_PARTS}) AS update
    WHERE tenant_id = {{tenant_id:UUID}} AND workflow_session_id IN {{sessions:Array(String)}}
        AND start_day IN (
            SELECT start_day FROM session_places
            WHERE tenant_id = {{tenant_id:UUID}} AND workflow_session_id IN {{sessions:Array(String)}}
        )
) AS updates
INNER JOIN (
    SELECT workflow_session_id, ts, output_fps, jitter_ms, intDiv(ts, {{window_ms:Int64}}) AS bin
    FROM workflow_samples FINAL
    WHERE tenant_id = {{tenant_id:UUID}} AND workflow_session_id IN {{sessions:Array(String)}}
) AS samples USING (workflow_session_id, bin)
WHERE ts >= update_ts - {{window_ms:Int64}} AND ts < update_ts + {{window_ms:Int64}}
GROUP BY workflow_session_id, update_index
"""


class TimelineStore:
    def __init__(self, analytics: Analytics, settings: SessionSettings) -> None:
        self._analytics = analytics
        self._rules = Rules.of(settings)

    async def timelines(self, tenant_id: TenantId, session_ids: Sequence[str]) -> Mapping[str, rules.SessionTimeline]:
        """Of each, also of one that is not known: then it is empty."""
        rows = await self._rows(tenant_id, TIMELINES, {"sessions": list(session_ids)})
        by_session: dict[str, list[Mapping[str, Any]]] = {session_id: [] for session_id in session_ids}
        for row in rows:
            by_session[row["session_id"]].append(row)
        return {session_id: timeline(of_session, self._rules) for session_id, of_session in by_session.items()}

    async def changes(
        self, tenant_id: TenantId, session_ids: Sequence[str], window_seconds: int
    ) -> Mapping[str, Mapping[int, rules.Change]]:
        values = {"sessions": list(session_ids), "window_ms": window_seconds * 1_000}
        found: dict[str, dict[int, rules.Change]] = {}
        for row in await self._rows(tenant_id, CHANGES, values):
            found.setdefault(row["workflow_session_id"], {})[row["update_index"]] = _change(row)
        return found

    async def _rows(self, tenant_id: TenantId, sql: str, values: Mapping[str, object]) -> Iterable[dict[str, Any]]:
        return (await self._analytics.within(tenant_id).query_arrow(sql, values)).to_pylist()


def _change(row: Mapping[str, Any]) -> rules.Change:
    return rules.Change(row["fps_before"], row["fps_after"], row["jitter_before"], row["jitter_after"])
