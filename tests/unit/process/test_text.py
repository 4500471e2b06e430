from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from touchline.process.segments.rules import similarity
from touchline.process.text import clean, fold, normalize, ocr_form, text_hash


@given(st.text(max_size=40))
def test_folding_what_is_folded_changes_nothing(text: str) -> None:
    for step in (clean, normalize, fold):
        assert step(step(text)) == step(text)
    assert ocr_form(fold(text)) == ocr_form(text)
    assert text_hash(normalize(text)) == text_hash(text)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("  Martin Ødegaard\u200b ", "martin odegaard"),
        ("STRASSE Straße", "strasse strasse"),
        ("Łukasz Fabiański", "lukasz fabianski"),
        ("\uff27\uff2f\uff21\uff2c\x00\u202e!", "goal!"),
        ("\u0130stanbul \u0131ş\u0131k", "istanbul isik"),
        ("two\nlines\u2029here", "two lines here"),
    ],
)
def test_what_is_searched(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(st.text(max_size=20), st.text(max_size=20))
def test_likeness_is_symmetric(one: str, other: str) -> None:
    assert similarity(one, one) == 1
    assert similarity(one, other) == similarity(other, one)
