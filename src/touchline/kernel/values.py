"""Small values that people write by hand: `90s`, `5m`, `2h`, `30d`."""

from __future__ import annotations

import re
from datetime import timedelta

from .errors import InvalidInput

_UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
_DURATION = re.compile(r"(\d+)\s*(ms|s|m|h|d)")


def parse_duration(text: str) -> timedelta:
    """One whole number and one unit; a bare number would leave the unit to guesswork."""
    match = _DURATION.fullmatch(text.strip().lower())
    if not match:
        raise InvalidInput(f"{text!r} is not a duration", why="write a whole number and ms, s, m, h or d, like 90s")
    try:  # ValueError: Python reads no whole numbers of more than 4300 digits
        return int(match[1]) * _UNITS[match[2]]
    except (OverflowError, ValueError) as error:
        raise InvalidInput(f"{text[:20]!r} is too long a duration") from error


def format_duration(duration: timedelta) -> str:
    """The shortest text that reads back as the same duration, to the millisecond."""
    for unit in reversed(_UNITS):
        if duration and duration % _UNITS[unit] == timedelta(0):
            return f"{duration // _UNITS[unit]}{unit}"
    return f"{duration // _UNITS['ms']}ms"
