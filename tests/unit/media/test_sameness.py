"""The cache of words: a clock with one other glyph is another clock, however small, faint or badly coded it is."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from touchline.media.vision.areas import Pixels
from touchline.media.vision.memory import ReadMemory, ReadWords, same
from touchline_world.scenes.canvas import text_size, write

GLYPHS = "0123456789"


def drawn(text: str, size: int, levels: tuple[int, int], quality: int) -> Pixels:
    ink, plate = levels
    width, height = text_size("88:88+8", size)
    picture = np.full((height + size, width + size, 3), plate, np.uint8)
    write(picture, text, (size // 2, size // 2), size, (ink, ink, ink))
    coded = cv2.imdecode(cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], cv2.IMREAD_GRAYSCALE)
    assert coded is not None
    return coded


clocks = st.tuples(st.integers(0, 120), st.integers(0, 59)).map(lambda time: f"{time[0]:02d}:{time[1]:02d}")
scores = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(lambda goals: f"{goals[0]}-{goals[1]}")
sizes = st.integers(10, 48)
contrasts = st.tuples(st.integers(0, 255), st.integers(0, 255)).filter(lambda pair: abs(pair[0] - pair[1]) >= 60)
qualities = st.integers(50, 98)


@given(clocks | scores, st.data(), sizes, contrasts, qualities)
@settings(deadline=None, max_examples=100)
def test_one_other_glyph_is_never_the_same(
    text: str, data: st.DataObject, size: int, levels: tuple[int, int], quality: int
) -> None:
    place = data.draw(st.sampled_from([number for number, glyph in enumerate(text) if glyph in GLYPHS]))
    glyph = data.draw(st.sampled_from([each for each in GLYPHS if each != text[place]]))
    other = text[:place] + glyph + text[place + 1 :]
    memory = ReadMemory()
    memory.keep(drawn(text, size, levels, quality), ReadWords(text, 1.0))
    assert memory.recall(drawn(other, size, levels, quality)) is None


@given(clocks, sizes, contrasts, qualities, st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=25)
def test_noise_changes_nothing(clock: str, size: int, levels: tuple[int, int], quality: int, seed: int) -> None:
    crop = drawn(clock, size, levels, quality)
    noise = np.random.default_rng(seed).normal(0, 1.0, crop.shape)
    assert same(crop, np.clip(crop + noise, 0, 255).astype(np.uint8))


@pytest.mark.parametrize(
    ("before", "after"),
    [("9:59", "10:00"), ("1-0", "1-1"), ("88:88", "88:89"), ("0-0", "0-8"), ("45:00", "45:00+2"), ("11:11", "11:17")],
)
def test_what_clocks_and_scores_do(before: str, after: str) -> None:
    for size in (10, 14, 20, 32):
        assert not same(drawn(before, size, (235, 30), 75), drawn(after, size, (235, 30), 75)), size


def test_crops_of_another_size_are_others() -> None:
    crop = drawn("45:00", 20, (235, 30), 75)
    assert not same(crop, crop[:, :-1])
    assert not same(crop[:0], crop[:0])


def test_the_memory_is_bounded() -> None:
    memory = ReadMemory(most_entries=3, most_bytes=10**6)
    crops = [drawn(f"{number:02d}:00", 20, (235, 30), 75) for number in range(5)]
    for number, crop in enumerate(crops):
        memory.keep(crop, ReadWords(str(number), 1.0))
    assert [memory.recall(crop) is not None for crop in crops] == [False, False, True, True, True]
    small = ReadMemory(most_bytes=2 * crops[0].size)
    for number, crop in enumerate(crops):
        small.keep(crop, ReadWords(str(number), 1.0))
    assert [small.recall(crop) is not None for crop in crops] == [False, False, False, True, True]
