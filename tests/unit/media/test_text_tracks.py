"""The text that stands from one picture to the next."""

from __future__ import annotations

from dataclasses import replace

from touchline.media.engines.file_reader import follow
from touchline.media.engines.model import Box, SeenText, TextRegion

REGION = TextRegion("67:42", Box(10, 10, 60, 20), 0.9, None, 2000)
SEEN = SeenText("67:42", REGION.box, 0.9, None, 2000, 2000)


def test_text_stands_until_a_picture_does_not_show_it() -> None:
    standing, left = follow([], [REGION], 2000)
    assert (standing, left) == ([SEEN], [])
    standing, left = follow(standing, [replace(REGION, box=Box(11, 10, 60, 20), confidence=0.8)], 3000)
    assert (standing, left) == ([replace(SEEN, box=Box(11, 10, 60, 20))], [])
    standing, left = follow(standing, [replace(REGION, text="67:43", since_ms=4000)], 4000)
    assert [text.text for text in standing] == ["67:43"]
    assert left == [replace(SEEN, box=Box(11, 10, 60, 20), end_ms=4000)]


def test_the_same_words_elsewhere_are_another_text() -> None:
    standing, left = follow([SEEN], [replace(REGION, box=Box(200, 100, 60, 20))], 3000)
    assert (len(standing), len(left)) == (1, 1)
