from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from touchline.watch.words import fold, tokens


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Sørensen", "Sorensen"),
        ("Łukasz Wałęśniak", "Lukasz Walesniak"),
        ("Đorđe Đukić", "Dorde Dukic"),
        ("Großschmidt", "Grossschmidt"),
        ("STRAẞE", "STRASSE"),
        ("Lœuillet Kjærgaard Þór", "Loeuillet Kjaergaard Thor"),
        ("Çalhanoğlu İlkay \u0131s\u0131", "Calhanoglu Ilkay isi"),
        ("Nun\u0303ez", "Nunez"),
        ("손흥민 がんばれ", "손흥민 がんばれ"),
        ("Sal\ud800ah", "Salah"),
    ],
)
def test_letters_that_people_write_plainly(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text())
def test_tokens_are_words_without_case(text: str) -> None:
    for token in tokens(text):
        assert token
        assert not any(letter.isspace() for letter in token)
    assert tokens(" ".join(tokens(text))) == tokens(text)
