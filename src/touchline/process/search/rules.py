"""Turns a query into a request to the index, and marks the parts of a text that it matches. Pure.

The query language: words, "phrases", prefix*, near~, -without, #tag, @name and filters like lang:en.

Invariant: every text is a query or an `InvalidInput` that says why; what only looks like syntax is read as words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

from touchline.kernel import InvalidInput
from touchline.process.text import Word, fold_word, normalize, split_words, word_positions

from .model import Fragment, QueryFilters, SearchQuery, SpellingCorrection, Term, TextPlace

LONGEST_QUERY = 500
MOST_PARTS = 32
LABELS = ("match", "team", "player")
_QUOTES = str.maketrans("\u201c\u201d\u201e\u00ab\u00bb", '"""""')
# A minus, a name, and the text itself, in quotes or not.
_PART = re.compile(r'(?P<minus>-?)(?:(?P<name>[a-z]{2,8}):)?(?:"(?P<quoted>[^"]*)"?|(?P<plain>[^\s"]+))', re.IGNORECASE)
_SIGNS = {"#": "hashtag", "@": "mention"}


@dataclass
class _Parts:
    terms: list[Term] = field(default_factory=list[Term])
    phrases: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    without: list[Term] = field(default_factory=list[Term])
    without_phrases: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    filters: QueryFilters = field(default_factory=QueryFilters)

    def query(self) -> SearchQuery:
        lists = (self.terms, self.phrases, self.without, self.without_phrases)
        terms, phrases, without, without_phrases = (tuple(dict.fromkeys(parts)) for parts in lists)
        return SearchQuery(terms, phrases, without, without_phrases, self.filters)  # pyright: ignore[reportArgumentType]


def parse_query(text: str, filters: QueryFilters | None = None) -> SearchQuery:
    """The query in a text, combined with filters that are given separately."""
    if len(text) > LONGEST_QUERY:
        raise _invalid_query("the query is too long", f"the limit is {LONGEST_QUERY} characters")
    parts = _Parts(filters=filters or QueryFilters())
    found = list(_PART.finditer(text.translate(_QUOTES)))
    if len(found) > MOST_PARTS:
        raise _invalid_query("the query has too many parts", f"the limit is {MOST_PARTS}")
    for part in found:
        _read(part, parts)
    query = parts.query()
    if query == SearchQuery():
        raise _invalid_query("there is nothing to search for", "the query has no word and no filter")
    return query


def _read(part: re.Match[str], parts: _Parts) -> None:
    name, quoted, minus = (part["name"] or "").lower(), part["quoted"], bool(part["minus"])
    value = part["plain"] if quoted is None else quoted
    if name in _FILTERS:
        if minus:
            raise _invalid_query(
                f"`{name}:` cannot be excluded", "a minus excludes words, phrases, #tags and @names only"
            )
        parts.filters = _FILTERS[name](parts.filters, value)
    elif name:
        _words(f"{part['name']} {value}", parts, minus=minus)  # not a filter: two words
    elif quoted is not None:
        _phrase(split_words(value), parts, minus=minus)
    elif value[0] in _SIGNS and split_words(value):
        _tag(value, parts, minus=minus)
    else:
        _words(value, parts, minus=minus)


def _words(value: str, parts: _Parts, *, minus: bool) -> None:
    """One part between spaces; if it is several words, they form a phrase."""
    words, mark = split_words(value), value[-1]
    if not words:
        return
    if mark not in "*~" or (minus and mark == "~"):
        _phrase(words, parts, minus=minus)
        return
    *before, last = words
    if minus and before:
        raise _invalid_query(f"`-{value}` cannot be excluded", "only single words can be excluded as a prefix")
    _phrase(tuple(before), parts, minus=minus)
    term = Term(last, prefix=mark == "*", near=mark == "~")
    (parts.without if minus else parts.terms).append(term)


def _phrase(words: tuple[str, ...], parts: _Parts, *, minus: bool) -> None:
    if len(words) == 1:
        (parts.without if minus else parts.terms).append(Term(words[0]))
    elif words:
        (parts.without_phrases if minus else parts.phrases).append(words)


def _tag(value: str, parts: _Parts, *, minus: bool) -> None:
    mark = f"{_SIGNS[value[0]]}:{value[1:]}"
    if minus:
        parts.without.append(Term(entity_mark(mark)))
        return
    parts.filters = _entity(parts.filters, mark)
    _phrase(split_words(value), parts, minus=False)  # it is in the text, too, and highlighted there


def entity_mark(value: str) -> str:
    """As stored in the index: a type or kind, or a type with its value."""
    kind, colon, rest = value.partition(":")
    return f":{kind.lower()}{colon}{fold_word(normalize(rest))[:200]}"


def _entity(filters: QueryFilters, value: str) -> QueryFilters:
    return replace(filters, entities=(*filters.entities, value))


def _language(filters: QueryFilters, value: str) -> QueryFilters:
    return replace(filters, languages=(*filters.languages, value.lower()))


def _video(filters: QueryFilters, value: str) -> QueryFilters:
    try:
        return replace(filters, videos=(*filters.videos, UUID(value)))
    except ValueError as error:
        raise _invalid_query(f"`video:{value}` is not the id of a video", "write the id of a video") from error


def _after(filters: QueryFilters, value: str) -> QueryFilters:
    return replace(filters, after=_time("after", value))


def _before(filters: QueryFilters, value: str) -> QueryFilters:
    return replace(filters, before=_time("before", value))


def _minimum(filters: QueryFilters, value: str) -> QueryFilters:
    try:
        confidence = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        confidence = -1.0
    if not 0 <= confidence <= 1:
        raise _invalid_query(f"`min:{value}` is not a confidence", "it must be between 0 and 1")
    return replace(filters, min_confidence=confidence)


def _label(kind: str) -> Callable[[QueryFilters, str], QueryFilters]:
    return lambda filters, value: replace(filters, labels=(*filters.labels, (kind, value)))


def _where(filters: QueryFilters, value: str) -> QueryFilters:
    try:
        return replace(filters, where=(*filters.where, TextPlace(value.lower())))
    except ValueError as error:
        places = ", ".join(TextPlace)
        raise _invalid_query(f"`where:{value}` is unknown", f"use one of: {places}") from error


def _time(name: str, value: str) -> datetime:
    try:
        at = datetime.fromisoformat(value)
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise _invalid_query(
            f"`{name}:{value}` is not a time", "write a day like 2026-03-31, or a day and a time"
        ) from error


def _invalid_query(what: str, why: str) -> InvalidInput:
    return InvalidInput(
        what, field="query", why=why, hint="Correct the query. `docs/howto/search.md` explains the syntax."
    )


def _label_filters() -> Iterator[tuple[str, Callable[[QueryFilters, str], QueryFilters]]]:
    return ((kind, _label(kind)) for kind in LABELS)


_FILTERS: dict[str, Callable[[QueryFilters, str], QueryFilters]] = {
    "entity": _entity,
    "lang": _language,
    "video": _video,
    "after": _after,
    "before": _before,
    "min": _minimum,
    "where": _where,
    **dict(_label_filters()),
}


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
