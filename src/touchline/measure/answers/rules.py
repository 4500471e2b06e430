"""What may be asked, and how an answer is cut into buckets and bars. Pure.

Invariant: everything has a largest size; beyond it the question is refused, never cut in silence.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from touchline.kernel.clock import epoch_ms
from touchline.kernel.errors import InvalidInput
from touchline.measure.own.model import GATEWAY
from touchline.measure.sessions.model import SessionRow
from touchline.measure.sessions.settings import CANCELLED

from .model import Bar, Filter, Progress, Range
from .settings import AnswerSettings

MOST_BUCKETS = 1_000
MOST_GROUPS = 200
MOST_AT_LEAST = 1_000_000_000
LONGEST_TEXT = 500
DEFAULT_WINDOW_S = 30
LONGEST_WINDOW_S = 3_600

MINUTE_MS = 60_000
STEPS_S = (60, 300, 900, 3_600, 3 * 3_600, 6 * 3_600, 12 * 3_600, 86_400)
USUAL_BUCKETS = 200  # as many as a chart can show
LONGEST_STEP_S = 366 * 86_400

# Where bars begin: ten to a decade, so that a bar is at most a third wider than the one before.
_DECADE = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
BAR_EDGES = (0.0, *(round(part * 10**power, 1) for power in range(1, 9) for part in _DECADE), 1e9)


def range_of(wanted: Filter, now: datetime, settings: AnswerSettings) -> Range:
    until = utc(wanted.until) if wanted.until else now
    since = utc(wanted.since) if wanted.since else _back(until, settings.default_range)
    if since >= until:
        raise InvalidInput("not a range of time", field="filter.from", why="it does not lie before its end")
    if until - since > settings.longest_range:
        why = f"one answer covers at most {settings.longest_range.days} days"
        raise InvalidInput("too long a time", field="filter.from", why=why, hint="Ask for parts of it.")
    return Range(epoch_ms(since), _up(until))


def whole_minutes(covered: Range) -> Range:
    """What is counted by the minute is told by whole ones."""
    return Range(covered.since_ms // MINUTE_MS * MINUTE_MS, -(-covered.until_ms // MINUTE_MS) * MINUTE_MS)


def utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def check_texts(wanted: Filter) -> None:
    names = ("workflow_type", "gateway", "orchestrator", "model", "gpu", "search")
    for name in names:
        if len(getattr(wanted, name) or "") > LONGEST_TEXT:
            raise InvalidInput("too long a text", field=f"filter.{name}", why=f"the most is {LONGEST_TEXT} characters")


def bucket_seconds(covered: Range, wanted: int | None) -> int:
    """What was asked for, else the shortest usual step that a chart can still show."""
    if wanted is None:
        usual = (step for step in STEPS_S if buckets_in(covered, step) <= USUAL_BUCKETS)
        return next(usual, STEPS_S[-1])
    if not 1 <= wanted <= LONGEST_STEP_S:
        raise InvalidInput("not a length", field="bucket_seconds", why=f"it is between 1 and {LONGEST_STEP_S}")
    if buckets_in(covered, wanted) > MOST_BUCKETS:
        why = f"the range would have more than {MOST_BUCKETS} of them"
        raise InvalidInput("too short buckets", field="bucket_seconds", why=why)
    return wanted


def buckets_in(covered: Range, seconds: int) -> int:
    return len(bucket_starts(covered, seconds))


def bucket_starts(covered: Range, seconds: int) -> range:
    """All of them, aligned to the epoch: the first may begin before the range."""
    step = seconds * 1_000
    return range(covered.since_ms // step * step, covered.until_ms, step)


def check_first(first: int, most: int = MOST_GROUPS) -> int:
    if not 1 <= first <= most:
        raise InvalidInput("not a number of rows", field="first", why=f"it is between 1 and {most}")
    return first


def bars_of(counts: Mapping[float, int]) -> Sequence[Bar]:
    """From the first that holds something to the last, the empty ones between them too."""
    held = sorted(counts)
    if not held:
        return []
    first, last = bisect_left(BAR_EDGES, held[0]), bisect_right(BAR_EDGES, held[-1])
    edges = [*BAR_EDGES[first : last + 1]]
    if last == len(BAR_EDGES):
        edges.append(BAR_EDGES[-1] * 10)  # the last bar holds everything that is longer
    return [Bar(low, high, counts.get(low, 0)) for low, high in pairwise(edges)]


def progress_of(row: SessionRow) -> Progress:
    """The same for one row as `conditions.RUNNING` and `conditions.CANCELLED` are for many."""
    if not row.is_final and row.startup_excused and CANCELLED in row.excusable_patterns:
        return Progress.CANCELLED
    goes_on = row.closed_ts is None and (not row.error_count or row.gateway == GATEWAY)
    if not row.is_final and row.startup_unexcused and goes_on:
        return Progress.RUNNING
    return Progress(row.startup_outcome)


def _back(until: datetime, by: timedelta) -> datetime:
    """A range that would begin before the year 1 begins there."""
    first = datetime.min.replace(tzinfo=UTC)
    return until - by if until - first > by else first


def _up(moment: datetime) -> int:
    """The first whole millisecond that is not before it, so that nothing before it is left out."""
    return epoch_ms(moment + timedelta(microseconds=999)) if moment.microsecond % 1_000 else epoch_ms(moment)
