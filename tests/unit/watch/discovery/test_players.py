from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.watch.discovery.players import MOST_QUERIES, player_word, queries, words_of_both
from touchline.watch.words import fold, tokens


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("M. Sørensen", "Sorensen"),
        ("Mohamed Salah", "Salah"),
        ("K. De Bruyne", "Bruyne"),
        ("Łukasz Wałęśniak", "Walesniak"),
        ("Đ. Đukić", "Dukic"),
        ("Lukas Großschmidt", "Grossschmidt"),
        ("E. Smith-Rowe", "Rowe"),
        ("T. J. O'Connell-Drăgulescu", "Dragulescu"),
        ("P. N'Guémo", "Guemo"),
        ("D. D\u2019Ambrosini", "Ambrosini"),
        ("Vinícius Júnior", "Vinicius"),
        ("Neymar Jr.", "Neymar"),
        ("Xhemajl Ç. Hoxha", "Hoxha"),
        ("A. Ad", "Ad"),
        ("Zezinho", "Zezinho"),
        ("Ñandú", "Nandu"),
        ("S. Min-jae", "jae"),
        ("손흥민", "손흥민"),
        ("J. P.", "P"),
        ("Junior", "Junior"),
        ("  ", ""),
    ],
)
def test_the_word_for_a_player(name: str, word: str) -> None:
    assert player_word(name) == word


@given(st.text())
def test_a_word_is_one_word_without_accents(name: str) -> None:
    word = player_word(name)
    assert word == fold(word).strip()
    assert len(word.split()) <= 1


@pytest.mark.parametrize(
    ("words", "form", "attempt", "asked"),
    [
        (["Northport", "NFC"], "each", 1, ["Sorensen Northport", "Sorensen NFC"]),
        (["Northport", "NFC"], "each", 2, ["Sorensen NFC", "Sorensen Northport"]),
        (["Northport", "NFC"], "each", 3, ["Sorensen Northport", "Sorensen NFC"]),
        (["Northport", "NFC"], "together", 1, ["Sorensen (Northport OR NFC)"]),
        (["Northport"], "together", 1, ["Sorensen Northport"]),
        (["Atlético", "ATLETICO"], "each", 1, ["Sorensen ATLETICO"]),
        ([], "each", 1, ["Sorensen"]),
    ],
)
def test_queries(words: list[str], form: str, attempt: int, asked: list[str]) -> None:
    assert queries("M. Sørensen", words, form, attempt) == asked


@given(st.lists(st.text(min_size=1)), st.integers(1, 50))
def test_every_word_has_its_turn_in_every_attempt(words: list[str], attempt: int) -> None:
    asked = queries("Salah", words, "each", attempt)
    assert {*asked} == {*queries("Salah", words, "each", 1)}
    assert 1 <= len(asked) <= MOST_QUERIES


def test_an_own_goal_is_searched_with_both_teams() -> None:
    assert words_of_both(["Northport", "NFC"], ["Göteryd", "nfc", "Skogsmän"]) == [
        "Northport", "Göteryd", "NFC", "Skogsmän",
    ]  # fmt: skip


@given(st.lists(st.text(min_size=1)), st.lists(st.text(min_size=1)))
def test_no_team_loses_a_word(own: list[str], other: list[str]) -> None:
    mixed = words_of_both(own, other)
    assert {tokens(word) for word in mixed} == {tokens(word) for word in (*own, *other)}
