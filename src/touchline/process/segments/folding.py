"""Texts made comparable: what a person takes for the same letters, and what a reader of pictures confuses.

Invariant: folding what is folded changes nothing.
"""

from __future__ import annotations

import hashlib
import unicodedata
from functools import lru_cache

# Letters that decomposition leaves whole.
WHOLE = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "\u0131": "i"})
# What readers take for each other: one stands for all.
ALIKE = str.maketrans("li|!oszbgq", "1111052899")
INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn")
SPACES = ("Zs", "Zl", "Zp")


def clean(text: str) -> str:
    """As it is kept: composed, without what nobody sees, with single spaces."""
    shown = (_shown(letter) for letter in unicodedata.normalize("NFC", text))
    return " ".join("".join(shown).split())


def normalize(text: str) -> str:
    """As it is compared by people: without case."""
    return " ".join(unicodedata.normalize("NFKC", clean(text)).casefold().split())


def fold(text: str) -> str:
    """As it is searched: also without accents."""
    letters = unicodedata.normalize("NFKD", normalize(text).translate(WHOLE))
    return normalize("".join(letter for letter in letters if not unicodedata.combining(letter)))


@lru_cache(maxsize=4096)
def shape(text: str) -> str:
    """As it looks to a reader of pictures: only letters and digits, and of those that look alike always the same."""
    return "".join(letter for letter in fold(text).translate(ALIKE) if letter.isalnum())


def text_hash(text: str) -> str:
    return hashlib.sha256(normalize(text).encode()).hexdigest()


def _shown(letter: str) -> str:
    """Joiners hold emoji and letters of some scripts together."""
    category = unicodedata.category(letter)
    if letter in "\u200d\u200c" or category not in INVISIBLE:
        return " " if category in SPACES else letter
    return " " if letter in "\t\n\r\v\f\x85" else ""
