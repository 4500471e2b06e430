from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from touchline.watch.discovery.rules import MOST_QUERIES, player_word, queries, words_of_both
from touchline.watch.settings import DiscoverySettings
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
        # A given name behind the family name: its end is no word to search for.
        ("Lee Kang-In", "Lee"),
        ("Kang-In Lee", "Lee"),
        ("Son Heung-Min", "Son"),
        ("Son Heung\u2011min", "Son"),
        ("Kim Min-Jae", "Kim"),
        ("Lee Kang In", "Lee"),
        ("S. Heung-Min", "Heung"),
        ("L. Kang-In", "Kang"),
        ("S. Min-jae", "Min-jae"),
        ("Hwang In-Beom", "Beom"),
        ("Salem Al-Dawsari", "Dawsari"),
        ("T. Alexander-Arnold", "Arnold"),
        ("Li Ke", "Ke"),
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


LETTERS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=7).map(str.capitalize)


@given(LETTERS, st.lists(LETTERS, min_size=2, max_size=3), st.booleans())
def test_a_hyphenated_name_leaves_no_two_letters(family: str, given_name: list[str], is_initial: bool) -> None:
    """Whichever way round it stands, and whether the family name is written or only its initial."""
    joined = "-".join(given_name)
    before = f"{family[0]}." if is_initial else family
    word = player_word(f"{before} {joined}")
    assert len(word) > 2 or word == family
    assert word in {*given_name, family, joined}
    if not is_initial and len(family) > 2:
        assert len(word) > 2


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


def test_an_attempt_asks_once_unless_it_is_set_otherwise() -> None:
    """An account may ask fewer times than a match day has aliases."""
    assert len(queries("M. Sørensen", ["Northport", "NFC"], DiscoverySettings().queries)) == 1


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
