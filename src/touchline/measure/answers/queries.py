"""The statements behind charts and lists: one a question, each over the latest version of the tenant's sessions.

Invariant: FINAL leaves old versions and deleted rows out before anything is counted, whatever has been merged.
"""

# ruff: noqa: S608  what is put into the statements are constant names and conditions; values are bound

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from touchline.measure.sessions.model import SessionRow

from .conditions import COLUMNS, Condition
from .model import Board, Dimension, Leaders, Metric, Order, Window

LEVELS = (0.5, 0.9, 0.95, 0.99)
A_LITTLE = 1e-10
# Partitions are months of the day a session starts on, which is a part of the key: no row has versions in two.
SETTINGS = "SETTINGS do_not_merge_across_partitions_select_final = 1"

TALLY = """count() AS sessions,
    sum(known_stream) AS known,
    sum(startup_success) AS success,
    sum(startup_excused) AS excused,
    sum(startup_unexcused) AS unexcused,
    countIf(swap_count > 0) AS swapped,
    sum(error_count) AS errors"""


def percentiles(metric: Metric, is_long: bool, levels: Sequence[float] = LEVELS) -> str:
    """How many have the metric, and the values that those shares of them do not exceed: exact either way.

    Keeping every value is quick. Over a long time only the different ones are kept, with how often they occur. Where
    a share is a whole number of values the first function would take the next one: it is asked for a little less.
    """
    if is_long:
        shares = ", ".join(map(str, levels))
        values = f"quantilesExactWeightedIf({shares})(assumeNotNull({metric}), 1, {metric} IS NOT NULL)"
    else:
        shares = ", ".join(f"{level - A_LITTLE:.10f}" for level in levels)
        values = f"quantilesExactIf({shares})(assumeNotNull({metric}), {metric} IS NOT NULL)"
    return f"count({metric}) AS {metric}_count, {values} AS {metric}_levels"


def _figures(where: Condition, metrics: Sequence[Metric]) -> str:
    return ",\n    ".join([TALLY, *(percentiles(metric, where.is_long) for metric in metrics)])


def summary(where: Condition, metrics: Sequence[Metric]) -> str:
    return f"SELECT {_figures(where, metrics)}\nFROM session_rows FINAL\nWHERE {where.sql}\n{SETTINGS}"


def series(where: Condition) -> str:
    return f"""
SELECT intDiv(session_start_ts, {{step_ms:Int64}}) * {{step_ms:Int64}} AS start_ms,
    {TALLY},
    {percentiles(Metric.STARTUP, where.is_long, (0.5, 0.95))}
FROM session_rows FINAL
WHERE {where.sql}
GROUP BY start_ms
ORDER BY start_ms
LIMIT {{most:UInt32}}
{SETTINGS}"""


def distribution(where: Condition, metric: Metric) -> str:
    """The bars as rows, and as their last one, without a place, the whole."""
    return f"""
SELECT roundDown(toFloat64(assumeNotNull({metric})), {{edges:Array(Float64)}}) AS from_ms,
    grouping(from_ms) AS whole,
    {percentiles(metric, where.is_long)}
FROM session_rows FINAL
WHERE {where.sql}
    AND {metric} IS NOT NULL
GROUP BY GROUPING SETS ((from_ms), ())
ORDER BY whole, from_ms
{SETTINGS}"""


def key(by: Dimension) -> str:
    if by is Dimension.HOUR:
        return "leftPad(toString(intDiv(session_start_ts, 3600000) % 24), 2, '0')"
    return f"nullIf({COLUMNS[by]}, '')"


def breakdown(where: Condition, by: Dimension, metrics: Sequence[Metric]) -> str:
    order = "key" if by is Dimension.HOUR else "sessions DESC, key"
    return _groups(where, by, metrics, f"sessions > 0\nORDER BY {order}")


_LEADING = {
    Leaders.SWAPS: ("swapped", "swapped DESC, sessions, key"),
    Leaders.FAILURES: ("unexcused", "unexcused DESC, known, key"),
    Leaders.SLOWEST: (f"{Metric.STARTUP}_count", f"{Metric.STARTUP}_levels[3] DESC, sessions DESC, key"),
}


def leaders(where: Condition, board: Board) -> str:
    counted, order = _LEADING[board.kind]
    needed = {Metric.STARTUP} if board.kind is Leaders.SLOWEST else set[Metric]()
    metrics = [metric for metric in Metric if metric in needed.union(board.metrics)]
    return _groups(where, board.by, metrics, f"{counted} > 0 AND sessions >= {{at_least:UInt32}}\nORDER BY {order}")


def _groups(where: Condition, by: Dimension, metrics: Sequence[Metric], kept: str) -> str:
    return f"""
SELECT {key(by)} AS key,
    {_figures(where, metrics)}
FROM session_rows FINAL
WHERE {where.sql}
GROUP BY key
HAVING {kept}
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

_HORIZON = "(SELECT max(greatest_ts) FROM event_horizons FINAL WHERE tenant_id = {tenant_id:UUID})"
_COMPUTED = {"is_final": f"toUInt8(final_from_ts <= {_HORIZON}) AS is_final"}
SESSION_COLUMNS = ",\n    ".join(_COMPUTED.get(field.name, field.name) for field in fields(SessionRow))
PARTS = f"arraySlice(segments, 1, {MOST_PARTS}) AS segments, arraySlice(parameters, 1, {MOST_PARTS}) AS parameters"
NO_PARTS = "emptyArrayString() AS segments, emptyArrayString() AS parameters"
DIGEST = "hex(sipHash128(workflow_session_id))"
DIGEST_BYTES = "sipHash128(workflow_session_id)"  # sorts alike, and costs less


def page(where: str, order: Order, between: str, window: Window) -> str:
    """The keys of the page are found in few columns; only its rows are read whole. A row without an id: no rows.

    Of so few rows the versions are put together by hand: FINAL would read all columns of everything beside them.
    """
    direction = "ASC" if window.from_the_end else "DESC"
    value = ORDERED_BY[order]
    sorted_by = f"order_value {direction}, session_start_ts {direction}, digest {direction}"
    return f"""
WITH (
    SELECT count() FROM (SELECT 1 FROM session_rows FINAL WHERE {where} LIMIT {MOST_COUNTED})
) AS total
SELECT counted.total_count AS total_count, found.*
FROM (SELECT total AS total_count) AS counted
LEFT JOIN (
    SELECT * EXCEPT is_deleted
    FROM (
        SELECT {SESSION_COLUMNS},
            {PARTS if window.with_parts else NO_PARTS},
            {value} AS order_value, {DIGEST} AS digest, is_deleted
        FROM session_rows
        PREWHERE tenant_id = {{tenant_id:UUID}} AND (start_day, workflow_session_id) IN (
            SELECT start_day, workflow_session_id FROM session_rows FINAL
            WHERE {where}
                AND {between}
                AND {_days(where, between, direction) if order is Order.LATEST else 1}
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


def _days(where: str, between: str, direction: str) -> str:
    """The days that a page by time reaches into: few, and found in less than the rest of it needs of all days."""
    sign, last = (">=", "min") if direction == "DESC" else ("<=", "max")
    return f"""start_day {sign} (
                    SELECT {last}(start_day) FROM (
                        SELECT start_day FROM session_rows FINAL
                        WHERE {where}
                            AND {between}
                        ORDER BY start_day {direction}
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
