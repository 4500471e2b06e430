"""What is known of summed days, and how an answer is put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple
from uuid import UUID

from touchline.kernel import TenantId
from touchline.measure.answers.model import Dimension


class DueDay(NamedTuple):
    """A day whose sum is missing or older than its rows, with the notes of its writers."""

    tenant_id: TenantId
    start_day: date
    begun: int
    ended: int


class Week(NamedTuple):
    """From Monday on, the sums of seven days, and a name that follows from theirs."""

    monday: date
    name: UUID
    days: Sequence[UUID]


@dataclass(frozen=True, slots=True)
class Summed:
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
class Asked:
    """For how many sessions of a list, by falling values of a column or from the latest day back, and behind what."""

    column: str | None
    needed: int
    behind: tuple[int, date] | None  # lower than this, or the same on an earlier day


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a page reaches: sums know of enough sessions with a higher value than `low`, or with that value and from
    that day on. Where a step holds several values, no day is known. `total` counts what sums know of the whole list."""

    low: int
    day: date | None
    total: int
