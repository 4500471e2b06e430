"""The index request of a query, and what it matches in a text."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from touchline.process.search import rules
from touchline.process.search.model import QueryFilters, SearchCursor, SearchQuery, SpellingCorrection, Term
from touchline.process.search.rules import parse_query
from touchline.process.text import fold_word, split_words, word_positions

HIGHLIGHTS = [
    ("goal", "GOAL! Saka scores", "[GOAL]! Saka scores"),
    ("GOAI", "A goal", "A [goal]"),
    ("muller", "Müller 1-0", "[Müller] 1-0"),
    ("sco*", "Saka scores, score 2", "Saka [scores], [score] 2"),
    ('"full time"', "Time: full time. Full stop", "Time: [full time]. Full stop"),
    ('"a b" b', "a b b", "[a b] [b]"),
    ("tokyo", "東京 TOKYO", "東京 [TOKYO]"),
    ("東京", "東京都", "[東京]都"),
    ("⚽", "Goal ⚽⚽", "Goal [⚽⚽]"),
    ("straße", "STRASSE", "[STRASSE]"),
    ("lang:en", "nothing to show", "nothing to show"),
    ("-goal saka", "saka", "[saka]"),
    ('"tv nord"', "TVNORD live", "[TVNORD] live"),
]


@pytest.mark.parametrize(("query", "text", "expected"), HIGHLIGHTS)
def test_highlights(query: str, text: str, expected: str) -> None:
    parts = rules.fragments(text, parse_query(query), rules.WordVariants())
    assert "".join(f"[{part.text}]" if part.matched else part.text for part in parts) == expected


@given(st.text(max_size=40), st.text(alphabet='ab1Il "*東', min_size=1, max_size=10))
def test_fragments_are_the_text(text: str, words: str) -> None:
    query = parse_query(f"x {words}")
    assert "".join(part.text for part in rules.fragments(text, query, rules.WordVariants())) == text


@given(st.text(max_size=40))
def test_words_fold_once(text: str) -> None:
    words = split_words(text)
    assert tuple(fold_word(word) for word in words) == words
    assert all(word and " " not in word and "*" not in word and not word.startswith(":") for word in words)


@pytest.mark.parametrize("text", ["Il1 O0o", "Ünïcödé", "a_b-c", "ﬁne ① x²"])
def test_places_are_where_the_words_stand(text: str) -> None:
    assert tuple(word.word for word in word_positions(text)) == split_words(text)
    assert all(text[word.start : word.end] for word in word_positions(text))


@pytest.mark.parametrize(
    ("one", "other"), [("Il1", "lI1"), ("GOAL", "G0AI"), ("Łódź", "lodz"), ("ÅÉÑ", "aen"), ("Ǆ", "dž"), ("ß", "SS")]
)
def test_what_looks_the_same_is_the_same(one: str, other: str) -> None:
    assert split_words(one) == split_words(other)


def test_a_request_has_all_that_was_asked() -> None:
    video, at = UUID(int=1), datetime(2026, 1, 1, tzinfo=UTC)
    filters = QueryFilters((), ("en", "de"), ("url",), (), at, at, 0.25)
    query = SearchQuery(
        (Term("a"), Term("b", prefix=True)), (("c", "d"),), (Term("e", prefix=True),), (("f", "g"),), filters
    )
    assert rules.index_request(query, (), [video]).request == {
        "all": [["a"], ["b*"], [":url"], [":lang:en", ":lang:de"]],
        "phrases": [["c", "d"]],
        "none": ["e*"],
        "no_phrases": [["f", "g"]],
        "after": 1767225600,
        "before": 1767225600,
        "confidence": 250,
        "videos": [str(video)],
    }


def test_only_unknown_words_are_corrected() -> None:
    query = SearchQuery((Term("known"), Term("unknwon"), Term("near", near=True), Term("strange")))
    spelling = {"known": ["known"], "unknwon": ["unknown"], "near": ["near", "neat"]}
    assert rules.find_corrections(query, spelling) == (SpellingCorrection("unknwon", ("unknown",)),)
    wanted = rules.index_request(query, ["strange"], None)
    assert (wanted.known, wanted.loose) == (["known", "unknwon"], ["near", "strange"])
    made = rules.find_corrections(query, spelling)
    assert rules.corrected_words(query, rules.correction_mask(query, made)) == ("unknwon",)


def test_a_space_more_or_less_is_no_correction() -> None:
    query = parse_query("live tv nord near~ last*")
    assert rules.adjacent_words(query) == [("11ve", "tv"), ("tv", "n0rd")]
    wanted = rules.index_request(query, (), None)
    assert (wanted.pairs, wanted.whole) == (rules.adjacent_words(query), ["11ve", "tv", "n0rd"])
    reading = rules.WordVariants({"tv": ["tvn0rd"], "n0rd": ["n0rd", "tvn0rd"]}, {"11ve": [("11", "ve")]})
    assert rules.find_corrections(query, reading.spelling) == ()
    shown = rules.fragments("TVNORD nord Li ve", query, reading)
    assert [part.text for part in shown if part.matched] == ["TVNORD", "nord", "Li ve"]


@pytest.mark.parametrize(
    ("chosen", "one_of", "none_of"),
    [
        ((), None, []),
        (("title",), [":where:title"], []),
        (("match", "title"), [":where:title", ":where:match"], []),
        (("picture",), None, [":where:title", ":where:match"]),
        (("picture", "match"), None, [":where:title"]),
        (("picture", "match", "title"), None, []),
    ],
)
def test_where_a_text_stands_is_a_mark_or_none(
    chosen: tuple[str, ...], one_of: list[str] | None, none_of: list[str]
) -> None:
    query = parse_query(" ".join(["goal", *(f"where:{each}" for each in chosen)]))
    request = rules.index_request(query, (), None).request
    assert request["all"] == ([["g0a1"], one_of] if one_of else [["g0a1"]])
    assert request["none"] == none_of


def test_corrections_are_told_as_people_write() -> None:
    made = (SpellingCorrection("che1sae", ("che1sea", "che1se")), SpellingCorrection("0ther", ("0thers",)))
    told = rules.display_corrections(made, 'Chélsae "full time"', {"che1sea": "chelsea"})
    assert told == (SpellingCorrection("Chélsae", ("chelsea", "che1se")), SpellingCorrection("0ther", ("0thers",)))


@given(st.integers(0, 2**63 - 1), st.uuids(), st.integers(0, 2**32 - 1))
def test_a_place_survives_its_bytes(rank: int, segment_id: UUID, corrected: int) -> None:
    place = SearchCursor(rank, segment_id, corrected)
    assert SearchCursor.from_bytes(place.to_bytes()) == place
