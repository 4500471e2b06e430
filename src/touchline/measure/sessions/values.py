"""Values as strangers write them: text, addresses, quantities, times, and the canonical form of JSON. Pure.

Invariant: nothing here raises. What is not a valid value is None: no blank text, no number that a fact cannot hold, no
time before the year 2000. Two documents have the same canonical text if and only if their content is the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_FLOOR, Context, Decimal
from hashlib import sha256
from json import JSONEncoder
from typing import Any, cast

LARGEST = 1e9  # no rate of pictures and no jitter in milliseconds that is meant is larger


def text(value: object) -> str | None:
    """A text trimmed, or a whole number in decimal; a blank one is missing."""
    if type(value) is str:
        return value.strip() or None
    if type(value) is int:
        return str(value)
    return None


def lowered(value: object) -> str:
    return (text(value) or "").lower()


def url(value: object) -> str:
    """In the form in which two URLs are compared: case and slashes at the end do not matter."""
    return lowered(value).rstrip("/")


def quantity(value: object) -> float | None:
    if type(value) not in (int, float):
        return None
    amount: float = value  # type: ignore[assignment]
    return float(amount) if 0 <= amount <= LARGEST else None


# Times. A number is seconds, milliseconds or microseconds, depending on its size.

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


# Canonical JSON: identifies an event that has no id, and decides between two events with the same id. The order of
# keys, whitespace, and the marks that a replay leaves behind do not matter; everything else does.

REPLAY_MARK = "__replay"
_encode = JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def canonical(value: object) -> str:
    """Sorted keys, no spaces, ASCII; keys that start with `__replay` are left out at every level."""
    encoded = _encode(value)
    return _encode(_unmarked(value)) if REPLAY_MARK in encoded else encoded


def uid_of(record: Mapping[str, Any]) -> str:
    """What a record is known by: its id, else its content."""
    return text(record.get("id")) or digest(canonical(record))


def digest(content: str) -> str:
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {key: _unmarked(member) for key, member in members.items() if not key.startswith(REPLAY_MARK)}
    if isinstance(value, list):
        return [_unmarked(member) for member in cast("list[Any]", value)]
    return value
