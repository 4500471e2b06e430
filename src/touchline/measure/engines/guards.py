"""Which lines the quick parser can vouch for. It passes over what it is not asked for, and looks there less closely.

It sees every mistake of grammar, but neither bytes that are no text, nor numbers that no float holds, nor nesting
that the slow reader refuses. Lines that may have one of these are left to `read_text`; so are long ones.
Invariant: a line that is vouched for would be read without complaint. Others may be doubted for nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from touchline.measure.sessions.parser import DEEPEST

LONGEST = 4096  # in a longer one a whole number may be too long
_BLOCK = 1 << 17
_WORD = 64
_END = np.uint8(ord("\n"))
_CASE = np.uint8(0x20)
_OPENING = np.uint8(ord("{"))  # also `[` in the other case
_E = np.uint8(ord("e"))
_DIGIT_MASK, _DIGIT = np.uint8(0xF0), np.uint8(0x30)  # and a few signs
_FULL = ~np.uint64(0)
_IN_NUMBER = np.isin(np.arange(256), np.frombuffer(b"0123456789.-", np.uint8))
_BEFORE_VALUE = np.isin(np.arange(256), np.frombuffer(b":,[ \t\r\n", np.uint8))

Places = NDArray[np.int64]
Bits = NDArray[np.uint64]  # one for each letter, in words of 64, the first one lowest; the last word is empty


def judged(content: bytes, size: int) -> tuple[Places, NDArray[np.bool_]]:
    """Where each line ends, and whether it is doubtful. Whole lines are `size` bytes; the content may go on."""
    letters = np.frombuffer(content, np.uint8, size)
    newlines, openings, exponents, digits = _marks(letters)
    ends = _places(newlines)
    if letters[-1] != _END:
        ends = np.append(ends, size)
    doubts = np.diff(ends, prepend=-1) > LONGEST
    doubts |= np.diff(_counted(openings, ends), prepend=0) > DEEPEST  # as many as the deepest nesting needs
    large = np.concatenate((_large_exponents(exponents, digits), _signed_exponents(content, letters)))
    doubts[np.searchsorted(ends, _outside_texts(letters, large))] = True
    doubts[np.searchsorted(ends, _long_numbers(digits))] = True
    if not content.isascii():
        _doubt_texts(content[:size], letters, ends, doubts)
    return ends, doubts


def _marks(letters: NDArray[np.uint8]) -> tuple[Bits, Bits, Bits, Bits]:
    """Where lines end, where objects and lists open, where an E stands, and where a digit.

    Block by block, because what is in the middle of it fits into the processor's cache.
    """
    marks = np.zeros((4, 8 * (len(letters) // _WORD + 2)), np.uint8)
    for at in range(0, len(letters), _BLOCK):
        block = letters[at : at + _BLOCK]
        lowered = block | _CASE
        begin, end = at // 8, (at + len(block) + 7) // 8
        marks[0, begin:end] = np.packbits(block == _END, bitorder="little")
        marks[1, begin:end] = np.packbits(lowered == _OPENING, bitorder="little")
        marks[2, begin:end] = np.packbits(lowered == _E, bitorder="little")
        marks[3, begin:end] = np.packbits((block & _DIGIT_MASK) == _DIGIT, bitorder="little")
    newlines, openings, exponents, digits = marks.view("<u8")
    return newlines, openings, exponents, digits


def _counted(bits: Bits, places: Places) -> Places:
    """How many of them stand before each place."""
    words = np.cumsum(np.bitwise_count(bits), dtype=np.int64)
    word, rest = places // _WORD, (places % _WORD).astype(np.uint64)
    return words[word] - np.bitwise_count(bits[word] >> rest)


def _large_exponents(exponents: Bits, digits: Bits) -> Places:
    """Those with a digit before and three digits after."""
    before = digits << np.uint64(1)
    before[1:] |= digits[:-1] >> np.uint64(_WORD - 1)
    found = exponents & before
    for distance in (1, 2, 3):
        after = digits >> np.uint64(distance)
        after[:-1] |= digits[1:] << np.uint64(_WORD - distance)
        found &= after
    return _places(found)


def _places(bits: Bits) -> Places:
    words = np.flatnonzero(bits != 0)
    found = np.flatnonzero(np.unpackbits(bits[words].view(np.uint8), bitorder="little").view(np.bool_))
    return words[found // _WORD] * _WORD + found % _WORD


def _signed_exponents(content: bytes, letters: NDArray[np.uint8]) -> Places:
    """Where an E stands before a plus, which is nowhere in most logs."""
    if b"+" not in content:
        return np.empty(0, np.int64)
    before = np.flatnonzero(letters == ord("+")) - 1
    return before[(before >= 0) & ((letters[before] | _CASE) == _E)]


def _outside_texts(letters: NDArray[np.uint8], places: Places) -> Places:
    """Those whose number begins where a value can: ids in hexadecimal are full of the others."""
    found, at = [places[:0]], places - 1
    while len(at):
        letter = letters[at]
        found.append(places[_BEFORE_VALUE[letter]])
        inside = _IN_NUMBER[letter] & (at > 0)
        places, at = places[inside], at[inside] - 1
    return np.concatenate(found)


def _long_numbers(digits: Bits) -> Places:
    """Three words in a row that are all digits: every run of 300 has such."""
    full = digits == _FULL
    return np.flatnonzero(full[:-2] & full[1:-1] & full[2:]) * _WORD


def _doubt_texts(content: bytes, letters: NDArray[np.uint8], ends: Places, doubts: NDArray[np.bool_]) -> None:
    try:
        content.decode()
    except UnicodeDecodeError:
        strange = np.flatnonzero(letters >= 0x80)
        doubts[np.searchsorted(ends, strange)] = True
