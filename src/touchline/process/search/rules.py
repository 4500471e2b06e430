"""Turns a query into a request to the index, and marks the parts of a text that it matches. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from uuid import UUID

from touchline.process.text import Word, word_positions

from .model import Fragment, QueryFilters, SearchQuery, SpellingCorrection, Term, TextPlace
from .query import entity_mark

# The variants of each word that are searched: itself, or those one typo away.
Spelling = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class WordVariants:
    """Which variants of the typed words are searched."""

    spelling: Spelling = field(default_factory=dict[str, Sequence[str]])
    splits: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict[str, Sequence[tuple[str, str]]])
    """words that may be two words: a space may be missing in the query or in what was read."""


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """The request to the index, and the words whose spelling matters."""

    request: dict[str, Any]
    known: list[str]  # searched as typed if the index has them
    loose: list[str]  # searched with their variants as well
    corrected: list[str]  # searched by their variants only, even if the index has them by now
    pairs: list[tuple[str, str]]  # adjacent words that may be written as one
    whole: list[str]  # words that may be written as two


def corrected_words(query: SearchQuery, mask: int) -> tuple[str, ...]:
    return tuple(term.word for number, term in enumerate(query.terms) if mask >> number & 1)


def correction_mask(query: SearchQuery, made: Sequence[SpellingCorrection]) -> int:
    words = {one.word for one in made}
    return sum(1 << number for number, term in enumerate(query.terms) if not term.prefix and term.word in words)


def find_corrections(query: SearchQuery, spelling: Spelling) -> tuple[SpellingCorrection, ...]:
    """The words that the index does not have and whose variants were searched instead."""
    words = [term.word for term in query.terms if not term.prefix and not term.near]
    joined = {one + other for one, other in adjacent_words(query)}  # that is the same word
    found = [
        (word, tuple(read for read in spelling.get(word, ()) if read != word and read not in joined)) for word in words
    ]
    return tuple(SpellingCorrection(word, read_as) for word, read_as in found if read_as)


def display_corrections(
    made: Sequence[SpellingCorrection], text: str, shown: Mapping[str, str]
) -> tuple[SpellingCorrection, ...]:
    """For display: the word as typed, its variants as they are written in the videos."""
    typed = {word.word: text[word.start : word.end] for word in word_positions(text)}
    return tuple(
        SpellingCorrection(typed.get(one.word, one.word), tuple(shown.get(word, word) for word in one.read_as))
        for one in made
    )


def index_request(query: SearchQuery, corrected: Sequence[str], videos: Sequence[UUID] | None) -> IndexRequest:
    words = [term for term in query.terms if not term.prefix]
    loose = {term.word for term in words if term.near or term.word in corrected}
    known = [term.word for term in words if term.word not in loose]
    whole = [term.word for term in words if not term.near]
    return IndexRequest(_request(query, videos), known, sorted(loose), list(corrected), adjacent_words(query), whole)


def adjacent_words(query: SearchQuery) -> list[tuple[str, str]]:
    """Pairs of plain words that were typed one after the other."""
    plain = [None if term.prefix or term.near else term.word for term in query.terms]
    return [(one, other) for one, other in pairwise(plain) if one is not None and other is not None]


def _request(query: SearchQuery, videos: Sequence[UUID] | None) -> dict[str, Any]:
    """As `process.search` takes it; the variants of words are added there."""
    filters = query.filters
    groups = [[_pattern(term)] for term in query.terms]
    groups += [[entity_mark(entity)] for entity in filters.entities]
    groups += [[f":lang:{language}" for language in filters.languages]] if filters.languages else []
    wanted, unwanted = _place_marks(filters)
    return {
        "all": groups + ([wanted] if wanted else []),
        "phrases": [list(phrase) for phrase in query.phrases],
        "none": [*(_pattern(term) for term in query.without), *unwanted],
        "no_phrases": [list(phrase) for phrase in query.without_phrases],
        **_limits(filters),
        **({} if videos is None else {"videos": [str(video) for video in videos]}),
    }


def _place_marks(filters: QueryFilters) -> tuple[list[str], list[str]]:
    """Marks that a text must have one of, and marks that it must not have. Texts read in frames have no mark."""
    marks = {where: f":where:{where}" for where in TextPlace if where is not TextPlace.PICTURE}
    if not filters.where:
        return [], []
    if TextPlace.PICTURE in filters.where:
        return [], [mark for where, mark in marks.items() if where not in filters.where]
    return [mark for where, mark in marks.items() if where in filters.where], []


def fragments(text: str, query: SearchQuery, reading: WordVariants) -> tuple[Fragment, ...]:
    """The text, split where matches begin and end; joined again, the fragments are the text."""
    cut: list[Fragment] = []
    at = 0
    for start, end in _joined(_matches(list(word_positions(text)), query, reading)):
        cut += [Fragment(text[at:start], matched=False), Fragment(text[start:end], matched=True)]
        at = end
    return tuple(part for part in (*cut, Fragment(text[at:], matched=False)) if part.text)


def _limits(filters: QueryFilters) -> dict[str, int]:
    limits: dict[str, int] = {}
    if filters.after:
        limits["after"] = _second(filters.after.timestamp())
    if filters.before:
        limits["before"] = _second(filters.before.timestamp())
    if filters.min_confidence is not None:
        limits["confidence"] = round(filters.min_confidence * 1000)
    return limits


def _second(timestamp: float) -> int:
    """Within the range of an index entry."""
    return min(max(int(timestamp), 0), 2**33 - 1)


def _alternatives(term: Term, spelling: Spelling) -> list[str]:
    return [_pattern(term)] if term.prefix else list(spelling.get(term.word, ())) or [term.word]


def _pattern(term: Term) -> str:
    return f"{term.word}*" if term.prefix else term.word


def _matches(words: Sequence[Word], query: SearchQuery, reading: WordVariants) -> Iterator[tuple[int, int]]:
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
