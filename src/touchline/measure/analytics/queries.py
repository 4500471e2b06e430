"""The statements behind charts and lists, each over the latest version of the tenant's sessions.

Invariant: FINAL leaves old versions and deleted rows out before anything is counted, whatever has been merged. Where
sums of days are used, their days are not read: a session is in the one or in the other.
"""

# ruff: noqa: S608  what is put into the statements are constant names and conditions; values are bound

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from touchline.measure.analytics.rollups.rules import FEW, PageReach, RollupPart
from touchline.measure.analytics.rollups.store import OF_DAYS, OF_KEY, SETTINGS, TALLY, key, low, summed, told, units
from touchline.measure.sessions.model import SessionRow

from .filters import CANCELLED, HORIZON, RUNNING, Condition
from .rules import Board, Dimension, Leaders, Metric, Order, SessionWindow

OPEN_DAYS = 7
LEVELS = (0.5, 0.9, 0.95, 0.99)
_TALLY = ",\n    ".join(f"sum({name}) AS {name}" for name in TALLY)


@dataclass(frozen=True, slots=True)
class AnalyticsSource:
    """What an answer is counted from: sessions, and sums of days where there are any."""

    where: Condition
    summed: RollupPart | None = None

    @property
    def values(self) -> dict[str, object]:
        if not self.summed:
            return self.where.values
        return self.where.values | self.summed.values | {"others": self.summed.others}


def _sessions(source: AnalyticsSource) -> str:
    others = "\n    AND start_day IN {others:Array(Date)}" if source.summed else ""
    return f"FROM session_rows FINAL\nWHERE {source.where.sql}{others}"


def _rollups(summed: RollupPart) -> str:
    return f"FROM session_sums\nWHERE {OF_DAYS}{'' if summed.key is None else OF_KEY}"


def _counted(source: AnalyticsSource, keys: tuple[str, str], metrics: Sequence[Metric]) -> str:
    """Sessions, each as a small sum of its own where it stands beside sums. The keys are a session's, and a sum's."""
    own, of_sum = keys
    columns = [f"{sql} AS {name}" for name, sql in TALLY.items()]
    columns += units(metrics) if source.summed else metrics
    found = f"SELECT {own} AS group_key, {', '.join(columns)}\n{_sessions(source)}"
    if source.summed:
        names = [*TALLY, *summed(metrics)]
        found += f"\nUNION ALL\nSELECT {of_sum} AS group_key, {', '.join(names)}\n{_rollups(source.summed)}"
    return f"FROM (\n{found}\n)"


def percentiles(metric: Metric, source: AnalyticsSource, levels: Sequence[float] = LEVELS) -> str:
    """How many have the metric, and the values that those shares of them do not exceed."""
    shares = ", ".join(map(str, levels))
    if source.summed:
        count, few = f"sum({metric}_there)", f"groupArrayArray({FEW})({metric}_few)"
        lows = f"quantilesExactWeightedArray({shares})({metric}_lows, {metric}_weights)"
    else:
        count, few = f"count({metric})", f"groupArray({FEW})({metric})"
        lows = f"quantilesExactWeighted({shares})({low(f'ifNull({metric}, 0)')}, toUInt32({metric} IS NOT NULL))"
    return f"{count} AS {metric}_count, {told(count, few, lows, levels)} AS {metric}_levels"


def _figures(source: AnalyticsSource, metrics: Sequence[Metric]) -> str:
    return ",\n    ".join([_TALLY, *(percentiles(metric, source) for metric in metrics)])


def summary(source: AnalyticsSource, metrics: Sequence[Metric]) -> str:
    return f"SELECT {_figures(source, metrics)}\n{_counted(source, ('0', '0'), metrics)}\n{SETTINGS}"


def series(source: AnalyticsSource) -> str:
    """Sums are by the hour here, and a step is whole hours."""
    hour = "toInt64(toUInt16(start_day)) * 86400000 + toInt64(toUInt8(key)) * 3600000"
    keys = bucket_key(), bucket_key(f"({hour})")
    return f"""
SELECT group_key AS start_ms,
    {_TALLY},
    {percentiles(Metric.STARTUP, source, (0.5, 0.95))}
{_counted(source, keys, [Metric.STARTUP])}
GROUP BY start_ms
ORDER BY start_ms
LIMIT {{most:UInt32}}
{SETTINGS}"""


def unsettled(where: Condition, key_sql: str) -> str:
    """Sessions that are open, by a key. Those that began long before the tenant's clock have ended or been given up:
    only the last days are read, whatever the range."""
    return f"""
SELECT {key_sql} AS group_key, countIf({RUNNING}) AS running, countIf({CANCELLED}) AS cancelled
FROM session_rows FINAL
WHERE {where.sql}
    AND start_day >= toDate(fromUnixTimestamp64Milli(ifNull({HORIZON}, 0))) - {OPEN_DAYS}
    AND final_from_ts > {HORIZON}
GROUP BY group_key
{SETTINGS}"""


def bucket_key(start_ts: str = "session_start_ts") -> str:
    return f"intDiv({start_ts}, {{step_ms:Int64}}) * {{step_ms:Int64}}"


def distribution(source: AnalyticsSource, metric: Metric) -> str:
    """The bars as rows, and as their last one, without a place, the whole."""
    found = (
        f"SELECT assumeNotNull({metric}) AS value, toUInt32(1) AS weight\n{_sessions(source)} AND {metric} IS NOT NULL"
    )
    if source.summed:
        of_rollups = f"SELECT {metric}_lows, {metric}_weights\n{_rollups(source.summed)}"
        parts = f"{metric}_lows AS value, {metric}_weights AS weight"
        found += f"\nUNION ALL\nSELECT value, weight FROM ({of_rollups}) ARRAY JOIN {parts}"
    lows = f"quantilesExactWeighted({', '.join(map(str, LEVELS))})({low('value')}, weight)"
    return f"""
SELECT roundDown(toFloat64(value), {{edges:Array(Float64)}}) AS from_ms,
    grouping(from_ms) AS whole,
    sum(weight) AS {metric}_count,
    {told("sum(weight)", f"groupArray({FEW})(value)", lows, LEVELS)} AS {metric}_levels
FROM (
{found}
)
GROUP BY GROUPING SETS ((from_ms), ())
ORDER BY whole, from_ms
{SETTINGS}"""


def breakdown(source: AnalyticsSource, by: Dimension, metrics: Sequence[Metric]) -> str:
    order = "key" if by is Dimension.HOUR else "sessions DESC, key"
    return _groups(source, by, metrics, f"sessions > 0\nORDER BY {order}")


_LEADING = {
    Leaders.SWAPS: ("swapped", "swapped DESC, sessions, key"),
    Leaders.FAILURES: ("unexcused", "unexcused DESC, known, key"),
    Leaders.SLOWEST: (f"{Metric.STARTUP}_count", f"{Metric.STARTUP}_levels[3] DESC, sessions DESC, key"),
}


def leaders(source: AnalyticsSource, board: Board) -> str:
    counted, order = _LEADING[board.kind]
    needed = {Metric.STARTUP} if board.kind is Leaders.SLOWEST else set[Metric]()
    metrics = [metric for metric in Metric if metric in needed.union(board.metrics)]
    return _groups(source, board.by, metrics, f"{counted} > 0 AND sessions >= {{at_least:UInt32}}\nORDER BY {order}")


def _groups(source: AnalyticsSource, by: Dimension, metrics: Sequence[Metric], kept: str) -> str:
    return f"""
SELECT nullIf(group_key, '') AS key, * EXCEPT group_key
FROM (
    SELECT group_key,
        {_figures(source, metrics)}
    {_counted(source, (key(by), "key"), metrics)}
    GROUP BY group_key
)
WHERE {kept}
LIMIT {{first:UInt32}}
{SETTINGS}"""


ORDERED_BY = {
    Order.LATEST: "session_start_ts",
    Order.STARTUP_DESC: "ifNull(startup_ms, -1)",
    Order.ERRORS_DESC: "toInt64(error_count)",
    Order.SWAPS_DESC: "toInt64(swap_count)",
}

MOST_COUNTED = 10_000
MOST_PARTS = 1_000  # segments, or updates of parameters, of one session

_COMPUTED = {"is_final": f"toUInt8(final_from_ts <= {HORIZON}) AS is_final"}
SESSION_COLUMNS = ",\n    ".join(_COMPUTED.get(field.name, field.name) for field in fields(SessionRow))
PARTS = f"arraySlice(segments, 1, {MOST_PARTS}) AS segments, arraySlice(parameters, 1, {MOST_PARTS}) AS parameters"
NO_PARTS = "emptyArrayString() AS segments, emptyArrayString() AS parameters"
DIGEST = "hex(sipHash128(workflow_session_id))"
DIGEST_BYTES = "sipHash128(workflow_session_id)"  # sorts alike, and costs less


SORTED_COLUMNS = {
    Order.STARTUP_DESC: "startup_ms",
    Order.ERRORS_DESC: "error_count",
    Order.SWAPS_DESC: "swap_count",
}


@dataclass(frozen=True, slots=True)
class SessionListing:
    """A part of a list: which sessions, between which places, and how far they reach if that is known."""

    where: str
    between: str
    order: Order
    window: SessionWindow
    reach: PageReach | None = None

    @property
    def direction(self) -> str:
        return "ASC" if self.window.from_the_end else "DESC"


def page(listing: SessionListing) -> str:
    """The keys of the page are found in few columns; only its rows are read whole. A row without an id: no rows.

    Of so few rows the versions are put together by hand: FINAL would read all columns of everything beside them.
    """
    direction, value = listing.direction, ORDERED_BY[listing.order]
    sorted_by = f"order_value {direction}, session_start_ts {direction}, digest {direction}"
    return f"""
WITH {_total(listing)} AS total
SELECT counted.total_count AS total_count, found.*
FROM (SELECT total AS total_count) AS counted
LEFT JOIN (
    SELECT * EXCEPT is_deleted
    FROM (
        SELECT {SESSION_COLUMNS},
            {PARTS if listing.window.with_parts else NO_PARTS},
            {value} AS order_value, {DIGEST} AS digest, is_deleted
        FROM session_rows
        PREWHERE tenant_id = {{tenant_id:UUID}} AND (start_day, workflow_session_id) IN (
            SELECT start_day, workflow_session_id FROM session_rows FINAL
            WHERE {listing.where}
                AND {listing.between}
                AND {_within(listing)}
            ORDER BY {value} {direction}, session_start_ts {direction}, {DIGEST_BYTES} {direction}
            LIMIT {{limit:UInt32}}
        )
        ORDER BY pass DESC
        LIMIT 1 BY start_day, workflow_session_id
    )
    WHERE is_deleted = 0
) AS found ON 1
ORDER BY {sorted_by}
{SETTINGS}"""


def _total(listing: SessionListing) -> str:
    if listing.reach and listing.reach.total >= MOST_COUNTED:
        return f"toUInt64({MOST_COUNTED})"
    return f"(SELECT count() FROM (SELECT 1 FROM session_rows FINAL WHERE {listing.where} LIMIT {MOST_COUNTED}))"


def _within(listing: SessionListing) -> str:
    """What a page does not reach is left out before sessions are sorted."""
    if listing.order is not Order.LATEST:
        return _high(listing) if listing.reach else "1"
    return "start_day >= {reach_day:Date}" if listing.reach else _days(listing)


def _high(listing: SessionListing) -> str:
    """Keys with such a value in any version: an index of the values finds them. Which version counts is seen later."""
    column = "assumeNotNull(startup_ms)" if listing.order is Order.STARTUP_DESC else SORTED_COLUMNS[listing.order]
    most = f" AND {column} <= {{after_value:Int64}}" if listing.window.after else ""
    found = f"""SELECT start_day, workflow_session_id FROM session_rows
                    WHERE tenant_id = {{tenant_id:UUID}} AND start_day BETWEEN {{first_day:Date}} AND {{last_day:Date}}
                        AND {column}"""
    if not (listing.reach and listing.reach.day):
        return f"(start_day, workflow_session_id) IN ({found} >= {{reach_low:Int64}}{most})"
    return f"""(start_day, workflow_session_id) IN (
                    {found} > {{reach_low:Int64}}{most}
                    UNION ALL
                    {found} = {{reach_low:Int64}}{most} AND start_day >= {{reach_day:Date}}
                )"""


def _days(listing: SessionListing) -> str:
    """The days that a page by time reaches into: few, and found in less than the rest of it needs of all days."""
    sign, last = (">=", "min") if listing.direction == "DESC" else ("<=", "max")
    return f"""start_day {sign} (
                    SELECT {last}(start_day) FROM (
                        SELECT start_day FROM session_rows FINAL
                        WHERE {listing.where}
                            AND {listing.between}
                        ORDER BY start_day {listing.direction}
                        LIMIT {{limit:UInt32}}
                    )
                )"""


def between(name: str, sign: str, order: Order) -> str:
    """Strictly behind or before a place."""
    digest = f"toFixedString(substring(unhex({{{name}_digest:String}}), 1, 16), 16)"
    place = f"{{{name}_value:Int64}}, {{{name}_start:Int64}}, {digest}"
    return f"({ORDERED_BY[order]}, session_start_ts, {DIGEST_BYTES}) {sign} ({place})"


# `session_places` knows the days under which a session was ever written, so that one session is not looked for in all.
SESSION = f"""
SELECT {SESSION_COLUMNS},
    {PARTS},
    session_start_ts AS order_value, {DIGEST} AS digest
FROM session_rows FINAL
WHERE tenant_id = {{tenant_id:UUID}} AND workflow_session_id = {{session_id:String}} AND start_day IN (
    SELECT start_day FROM session_places
    WHERE tenant_id = {{tenant_id:UUID}} AND workflow_session_id = {{session_id:String}}
)
{SETTINGS}"""

SPAN = f"""
SELECT count() AS sessions, min(session_start_ts) AS first_ms, max(session_start_ts) AS last_ms
FROM session_rows FINAL
WHERE tenant_id = {{tenant_id:UUID}}
{SETTINGS}"""

LATEST_DAY = 65_535  # as the table counts days


def _edge(direction: str) -> str:
    """The first or the last day from a day on, found at the ends of the parts, and what is left of it.

    Small blocks, because each part gives one, and only its first row is asked for.
    """
    sign, whole = (">=", "min") if direction == "ASC" else ("<=", "max")
    return f"""
WITH (
    SELECT toInt32(start_day) FROM session_rows
    WHERE tenant_id = {{tenant_id:UUID}} AND start_day {sign} toDate({{day:UInt16}})
    ORDER BY start_day {direction}
    LIMIT 1
    SETTINGS max_block_size = 1024
) AS found
SELECT found AS day, count() AS sessions, {whole}(session_start_ts) AS edge_ms
FROM session_rows FINAL
WHERE tenant_id = {{tenant_id:UUID}} AND start_day = toDate(ifNull(found, 0))
{SETTINGS}"""


FIRST, LAST = _edge("ASC"), _edge("DESC")
