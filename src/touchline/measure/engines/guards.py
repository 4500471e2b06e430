"""Which lines the quick parser can vouch for. It passes over what it is not asked for, and looks there less closely.

It sees every mistake of grammar, but neither bytes that are no text, nor numbers that no float holds, nor nesting
that the slow reader refuses. Lines that may have one of these are left to `read_text`; so are long ones.
Invariant: a line that is vouched for would be read without complaint. Others may be doubted for nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from touchline.measure.sessions.reading import DEEPEST

LONGEST = 4096  # in a longer one a whole number may be too long
_BLOCK = 1 << 17
_STEP, _IN_A_ROW = 32, 9
_CASE = np.uint8(0x20)
_OPENING = np.uint8(ord("{"))  # also `[` in the other case
_E = np.uint8(ord("e"))
_DIGIT_MASK, _DIGIT = np.uint8(0xF0), np.uint8(0x30)  # and a few signs
_BEFORE_VALUE = np.isin(np.arange(256), np.frombuffer(b":,[ \t\r\n", np.uint8))

Places = NDArray[np.int64]


def doubtful(content: bytes, ends: Places) -> NDArray[np.bool_]:
    """For each line, by where it ends. The first one begins at the beginning, each other after the one before."""
    letters = np.frombuffer(content, np.uint8)
    openings, exponents = _marks(letters)
    doubts = np.diff(ends, prepend=-1) > LONGEST
    doubts |= np.diff(np.searchsorted(openings, ends), prepend=0) > DEEPEST  # as many as the deepest nesting needs
    exponents = np.concatenate((exponents, _signed(content, letters)))
    large = _outside_texts(letters, _large_exponents(letters, exponents))
    doubts[np.searchsorted(ends, np.concatenate((large, _long_numbers(letters))))] = True
    if not content.isascii():
        _doubt_texts(content, letters, ends, doubts)
    return doubts


def _marks(letters: NDArray[np.uint8]) -> tuple[Places, Places]:
    """Where objects and lists open, and where an E stands before a digit.

    Block by block, because what is in the middle of it fits into the processor's cache.
    """
    openings, exponents = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for at in range(0, len(letters), _BLOCK):
        block = letters[at : at + _BLOCK + 1]
        lowered = block | _CASE
        openings.append(np.flatnonzero(lowered[:_BLOCK] == _OPENING) + at)
        before_digit = (block[1:] & _DIGIT_MASK) == _DIGIT
        before_digit &= lowered[:-1] == _E
        exponents.append(np.flatnonzero(before_digit) + at)
    return np.concatenate(openings), np.concatenate(exponents)


def _signed(content: bytes, letters: NDArray[np.uint8]) -> Places:
    """Where an E stands before a plus, which is nowhere in most logs."""
    if b"+" not in content:
        return np.empty(0, np.int64)
    before = np.flatnonzero(letters == ord("+")) - 1
    return before[(before >= 0) & ((letters[before] | _CASE) == _E)]


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


def _doubt_texts(content: bytes, letters: NDArray[np.uint8], ends: Places, doubts: NDArray[np.bool_]) -> None:
    try:
        content.decode()
    except UnicodeDecodeError:
        strange = np.flatnonzero(letters >= 0x80)
        doubts[np.searchsorted(ends, strange)] = True
