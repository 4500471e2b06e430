"""Which words the model chooses, and how it finds those that it is offered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.world.knowledge.assistant.words import choose, most_wanted, offered_words


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (['Choose from ["LFC", "The Reds", "Liverpool"]'], ["LFC", "The Reds", "Liverpool"]),
        (['An example: ["x"]. Words: ["LFC", "Reds"]'], ["LFC", "Reds"]),
        (["Words:\n- LFC\n- The Reds\n\nAnswer in JSON."], ["LFC", "The Reds"]),
        (["1. LFC\n2) Reds"], ["LFC", "Reds"]),
        (["Candidates: LFC, The Reds, Liverpool FC"], ["LFC", "The Reds", "Liverpool FC"]),
        (['["old", "ones"]', "Thanks", '["new"]'], ["new"]),
        (["Hello"], []),
        (["[1, 2]"], []),
        ([], []),
    ],
)
def test_words_that_are_offered(texts: list[str], words: list[str]) -> None:
    assert offered_words(texts) == words


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["Liverpool Football Club", "Liverpool FC", "Liverpool", "LFC", "The Reds"], ["Liverpool", "LFC", "The Reds"]),
        (["Paris Saint-Germain", "PSG", "Les Parisiens"], ["PSG", "Paris Saint-Germain", "Les Parisiens"]),
        (["FC", "Football Club", "1892"], []),
        (["Olympique de Marseille Football Club de Provence"], []),
        (["Göteborg", "GOTEBORG"], ["GOTEBORG"]),
    ],
)
def test_the_choice(offered: list[str], chosen: list[str]) -> None:
    assert choose(offered, 5) == chosen


@given(st.lists(st.text(max_size=20)), st.integers(1, 8))
def test_only_what_was_offered_is_chosen(offered: list[str], most: int) -> None:
    chosen = choose(offered, most)
    assert {*chosen} <= {*offered}
    assert len(chosen) == len({*chosen}) <= most


@pytest.mark.parametrize(
    ("text", "most"),
    [("at most 3 words", 3), ("Up to 10, please", 10), ("a maximum of 2", 2), ("some", 5), ("up to 0", 1)],
)
def test_how_many(text: str, most: int) -> None:
    assert most_wanted(text) == most
