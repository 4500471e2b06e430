"""Words as the network's search sees them: without case, accents, punctuation or the signs of hashtags and names."""

from __future__ import annotations

import re
import unicodedata

# What decomposition leaves whole although people write it with plain letters.
PLAIN = str.maketrans({"ø": "o", "đ": "d", "ð": "d", "ł": "l", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th"})

_WORD = re.compile(r"\w+")


def words_of(text: str) -> tuple[str, ...]:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(each for each in decomposed if not unicodedata.combining(each))
    return tuple(_WORD.findall(bare.translate(PLAIN)))
