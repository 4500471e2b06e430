"""Which posts a search finds."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.world.social.query import Searched, parse
from touchline.world.social.words import words_of

AT = datetime(2026, 3, 14, 13, 0, tzinfo=UTC)


def searched(text: str) -> Searched:
    return Searched(words_of(text), "DockersFan", "es", AT, has_video=True, is_quote=False)


GOAL = searched("GOL! Mikkel Sørensen, Paris Saint-Germain 0-1 #NFC @northport")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("sørensen", True),
        ("SORENSEN", True),
        ("sorensen nfc", True),
        ("#nfc", True),
        ("@Northport", True),
        ("soren", False),  # words are whole
        ("sorensen arsenal", False),
        ("saint-germain", True),
        ("saint germain", True),
        ('"mikkel sorensen"', True),
        ('"sorensen mikkel"', False),
        ('"sorensen', True),  # a quotation that never ends
        ("sorensen -arsenal", True),
        ("sorensen -nfc", False),
        ('sorensen -"mikkel sorensen"', False),
        ("arsenal OR nfc", True),
        ("arsenal OR nfc sorensen", True),  # (arsenal OR nfc) sorensen
        ("sorensen arsenal OR everton", False),  # sorensen (arsenal OR everton)
        ("OR sorensen", True),
        ("sorensen OR", True),
        ("arsenal or nfc", False),  # small letters: a word
        ("sorensen (arsenal OR nfc)", True),
        ("sorensen -(arsenal OR nfc)", False),
        ("(sorensen", True),
        ("sorensen)", True),
        ("sorensen) arsenal", False),
        ("((((((sorensen))))))", True),  # too deep: only the brackets are ignored
        ("filter:videos", True),
        ("-filter:videos", False),
        ("sorensen filter:replies", False),
        ("filter:unheard", False),  # just words
        ("from:dockersfan", True),
        ("from:@DockersFan gol", True),
        ("from:somebody", False),
        ("-from:somebody gol", True),
        ("lang:es", True),
        ("lang:en", False),
        ("gol since:2026-03-14", True),
        ("gol since:2026-03-15", False),
        ("gol until:2026-03-15", True),
        ("gol until:2026-03-14", False),
        ("gol since_time:1773493199 until_time:1773493201", True),
        ("gol until_time:1773493200", False),
        ("since:yesterday", False),
        ("", False),
        ("   ", False),
        ("!!! ???", False),
        ("-", False),
    ],
)
def test_finding(query: str, found: bool) -> None:
    assert parse(query)(GOAL) is found


@given(st.text(max_size=700))
def test_nobodys_query_is_an_error(query: str) -> None:
    assert parse(query)(GOAL) in {True, False}


@given(st.lists(st.sampled_from(["a", '"b c"', "-d", "OR", "(", ")", "filter:videos", "from:x", "since:2026-01-01"])))
def test_nobodys_brackets_are_an_error(parts: list[str]) -> None:
    assert parse(" ".join(parts))(GOAL) in {True, False}


WORDS = st.text("abcøé", min_size=1, max_size=6)


@given(st.lists(WORDS, min_size=1, max_size=6), st.data())
def test_a_post_is_found_by_any_of_its_words_in_any_order(words: list[str], data: st.DataObject) -> None:
    post = searched(" ".join(words))
    asked = data.draw(st.lists(st.sampled_from(words), min_size=1))
    assert parse(" ".join(asked).upper())(post)
    assert parse(f'"{" ".join(words)}"')(post)
    assert not parse(f"{asked[0]} -{asked[0]}")(post)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Łukasz Đorđević", ("lukasz", "dordevic")),
        ("Groß Weiß", ("gross", "weiss")),
        ("I\u015f\u0131k", ("isik",)),
        ("M. Ødegaard's", ("m", "odegaard", "s")),
        ("⚽️ 90+2", ("90", "2")),
    ],
)
def test_words(text: str, words: tuple[str, ...]) -> None:
    assert words_of(text) == words
