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


def fold(text: str) -> str:
    """Without accents, in the same case."""
    whole = text.encode("utf-8", "ignore").decode()  # halves of letters, which JSON can carry, are none
    plain = unicodedata.normalize("NFC", whole).replace(_SHARP_S, "SS").translate(_PLAIN)
    return "".join(_bare(letter) for letter in plain)


def tokens(text: str) -> tuple[str, ...]:
    """The words of a text, folded and without case."""
    return tuple(_WORD.findall(fold(text).casefold()))


def _bare(letter: str) -> str:
    if letter.isascii():
        return letter
    if unicodedata.combining(letter) and unicodedata.name(letter, "").startswith("COMBINING"):
        return ""
    first = unicodedata.normalize("NFKD", letter)[0]
    return first if first.isascii() and first.isalnum() else letter
