"""Which words may stand for a team, and which of them are taken. Pure.

Invariant: a word that is taken was found, is made of the team's name, or is what the people of its country are called.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, cast

from touchline.watch.words import SHORT, compounds, fold, is_short, tokens

from .junk import AFFIXES, JUNK
from .model import Team
from .nationalities import is_nationality, nationalities_of

SHORTEST, LONGEST = 2, 20
MOST_OFFERED = 60  # a model's attention, and our prompt, are limited
_PIECES = re.compile(r"[^\W_]+")


def words_of_names(names: Iterable[str]) -> list[str]:
    """Single words, the more often met first, each in the spelling that was met first."""
    spelt = dict[str, str]()
    counted = Counter[str]()
    for name in names:
        pieces = _pieces(name)
        for word in pieces:
            if is_usable(word, alone=len(pieces) == 1):
                spelt.setdefault(_key(word), word)
                counted[_key(word)] += 1
    return [spelt[key] for key, _ in counted.most_common(MOST_OFFERED)]


def _pieces(name: str) -> list[str]:
    """Without what only completes a longer word, as `Al` in `Al-Nassr` or `In` in `Kang-In`. Codes are in capitals."""
    return [
        piece
        for compound in compounds(name)
        for piece in compound
        if len(compound) == 1 or not is_short(fold(piece)) or (piece.isupper() and len(piece) == SHORT)
    ]


def is_usable(word: str, *, alone: bool = False) -> bool:
    """What only completes longer names may be a name by itself: people do say VfB, or Sporting."""
    folded = fold(word)
    is_plain = SHORTEST <= len(word) <= LONGEST and folded.isascii() and folded.isalpha()
    return is_plain and folded.casefold() not in JUNK and (alone or folded.casefold() not in AFFIXES)


def own_words(team: Team) -> list[str]:
    """What the name itself gives: never nothing."""
    words = [word for word in _pieces(team.name) if is_usable(word)]
    return list({_key(word): word for word in words or _PIECES.findall(team.name) or [team.name]}.values())


def people_of(team: Team) -> tuple[str, ...]:
    """For a national team: what its people are called."""
    return nationalities_of(team.facts.country or team.name) if team.facts.national else ()


def made_by_rules(team: Team, found: Sequence[str], most: int) -> tuple[str, ...]:
    """The name's own words, what its people are called, codes, then what is met most often."""
    codes = [word for word in found if _is_code(word)]
    return _first([*own_words(team), *people_of(team), *codes, *found], most)


def taken(answer: Any, team: Team, found: Sequence[str], most: int) -> tuple[str, ...]:
    """What of a model's answer may be used, in our spelling; nothing when it invented everything.

    The longest word of the team's own name is always among them: whoever has no nickname for a team writes that.
    """
    offered = {_key(word): word for word in (*own_words(team), *found)}
    chosen = [word for each in _strings(answer) if (word := _known(each, offered, team))]
    if not chosen:
        return ()
    own = max(own_words(team), key=len)
    kept = _first([*chosen, *people_of(team)], most)
    return kept if _key(own) in map(_key, kept) else _first([*kept[: most - 1], own], most)


def _known(text: str, offered: dict[str, str], team: Team) -> str | None:
    if word := offered.get(_key(text)):
        return word
    if team.facts.national and is_nationality(text, team.facts.country or team.name):
        return text.strip().capitalize()
    return None


def _strings(answer: Any) -> list[str]:
    """Words, however they were packed: a list, a list in an object, one in a string, an object of words."""
    if isinstance(answer, str):
        return re.findall(r"[^\s,;\[\]\"]+", answer)
    if isinstance(answer, dict):
        answer = list(cast("dict[str, Any]", answer).values())
    if not isinstance(answer, list):
        return []
    return [word for each in cast("list[Any]", answer) for word in ([each] if _is_word(each) else _strings(each))]


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and not any(mark in value for mark in '[",;')


def _is_code(word: str) -> bool:
    return word.isupper() and len(word) <= 5


def _first(words: Iterable[str], most: int) -> tuple[str, ...]:
    unique = dict[str, str]()
    for word in words:
        unique.setdefault(_key(word), word)
    return tuple(list(unique.values())[:most])


def _key(word: str) -> str:
    return "".join(tokens(word))
