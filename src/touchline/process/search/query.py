"""The query language: words, "phrases", prefix*, near~, -without, #tag, @name and filters like lang:en.

Invariant: every text is a query or an `InvalidInput` that says why; what only looks like syntax is read as words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

from touchline.kernel import InvalidInput
from touchline.process.text import fold_word, normalize, split_words

from .model import QueryFilters, SearchQuery, Term, TextPlace

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
