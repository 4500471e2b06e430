"""The query language: every text is a query or says why it is not."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import InvalidInput
from touchline.process.search.model import QueryFilters, SearchQuery, Term
from touchline.process.search.rules import LONGEST_QUERY, MOST_PARTS, entity_mark, parse_query

VIDEO = UUID("a1b2c3d4-e5f6-4890-abcd-ef1234567890")
CASES = [
    ("Goal", SearchQuery(terms=(Term("g0a1"),))),
    ("goal goal", SearchQuery(terms=(Term("g0a1"),))),
    ("Müller  SÃO", SearchQuery(terms=(Term("mu11er"), Term("sa0")))),
    ('"Man Utd"', SearchQuery(phrases=(("man", "utd"),))),
    ("\u201cMan Utd\u201d", SearchQuery(phrases=(("man", "utd"),))),
    ('"open end', SearchQuery(phrases=(("0pen", "end"),))),
    ('"one"', SearchQuery(terms=(Term("0ne"),))),
    ("man-utd", SearchQuery(phrases=(("man", "utd"),))),
    ("2:1", SearchQuery(phrases=(("2", "1"),))),
    ("fin*", SearchQuery(terms=(Term("f1n", prefix=True),))),
    ("man-ut*", SearchQuery(terms=(Term("man"), Term("ut", prefix=True)))),
    ("keane~", SearchQuery(terms=(Term("keane", near=True),))),
    ("-offside", SearchQuery(without=(Term("0ff51de".replace("5", "s")),))),
    ('-"extra time"', SearchQuery(without_phrases=(("extra", "t1me"),))),
    ("-pen*", SearchQuery(without=(Term("pen", prefix=True),))),
    ("- goal", SearchQuery(terms=(Term("g0a1"),))),
    ("#COYG", SearchQuery(terms=(Term("c0yg"),), filters=QueryFilters(entities=("hashtag:COYG",)))),
    ("-@bbc", SearchQuery(without=(Term(":mention:bbc"),))),
    ("# goal", SearchQuery(terms=(Term("g0a1"),))),
    ("entity:score", SearchQuery(filters=QueryFilters(entities=("score",)))),
    ("lang:EN lang:de", SearchQuery(filters=QueryFilters(languages=("en", "de")))),
    (f"video:{VIDEO}", SearchQuery(filters=QueryFilters(videos=(VIDEO,)))),
    ("after:2026-03-01", SearchQuery(filters=QueryFilters(after=datetime(2026, 3, 1, tzinfo=UTC)))),
    ("before:2026-03-01T12:00+02:00", SearchQuery(filters=QueryFilters(before=datetime(2026, 3, 1, 10, tzinfo=UTC)))),
    ("min:0.8", SearchQuery(filters=QueryFilters(min_confidence=0.8))),
    ("MIN:80%", SearchQuery(filters=QueryFilters(min_confidence=0.8))),
    ('team:"Man Utd" player:Saka', SearchQuery(filters=QueryFilters(labels=(("team", "Man Utd"), ("player", "Saka"))))),
    ("colour:red", SearchQuery(phrases=(("c010ur", "red"),))),
    ("lang:", SearchQuery(terms=(Term("1ang"),))),
    ("\u6771\u4eac", SearchQuery(phrases=(("\u6771", "\u4eac"),))),
    ("\u26bd", SearchQuery(terms=(Term("\u26bd"),))),
    ("\u041c\u043e\u0441\u043a\u0432\u0430", SearchQuery(terms=(Term("\u043c\u043e\u0441\u043a\u0432\u0430"),))),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_query(text: str, expected: SearchQuery) -> None:
    assert parse_query(text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no word and no filter"),
        (' "" - * ~ !?', "no word and no filter"),
        ("x" * (LONGEST_QUERY + 1), "characters"),
        ("a " * (MOST_PARTS + 1), str(MOST_PARTS)),
        ("after:yesterday", "2026-03-31"),
        ("video:1", "id"),
        ("min:2", "between 0 and 1"),
        ("min:nan", "between 0 and 1"),
        ("-lang:en", "minus"),
        ("-man-ut*", "single words"),
    ],
)
def test_what_is_no_query_says_why(text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as raised:
        parse_query(text)
    assert raised.value.field == "query"


def test_filters_given_apart_join_those_of_the_text() -> None:
    query = parse_query("lang:en", QueryFilters(languages=("de",), min_confidence=0.5))
    assert query.filters == QueryFilters(languages=("de", "en"), min_confidence=0.5)


def test_a_mark_is_folded_as_the_index_does() -> None:
    assert entity_mark("Hashtag:São_Paulo") == ":hashtag:sa0_pau10"
    assert entity_mark("score") == ":score"


@given(st.text(max_size=60) | st.text(alphabet='ab -"*~#@:lang:minafter0123', max_size=60))
def test_every_text_is_a_query_or_says_why(text: str) -> None:
    query = parsed(text)
    if isinstance(query, InvalidInput):
        assert (query.field, bool(query.why)) == ("query", True)
        return
    assert query != SearchQuery()
    assert all(term.word for term in (*query.terms, *query.without))
    assert all(len(phrase) > 1 for phrase in (*query.phrases, *query.without_phrases))


def parsed(text: str) -> SearchQuery | InvalidInput:
    try:
        return parse_query(text)
    except InvalidInput as error:
        return error
