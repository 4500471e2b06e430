"""The unit rule: a number is seconds, milliseconds or microseconds by its size. Pure.

Invariant: what comes back is epoch milliseconds from the year 2000 on. Everything else counts as missing.
"""

from __future__ import annotations

import re
from decimal import ROUND_FLOOR, Context, Decimal

YEAR_2000_MS = 946_684_800_000
SECONDS_BELOW = 10**11
MILLISECONDS_BELOW = 10**14
MICROSECONDS_BELOW = 10**17

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_LONGEST = 64
_EXACT = Context(prec=2 * _LONGEST)


def epoch_ms(value: object) -> int | None:
    """Of a number or a text of one. A fraction of a millisecond is cut off, in decimal: 0.298 s are 298 ms."""
    if type(value) is int:
        return _whole(value)
    if type(value) is str:
        return _written(value.strip())
    if type(value) is float:
        return _written(repr(value))
    return None


def _whole(number: int) -> int | None:
    if SECONDS_BELOW <= number < MILLISECONDS_BELOW:
        return number if number >= YEAR_2000_MS else None
    if number >= MICROSECONDS_BELOW:
        return None
    ms = number * 1000 if number < SECONDS_BELOW else number // 1000
    return ms if ms >= YEAR_2000_MS else None


def _written(number: str) -> int | None:
    if len(number) > _LONGEST:
        return None
    if number.isdecimal() and number.isascii():
        return _whole(int(number))
    return _fraction(Decimal(number)) if _NUMBER.fullmatch(number) else None


def _fraction(number: Decimal) -> int | None:
    if not 0 < number < MICROSECONDS_BELOW:
        return None
    thousandfold = 3 if number < SECONDS_BELOW else 0 if number < MILLISECONDS_BELOW else -3
    ms = int(number.scaleb(thousandfold, _EXACT).to_integral_value(ROUND_FLOOR))
    return ms if ms >= YEAR_2000_MS else None
