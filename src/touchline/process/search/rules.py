"""What a query asks of the index, and which parts of a text it matches. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from uuid import UUID

from .model import Correction, Filters, Fragment, Query, Term, Where
from .query import entity_mark
from .words import Word, places

# Words by what they were read as: themselves, or those near them.
Spelling = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Reading:
    """How the words that were typed are looked for."""

    spelling: Spelling = field(default_factory=dict[str, Sequence[str]])
    splits: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict[str, Sequence[tuple[str, str]]])
    """Words that may be two, and which two: a space may have been typed or read, or not."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of the index, and the words whose spelling matters."""

    request: dict[str, Any]
    known: list[str]  # those that stay as they are if anybody wrote them so
    loose: list[str]  # those that are read as others too
    corrected: list[str]  # those that are read as others only: somebody may have written them meanwhile
    pairs: list[tuple[str, str]]  # neighbours that somebody may have written as one word
    whole: list[str]  # words that somebody may have written as two


def corrected_words(query: Query, mask: int) -> tuple[str, ...]:
    return tuple(term.word for number, term in enumerate(query.terms) if mask >> number & 1)


def correction_mask(query: Query, made: Sequence[Correction]) -> int:
    words = {one.word for one in made}
    return sum(1 << number for number, term in enumerate(query.terms) if not term.prefix and term.word in words)


def corrections(query: Query, spelling: Spelling) -> tuple[Correction, ...]:
    """The words that nobody has written here and that were read as others."""
    words = [term.word for term in query.terms if not term.prefix and not term.near]
    joined = {one + other for one, other in pairs(query)}  # that is the same word
    found = [
        (word, tuple(read for read in spelling.get(word, ()) if read != word and read not in joined)) for word in words
    ]
    return tuple(Correction(word, read_as) for word, read_as in found if read_as)


def worded(made: Sequence[Correction], text: str, shown: Mapping[str, str]) -> tuple[Correction, ...]:
    """As people read them: the word as it was typed, the others as they are written here."""
    typed = {word.word: text[word.start : word.end] for word in places(text)}
    return tuple(
        Correction(typed.get(one.word, one.word), tuple(shown.get(word, word) for word in one.read_as)) for one in made
    )


def wanted(query: Query, corrected: Sequence[str], videos: Sequence[UUID] | None) -> Wanted:
    words = [term for term in query.terms if not term.prefix]
    loose = {term.word for term in words if term.near or term.word in corrected}
    known = [term.word for term in words if term.word not in loose]
    whole = [term.word for term in words if not term.near]
    return Wanted(_request(query, videos), known, sorted(loose), list(corrected), pairs(query), whole)


def pairs(query: Query) -> list[tuple[str, str]]:
    """Plain words that were typed one after the other."""
    plain = [None if term.prefix or term.near else term.word for term in query.terms]
    return [(one, other) for one, other in pairwise(plain) if one is not None and other is not None]


def _request(query: Query, videos: Sequence[UUID] | None) -> dict[str, Any]:
    """As `process.search` takes it; how words are read is added to it there."""
    filters = query.filters
    groups = [[_pattern(term)] for term in query.terms]
    groups += [[entity_mark(entity)] for entity in filters.entities]
    groups += [[f":lang:{language}" for language in filters.languages]] if filters.languages else []
    wanted, unwanted = _places(filters)
    return {
        "all": groups + ([wanted] if wanted else []),
        "phrases": [list(phrase) for phrase in query.phrases],
        "none": [*(_pattern(term) for term in query.without), *unwanted],
        "no_phrases": [list(phrase) for phrase in query.without_phrases],
        **_limits(filters),
        **({} if videos is None else {"videos": [str(video) for video in videos]}),
    }


def _places(filters: Filters) -> tuple[list[str], list[str]]:
    """Marks of which a text has one, or none. Those that were read in pictures are most, and have no mark."""
    marks = {where: f":where:{where}" for where in Where if where is not Where.PICTURE}
    if not filters.where:
        return [], []
    if Where.PICTURE in filters.where:
        return [], [mark for where, mark in marks.items() if where not in filters.where]
    return [mark for where, mark in marks.items() if where in filters.where], []


def fragments(text: str, query: Query, reading: Reading) -> tuple[Fragment, ...]:
    """The text, cut where matches begin and end. Put together again it is the text."""
    cut: list[Fragment] = []
    at = 0
    for start, end in _joined(_matches(list(places(text)), query, reading)):
        cut += [Fragment(text[at:start], matched=False), Fragment(text[start:end], matched=True)]
        at = end
    return tuple(part for part in (*cut, Fragment(text[at:], matched=False)) if part.text)


def _limits(filters: Filters) -> dict[str, int]:
    limits: dict[str, int] = {}
    if filters.after:
        limits["after"] = _second(filters.after.timestamp())
    if filters.before:
        limits["before"] = _second(filters.before.timestamp())
    if filters.min_confidence is not None:
        limits["confidence"] = round(filters.min_confidence * 1000)
    return limits


def _second(timestamp: float) -> int:
    """Within what an entry can hold."""
    return min(max(int(timestamp), 0), 2**33 - 1)


def _alternatives(term: Term, spelling: Spelling) -> list[str]:
    return [_pattern(term)] if term.prefix else list(spelling.get(term.word, ())) or [term.word]


def _pattern(term: Term) -> str:
    return f"{term.word}*" if term.prefix else term.word


def _matches(words: Sequence[Word], query: Query, reading: Reading) -> Iterator[tuple[int, int]]:
    exact = {word for term in query.terms for word in _alternatives(term, reading.spelling)}
    exact |= {"".join(phrase) for phrase in query.phrases}
    phrases = [*query.phrases, *(pair for pairs in reading.splits.values() for pair in pairs)]
    prefixes = tuple(term.word for term in query.terms if term.prefix)
    for place, word in enumerate(words):
        if word.word in exact or word.word.startswith(prefixes):
            yield word.start, word.end
        for phrase in phrases:
            if tuple(one.word for one in words[place : place + len(phrase)]) == phrase:
                yield word.start, words[place + len(phrase) - 1].end


def _joined(spans: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
