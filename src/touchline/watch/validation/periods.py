"""Which part of a match a clock belongs to, and which minutes of the match it can mean. Pure.

Some clocks begin anew with each half, some run on, some begin anew only in extra time, some stand still at the end
while a second one counts stoppage time. A mark like `2H`, `ET` or `後半` tells which half it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from touchline.watch.model import FeedMinute

MOST_ADDED = 30  # minutes of stoppage time
LAST_MINUTE = 135  # of extra time with all that is added
LAST_RESTARTED = 60  # of a second half that began at zero, with what is usually added


class Period(Enum):
    """The minutes at which a clock that runs on begins and ends it."""

    FIRST = (0, 45)
    SECOND = (45, 90)
    EXTRA_FIRST = (90, 105)
    EXTRA_SECOND = (105, 120)

    @property
    def end(self) -> int:
        return self.value[1]


ALL = tuple(Period)
EXTRA = (Period.EXTRA_FIRST, Period.EXTRA_SECOND)
BY_END = {period.end: period for period in Period}


@dataclass(frozen=True, slots=True)
class Reading:
    """A minute of the match, counted on through stoppage time, and the period if the clock tells it."""

    minute: int
    period: Period | None = None


Readings: TypeAlias = frozenset[Reading]


# By the minutes that a clock shows: from, below, and what to add if it began anew. The first that fits is meant;
# the second may be.
_RUNNING: dict[Period, tuple[tuple[int, int, int], ...]] = {
    Period.FIRST: ((0, 70, 0),),
    Period.SECOND: ((0, 45, 45), (45, 120, 0), (45, 75, 45)),
    Period.EXTRA_FIRST: ((0, 25, 90), (90, 120, 0)),
    Period.EXTRA_SECOND: ((0, 15, 105), (15, 45, 90), (15, 25, 105), (45, 70, 60), (105, 136, 0)),
}
# Where a clock stands still besides the end by which its period is known.
_STOPS: dict[Period, tuple[int, ...]] = {
    Period.FIRST: (),
    Period.SECOND: (45,),
    Period.EXTRA_FIRST: (15,),
    Period.EXTRA_SECOND: (15, 30),
}

_EXTRA_WORDS = (
    r"(?:a?\.?e\.?t\.?|extra[\s-]?time|prol\.?|prolongations?|verl\.?|verlängerung|prórroga|prorrogação|"
    r"suppl?\.?|supplementari|доп\.?\s?время|дополнительное время)"
)
_HALF = r"(?:h|half|t|tiempo|tempo|parte|hz|halbzeit|mt|mi-temps|тайм)"
_FIRST = r"(?:1|1st|1er|1[ªº°.ao]|1-й|first)"
_SECOND = r"(?:2|2nd|2e|2[eè]me|2[ªº°.ao]|2-й|second)"
_ALONE = {1: "1st|1er|first", 2: "2nd|2e|2[eè]me|second"}
_NO_LEG = r"(?!\s*(?:leg|round)\b)"


def _marks(*words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w:+])(?:{'|'.join(words)})(?![\w:]){_NO_LEG}", re.IGNORECASE)


def _half(number: str, digit: int) -> str:
    return rf"{number}\s?{_HALF}|h\s?{digit}|hz\s?{digit}|mt\s?{digit}|{_ALONE[digit]}"


# The first that is found counts: what is said more closely comes first. Chinese, Japanese and Korean words touch
# digits.
_MARKS = (
    ((Period.EXTRA_SECOND,), _marks(rf"{_SECOND}\s?(?:{_HALF}\s)?(?:of\s)?{_EXTRA_WORDS}", rf"{_EXTRA_WORDS}\s?2")),
    ((Period.EXTRA_FIRST,), _marks(rf"{_FIRST}\s?(?:{_HALF}\s)?(?:of\s)?{_EXTRA_WORDS}", rf"{_EXTRA_WORDS}\s?1")),
    ((Period.EXTRA_SECOND,), re.compile("延長(?:戦)?後半|加时(?:赛)?下半场|연장\\s?후반")),
    ((Period.EXTRA_FIRST,), re.compile("延長(?:戦)?前半|加时(?:赛)?上半场|연장\\s?전반")),
    (
        EXTRA,
        re.compile("延長(?:戦)?|加时(?:赛)?|加時(?:賽)?|연장|الوقت الإضافي|وقت اضافه|доп(?:олнительное|\\.) время"),
    ),
    (EXTRA, _marks(_EXTRA_WORDS)),
    ((Period.SECOND,), re.compile("後半|下半(?:场|場)?|후반|الشوط الثاني|نیمه دوم")),
    ((Period.FIRST,), re.compile("前半|上半(?:场|場)?|전반|الشوط الأول|نیمه اول")),
    ((Period.SECOND,), _marks(_half(_SECOND, 2))),
    ((Period.FIRST,), _marks(_half(_FIRST, 1))),
)


@dataclass(frozen=True, slots=True)
class Mark:
    text: str = ""
    periods: tuple[Period, ...] = ALL

    @property
    def is_written(self) -> bool:
        return bool(self.text)


def mark_in(text: str) -> Mark:
    found = ((periods, match) for periods, marks in _MARKS if (match := marks.search(text)))
    return next((Mark(match[0].strip(), periods) for periods, match in found), Mark())


def stopped_in(minute: int, mark: Mark) -> tuple[Period, ...]:
    """In the stoppage time of which periods a clock stands still there. Some say `ET` of any time that is added."""
    if mark.periods == EXTRA and minute in (Period.FIRST.end, Period.SECOND.end):
        return (BY_END[minute],)
    return tuple(each for each in mark.periods if minute == each.end or (mark.is_written and minute in _STOPS[each]))


def perhaps_stopped_in(minute: int) -> tuple[Period, ...]:
    """The same without a mark: a clock of extra time that began anew, if something else says that it stands still."""
    return tuple(each for each in EXTRA if minute in _STOPS[each])


def restarted_stopped_in(minute: int, mark: Mark) -> tuple[Period, ...]:
    """Where a clock without the mark of a half may stand as well: 45:00 also ends a second half that began at zero."""
    is_unmarked = mark.periods in (ALL, EXTRA)
    return (Period.SECOND,) if is_unmarked and minute == Period.FIRST.end else ()


def running(minute: int, mark: Mark) -> tuple[Readings, Readings]:
    """What a clock that runs means, and what it may mean besides."""
    if mark.is_written:
        meant, besides = _began_anew(minute, mark.periods)
    else:
        meant, besides = _only([Reading(minute)]), frozenset[Reading]()
    return meant, (besides | added(minute, ALL if mark.periods == EXTRA else mark.periods)) - meant


def restarted(minute: int, mark: Mark) -> Readings:
    """What a clock without a mark means if it began at zero in a later period. Most run on; some restart without a
    mark, and readers lose marks, most of all in a script that they do not know."""
    if mark.is_written or minute >= LAST_RESTARTED:
        return frozenset()
    return frozenset[Reading]().union(*_began_anew(minute, ALL[1:])) - {Reading(minute, Period.SECOND)}


def _began_anew(minute: int, periods: Iterable[Period]) -> tuple[Readings, Readings]:
    meant, besides = list[Reading](), list[Reading]()
    for period in periods:
        places = [Reading(minute + more, period) for low, below, more in _RUNNING[period] if low <= minute < below]
        meant += places[:1]
        besides += places[1:]
    return _only(meant), _only(besides)


def added(minute: int, periods: Iterable[Period]) -> Readings:
    """What a clock of stoppage time alone means."""
    return _only(Reading(period.end + minute, period) for period in periods if minute <= MOST_ADDED)


def any_added(periods: Iterable[Period]) -> Readings:
    """All of the stoppage time: the clock stands still."""
    return frozenset(Reading(period.end + minute, period) for period in periods for minute in range(MOST_ADDED + 1))


def _only(readings: Iterable[Reading]) -> Readings:
    return frozenset(each for each in readings if 0 <= each.minute <= LAST_MINUTE)


def periods_of(goal: FeedMinute) -> Collection[Period]:
    """In which a goal may have been scored. Without an extra minute 93 may be 90+3, or the third of extra time."""
    if goal.extra and goal.minute in BY_END:
        return (BY_END[goal.minute],)
    own = [period for period in ALL if period.value[0] < max(goal.minute, 1) <= period.end]
    before = [period for period in ALL[1:] if period.end < goal.minute <= period.end + MOST_ADDED]
    return (*own, *before)
