from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from touchline.media.playlists import MOST_CHARACTERS, caption_text, cue, known_language, timestamp


@pytest.mark.parametrize(
    ("dialogue", "text"),
    [
        ("plain", "plain"),
        (r"{\b1}bold{\b0} and {\an8}high", "bold and high"),
        (r"two\Nlines\hhere", "two\nlines here"),
        ("<b>a</b> & b --> c", "&lt;b&gt;a&lt;/b&gt; &amp; b --&gt; c"),
        ("one\n\n\nWEBVTT\r\n\r\nNOTE two", "one\nWEBVTT\nNOTE two"),
        ("\u202eright to left\u0000", "right to left"),
        (r"{\an8}", ""),
        (" \n \r\n", ""),
        ("⚽ Tor", "⚽ Tor"),
    ],
)
def test_the_words_of_a_caption(dialogue: str, text: str) -> None:
    assert caption_text(dialogue) == text


@given(st.text())
def test_no_text_leaves_its_cue(dialogue: str) -> None:
    text = caption_text(dialogue)
    assert "-->" not in text
    assert "<" not in text
    assert "" not in text.splitlines()
    assert len(text) <= 5 * MOST_CHARACTERS
    assert cue(0, 1, text or "x").count("\n\n") == 1


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [(0, "00:00:00.000"), (3_661_001, "01:01:01.001"), (86_400_000, "24:00:00.000"), (10**9, "277:46:40.000")],
)
def test_times(time_ms: int, text: str) -> None:
    assert timestamp(time_ms) == text


@pytest.mark.parametrize(
    ("name", "known"),
    [("deu", "deu"), ("en-GB", "en-GB"), ("und", None), (None, None), ('x",URI="http://evil', None), ("a\nb", None)],
)
def test_languages(name: str | None, known: str | None) -> None:
    assert known_language(name) == known
