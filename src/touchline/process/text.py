"""Makes texts comparable: cleaned, normalized, without accents, as OCR confuses letters, and split into words.

`migrations/process` folds and splits in SQL, letter for letter alike. Invariants: folding a folded text changes
nothing, and both ways of splitting a text (here and in SQL) give the same words.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

# Letters that Unicode does not decompose.
UNDECOMPOSED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "\u0131": "i"})
# Characters that OCR mistakes for each other: one stands for all.
CONFUSABLE = str.maketrans("li|!oszbgq", "1111052899")
INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn")
SPACES = ("Zs", "Zl", "Zp")


def clean(text: str) -> str:
    """As it is stored: composed, without invisible characters, with single spaces."""
    shown = (_visible(letter) for letter in unicodedata.normalize("NFC", text))
    return " ".join("".join(shown).split())


def normalize(text: str) -> str:
    """As people compare it: without case."""
    return " ".join(unicodedata.normalize("NFKC", clean(text)).casefold().split())


def fold(text: str) -> str:
    """As it is searched: also without accents."""
    letters = unicodedata.normalize("NFKD", normalize(text).translate(UNDECOMPOSED))
    return normalize("".join(letter for letter in letters if not unicodedata.combining(letter)))


@lru_cache(maxsize=4096)
def ocr_form(text: str) -> str:
    """As it looks to OCR: only letters and digits, and always the same one of those that look alike."""
    return "".join(letter for letter in fold(text).translate(CONFUSABLE) if letter.isalnum())


def text_hash(text: str) -> str:
    return hashlib.sha256(normalize(text).encode()).hexdigest()


def _visible(letter: str) -> str:
    """Joiners hold emoji and letters of some scripts together."""
    category = unicodedata.category(letter)
    if letter in "\u200d\u200c" or category not in INVISIBLE:
        return " " if category in SPACES else letter
    return " " if letter in "\t\n\r\v\f\x85" else ""


# Each character is a word: scripts without spaces between words, and symbols.
_SINGLE = (
    r"\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u2190-\u2BFF\u3005-\u3007\u3040-\u30FA\u30FC-\u312F\u31A0-"
    r"\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U0001F000-\U0001FAFF\U00020000-\U0003FFFF"
)
# Separators of words.
_BETWEEN = (
    r"\u0001-/:-@\[-`{-\u00A9\u00AB-\u00B1\u00B4\u00B6-\u00B8\u00BB\u00BF\u00D7\u00F7\u02C2-\u02C5\u02D2-"
    r"\u02DF\u037E\u0387\u055A-\u055F\u0589\u058A\u05BE\u05C0\u05C3\u05C6\u05F3\u05F4\u0600-\u060F\u061B-"
    r"\u061F\u066A-\u066D\u06D4\u06DD\u06DE\u06E9\u0964\u0965\u0970\u10FB\u1360-\u1368\u2000-\u206F\u20A0-"
    r"\u20CF\u2E00-\u2E7F\u3000-\u3004\u3008-\u3030\u3037-\u303F\u30FB\uE000-\uF8FF\uFD3E\uFD3F\uFE00-"
    r"\uFE1F\uFE30-\uFE6F\uFEFF\uFFF0-\uFFFF\U000E0000-\U0010FFFF"
)
# Marks above, below and around letters.
_MARKS = (
    r"\u0300-\u036F\u0483-\u0487\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0610-\u061A\u064B-"
    r"\u065F\u0670\u06D6-\u06DC\u06DF-\u06E4\u06E7\u06E8\u06EA-\u06ED\u0711\u0730-\u074A\u08CA-\u08FF"
    r"\u093C\u094D\u09BC\u09CD\u0A3C\u0A4D\u0ABC\u0ACD\u0B3C\u0B4D\u0BCD\u0C4D\u0CBC\u0CCD\u0D4D\u0DCA"
    r"\u0E38-\u0E3A\u0E48-\u0E4B\u0EB8-\u0EBA\u0EC8-\u0ECB\u1037\u1039\u103A\u17D2\u17DD\u1AB0-\u1AFF"
    r"\u1DC0-\u1DFF\u20D0-\u20FF\u302A-\u302F\u3099\u309A\uFE20-\uFE2F"
)

_WORD = re.compile(f"[{_SINGLE}]|[^{_SINGLE}{_BETWEEN}\\x00]+")
_MARK = re.compile(f"[{_MARKS}]+")
# What OCR confuses: I l 1, O 0.
_CONFUSABLE_IN_SEARCH = str.maketrans("ilo", "110")
LONGEST_WORD = 64
MOST_WORDS = 500


@dataclass(frozen=True, slots=True)
class Word:
    word: str  # as it is compared
    start: int  # in the text, by characters
    end: int


def fold_word(word: str) -> str:
    """A normalized word without accents, and with one letter for those that look alike."""
    letters = _MARK.sub("", unicodedata.normalize("NFKD", word.translate(UNDECOMPOSED)))
    return unicodedata.normalize("NFKC", letters).translate(_CONFUSABLE_IN_SEARCH)


def split_words(text: str) -> tuple[str, ...]:
    """The words of a text, as they are compared."""
    found = (match.group()[:LONGEST_WORD] for match in _WORD.finditer(normalize(text)))
    return tuple(word for shown, _ in zip(found, range(MOST_WORDS), strict=False) if (word := fold_word(shown)))


def word_positions(text: str) -> Iterator[Word]:
    """The words of a text with their positions in it: its parts, each normalized on its own."""
    for match in _WORD.finditer(text):
        for word in _words_of_part(match.group()):
            yield Word(word, match.start(), match.end())


@lru_cache(maxsize=20_000)
def _words_of_part(part: str) -> tuple[str, ...]:
    """Usually one word; symbols that normalize to letters may make it several. Cached, because parts repeat."""
    return split_words(part)
