"""Which lines the quick parser can vouch for. It passes over what it is not asked for, and looks there less closely.

It sees every mistake of grammar, but neither bytes that are no text, nor numbers that no float holds, nor nesting
that the slow reader refuses. Lines that may have one of these are left to `read_text`; so are long ones.
Invariant: a line that is vouched for would be read without complaint. Others may be doubted for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from touchline.measure.sessions.reading import DEEPEST

LONGEST = 4096  # in a longer one a whole number may be too long
_BLOCK = 1 << 18
_STEP, _IN_A_ROW = 32, 9
_CASE = np.uint8(0x20)
_OPENING = np.uint8(ord("{"))  # also `[` in the other case
_EXPONENT_MASK, _EXPONENT = np.uint16(0xF0DF), np.uint16(0x3045)  # E or e, then one of 0-9 or a few signs
_SIGNED_MASK, _SIGNED = np.uint16(0xFFDF), np.uint16(0x2B45)  # E+
_BEFORE_VALUE = np.isin(np.arange(256), np.frombuffer(b":,[ \t\r\n", np.uint8))

Places = NDArray[np.int64]


def doubtful(content: bytes, starts: Places, ends: Places) -> NDArray[np.bool_]:
    """For each line from `starts` to `ends`."""
    letters = np.frombuffer(content, np.uint8)
    doubts = (ends - starts) > LONGEST
    doubts |= _many_openings(letters, starts, ends)
    _doubt_numbers(letters, starts, doubts)
    if not content.isascii():
        _doubt_texts(content, letters, starts, doubts)
    return doubts


def _many_openings(letters: NDArray[np.uint8], starts: Places, ends: Places) -> NDArray[np.bool_]:
    """As many as the deepest nesting needs."""
    found = _in_blocks(letters, lambda block: (block | _CASE) == _OPENING)
    counts = np.searchsorted(found, ends) - np.searchsorted(found, starts)
    return counts > DEEPEST


def _doubt_numbers(letters: NDArray[np.uint8], starts: Places, doubts: NDArray[np.bool_]) -> None:
    places = [np.empty(0, np.int64)]
    for shift in (0, 1):
        pairs = letters[shift : shift + (len(letters) - shift) // 2 * 2].view("<u2")
        places.append(_in_blocks(pairs, _exponents) * 2 + shift)
    large = _outside_texts(letters, _large_exponents(letters, np.concatenate(places)))
    lines = np.searchsorted(starts, np.concatenate((large, _long_numbers(letters))), "right") - 1
    doubts[lines[lines >= 0]] = True


def _exponents(pairs: NDArray[np.uint16]) -> NDArray[np.bool_]:
    return ((pairs & _EXPONENT_MASK) == _EXPONENT) | ((pairs & _SIGNED_MASK) == _SIGNED)


def _large_exponents(letters: NDArray[np.uint8], places: Places) -> Places:
    """Those with a digit before and three digits after."""
    places = places[(places >= 1) & (places + 4 < len(letters))]
    places = places[_digits(letters[places - 1])]
    after = places + (letters[places + 1] == ord("+"))
    return places[_digits(letters[after + 1]) & _digits(letters[after + 2]) & _digits(letters[after + 3])]


def _outside_texts(letters: NDArray[np.uint8], places: Places) -> Places:
    """Those whose number begins where a value can: ids in hexadecimal are full of the others."""
    at = places - 1
    while (inside := _digits(letters[at]) | (letters[at] == ord("."))).any():
        at = np.where(inside, np.maximum(at - 1, 0), at)
        if not at.all():
            break
    at = np.where(letters[at] == ord("-"), np.maximum(at - 1, 0), at)
    return places[_BEFORE_VALUE[letters[at]]]


def _long_numbers(letters: NDArray[np.uint8]) -> Places:
    """Nine places in a row, a step from each other, that all are digits: every run of 300 has such."""
    sampled = _digits(letters[::_STEP])
    reach = len(sampled) - _IN_A_ROW + 1
    if reach <= 0:
        return np.empty(0, np.int64)
    found = sampled[:reach].copy()
    for shift in range(1, _IN_A_ROW):
        found &= sampled[shift : shift + reach]
    return np.flatnonzero(found) * _STEP


def _digits(letters: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return (letters >= ord("0")) & (letters <= ord("9"))


def _doubt_texts(content: bytes, letters: NDArray[np.uint8], starts: Places, doubts: NDArray[np.bool_]) -> None:
    try:
        content.decode()
    except UnicodeDecodeError:
        strange = np.flatnonzero(letters >= 0x80)
        lines = np.unique(np.searchsorted(starts, strange, "right") - 1)
        doubts[lines[lines >= 0]] = True


def _in_blocks(values: NDArray[Any], holds: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> Places:
    """Where it holds. Block by block, because the middle of it fits into the processor's cache."""
    found = [np.flatnonzero(holds(values[at : at + _BLOCK])) + at for at in range(0, len(values), _BLOCK)]
    return np.concatenate(found) if found else np.empty(0, np.int64)
