"""How the network writes times, ages and counts."""

from __future__ import annotations

from datetime import datetime

MINUTE, HOUR, DAY = 60, 3600, 86_400


def age(at: datetime, now: datetime) -> str:
    """`12s`, `2m`, `1h`; from a day on the date."""
    seconds = int((now - at).total_seconds())
    if seconds < 1:
        return "now"
    if seconds < MINUTE:
        return f"{seconds}s"
    if seconds < HOUR:
        return f"{seconds // MINUTE}m"
    if seconds < DAY:
        return f"{seconds // HOUR}h"
    return f"{at:%b} {at.day}" + ("" if at.year == now.year else f", {at.year}")


def iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


def count(number: int) -> str:
    """`999`, `1,234`, `12.3K`, `4.5M`."""
    if number < 10_000:
        return f"{number:,}"
    unit, sign = (1_000, "K") if number < 1_000_000 else (1_000_000, "M")
    tenths = number * 10 // unit
    return f"{tenths // 10}{f'.{tenths % 10}' if tenths % 10 else ''}{sign}"
