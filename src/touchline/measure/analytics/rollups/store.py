"""All SQL of rollups: the sessions of a day or a week, counted in advance.

Invariant: a rollup is made from the latest versions of a day's sessions and is never changed. A new one replaces it
only when it has been written completely; until then, and for a while after, readers find the one that they know.
"""

# ruff: noqa: S608  what is put into the statements are constant names and conditions; values are bound

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from uuid import UUID, uuid4

from touchline.kernel import TenantId
from touchline.measure.analytics.filters import COLUMNS
from touchline.measure.analytics.rules import Dimension, Metric
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.store import ensure_schema

from .rules import EVERY_DAY, FEW, STEPS_FROM, DueDay, PageReach, ReachRequest, RollupPart, WeekRollup, step

MODULE = "rollups"
MOST = 2**62

TALLY = {
    "sessions": "toUInt64(1)",
    "known": "toUInt64(known_stream)",
    "success": "toUInt64(startup_success)",
    "excused": "toUInt64(startup_excused)",
    "unexcused": "toUInt64(startup_unexcused)",
    "swapped": "toUInt64(swap_count > 0)",
    "errors": "toUInt64(error_count)",
}
# Partitions are months of the day a session starts on, which is a part of the key: no row has versions in two.
SETTINGS = "SETTINGS do_not_merge_across_partitions_select_final = 1"
# Lengths of time, and what lists are sorted by beside them.
KEPT = (*map(str, Metric), "error_count", "swap_count")
_TALLY_COLUMNS = "".join(f"{name} UInt64, " for name in TALLY)
_LOWS, _WEIGHTS = "Array(Int64) CODEC(T64, LZ4)", "Array(UInt32) CODEC(T64, LZ4)"
_METRIC_COLUMNS = "".join(f"{m}_count UInt64, {m}_lows {_LOWS}, {m}_weights {_WEIGHTS}, " for m in KEPT)

CREATE_ROLLUPS = f"""
-- A day's sessions, or a week's under its first day, by one dimension: `by` says which, an empty key that it is not
-- known. Of each value the steps that occur, ascending, and how many sessions are in each; few values are there as they
-- are, each for itself. `made` names the sum that a row is a part of.
CREATE TABLE IF NOT EXISTS session_sums (
    tenant_id UUID,
    by LowCardinality(String),
    days UInt8,
    start_day Date,
    key LowCardinality(String),
    {_TALLY_COLUMNS}
    {_METRIC_COLUMNS}
    made UUID,
    made_at DateTime64(3, 'UTC') DEFAULT now64(3)
) ENGINE = MergeTree
PARTITION BY toYYYYMM(start_day)
ORDER BY (tenant_id, by, days, start_day, key, made)
SETTINGS index_granularity = 128
"""

CREATE_SUMMED = """
-- Which sum of a day counts, and the notes of writers that it was made after.
CREATE TABLE IF NOT EXISTS summed_days (
    tenant_id UUID,
    start_day Date,
    begun UInt64,
    ended UInt64,
    made UUID,
    made_at DateTime64(3, 'UTC') DEFAULT now64(3)
) ENGINE = ReplacingMergeTree(begun)
ORDER BY (tenant_id, start_day)
"""

CREATE_WEEKS = """
-- Sums of whole weeks, which sum up those of their days: `name` follows from the names of all seven.
CREATE TABLE IF NOT EXISTS summed_weeks (
    tenant_id UUID,
    start_day Date,
    name UUID,
    made UUID,
    made_at DateTime64(3, 'UTC') DEFAULT now64(3)
) ENGINE = ReplacingMergeTree(made_at)
ORDER BY (tenant_id, start_day)
"""

SCHEMA = (CREATE_ROLLUPS, CREATE_SUMMED, CREATE_WEEKS)
_STEPS_FROM = f"CAST({list(STEPS_FROM)}, 'Array(Int64)')"


def _step(value: str) -> str:
    return f"intDiv(roundDown({value}, {_STEPS_FROM}), 100)"


def low(value: str) -> str:
    """The lower end of the step that a length is in."""
    return f"({value} - {value} % {_step(value)})"


def told(count: str, few: str, lows: str, levels: Sequence[float]) -> str:
    """As percentiles tell them: one of few values, else the middle of a step."""
    exact = f"arrayMap(level -> arraySort({few})[toUInt32(ceil(level * {count}))], {list(levels)})"
    middle = f"arrayMap(low -> {low('low')} + intDiv({_step('low')}, 2), {lows})"
    return f"if({count} <= {FEW}, {exact}, {middle})"


def key(by: Dimension) -> str:
    """As sums keep it."""
    if by is Dimension.HOUR:
        return "leftPad(toString(intDiv(session_start_ts, 3600000) % 24), 2, '0')"
    return f"ifNull({COLUMNS[by]}, '')"


def units(metrics: Sequence[Metric]) -> list[str]:
    """Latencies of one session as a sum has them, and the few values beside their steps."""
    return [
        f"toUInt64({m} IS NOT NULL) AS {m}_there, arrayResize([{low(f'ifNull({m}, 0)')}], {m}_there) AS {m}_lows, "
        f"arrayResize([toUInt32(1)], {m}_there) AS {m}_weights, arrayResize([ifNull({m}, 0)], {m}_there) AS {m}_few"
        for m in metrics
    ]


def summed(metrics: Sequence[Metric]) -> list[str]:
    """The same of sums."""
    return [
        f"{m}_count AS {m}_there, {m}_lows, {m}_weights, if({m}_there <= {FEW}, {m}_lows, []) AS {m}_few"
        for m in metrics
    ]


_KEYS = ", ".join(f"{key(by)} AS {by}_key" for by in Dimension)
_BY = ", ".join(f"grouping({by}_key) = 0, '{by}'" for by in Dimension)
_KEY = ", ".join(f"toString({by}_key)" for by in Dimension)  # all but one are empty
_SETS = ", ".join(f"({by}_key, kind, low)" for by in Dimension)
# Each session as a row for the tally, which is of kind 0, and as one for each value that it has.
_VALUES = ", ".join(
    f"({kind}, toInt64(ifNull({name}, 0)), {name} IS NOT NULL)" for kind, name in enumerate(KEPT, start=1)
)
_GATHERED = ", ".join(
    f"arraySort(groupArrayIf((low, weight), kind = {kind})) AS {name}_pairs, "
    f"arraySort(groupArrayArrayIf({FEW})(few, kind = {kind})) AS {name}_few"
    for kind, name in enumerate(KEPT, start=1)
)
_PARTS = ", ".join(
    f"arraySum({n}_pairs.2) AS {n}_count, if({n}_count <= {FEW}, {n}_few, {n}_pairs.1) AS {n}_lows, "
    f"if({n}_count <= {FEW}, arrayWithConstant(length({n}_few), toUInt32(1)), {n}_pairs.2) AS {n}_weights"
    for n in KEPT
)
_ADDED = ", ".join(f"sum({name}) AS {name}" for name in TALLY)
NAMES = ("by", "key", *TALLY, *(f"{name}_{part}" for name in KEPT for part in ("count", "lows", "weights")))
# What the sum of a day holds, in the order of NAMES.
DAY = f"""
SELECT by, key, {", ".join(TALLY)}, {_PARTS}
FROM (
    SELECT by, key, {_ADDED}, {_GATHERED}
    FROM (
        SELECT multiIf({_BY}, '') AS by, concat({_KEY}) AS key, kind, low, toUInt32(count()) AS weight,
            groupArray({FEW})(value) AS few,
            {", ".join(f"sumIf({sql}, kind = 0) AS {name}" for name, sql in TALLY.items())}
        FROM (
            SELECT * EXCEPT one, one.1 AS kind, one.2 AS value, {low("value")} AS low
            FROM (
                SELECT known_stream, startup_success, startup_excused, startup_unexcused, swap_count, error_count,
                    {_KEYS},
                    arrayJoin(arrayFilter(kept -> kept.3, [(0, toInt64(0), 1), {_VALUES}])) AS one
                FROM session_rows FINAL
                WHERE tenant_id = {{tenant_id:UUID}} AND start_day = {{day:Date}}
            )
        )
        GROUP BY GROUPING SETS ({_SETS})
    )
    GROUP BY by, key
)
"""

SUM = f"""
INSERT INTO session_sums (tenant_id, days, start_day, made, {", ".join(NAMES)})
SELECT {{tenant_id:UUID}}, 1, {{day:Date}}, {{made:UUID}}, * FROM ({DAY})
{SETTINGS}, max_threads = 1
"""

_OF_WEEK = """tenant_id = {tenant_id:UUID}
            AND start_day BETWEEN {day:Date} AND {day:Date} + 6 AND made IN {days:Array(UUID)}"""
_FEW_OF_DAYS = ", ".join(f"groupArrayArrayIf({FEW})({n}_lows, {n}_count <= {FEW}) AS {n}_own" for n in KEPT)
_NOTHING = ", ".join([*(f"0 AS {name}" for name in TALLY), *(f"emptyArrayInt64() AS {name}_own" for name in KEPT)])
_STEPS_OF_DAYS = "".join(
    f"""
        UNION ALL
        SELECT by, key, {kind} AS kind, {low("value")} AS low, toUInt32(sum(part)) AS weight, {_NOTHING}
        FROM (SELECT by, key, {name}_lows, {name}_weights FROM session_sums WHERE {_OF_WEEK})
        ARRAY JOIN {name}_lows AS value, {name}_weights AS part
        GROUP BY by, key, low"""
    for kind, name in enumerate(KEPT, start=1)
)
_GATHERED_DAYS = ", ".join(
    f"arraySort(groupArrayIf((low, weight), kind = {kind})) AS {name}_pairs, "
    f"arraySort(groupArrayArray({FEW})({name}_own)) AS {name}_few"
    for kind, name in enumerate(KEPT, start=1)
)
# What the sum of a week holds, from the sums of its days.
WEEK = f"""
SELECT by, key, {", ".join(TALLY)}, {_PARTS}
FROM (
    SELECT by, key, {_ADDED}, {_GATHERED_DAYS}
    FROM (
        SELECT by, key, 0 AS kind, toInt64(0) AS low, toUInt32(0) AS weight, {_ADDED}, {_FEW_OF_DAYS}
        FROM session_sums WHERE {_OF_WEEK} GROUP BY by, key{_STEPS_OF_DAYS}
    )
    GROUP BY by, key
)
"""

SUM_WEEK = f"""
INSERT INTO session_sums (tenant_id, days, start_day, made, {", ".join(NAMES)})
SELECT {{tenant_id:UUID}}, 7, {{day:Date}}, {{made:UUID}}, * FROM ({WEEK})
SETTINGS max_threads = 1
"""

WEEK_COUNTS = """
INSERT INTO summed_weeks (tenant_id, start_day, name, made)
SELECT {tenant_id:UUID}, {day:Date}, {name:UUID}, {made:UUID}
FROM session_sums
WHERE tenant_id = {tenant_id:UUID} AND start_day = {day:Date} AND made = {made:UUID}
HAVING count() = uniqExact(by, key)
"""

WEEKS = """
SELECT toString(name) AS week, toString(max(made)) AS sum FROM summed_weeks
WHERE tenant_id = {tenant_id:UUID} AND name IN {names:Array(UUID)}
GROUP BY name
"""

SUMMED = """
-- Tenants of which days were summed lately.
SELECT DISTINCT toString(tenant_id) AS tenant FROM summed_days WHERE made_at > now64(3) - toIntervalDay(1)
"""

COUNTS = """
-- It counts from now on, unless its rows came twice.
INSERT INTO summed_days (tenant_id, start_day, begun, ended, made)
SELECT {tenant_id:UUID}, {day:Date}, {begun:UInt64}, {ended:UInt64}, {made:UUID}
FROM session_sums
WHERE tenant_id = {tenant_id:UUID} AND start_day = {day:Date} AND made = {made:UUID}
HAVING count() = uniqExact(by, key)
"""

_LAST = "argMax((begun, ended, made), (begun, ended, made))"

FRESH = f"""
-- Days whose sum was made after all that was ever written under them.
SELECT start_day, toString(last.3) AS made
FROM (
    SELECT start_day, sum(begun) AS begun, sum(ended) AS ended FROM session_days
    WHERE tenant_id = {{tenant_id:UUID}} AND start_day BETWEEN {{first_whole:Date}} AND {{last_whole:Date}}
    GROUP BY start_day
) AS noted
INNER JOIN (
    SELECT start_day, {_LAST} AS last FROM summed_days
    WHERE tenant_id = {{tenant_id:UUID}} AND start_day BETWEEN {{first_whole:Date}} AND {{last_whole:Date}}
    GROUP BY start_day
) AS summed USING (start_day)
WHERE (last.1, last.2) = (begun, ended)
"""

DUE = f"""
-- Of every tenant, the latest first. A day is left alone while it is written, and where a write did not end, for
-- longer than one can take.
SELECT toString(tenant_id) AS tenant, start_day, begun, ended
FROM (
    SELECT tenant_id, start_day, sum(begun) AS begun, sum(ended) AS ended, max(noted_at) AS noted_at
    FROM session_days GROUP BY tenant_id, start_day
) AS noted
LEFT JOIN (
    SELECT tenant_id, start_day, {_LAST} AS last, 1 AS there FROM summed_days GROUP BY tenant_id, start_day
) AS summed USING (tenant_id, start_day)
WHERE NOT (there AND (last.1, last.2) = (begun, ended))
    AND noted_at <= now64(6) - toIntervalSecond(if(begun = ended, {{quiet_s:UInt32}}, {{longest_s:UInt32}}))
ORDER BY start_day DESC, tenant_id
LIMIT {{limit:UInt32}}
"""

# Neither what counts, nor what somebody may still read or is about to let count.
_FORGOTTEN = f"""made_at < now64(3) - toIntervalSecond({{after_s:UInt32}})
    AND (tenant_id, start_day, made) NOT IN (
        SELECT tenant_id, start_day, {_LAST}.3 FROM summed_days GROUP BY tenant_id, start_day
        UNION ALL
        SELECT tenant_id, start_day, argMax(made, made_at) FROM summed_weeks GROUP BY tenant_id, start_day
    )
    AND (tenant_id, start_day) NOT IN (
        SELECT tenant_id, start_day FROM summed_days WHERE made_at > now64(3) - toIntervalSecond({{after_s:UInt32}})
        UNION ALL
        SELECT tenant_id, start_day FROM summed_weeks WHERE made_at > now64(3) - toIntervalSecond({{after_s:UInt32}})
    )"""
# Sums of the days that a question covers, of one key or of all.
OF_DAYS = """tenant_id = {tenant_id:UUID} AND by = {by:String}
    AND start_day IN {of_days:Array(Date)} AND made IN {made:Array(UUID)}"""
OF_KEY = " AND key = {key:String}"

REACH = """
-- The first place, by falling values and days, to which there are as many sessions as are needed behind another one.
SELECT low, start_day, total FROM (
    SELECT low, start_day, sum(weight) OVER (ORDER BY low DESC, start_day DESC) AS reached, total
    FROM (
        SELECT low, start_day, sum(sessions) AS weight
        FROM ({found})
        WHERE (low, start_day) < ({{below:Int64}}, {{before:Date}})
        GROUP BY low, start_day
    ) AS placed
    CROSS JOIN (SELECT sum(sessions) AS total FROM session_sums WHERE {rollups}) AS counted
)
WHERE reached >= {{needed:UInt64}}
ORDER BY low DESC, start_day DESC
LIMIT 1
"""


def reach(column: str | None, of_key: bool) -> str:
    """By a value, or by days alone."""
    rollups = OF_DAYS + OF_KEY * of_key
    if column is None:
        found = f"SELECT toInt64(0) AS low, start_day, sessions FROM session_sums WHERE {rollups}"
    else:
        columns = f"{column}_lows AS low, {column}_weights AS sessions"
        of_days = f"SELECT start_day, {column}_lows, {column}_weights FROM session_sums WHERE {rollups}"
        found = f"SELECT start_day, low, sessions FROM ({of_days}) ARRAY JOIN {columns}"
    return REACH.format(found=found, rollups=rollups)


def disagrees(expected: str) -> str:
    """What of a sum is not what counting again gives."""
    return f"""
SELECT by, key FROM (
    SELECT {", ".join(NAMES)} FROM session_sums
    WHERE tenant_id = {{tenant_id:UUID}} AND start_day = {{day:Date}} AND made = {{made:UUID}}
    UNION ALL
    SELECT * FROM ({expected})
)
GROUP BY {", ".join(NAMES)}
HAVING count() != 2
ORDER BY by, key
{SETTINGS}"""


FORGET = f"DELETE FROM session_sums WHERE {_FORGOTTEN}"
FORGOTTEN = f"SELECT count() AS rows FROM session_sums WHERE {_FORGOTTEN}"


async def ensure_tables(analytics: Analytics) -> None:
    await ensure_schema(analytics, MODULE, SCHEMA)


class RollupStore:
    def __init__(self, analytics: Analytics) -> None:
        self._analytics = analytics

    async def fresh(self, tenant_id: TenantId, first: date, last: date) -> dict[date, UUID]:
        """Days of which the sum holds everything, each with the name of its sum."""
        values = {"first_whole": first, "last_whole": last}
        table = await self._analytics.within(tenant_id).query_arrow(FRESH, values)
        return {row["start_day"]: UUID(row["made"]) for row in table.to_pylist()}

    async def weeks(self, tenant_id: TenantId, names: Sequence[UUID]) -> dict[UUID, UUID]:
        """Those that are summed, with the names of their sums."""
        if not names:
            return {}
        table = await self._analytics.within(tenant_id).query_arrow(WEEKS, {"names": list(names)})
        return {UUID(row["week"]): UUID(row["sum"]) for row in table.to_pylist()}

    async def reach(self, tenant_id: TenantId, summed: RollupPart, asked: ReachRequest) -> PageReach | None:
        """None when sums know of too few sessions."""
        below, before = asked.behind or (MOST, EVERY_DAY[0])
        values = {"below": below, "before": before, "needed": asked.needed}
        sql = reach(asked.column, summed.key is not None)
        rows = (await self._analytics.within(tenant_id).query_arrow(sql, {**values, **summed.values})).to_pylist()
        if not rows:
            return None
        exact = asked.column is None or step(rows[0]["low"]) == 1
        return PageReach(rows[0]["low"], rows[0]["start_day"] if exact else None, rows[0]["total"])

    async def due(self, quiet: timedelta, longest: timedelta, limit: int) -> Sequence[DueDay]:
        """Days to be summed, of all tenants: nobody has written there for so long."""
        values = {"quiet_s": _seconds(quiet), "longest_s": _seconds(longest), "limit": limit}
        rows = (await self._analytics.query_arrow(DUE, values)).to_pylist()
        return [DueDay(TenantId(UUID(row["tenant"])), row["start_day"], row["begun"], row["ended"]) for row in rows]

    async def sum(self, due: DueDay) -> None:
        """Whatever is written meanwhile is noted first, so that this sum does not count then."""
        own, made = self._analytics.within(due.tenant_id), uuid4()
        await own.command(SUM, {"day": due.start_day, "made": made})
        notes = {"begun": due.begun, "ended": due.ended}
        await own.command(COUNTS, {"day": due.start_day, "made": made} | notes)

    async def sum_week(self, tenant_id: TenantId, week: WeekRollup) -> None:
        """It holds for as long as every one of these days does."""
        own, made = self._analytics.within(tenant_id), uuid4()
        values = {"day": week.monday, "made": made}
        await own.command(SUM_WEEK, values | {"days": list(week.days)})
        await own.command(WEEK_COUNTS, values | {"name": week.name})

    async def wrong_of_day(self, tenant_id: TenantId, day: date, made: UUID) -> list[str]:
        """Dimensions and keys in which a sum is not what its sessions give; nothing while they are written."""
        wrong = await self._wrong(tenant_id, disagrees(DAY), {"day": day, "made": made})
        return wrong if wrong and (await self.fresh(tenant_id, day, day)).get(day) == made else []

    async def wrong_of_week(self, tenant_id: TenantId, week: WeekRollup, made: UUID) -> list[str]:
        values = {"day": week.monday, "made": made, "days": list(week.days)}
        return await self._wrong(tenant_id, disagrees(WEEK), values)

    async def _wrong(self, tenant_id: TenantId, sql: str, values: Mapping[str, object]) -> list[str]:
        rows = (await self._analytics.within(tenant_id).query_arrow(sql, values)).to_pylist()
        return sorted({f"{row['by']} {row['key']}" for row in rows})

    async def tenants(self) -> list[TenantId]:
        """Of which days were summed in the last day."""
        rows = (await self._analytics.query_arrow(SUMMED)).to_pylist()
        return [TenantId(UUID(row["tenant"])) for row in rows]

    async def forget(self, after: timedelta) -> None:
        """Sums in whose place others have been for so long."""
        values = {"after_s": _seconds(after)}
        [row] = (await self._analytics.query_arrow(FORGOTTEN, values)).to_pylist()
        if row["rows"]:
            await self._analytics.command(FORGET, values)


def _seconds(length: timedelta) -> int:
    return int(length.total_seconds())
