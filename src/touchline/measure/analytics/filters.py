"""A filter as SQL: only what it asks for, every value bound.

Invariant: the tenant and the days of the range come first, because they are the order of the table: few days, little
to read. What does not belong to that order is looked at after old versions of a row are gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from touchline.measure.facts.rules import start_day
from touchline.measure.ingest.self_metrics import GATEWAY
from touchline.measure.settings import CANCELLED as PATTERN

from .rules import Dimension, Filter, Progress, TimeRange

COLUMNS = {
    Dimension.GATEWAY: "gateway",
    Dimension.ORCHESTRATOR: "orchestrator_address",
    Dimension.MODEL: "model_id",
    Dimension.GPU: "gpu_id",
    Dimension.WORKFLOW_TYPE: "workflow_type",
}
LOWER_CASE = frozenset({"orchestrator_address"})  # as the facts keep it
SEARCHED = (
    "workflow_session_id",
    "orchestrator_address",
    "orchestrator_url",
    "gateway",
    "workflow_id",
    "pipeline_id",
)

RANGE = """tenant_id = {tenant_id:UUID}
    AND start_day BETWEEN {first_day:Date} AND {last_day:Date}
    AND session_start_ts >= {since_ms:Int64} AND session_start_ts < {until_ms:Int64}"""


# The clock of the tenant's sessions: one that ends behind it is not final.
HORIZON = "(SELECT max(greatest_ts) FROM event_horizons FINAL WHERE tenant_id = {tenant_id:UUID})"
# Our own work is closed when it has failed: until then an error only means another attempt.
RUNNING = f"""final_from_ts > {HORIZON} AND startup_unexcused = 1 AND closed_ts IS NULL
    AND (error_count = 0 OR ifNull(gateway, '') = '{GATEWAY}')"""
CANCELLED = f"final_from_ts > {HORIZON} AND startup_excused = 1 AND has(excusable_patterns, '{PATTERN}')"


@dataclass(frozen=True, slots=True)
class Condition:
    sql: str
    values: dict[str, object]


def condition(wanted: Filter, covered: TimeRange) -> Condition:
    parts, values = [RANGE], _range(covered)
    for name, column in _texts(wanted):
        parts.append(f"ifNull({column}, '') = {{{name}:String}}")
        value: str = getattr(wanted, name)
        values[name] = value.lower() if column in LOWER_CASE else value
    if wanted.outcome is not None:
        parts.append(_outcome(wanted.outcome, values))
    parts += [sql for flag, sql in _flags(wanted) if flag is not None]
    if wanted.search and wanted.search.strip():
        parts.append(_search())
        values["search"] = wanted.search.strip()
    parts += _bounds(wanted, values)
    return Condition("\n    AND ".join(parts), values)


def days(covered: TimeRange) -> tuple[date, date]:
    """The first and the last day on which a session of the range may start, as the table keeps days."""
    return start_day(max(covered.since_ms, 0)), start_day(max(covered.until_ms - 1, 0))


def _range(covered: TimeRange) -> dict[str, object]:
    first, last = days(covered)
    return {"first_day": first, "last_day": last, "since_ms": covered.since_ms, "until_ms": covered.until_ms}


def moment(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


def _texts(wanted: Filter) -> list[tuple[str, str]]:
    return [(str(one), column) for one, column in COLUMNS.items() if getattr(wanted, str(one)) is not None]


def _flags(wanted: Filter) -> list[tuple[bool | None, str]]:
    return [
        (wanted.swapped, "swap_count > 0" if wanted.swapped else "swap_count = 0"),
        (wanted.failed, f"(startup_unexcused = 1 AND NOT ({RUNNING})) = {int(bool(wanted.failed))}"),
    ]


def _outcome(outcome: Progress, values: dict[str, object]) -> str:
    """A session that is open has no outcome yet, whatever its row says."""
    match outcome:
        case Progress.RUNNING:
            return RUNNING
        case Progress.CANCELLED:
            return CANCELLED
        case Progress.UNEXCUSED | Progress.EXCUSED:
            values["outcome"] = str(outcome)
            return f"startup_outcome = {{outcome:String}} AND NOT ({RUNNING}) AND NOT ({CANCELLED})"
        case _:
            values["outcome"] = str(outcome)
            return "startup_outcome = {outcome:String}"


def _bounds(wanted: Filter, values: dict[str, object]) -> list[str]:
    """Sessions with a latency, from the one to just below the other."""
    if wanted.metric is None:
        return []
    parts = [f"{wanted.metric} IS NOT NULL"]
    for name, sign in (("at_least_ms", ">="), ("below_ms", "<")):
        if (value := getattr(wanted, name)) is not None:
            parts.append(f"{wanted.metric} {sign} {{{name}:Float64}}")
            values[name] = value
    return parts


def _search() -> str:
    """Texts without case, wherever they stand; what is not known holds nothing."""
    found = (f"ifNull(positionCaseInsensitiveUTF8({column}, {{search:String}}), 0) > 0" for column in SEARCHED)
    return f"({' OR '.join(found)})"
