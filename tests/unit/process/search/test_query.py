"""The language of search: every text is a query or says why it is none."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.kernel.errors import InvalidInput
from touchline.process.search.model import Filters, Query, Term
from touchline.process.search.query import LONGEST_QUERY, MOST_PARTS, entity_mark, parse

VIDEO = UUID("a1b2c3d4-e5f6-4890-abcd-ef1234567890")
CASES = [
    ("Goal", Query(terms=(Term("g0a1"),))),
    ("goal goal", Query(terms=(Term("g0a1"),))),
    ("Müller  SÃO", Query(terms=(Term("mu11er"), Term("sa0")))),
    ('"Man Utd"', Query(phrases=(("man", "utd"),))),
    ("\u201cMan Utd\u201d", Query(phrases=(("man", "utd"),))),
    ('"open end', Query(phrases=(("0pen", "end"),))),
    ('"one"', Query(terms=(Term("0ne"),))),
    ("man-utd", Query(phrases=(("man", "utd"),))),
    ("2:1", Query(phrases=(("2", "1"),))),
    ("fin*", Query(terms=(Term("f1n", prefix=True),))),
    ("man-ut*", Query(terms=(Term("man"), Term("ut", prefix=True)))),
    ("keane~", Query(terms=(Term("keane", near=True),))),
    ("-offside", Query(without=(Term("0ff51de".replace("5", "s")),))),
    ('-"extra time"', Query(without_phrases=(("extra", "t1me"),))),
    ("-pen*", Query(without=(Term("pen", prefix=True),))),
    ("- goal", Query(terms=(Term("g0a1"),))),
    ("#COYG", Query(terms=(Term("c0yg"),), filters=Filters(entities=("hashtag:COYG",)))),
    ("-@bbc", Query(without=(Term(":mention:bbc"),))),
    ("# goal", Query(terms=(Term("g0a1"),))),
    ("entity:score", Query(filters=Filters(entities=("score",)))),
    ("lang:EN lang:de", Query(filters=Filters(languages=("en", "de")))),
    (f"video:{VIDEO}", Query(filters=Filters(videos=(VIDEO,)))),
    ("after:2026-03-01", Query(filters=Filters(after=datetime(2026, 3, 1, tzinfo=UTC)))),
    ("before:2026-03-01T12:00+02:00", Query(filters=Filters(before=datetime(2026, 3, 1, 10, tzinfo=UTC)))),
    ("min:0.8", Query(filters=Filters(min_confidence=0.8))),
    ("MIN:80%", Query(filters=Filters(min_confidence=0.8))),
    ('team:"Man Utd" player:Saka', Query(filters=Filters(labels=(("team", "Man Utd"), ("player", "Saka"))))),
    ("colour:red", Query(phrases=(("c010ur", "red"),))),
    ("lang:", Query(terms=(Term("1ang"),))),
    ("\u6771\u4eac", Query(phrases=(("\u6771", "\u4eac"),))),
    ("\u26bd", Query(terms=(Term("\u26bd"),))),
    ("\u041c\u043e\u0441\u043a\u0432\u0430", Query(terms=(Term("\u043c\u043e\u0441\u043a\u0432\u0430"),))),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_query(text: str, expected: Query) -> None:
    assert parse(text) == expected


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
        ("-man-ut*", "one word"),
    ],
)
def test_what_is_no_query_says_why(text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as raised:
        parse(text)
    assert raised.value.field == "query"


def test_filters_given_apart_join_those_of_the_text() -> None:
    query = parse("lang:en", Filters(languages=("de",), min_confidence=0.5))
    assert query.filters == Filters(languages=("de", "en"), min_confidence=0.5)


def test_a_mark_is_folded_as_the_index_does() -> None:
    assert entity_mark("Hashtag:São_Paulo") == ":hashtag:sa0_pau10"
    assert entity_mark("score") == ":score"


@given(st.text(max_size=60) | st.text(alphabet='ab -"*~#@:lang:minafter0123', max_size=60))
def test_every_text_is_a_query_or_says_why(text: str) -> None:
    query = parsed(text)
    if isinstance(query, InvalidInput):
        assert (query.field, bool(query.why)) == ("query", True)
        return
    assert query != Query()
    assert all(term.word for term in (*query.terms, *query.without))
    assert all(len(phrase) > 1 for phrase in (*query.phrases, *query.without_phrases))


def parsed(text: str) -> Query | InvalidInput:
    try:
        return parse(text)
    except InvalidInput as error:
        return error
