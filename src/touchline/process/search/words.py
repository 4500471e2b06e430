"""From a text to the words that are compared; `migrations/process` does the same in SQL, letter for letter.

Invariant: a word that was folded stays as it is, and a text split in two ways (here, there) has the same words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from touchline.process.segments.folding import WHOLE, normalize

# Each character is a word: scripts that put no spaces between words, and signs.
_SINGLE = (
    r"\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF\u2190-\u2BFF\u3005-\u3007\u3040-\u30FA\u30FC-\u312F\u31A0-"
    r"\u31FF\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U0001F000-\U0001FAFF\U00020000-\U0003FFFF"
)
# What lies between words.
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
# What readers of pictures confuse: I l 1, O 0.
_ALIKE = str.maketrans("ilo", "110")
LONGEST_WORD = 64
MOST_WORDS = 500


@dataclass(frozen=True, slots=True)
class Word:
    word: str  # as it is compared
    start: int  # in the text, by characters
    end: int


def fold(word: str) -> str:
    """A normalized word without accents, and with one letter for those that look alike."""
    letters = _MARK.sub("", unicodedata.normalize("NFKD", word.translate(WHOLE)))
    return unicodedata.normalize("NFKC", letters).translate(_ALIKE)


def split(text: str) -> tuple[str, ...]:
    """The words of a text, as they are compared."""
    found = (match.group()[:LONGEST_WORD] for match in _WORD.finditer(normalize(text)))
    return tuple(word for shown, _ in zip(found, range(MOST_WORDS), strict=False) if (word := fold(shown)))


def places(text: str) -> Iterator[Word]:
    """The words of a text as it stands, and where: parts of it, each normalized for itself."""
    for match in _WORD.finditer(text):
        for word in _inside(match.group()):
            yield Word(word, match.start(), match.end())


@lru_cache(maxsize=20_000)
def _inside(part: str) -> tuple[str, ...]:
    """Mostly one word; signs that look like letters may make it several. The same ones come again and again."""
    return split(part)
