"""The word by which people call a player, and the queries that are made of it. Pure.

Invariant: a name that is not empty has a word: one, without accents, and no initial when there is anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from touchline.watch.words import SHORT, compounds, fold, is_short, tokens

SUFFIXES = frozenset({"jr", "sr", "junior", "senior", "ii", "iii", "iv"})
MOST_QUERIES = 12
_PARTS = re.compile(r"[^\W_]+")


def player_word(name: str) -> str:
    """The last one: the family name, in most of the world. A generation is not it, nor is the end of a given name that
    stands behind the family name, as in `Lee Kang-In`."""
    words = [pieces for compound in compounds(fold(name)) if (pieces := _without_initials(compound))]
    families = [word for word in words if word[-1].casefold() not in SUFFIXES] or words
    if not families:
        return (_PARTS.findall(fold(name)) or fold(name).split() or [""])[-1]
    *others, last = families
    return last[-1] if not _is_given(last, others) else _family(last, others)


def _without_initials(compound: Sequence[str]) -> tuple[str, ...]:
    return tuple(piece for piece in compound if len(piece) > 1 or not piece.isascii())


def _is_given(last: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """A short piece of several, or two letters behind longer words."""
    if len(last) > 1:
        return is_short(last[-1])
    return len(last[-1]) < SHORT and last[-1].isascii() and any(len(word[-1]) >= SHORT for word in others)


def _family(last: Sequence[str], others: Sequence[Sequence[str]]) -> str:
    """The word before it; if that was an initial, its longest piece, or all of it if each is short."""
    if named := [word[-1] for word in others if len(word[-1]) >= SHORT]:
        return named[0]
    longest = max(last, key=len)
    return "-".join(last) if is_short(longest) else longest


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
