"""Clocks, which are passed in; durations and sizes as people write them (`90s`, `1.4 GB`); which texts are valid.

Times are always timezone-aware and always UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, Protocol, cast

from .errors import InvalidInput


class Clock(Protocol):
    def now(self) -> datetime: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class ManualClock:
    """A clock that moves only by `advance`: for rules, replays and tests."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError("a clock needs an aware datetime")
        self._now = start.astimezone(UTC)

    def now(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> datetime:
        self._now += by
        return self._now


def epoch_ms(moment: datetime) -> int:
    """Whole milliseconds since 1970, without passing through a float."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


_UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
_HALF = re.compile("[\ud800-\udfff]")
_BYTE_UNITS = ("kB", "MB", "GB", "TB", "PB")
THOUSAND, TENS = 1000, 10
MOST_DOUBLINGS = 20
_DURATION = re.compile(r"(\d+)\s*(ms|s|m|h|d)")


def parse_duration(text: str) -> timedelta:
    """One whole number and one unit; a bare number would be ambiguous."""
    match = _DURATION.fullmatch(text.strip().lower())
    if not match:
        raise InvalidInput(f"{text!r} is not a duration", why="write a whole number and ms, s, m, h or d, like 90s")
    try:  # ValueError: Python reads no whole numbers of more than 4300 digits
        return int(match[1]) * _UNITS[match[2]]
    except (OverflowError, ValueError) as error:
        raise InvalidInput(f"the duration {text[:20]!r} is too long") from error


def backoff(first: timedelta, failures: int, longest: timedelta) -> timedelta:
    """Exponential backoff: `first` after no failure before this one, doubled by each more, never above `longest`."""
    return min(first * 2 ** min(failures, MOST_DOUBLINGS), longest)


def format_duration(duration: timedelta) -> str:
    """The shortest text that reads back as the same duration, to the millisecond."""
    for unit in reversed(_UNITS):
        if duration and duration % _UNITS[unit] == timedelta(0):
            return f"{duration // _UNITS[unit]}{unit}"
    return f"{duration // _UNITS['ms']}ms"


def format_bytes(size_bytes: int) -> str:
    """By thousands, as disks, file managers and the page count: `1.4 GB`."""
    if size_bytes < THOUSAND:
        return f"{size_bytes} bytes" if size_bytes != 1 else "1 byte"
    value, unit = size_bytes / THOUSAND, 0
    while value >= THOUSAND - 0.5 and unit < len(_BYTE_UNITS) - 1:  # what would be rounded to 1000 is the next unit
        value, unit = value / THOUSAND, unit + 1
    return f"{value:.1f} {_BYTE_UNITS[unit]}" if value < TENS - 0.05 else f"{value:.0f} {_BYTE_UNITS[unit]}"


def is_text(text: str) -> bool:
    """Lone surrogates are not valid Unicode, and no store accepts the NUL character."""
    return "\0" not in text and _HALF.search(text) is None


def is_plain(document: object) -> bool:
    """Whether all texts and numbers of a document from outside can be stored and written again as JSON."""
    return all(_is_plain(value) for value in _values(document))


def _is_plain(value: object) -> bool:
    match value:
        case str():
            return is_text(value)
        case float():
            return isfinite(value)
        case _:
            return True


def _values(document: object) -> Iterator[object]:
    """Every value and every key in it. Not by recursion: strangers choose how deep it is."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        match value:
            case dict():
                waiting += [*cast("dict[Any, Any]", value), *cast("dict[Any, Any]", value).values()]
            case list():
                waiting += cast("list[Any]", value)
            case _:
                yield value
