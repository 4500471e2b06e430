"""The word by which people call a player, and the queries that are made of it. Pure.

Invariant: a name that is not empty has a word: one, without accents, and no initial when there is anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from touchline.watch.words import fold, tokens

SUFFIXES = frozenset({"jr", "sr", "junior", "senior", "ii", "iii", "iv"})
MOST_QUERIES = 12
_PARTS = re.compile(r"[^\W_]+")


def player_words(name: str) -> tuple[str, ...]:
    """The parts of a name that are words: hyphens and apostrophes split it, initials are none."""
    parts = _PARTS.findall(fold(name))
    words = [part for part in parts if len(part) > 1 or not part.isascii()]
    return tuple(words or parts)


def player_word(name: str) -> str:
    """The last one: the family name, in most of the world. A generation is not it."""
    words = player_words(name)
    families = [word for word in words if word.casefold() not in SUFFIXES]
    return (families or words or fold(name).split() or [""])[-1]


def queries(player: str, words: Sequence[str], form: str, attempt: int = 1) -> list[str]:
    """Each attempt begins with another word: one whose query fails must not keep the ones behind it from their turn."""
    unique = list({tokens(word): word for word in words}.values())[:MOST_QUERIES]
    name = player_word(player)
    if not unique:
        return [name]
    if form == "together" and len(unique) > 1:
        return [f"{name} ({' OR '.join(unique)})"]
    begin = (attempt - 1) % len(unique)
    return [f"{name} {word}" for word in (*unique[begin:], *unique[:begin])]


def words_of_both(own: Iterable[str], other: Iterable[str]) -> list[str]:
    """For an own goal: the words of both teams in turn, so that neither waits for the other."""
    mixed = (word for pair in zip_longest(own, other) for word in pair if word)
    unique = dict[tuple[str, ...], str]()
    for word in mixed:
        unique.setdefault(tokens(word), word)
    return list(unique.values())
