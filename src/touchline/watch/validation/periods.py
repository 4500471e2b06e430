"""Which part of a match a clock belongs to, where that is written beside it. Pure.

Some clocks begin anew with each half, some run on, some do so only in extra time: a mark like `2H` or `ET` tells.
"""

from __future__ import annotations

import re
from enum import StrEnum

ENDS = frozenset({45, 90, 105, 120})  # where a clock may stand still while time is added


class Period(StrEnum):
    FIRST = "first"
    SECOND = "second"
    EXTRA = "extra"
    EXTRA_FIRST = "extra_first"
    EXTRA_SECOND = "extra_second"


_EXTRA = r"(?:e\.?t\.?|extra[\s-]?time|prol\.?|prolongations?|verl\.?|verlängerung|prórroga|suppl?\.?|supplementari)"
_HALF = r"(?:h|half|t|tiempo|tempo|parte|hz|halbzeit|mt|mi-temps)"
_FIRST, _SECOND = r"(?:1|1st|1er|1[ªº°.]|first)", r"(?:2|2nd|2e|2[eè]me|2[ªº°.]|second)"


def _marks(*words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w:+])(?:{'|'.join(words)})(?![\w:])", re.IGNORECASE)


def _half(number: str, digit: int) -> str:
    return rf"{number}\s?{_HALF}|h\s?{digit}|hz\s?{digit}|mt\s?{digit}|{number}(?<=[a-zª])"


# The first that is found counts: what is said more closely comes first.
_MARKS = (
    (Period.EXTRA_SECOND, _marks(rf"{_SECOND}\s?(?:{_HALF}\s)?(?:of\s)?{_EXTRA}", rf"{_EXTRA}\s?2")),
    (Period.EXTRA_FIRST, _marks(rf"{_FIRST}\s?(?:{_HALF}\s)?(?:of\s)?{_EXTRA}", rf"{_EXTRA}\s?1")),
    (Period.EXTRA, _marks(_EXTRA)),
    (Period.SECOND, _marks(_half(_SECOND, 2))),
    (Period.FIRST, _marks(_half(_FIRST, 1))),
)
# From, below, and what is to be added to a clock that began anew.
_PLACES = {
    Period.FIRST: ((0, 70, 0),),
    Period.SECOND: ((0, 45, 45), (45, 120, 0)),
    Period.EXTRA: ((0, 40, 90), (90, 136, 0)),
    Period.EXTRA_FIRST: ((0, 25, 90), (90, 120, 0)),
    Period.EXTRA_SECOND: ((0, 15, 105), (15, 40, 90), (45, 70, 60), (105, 136, 0)),
}
# Where a clock that began anew stands still.
_STOPPED = {
    (Period.SECOND, 45): 90,
    (Period.EXTRA, 15): 105,
    (Period.EXTRA, 30): 120,
    (Period.EXTRA_FIRST, 15): 105,
    (Period.EXTRA_SECOND, 15): 120,
    (Period.EXTRA_SECOND, 30): 120,
}


def period_in(text: str) -> Period | None:
    return next((period for period, marks in _MARKS if marks.search(text)), None)


def is_end(minute: int, period: Period | None) -> bool:
    return minute in ENDS or (period is not None and (period, minute) in _STOPPED)


def placed(minute: int, period: Period | None, *, at_end: bool = False) -> int | None:
    """The minute of the match. None: such a clock does not stand beside such a mark."""
    if period is None:
        return minute
    if at_end and (stopped := _STOPPED.get((period, minute))):
        return stopped
    return next((minute + more for low, below, more in _PLACES[period] if low <= minute < below), None)
