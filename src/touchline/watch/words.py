"""Words as a search compares them: with plain letters only. Pure.

Invariant: folding what is folded changes nothing; scripts other than ours stay as they are.
"""

from __future__ import annotations

import re
import unicodedata

# Letters that decomposition leaves whole although people write them plainly.
WHOLE = {
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ß": "ss", "ħ": "h", "ŧ": "t",
    "\u0131": "i", "\u0138": "k", "ŋ": "n",
}  # fmt: skip
_PLAIN = str.maketrans(WHOLE | {letter.upper(): plain.title() for letter, plain in WHOLE.items() if letter != "ß"})
_SHARP_S = "\u1e9e"  # the capital one, which lower() knows and upper() does not make
_WORD = re.compile(r"\w+")
_JOINERS = "-'\u2010\u2011\u2019\u02bc"  # hyphens and apostrophes
_COMPOUND = re.compile(rf"[^\W_]+(?:[{_JOINERS}][^\W_]+)*")
_PIECE = re.compile(r"[^\W_]+")
SHORT = 3  # letters: a piece of a name that joins several tells nobody from another, as `In` of `Kang-In`


def fold(text: str) -> str:
    """Without accents, in the same case."""
    whole = text.encode("utf-8", "ignore").decode()  # halves of letters, which JSON can carry, are none
    plain = unicodedata.normalize("NFC", whole).replace(_SHARP_S, "SS").translate(_PLAIN)
    return "".join(_bare(letter) for letter in plain)


def tokens(text: str) -> tuple[str, ...]:
    """The words of a text, folded and without case."""
    return tuple(_WORD.findall(fold(text).casefold()))


def compounds(text: str) -> list[tuple[str, ...]]:
    """The words of a name, each as the pieces that hyphens and apostrophes join: `Lee`, and `Kang` with `In`."""
    return [tuple(_PIECE.findall(each)) for each in _COMPOUND.findall(text)]


def is_short(piece: str) -> bool:
    """In our script: a syllable of another is a word."""
    return len(piece) <= SHORT and piece.isascii()


def _bare(letter: str) -> str:
    if letter.isascii():
        return letter
    if unicodedata.combining(letter) and unicodedata.name(letter, "").startswith("COMBINING"):
        return ""
    first = unicodedata.normalize("NFKD", letter)[0]
    return first if first.isascii() and first.isalnum() else letter
