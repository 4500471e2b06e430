"""Which part of a question sums can answer, and how finely they keep lengths of time. Pure.

Invariant: few values are kept as they are; of more, each is put down to the lower end of a small step, by sums and by
rows alike, so that a percentile is the same wherever it was counted. Steps are at most a hundredth of what they hold,
and no bar begins within one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from touchline.kernel import TenantId
from touchline.measure.analytics.filters import COLUMNS, LOWER_CASE, days
from touchline.measure.analytics.rules import Dimension, Filter, TimeRange
from touchline.measure.facts.rules import LATEST_DAY, start_day


class DueDay(NamedTuple):
    """A day whose sum is missing or older than its rows, with the notes of its writers."""

    tenant_id: TenantId
    start_day: date
    begun: int
    ended: int


class WeekRollup(NamedTuple):
    """From Monday on, the sums of seven days, and a name that follows from theirs."""

    monday: date
    name: UUID
    days: Sequence[UUID]


@dataclass(frozen=True, slots=True)
class RollupPart:
    """The part of an answer that sums know: these days, by this dimension, of this key or of all."""

    by: Dimension
    key: str | None
    days: Mapping[date, UUID]  # with the name of the sum that counts
    others: Sequence[date]  # of the range: they are read row by row

    @property
    def values(self) -> dict[str, object]:
        key = {} if self.key is None else {"key": self.key}
        return {"by": str(self.by), "of_days": list(self.days), "made": list(self.days.values()), **key}


@dataclass(frozen=True, slots=True)
class ReachRequest:
    """For how many sessions of a list, by falling values of a column or from the latest day back, and behind what."""

    column: str | None
    needed: int
    behind: tuple[int, date] | None  # lower than this, or the same on an earlier day


@dataclass(frozen=True, slots=True)
class PageReach:
    """How far a page reaches: sums know of enough sessions with a higher value than `low`, or with that value and from
    that day on. Where a step holds several values, no day is known. `total` counts what sums know of the whole list."""

    low: int
    day: date | None
    total: int


DAY_MS = 86_400_000
HOUR_S = 3_600
_EPOCH = date(1970, 1, 1)
EVERY_DAY = (_EPOCH, LATEST_DAY)
# From each of these on a step is a hundredth of it: 1 ms below 200 ms, then 2 ms, from half a second on 5 ms, …
STEPS_FROM = tuple(part * 10**power for power in range(2, 16) for part in (1, 2, 5))
FEW = 100  # values that are kept as they are
_NOT_SUMMED = ("outcome", "swapped", "failed", "search", "metric")


def step(value: int) -> int:
    return STEPS_FROM[max(bisect_right(STEPS_FROM, value) - 1, 0)] // 100


def told(value: int, count: int) -> int:
    """As percentiles of so many tell it: the middle of its step is at most half a hundredth off."""
    return value if count <= FEW else value - value % step(value) + step(value) // 2


def behind(value: int, start_ms: int) -> tuple[int, date]:
    """What certainly comes after a place in a list by falling values. Of the same step only earlier days of the same
    value do, and where it holds several values, nothing."""
    low = value - value % step(value)
    return low, start_day(max(start_ms, 0)) if step(value) == 1 else _EPOCH


def grouping(wanted: Filter, by: Dimension | None) -> tuple[Dimension, str | None] | None:
    """Whose sums answer it, and of which key. None when sums know too little: each is by one dimension only."""
    if any(getattr(wanted, name) is not None for name in _NOT_SUMMED):
        return None
    chosen = [one for one in COLUMNS if getattr(wanted, str(one)) is not None]
    if len({*chosen, *([by] if by else [])}) > 1:
        return None
    if not chosen:
        return by or Dimension.WORKFLOW_TYPE, None
    value: str = getattr(wanted, str(chosen[0]))
    return chosen[0], value.lower() if COLUMNS[chosen[0]] in LOWER_CASE else value


def whole_days(covered: TimeRange) -> tuple[date, date] | None:
    """The first and the last day that lie in the range from beginning to end. What is kept under the latest day that
    there is may start later."""
    first, end = -(-max(covered.since_ms, 0) // DAY_MS), covered.until_ms // DAY_MS
    last = min(end - 1, (LATEST_DAY - _EPOCH).days - 1)
    return (_EPOCH + timedelta(days=first), _EPOCH + timedelta(days=last)) if first <= last else None


def weeks(known: Mapping[date, UUID]) -> list[WeekRollup]:
    """Those of which every day is known, with a name that no other sums of these days have."""
    mondays = [day for day in known if day.weekday() == 0]
    each = {monday: [known.get(monday + timedelta(days=at)) for at in range(7)] for monday in mondays}
    return [WeekRollup(monday, _name(days), days) for monday, found in each.items() if len(days := _all(found)) == 7]


def _all(found: Sequence[UUID | None]) -> list[UUID]:
    return [made for made in found if made]


def _name(days: Sequence[UUID]) -> UUID:
    return UUID(bytes=sha256(b"".join(day.bytes for day in days)).digest()[:16])


def by_weeks(known: Mapping[date, UUID], made: Mapping[UUID, UUID]) -> dict[date, UUID]:
    """The same days, but that the sum of a week stands for those of its days, under the first of them."""
    found = {**known}
    for week in weeks(known):
        if week.name in made:
            for at in range(7):
                del found[week.monday + timedelta(days=at)]
            found[week.monday] = made[week.name]
    return found


def part(by: tuple[Dimension, str | None], covered: TimeRange, known: Mapping[date, UUID]) -> RollupPart:
    first, last = days(covered)
    each = (first + timedelta(days=at) for at in range((last - first).days + 1))
    return RollupPart(*by, known, [day for day in each if day not in known])
